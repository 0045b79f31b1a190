"""Division and remainder against numpy, at the edges of every width."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort
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


@settings(deadline=None, max_examples=60)
@given(
    size=st.integers(0, 200),
    shift=st.integers(-70, 70),
    divisor=st.integers(1, 40),
    factor=st.sampled_from([-1, 1, 3]),
)
def test_sizes_are_divided_without_asking_for_signs(
    size: int, shift: int, divisor: int, factor: int
) -> None:
    g = GraphBuilder({"": 21})
    g.make_tensor_input("X", "float32", ("n",))
    size_of = g.op.Squeeze(g.op.Shape("X"), np.array([0]))
    moved = g.op.Add(g.op.Mul(size_of, np.array(factor)), np.array(shift))
    quotient = floor_divide(g, moved, str(g.make_initializer("by", np.array(divisor))))
    g.make_tensor_output("Y", source=quotient)
    model = g.to_onnx()
    session = ort.InferenceSession(model.SerializeToString())
    (got,) = session.run(None, {"X": np.zeros(size, np.float32)})
    assert got == (factor * size + shift) // divisor
    expected_ops = {"Shape", "Squeeze", "Mul", "Add", "Div", "Sub", "Neg"}
    assert {node.op_type for node in model.graph.node} <= expected_ops


def test_quotients_of_16_bits_are_rounded_before_they_are_cut_off() -> None:
    tenths = np.array([i / 10 for i in range(-30, 31)], np.float16)
    x, y = (side.ravel() for side in np.meshgrid(tenths, tenths[tenths != 0]))
    quotient = (x.astype(np.float32) / y.astype(np.float32)).astype(np.float16).astype(np.float32)
    floor, cut = run(lambda g, a, b: [floor_divide(g, a, b), truncate_divide(g, a, b)], x, y)
    np.testing.assert_array_equal(floor.astype(np.float32), np.floor(quotient))
    np.testing.assert_array_equal(cut.astype(np.float32), np.trunc(quotient))
