"""Relu, Min and Max with constants, as one Clip."""

from __future__ import annotations

import math

import numpy as np
import onnx_ir as ir

from yobx.passes.graph_edit import GraphEditor, graphs_of, scalar_constant

__all__ = ["merge_clips"]


def merge_clips(model: ir.Model) -> None:
    """Merges ``Min(Relu(x), 6)``, ``Max(Min(x, b), a)`` and the like into Clip.

    Args:
        model: Model, changed in place.
    """
    if model.opset_imports.get("", 0) < 11:
        return  # the bounds of Clip are attributes
    editor: GraphEditor | None = None
    for graph in graphs_of(model):
        for node in list(graph):
            outer = _bounds(node)
            source = None if outer is None else outer[0]
            before = source.producer() if source is not None else None
            if source is None or before is None or before.graph is not graph or outer is None:
                continue
            inner = _bounds(before)
            if inner is None or source.is_graph_output() or len(source.uses()) != 1:
                continue
            low, high = max(inner[1], outer[1]), min(inner[2], outer[2])
            if low > high or (math.isinf(low) and math.isinf(high)):
                continue
            editor = editor or GraphEditor(model)
            _to_clip(editor, node, inner[0], low, high)


Bounds = tuple[ir.Value, float, float]


def _bounds(node: ir.Node) -> Bounds | None:
    """Reads a node as "clip this value between these bounds"."""
    first = node.inputs[0] if node.inputs else None
    if node.domain not in ("", "ai.onnx") or first is None:
        return None
    if node.outputs[0].dtype not in (ir.DataType.FLOAT, ir.DataType.DOUBLE):
        return None
    if node.op_type == "Relu":
        return first, 0.0, math.inf
    if node.op_type == "Clip":
        return _clip_bounds(node, first)
    return _extremum_bounds(node)


def _clip_bounds(node: ir.Node, first: ir.Value) -> Bounds | None:
    limits = [-math.inf, math.inf]
    for place, value in enumerate(node.inputs[1:]):
        if value is not None:
            limit = scalar_constant(value)
            if limit is None:
                return None
            limits[place] = limit
    return first, limits[0], limits[1]


def _extremum_bounds(node: ir.Node) -> Bounds | None:
    if node.op_type not in ("Min", "Max") or len(node.inputs) != 2:
        return None
    for value, other in (node.inputs, node.inputs[::-1]):
        limit = scalar_constant(other)
        if limit is not None and value is not None and _same_rank(value, node.outputs[0]):
            if node.op_type == "Min":
                return value, -math.inf, limit
            return value, limit, math.inf
    return None


def _same_rank(value: ir.Value, output: ir.Value) -> bool:
    return (
        value.shape is not None
        and output.shape is not None
        and value.shape.rank() == output.shape.rank()
    )


def _to_clip(editor: GraphEditor, node: ir.Node, source: ir.Value, low: float, high: float) -> None:
    dtype = node.outputs[0].dtype
    if dtype is None:
        return
    limits = [
        None if math.isinf(limit) else editor.add_constant(np.array(limit, dtype=dtype.numpy()))
        for limit in (low, high)
    ]
    if limits[1] is None:
        limits.pop()
    if low == 0.0 and len(limits) == 1:
        node.op_type, limits = "Relu", []
    else:
        node.op_type = "Clip"
    node.attributes.clear()
    node.resize_inputs(1 + len(limits))
    node.replace_input_with(0, source)
    for place, limit in enumerate(limits):
        node.replace_input_with(place + 1, limit)
