"""Element types and rough sizes of the values of a model."""

from __future__ import annotations

import math
from dataclasses import dataclass

import onnx
from onnx import helper

from yobx.onnx_optim import infer_shapes
from yobx.verification.error_classes import subgraphs

__all__ = ["ValueType", "value_types"]

_SYMBOLIC_SIZE = 16  # what a size that is no number counts as


@dataclass(frozen=True)
class ValueType:
    """What is stated about a value.

    Attributes:
        dtype: Its ONNX element type.
        elements: Roughly how many elements it has; one where its rank is unknown.
    """

    dtype: int
    elements: int

    @property
    def nbytes(self) -> int:
        """Roughly how many bytes it takes."""
        return self.elements * int(helper.tensor_dtype_to_np_dtype(self.dtype).itemsize)


def value_types(model: onnx.ModelProto) -> dict[str, ValueType]:
    """Element type and size of every value, bodies of control flow included.

    Weights are replaced by inputs first, so that a large model is not serialised.
    """
    light = onnx.ModelProto()
    light.ir_version = model.ir_version
    light.opset_import.extend(model.opset_import)
    light.functions.extend(model.functions)
    graph = light.graph
    graph.name = model.graph.name
    graph.node.extend(model.graph.node)
    graph.input.extend(model.graph.input)
    graph.output.extend(onnx.ValueInfoProto(name=o.name) for o in model.graph.output)
    known = {value.name for value in graph.input}
    for tensor in model.graph.initializer:
        if tensor.name not in known:
            graph.input.append(
                helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            )
    inferred = infer_shapes(light, inplace=True)  # onnx's own ends the process on string splits
    types: dict[str, ValueType] = {}
    _collect(model.graph, types)  # what the model states, where nothing can be inferred
    _collect(inferred.graph, types)
    return types


def _collect(graph: onnx.GraphProto, types: dict[str, ValueType]) -> None:
    for value in (*graph.input, *graph.value_info, *graph.output):
        tensor = value.type.tensor_type
        if tensor.elem_type:
            sizes = [dim.dim_value or _SYMBOLIC_SIZE for dim in tensor.shape.dim]
            types[value.name] = ValueType(tensor.elem_type, math.prod(sizes))
    for initializer in graph.initializer:
        types[initializer.name] = ValueType(initializer.data_type, math.prod(initializer.dims))
    for node in graph.node:
        for body in subgraphs(node):
            _collect(body, types)
