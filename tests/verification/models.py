"""Small ONNX models, and mutations that a comparison must catch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Shape = Sequence[int | str | None]


def value(name: str, shape: Shape, dtype: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    weights: dict[str, NDArray[Any]] | None = None,
    opset: int = 21,
) -> onnx.ModelProto:
    tensors = [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]
    graph = helper.make_graph(list(nodes), "net", list(inputs), list(outputs), tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def unary(op_type: str, shape: Shape = ("B", 4), **attributes: Any) -> onnx.ModelProto:
    node = helper.make_node(op_type, ["x"], ["y"], **attributes)
    return model([node], [value("x", shape)], [value("y", shape)])


def network(depth: int = 3, width: int = 16, *, square: bool = True) -> onnx.ModelProto:
    """Dense, normalise, rectify; a softmax at the end. Weights are scaled by fan-in."""
    rng = np.random.default_rng(7)
    nodes, weights, current = [], {}, "x"
    for i in range(depth):
        weights[f"w{i}"] = rng.standard_normal((width, width)) * np.sqrt(2.0 / width)
        weights[f"scale{i}"] = 1.0 + 0.1 * rng.standard_normal(width)
        weights[f"bias{i}"] = 0.1 * rng.standard_normal(width)
        weights[f"mean{i}"] = 0.1 * rng.standard_normal(width)
        weights[f"var{i}"] = 1.0 + 0.3 * rng.random(width)
        names = [f"d{i}", f"scale{i}", f"bias{i}", f"mean{i}", f"var{i}"]
        nodes += [
            helper.make_node("MatMul", [current, f"w{i}"], [f"d{i}"], name=f"dense{i}"),
            helper.make_node("BatchNormalization", names, [f"n{i}"], name=f"bn{i}", epsilon=1e-3),
            helper.make_node("Relu", [f"n{i}"], [f"r{i}"], name=f"relu{i}"),
        ]
        current = f"r{i}"
    nodes.append(helper.make_node("Softmax", [current], ["y"], name="probabilities"))
    arrays = {name: array.astype(np.float32) for name, array in weights.items()}
    return model(nodes, [value("x", ["B", width])], [value("y", ["B", width])], arrays)


def copied(original: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(original)
    return copy


def node_of(target: onnx.ModelProto, name: str) -> onnx.NodeProto:
    return next(node for node in target.graph.node if name in {node.name, *node.output})


def set_weight(target: onnx.ModelProto, name: str, array: NDArray[Any]) -> None:
    tensor = next(t for t in target.graph.initializer if t.name == name)
    tensor.CopyFrom(numpy_helper.from_array(array, name))


def weight(target: onnx.ModelProto, name: str) -> NDArray[Any]:
    tensor = next(t for t in target.graph.initializer if t.name == name)
    return np.array(numpy_helper.to_array(tensor))
