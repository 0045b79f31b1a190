"""Parts of arrays whose sizes are symbolic: cut, changed and turned, at all small sizes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.stablehlo.jax_cases import normal, operators, run
from yobx.errors import UnsupportedAttributeError
from yobx.jax import to_onnx
from yobx.verification import check_conversion

SIZES = list(itertools.product(range(1, 6), (1, 2, 5)))
BOTH = ({0: "n", 1: "m"},)

# with the largest number of nodes; what is not written out is not needed
CUTS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "1:-1, ::-1": (lambda x: x[1:-1, ::-1], 2),
    "None, 1:, ::-1": (lambda x: x[None, 1:, ::-1], 3),
    "2::3, ::2": (lambda x: x[2::3, ::2], 1),
    "1:-1:2": (lambda x: x[1:-1:2], 1),
    ":-2:3": (lambda x: x[:-2:3], 1),
    "2:-1, ::-1": (lambda x: x[2:-1, ::-1], 2),
    "::-2": (lambda x: x[::-2], 3),
    "1::2, ::-3": (lambda x: x[1::2, ::-3], 3),
    "roll": (lambda x: jnp.roll(x, 1, 0), 3),
    "roll far": (lambda x: jnp.roll(x, -2, 1), 10),
    "roll both": (lambda x: jnp.roll(x, (1, 1), (0, 1)), 6),
    "roll flat": (lambda x: jnp.roll(x, 1), 6),
}
CHANGES: dict[str, tuple[Callable[[Any], Any], int]] = {
    "set inside": (lambda x: x.at[1:-1].set(2.0), 7),
    "set inside to values": (lambda x: x.at[1:-1].set(x[1:-1] * 2), 6),
    "set from the third to the last but one": (lambda x: x.at[2:-1].set(-1.0), 7),
    "add to columns": (lambda x: x.at[:, 1:].add(1.0), 4),
    "add columns": (lambda x: x.at[:, 1:].add(x[:, :-1]), 5),
    "set both": (lambda x: x.at[1:, 1:].set(0.0), 9),
    "add a block": (lambda x: x.at[1:, :-1].add(x[:-1, 1:]), 8),
    "least of the first rows": (lambda x: x.at[:3].min(x[:3] * 2), 5),
    "column of a part": (lambda x: x.at[1:-1, 0].multiply(3.0), 12),
    "column of a part to values": (lambda x: x.at[1:, 0].set(x[1:, -1]), 10),
    "set the last row": (lambda x: x.at[-1].set(3.0), 3),
    "greatest of a column": (lambda x: x.at[:, 0].max(0.5), 5),
    "every second row": (lambda x: x.at[::2].multiply(2.0), 20),
    "every third column": (lambda x: x.at[:, 1::3].set(0.0), 24),
    "update slice": (lambda x: lax.dynamic_update_slice(x, x[:1] * 2, (1, 0)), 9),
}


def check(function: Callable[[Any], Any], nodes: int, make: Callable[..., Any] = normal) -> None:
    model = to_onnx(function, (make(3, 4),), dynamic_shapes=BOTH)
    assert len(operators(model)) <= nodes, operators(model)
    for n, m in SIZES:
        x = make(n, m)
        got, want = run(model, (x,))[0], np.asarray(jax.jit(function)(x))
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-6, err_msg=str((n, m)))


@pytest.mark.parametrize("name", CUTS)
def test_cuts(name: str) -> None:
    check(*CUTS[name])


@pytest.mark.parametrize("name", CHANGES)
def test_changes(name: str) -> None:
    check(*CHANGES[name])


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16"])
def test_changes_of_other_types(dtype: str) -> None:
    def make(n: int, m: int) -> np.ndarray:
        return np.asarray(normal(n, m) * 3).astype(dtype)

    check(lambda x: x.at[1:-1].set(x[1:-1] * x[:1]), 9, make)
    check(lambda x: x.at[1:].max(x[:-1]), 9, make)


def test_changes_of_complex_numbers() -> None:
    def function(x: jax.Array) -> jax.Array:
        return x.at[1:-1].add(2j).at[1:].set(0)

    x = (normal(5, 3) + 1j).astype(np.complex64)
    check_conversion(function, (jnp.asarray(x),), dynamic_shapes=({0: "n"},)).raise_if_failed()


def test_a_block_that_may_not_fit_is_refused() -> None:
    numbers = lax.ScatterDimensionNumbers((0, 1), (), (0,))

    def function(x: jax.Array) -> jax.Array:
        return lax.scatter(x, jnp.array([1]), x * 2, numbers)

    with pytest.raises(UnsupportedAttributeError, match="window of symbolic size"):
        to_onnx(function, (normal(5, 3),), dynamic_shapes=({0: "n"},))


def test_half_of_the_size() -> None:
    model = to_onnx(lambda x: x[1::2], (normal(5, 3),), dynamic_shapes=({0: "m"},))
    assert model.graph.output[0].type.tensor_type.shape.dim[0].dim_param == "m//2"


def test_a_symbolic_number_of_windows_in_a_sum() -> None:
    x = np.array([3, 1, 3, 7, 1], np.int32)
    check_conversion(
        lambda x: jnp.unique(x, size=4, fill_value=-1),
        (jnp.asarray(x),),
        dynamic_shapes=({0: "n"},),
    ).raise_if_failed()
