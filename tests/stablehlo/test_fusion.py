"""Patterns: what becomes one operator, and what must not."""

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

SQRT_HALF = float(np.sqrt(0.5))


def _softmax(x: jax.Array, axis: int, over: int) -> jax.Array:
    e = jnp.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(over, keepdims=True)


FIRES: dict[str, tuple[Callable[..., Any], str]] = {
    "gelu": (lambda x: jax.nn.gelu(x, approximate=False), "Gelu"),
    "gelu by hand": (lambda x: 0.5 * x * lax.erfc(-x * SQRT_HALF), "Gelu"),
    "gelu by tanh": (lambda x: jax.nn.gelu(x, approximate=True), "Gelu"),
    "softmax": (lambda x: jax.nn.softmax(x, 1), "Softmax"),
    "softmax by hand": (lambda x: _softmax(x, 0, 0), "Softmax"),
    "log_softmax": (lambda x: jax.nn.log_softmax(x, 1), "LogSoftmax"),
}
DOES_NOT: dict[str, Callable[..., Any]] = {
    "another factor": lambda x: 0.7 * x * lax.erfc(-x * SQRT_HALF),
    "another argument": lambda x: 0.5 * x * lax.erfc(-(x + 1) * SQRT_HALF),
    "the wrong sign": lambda x: 0.5 * x * lax.erfc(x * SQRT_HALF),
    "another scale": lambda x: 0.5 * x * lax.erfc(-x * 0.5),
    "another cube": lambda x: x * 0.5 * (1 + jnp.tanh(0.7978846 * (x + 0.1 * x * x * x))),
    "two axes": lambda x: _softmax(x, 0, 1),
    "sum of another": lambda x: (
        jnp.exp(x - x.max(1, keepdims=True)) / jnp.exp(x).sum(1, keepdims=True)
    ),
    "mean": lambda x: jnp.exp(x) / jnp.exp(x).sum(1, keepdims=True),
}


@pytest.mark.parametrize("name", FIRES)
@pytest.mark.parametrize("opset", [18, 21])
def test_one_operator(name: str, opset: int) -> None:
    function, operator = FIRES[name]
    x = normal(3, 4)
    model = to_onnx(function, (x,), dynamic_shapes={}, target_opset=opset)
    if operator != "Gelu" or opset >= 20:
        assert operators(model) == [operator]
    np.testing.assert_allclose(run(model, (x,))[0], function(x), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", DOES_NOT)
def test_left_as_it_is(name: str) -> None:
    x = normal(3, 4)
    model = to_onnx(DOES_NOT[name], (x,), dynamic_shapes={})
    assert not {"Gelu", "Softmax", "LogSoftmax"} & set(operators(model))
    np.testing.assert_allclose(run(model, (x,))[0], DOES_NOT[name](x), rtol=2e-5, atol=1e-6)
