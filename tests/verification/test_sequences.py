"""Outputs that are sequences: what rounding explains is measured of every tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from yobx.verification import check_conversion

Array = NDArray[Any]
RNG = np.random.default_rng(0)
W = (RNG.standard_normal((16, 8)) / 4).astype(np.float32)
X = RNG.standard_normal((6, 16)).astype(np.float32)


def network(nodes: Sequence[onnx.NodeProto], **weights: Any) -> onnx.ModelProto:
    before = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Tanh", ["a"], ["b"]),
    ]
    tensors = [numpy_helper.from_array(a, name) for name, a in {"w": W, **weights}.items()]
    graph = helper.make_graph(
        [*before, *nodes],
        "net",
        [helper.make_tensor_value_info("x", 1, ["B", 16])],
        [helper.make_tensor_sequence_value_info("y", 1, ["B", None])],
        tensors,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def hidden(x: Array) -> Array:
    return np.asarray(np.tanh(x @ W))


def pair(large: float, small: float) -> onnx.ModelProto:
    nodes = [
        helper.make_node("Mul", ["b", "p"], ["c"]),
        helper.make_node("Mul", ["b", "q"], ["d"]),
        helper.make_node("SequenceConstruct", ["c", "d"], ["y"]),
    ]
    return network(nodes, p=np.float32(large), q=np.float32(small))


def test_tensors_of_a_sequence_may_differ_in_shape() -> None:
    split = network(
        [helper.make_node("SplitToSequence", ["b", "s"], ["y"], axis=1)], s=np.array([3, 5])
    )
    report = check_conversion(
        split, (X,), reference=lambda x: [[hidden(x)[:, :3], hidden(x)[:, 3:]]]
    )
    assert report.passed, report.text()
    assert "measured deviations" in report.outputs[0].rule


@pytest.mark.parametrize(("off", "passed"), [(1.0, True), (1.05, False), (1.001, False)])
@pytest.mark.parametrize(("large", "small"), [(1e6, 0.1), (1.0, 1e-4)])
def test_a_small_tensor_is_not_allowed_what_a_large_one_is(
    large: float, small: float, off: float, passed: bool
) -> None:
    def reference(x: Array) -> list[list[Array]]:
        return [[hidden(x) * np.float32(large), hidden(x) * np.float32(small)]]

    report = check_conversion(pair(large, small * off), (X,), reference=reference, localize=False)
    assert report.passed == passed, report.text()
    if not passed:
        assert report.outputs[0].name == "y[1]"
