"""Layer normalisation, however it is written, is one operator; what resembles it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.stablehlo.jax_cases import normal, operators, run
from yobx.jax import to_onnx


def mean(x: jax.Array) -> jax.Array:
    """Mean of the last axis."""
    return x.mean(-1, keepdims=True)


def two_steps(x: jax.Array, scale: jax.Array, bias: jax.Array) -> jax.Array:
    """With ``var`` of numpy."""
    return (x - mean(x)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-3) * scale + bias


def by_squares(x: jax.Array, scale: jax.Array, bias: jax.Array) -> jax.Array:
    """With the squares of the differences."""
    centred = x - mean(x)
    return bias + scale * (centred * lax.rsqrt(mean(centred * centred) + 1e-3))


def fast(x: jax.Array, scale: jax.Array, bias: jax.Array) -> jax.Array:
    """With the mean of squares, as Flax does."""
    m, square = x.mean(-1), (x * x).mean(-1)
    variance = jnp.maximum(0.0, square - m * m)
    factor = lax.rsqrt(variance[..., None] + 1e-3) * scale
    return (x - m[..., None]) * factor + bias


FORMS: dict[str, Callable[..., Any]] = {"var": two_steps, "squares": by_squares, "fast": fast}
DOES_NOT: dict[str, Callable[..., Any]] = {
    "another axis": lambda x, s, b: (
        (x - x.mean(0)) / jnp.sqrt(x.var(0, keepdims=True) + 1e-3) * s + b
    ),
    "variance of another": lambda x, s, b: (
        (x - mean(x)) / jnp.sqrt((2 * x).var(-1, keepdims=True) + 1e-3) * s + b
    ),
    "mean of another": lambda x, s, b: (
        (x - mean(2 * x)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-3) * s + b
    ),
    "one degree of freedom": lambda x, s, b: (
        (x - mean(x)) / jnp.sqrt(x.var(-1, keepdims=True, ddof=1) + 1e-3) * s + b
    ),
    "multiplied by the deviation": lambda x, s, b: (
        (x - mean(x)) * jnp.sqrt(x.var(-1, keepdims=True) + 1e-3) * s + b
    ),
    "divided by the scale": lambda x, s, b: (
        (x - mean(x)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-3) / s + b
    ),
    "a number for a scale": lambda x, s, b: (
        (x - mean(x)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-3) * 2 + b
    ),
    "root mean square": lambda x, s, b: x / jnp.sqrt(mean(x * x) + 1e-3) * s + b,
}


def arrays(*shape: int) -> tuple[np.ndarray, ...]:
    """Data far from 0, a scale and a bias."""
    return normal(*shape) * 3 + 1, normal(shape[-1], seed=1) + 2, normal(shape[-1], seed=2)


@pytest.mark.parametrize("shape", [(4, 4), (2, 5, 8), (2, 3, 4, 5)], ids=str)
@pytest.mark.parametrize("name", FORMS)
def test_one_operator(name: str, shape: tuple[int, ...]) -> None:
    args = arrays(*shape)
    model = to_onnx(FORMS[name], args, dynamic_shapes={})
    assert operators(model) == ["LayerNormalization"]
    np.testing.assert_allclose(run(model, args)[0], FORMS[name](*args), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", FORMS)
def test_symbolic_sizes(name: str) -> None:
    shapes = ({0: "b", 1: "t"}, {}, {})
    model = to_onnx(FORMS[name], arrays(2, 3, 8), dynamic_shapes=shapes)
    assert operators(model) == ["LayerNormalization"]
    for batch, length in ((1, 7), (3, 1)):
        args = arrays(batch, length, 8)
        np.testing.assert_allclose(run(model, args)[0], FORMS[name](*args), rtol=2e-5, atol=2e-5)


def test_without_a_bias() -> None:
    args = arrays(3, 8)[:2]
    model = to_onnx(lambda x, s: two_steps(x, s, 0 * s)[:, :], args, dynamic_shapes={})
    assert "LayerNormalization" in operators(model)
    plain = to_onnx(
        lambda x, s: (x - mean(x)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-3) * s,
        args,
        dynamic_shapes={},
    )
    assert operators(plain) == ["LayerNormalization"]
    zeros = np.zeros(8, np.float32)
    np.testing.assert_allclose(run(plain, args)[0], two_steps(*args, zeros), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", DOES_NOT)
def test_left_as_it_is(name: str) -> None:
    args = arrays(4, 4)
    model = to_onnx(DOES_NOT[name], args, dynamic_shapes={})
    assert "LayerNormalization" not in operators(model)
    np.testing.assert_allclose(run(model, args)[0], DOES_NOT[name](*args), rtol=2e-5, atol=2e-5)


def test_double_precision_stays_exact() -> None:
    with jax.enable_x64(True):
        args = tuple(a.astype(np.float64) for a in arrays(3, 8))
        model = to_onnx(two_steps, args, dynamic_shapes={})
        assert "LayerNormalization" not in operators(model)
        np.testing.assert_allclose(run(model, args)[0], two_steps(*args), rtol=1e-12, atol=1e-12)
