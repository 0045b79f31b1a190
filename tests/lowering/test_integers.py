"""Division and remainder against numpy, at the edges of every width."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lowering.running import run
from yobx.lowering.integers import (
    floor_divide,
    floor_modulo,
    truncate_divide,
    truncate_modulo,
)
from yobx.xbuilder import GraphBuilder

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def all_four(g: GraphBuilder, x: str, y: str) -> Any:
    return (
        floor_divide(g, x, y),
        floor_modulo(g, x, y),
        truncate_divide(g, x, y),
        truncate_modulo(g, x, y),
    )


def expected(x: Any, y: Any) -> list[Any]:
    with np.errstate(over="ignore"):
        floor, modulo, remainder = np.floor_divide(x, y), np.mod(x, y), np.fmod(x, y)
        truncated = np.where((modulo != 0) & ((x < 0) != (y < 0)), floor + 1, floor)
    return [floor, modulo, truncated.astype(x.dtype), remainder]


@pytest.mark.parametrize("dtype", INTEGERS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_integers(dtype: str, data: st.DataObject) -> None:
    limits = np.iinfo(dtype)
    numbers = st.integers(int(limits.min), int(limits.max))
    count = data.draw(st.integers(1, 6))
    x = np.array(data.draw(st.lists(numbers, min_size=count, max_size=count)), dtype)
    nonzero = numbers.filter(bool)
    y = np.array(data.draw(st.lists(nonzero, min_size=count, max_size=count)), dtype)
    for got, want in zip(run(all_four, x, y), expected(x, y), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_the_smallest_number_by_minus_one_wraps(dtype: str) -> None:
    low = np.array([np.iinfo(dtype).min], dtype)
    floor, modulo, truncated, remainder = run(all_four, low, np.array([-1], dtype))
    assert floor == truncated == low
    assert modulo == remainder == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats(dtype: str) -> None:
    x = np.array([7, -7, 7, -7, 5, -5, 0, 3.5], dtype)
    y = np.array([2, 2, -2, -2, np.inf, np.inf, 5, -0.5], dtype)
    got = run(all_four, x, y)
    np.testing.assert_array_equal(got[0], np.floor(x / y))
    np.testing.assert_array_equal(got[1], np.mod(x, y))
    np.testing.assert_array_equal(got[2], np.trunc(x / y))
    np.testing.assert_array_equal(got[3], np.fmod(x, y))
