"""Sums over windows that are divided by their size are ``AveragePool``."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.stablehlo.jax_cases import normal, operators, run
from yobx.jax import to_onnx


def sums(x: Any, window: tuple[int, ...], strides: tuple[int, ...], padding: str) -> Any:
    """Sums over windows of NHWC data."""
    return lax.reduce_window(x, 0.0, lax.add, (1, *window, 1), (1, *strides, 1), padding)


def averages(
    x: Any, window: tuple[int, ...], strides: tuple[int, ...], padding: str, *, inside: bool
) -> Any:
    """Averages over all of a window, or over what lies inside."""
    total = sums(x, window, strides, padding)
    if inside:
        return total / sums(jnp.ones(x.shape, x.dtype), window, strides, padding)
    return total / np.prod(window)


@pytest.mark.parametrize("inside", [True, False], ids=["inside", "whole"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(
    ("shape", "window", "strides"),
    [
        ((2, 8, 7, 3), (2, 3), (2, 1)),
        ((2, 9, 3), (3,), (2,)),
        ((1, 4, 5, 6, 2), (2, 2, 2), (1, 2, 2)),
    ],
    ids=["2d", "1d", "3d"],
)
def test_one_operator(shape: Any, window: Any, strides: Any, padding: str, inside: bool) -> None:
    x = normal(*shape)

    def function(x: jax.Array) -> Any:
        return averages(x, window, strides, padding, inside=inside)

    model = to_onnx(function, (x,), dynamic_shapes={})
    assert set(operators(model)) == {"Transpose", "AveragePool"}
    np.testing.assert_allclose(run(model, (x,))[0], function(x), rtol=1e-5, atol=1e-6)
    if inside:
        return
    model = to_onnx(function, (x,), dynamic_shapes=({0: "n"},))
    assert set(operators(model)) == {"Transpose", "AveragePool"}
    x = normal(3, *shape[1:], seed=1)
    np.testing.assert_allclose(run(model, (x,))[0], function(x), rtol=1e-5, atol=1e-6)


DOES_NOT = {
    "another number": lambda x: sums(x, (2, 2), (2, 2), "SAME") / 3,
    "maximum": lambda x: (
        lax.reduce_window(jnp.int32(x * 9), -99, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME") / 4
    ),
    "another start": lambda x: (
        lax.reduce_window(x, 1.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4
    ),
    "counts of other windows": lambda x: (
        sums(x, (2, 2), (2, 2), "SAME") / sums(jnp.ones(x.shape), (2, 1), (2, 2), "SAME")
    ),
    "counts of twos": lambda x: (
        sums(x, (2, 2), (2, 2), "SAME") / sums(2 * jnp.ones(x.shape), (2, 2), (2, 2), "SAME")
    ),
}


@pytest.mark.parametrize("name", DOES_NOT)
def test_left_as_it_is(name: str) -> None:
    x = normal(2, 7, 8, 3)
    model = to_onnx(DOES_NOT[name], (x,), dynamic_shapes={})
    assert "AveragePool" not in operators(model)
    np.testing.assert_allclose(run(model, (x,))[0], DOES_NOT[name](x), rtol=1e-5, atol=1e-6)
