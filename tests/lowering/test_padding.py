"""SAME padding: known and run-time sizes give the numbers of TensorFlow's rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.lowering.running import run
from yobx.lowering.padding import Window, explicit_pads, pad_spatial, same_pads
from yobx.lowering.shapes import join_dims
from yobx.xbuilder import GraphBuilder


def rule(size: int, stride: int, reach: int) -> tuple[int, int]:
    windows = (size + stride - 1) // stride
    total = max((windows - 1) * stride + reach - size, 0)
    return total // 2, total - total // 2


@pytest.mark.parametrize("size", [1, 2, 5, 7, 8, 11])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize(("kernel", "dilation"), [(1, 1), (2, 1), (3, 1), (3, 2), (5, 3)])
def test_same_pads(size: int, stride: int, kernel: int, dilation: int) -> None:
    window = Window((kernel,), (stride,), (dilation,))
    want = rule(size, stride, (kernel - 1) * dilation + 1)
    g = GraphBuilder(21)
    g.make_tensor_input("x", np.float32, [1, 1, size])
    assert same_pads(g, "x", [2], window) == [want]

    def build(inner: GraphBuilder, x: str) -> Any:
        (pair,) = same_pads(inner, x, [2], window)
        return inner.op.Identity(join_dims(inner, pair))

    (got,) = run(build, np.zeros((1, 1, size), np.float32))
    assert tuple(got) == want


def test_reach_and_order() -> None:
    window = Window((3, 1), (1, 1), (2, 5))
    assert window.reach == (5, 1)
    assert explicit_pads([(1, 2), (3, 4)]) == [1, 3, 2, 4]


def test_pad_spatial_emits_nothing_for_no_padding() -> None:
    g = GraphBuilder(21)
    g.make_tensor_input("x", np.float32, [1, 1, 3])
    assert pad_spatial(g, "x", [2], [(0, 0)]) == "x"
