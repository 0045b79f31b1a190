"""Element types of the values of a model."""

from __future__ import annotations

import onnx
from onnx import helper

from yobx.onnx_optim import infer_shapes
from yobx.verification.error_classes import subgraphs

__all__ = ["value_dtypes"]


def value_dtypes(model: onnx.ModelProto) -> dict[str, int]:
    """Element type of every value, bodies of control flow included.

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
    dtypes: dict[str, int] = {}
    _collect(model.graph, dtypes)  # what the model states, where nothing can be inferred
    _collect(inferred.graph, dtypes)
    return dtypes


def _collect(graph: onnx.GraphProto, dtypes: dict[str, int]) -> None:
    for value in (*graph.input, *graph.value_info, *graph.output):
        elem = value.type.tensor_type.elem_type
        if elem:
            dtypes[value.name] = elem
    for tensor in graph.initializer:
        dtypes[tensor.name] = tensor.data_type
    for node in graph.node:
        for body in subgraphs(node):
            _collect(body, dtypes)
