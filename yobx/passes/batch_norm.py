"""A scale and an offset by channel, as BatchNormalization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from yobx.passes.convolutions import per_channel
from yobx.passes.graph_edit import GraphEditor, constant, graphs_of, known_dims, rank_of

__all__ = ["affine_to_batch_norm"]

Array = npt.NDArray[Any]


def affine_to_batch_norm(model: ir.Model) -> None:
    """Turns ``x * scale + offset`` by channel (axis 1) into BatchNormalization.

    For what could not be folded into a convolution: runtimes keep their blocked layout across a
    BatchNormalization and leave it for a Mul by a vector. To be run after the folding.

    Args:
        model: Model, changed in place.
    """
    if model.opset_imports.get("", 0) < 14:
        return
    editor: GraphEditor | None = None
    for graph in graphs_of(model):
        for node in list(graph):
            if node.graph is not graph or node.op_type != "Mul" or node.domain:
                continue
            found = _match(graph, node)
            if found is not None:
                editor = editor or GraphEditor(model)
                _replace(editor, graph, node, found)


@dataclass(frozen=True)
class _Affine:
    """``mul.inputs[index] * scale + offset``, the result of ``add``."""

    index: int
    add: ir.Node
    scale: Array
    offset: Array


def _match(graph: ir.Graph, mul: ir.Node) -> _Affine | None:
    output = mul.outputs[0]
    uses = list(output.uses())
    rank = rank_of(output)
    if rank not in (3, 4, 5) or output.dtype != ir.DataType.FLOAT:
        return None
    if output.is_graph_output() or len(uses) != 1 or len(mul.inputs) != 2:
        return None
    add, place = uses[0]
    if add.op_type != "Add" or add.domain or add.graph is not graph:
        return None
    offset = per_channel(constant(add.inputs[1 - place]), rank)
    for index in (0, 1):
        scale = per_channel(constant(mul.inputs[1 - index]), rank)
        dims = known_dims(mul.inputs[index])
        if scale is None or offset is None or dims is None or len(dims) != rank:
            continue
        channels = dims[1]
        if isinstance(channels, int) and channels > 1 and scale.size == offset.size == channels:
            return _Affine(index, add, scale, offset)
    return None


def _replace(editor: GraphEditor, graph: ir.Graph, mul: ir.Node, found: _Affine) -> None:
    source = mul.inputs[found.index]
    scale, offset = found.scale, found.offset
    zeros = np.zeros(scale.size, dtype=np.float32)
    inputs = [scale.astype(np.float32), offset.astype(np.float32), zeros, zeros + 1]
    mul.op_type = "BatchNormalization"
    mul.attributes.clear()
    mul.attributes["epsilon"] = ir.AttrFloat32("epsilon", 0.0)
    mul.resize_inputs(5)
    mul.replace_input_with(0, source)
    for place, array in enumerate(inputs):
        mul.replace_input_with(place + 1, editor.add_constant(array, "channel"))
    editor.replace(found.add.outputs[0], mul.outputs[0])
    graph.remove(found.add, safe=True)
