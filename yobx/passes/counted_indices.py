"""Counted indices that onnxruntime must not take for a Slice.

From its second level of optimisation on, it turns Gather by a Range into a Slice with the same
start, end and step. A Slice counts a negative start or end from the back, which a Range does not:
the rows ``3, 2, 1, 0`` of ``Range(3, -1, -1)`` become none at all.
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from yobx.passes.graph_edit import GraphEditor, graphs_of, known_dims, producer_of, scalar_constant

__all__ = ["keep_counted_indices"]

# What hands on sizes that are read by Shape, as they are.
_HAND_ON = frozenset(("Cast", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Unsqueeze"))


def keep_counted_indices(model: ir.Model) -> None:
    """Puts a node that changes nothing between a Range and a Gather that Slice would not equal.

    It is a maximum with the least integer, which onnxruntime leaves alone.

    Args:
        model: Model, changed in place.
    """
    editor: GraphEditor | None = None
    for graph in graphs_of(model):
        for node in list(graph):
            if node.op_type != "Gather" or node.domain not in ("", "ai.onnx"):
                continue
            indices = node.inputs[1]
            span = producer_of(indices, "Range")
            if indices is None or span is None or indices.dtype is None or _is_slice(span):
                continue
            editor = editor or GraphEditor(model)
            kind = indices.dtype.numpy()
            least = editor.add_constant(np.array(np.iinfo(kind).min, kind))
            kept = editor.make_node(
                "Max",
                [indices, least],
                like=span,
                hint=f"{indices.name}/counted",
                dtype=indices.dtype,
                shape=known_dims(indices),
            )
            graph.insert_before(node, kept)
            node.replace_input_with(1, kept.outputs[0])


def _is_slice(span: ir.Node) -> bool:
    """Whether a Range counts up from and to numbers that surely are not negative."""
    start, limit, step = span.inputs
    return (scalar_constant(step) or 0) > 0 and _not_negative(start) and _not_negative(limit)


def _not_negative(value: ir.Value | None) -> bool:
    known = scalar_constant(value)
    if known is not None:
        return known >= 0
    node = None if value is None else value.producer()
    while node is not None and node.op_type in _HAND_ON and not node.domain:
        source = node.inputs[0]
        node = None if source is None else source.producer()
    return node is not None and node.op_type in ("Shape", "Size") and not node.domain
