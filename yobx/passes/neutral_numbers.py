"""Numbers of float64 that onnxruntime must not take for zero or one.

It removes sums with 0 and products with 1, and reads the number as float32 to find them: of a
product with ``1 + 1e-9`` nothing is left.
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from yobx.passes.graph_edit import GraphEditor, constant, graphs_of, known_dims

__all__ = ["keep_neutral_numbers"]

_NEUTRAL = {"Add": 0.0, "Sub": 0.0, "Mul": 1.0, "Div": 1.0}
_COMMUTES = frozenset(("Add", "Mul"))


def keep_neutral_numbers(model: ir.Model) -> None:
    """Writes sums with such numbers as Sum, and products in two exact steps.

    Args:
        model: Model, changed in place.
    """
    editor: GraphEditor | None = None
    for graph in graphs_of(model):
        for node in list(graph):
            place = _place(node)
            if place is None:
                continue
            editor = editor or GraphEditor(model)
            _rewrite(editor, graph, node, place)


def _place(node: ir.Node) -> int | None:
    """Which input is a number that only float32 takes for neutral."""
    neutral = _NEUTRAL.get(node.op_type)
    if neutral is None or node.domain not in ("", "ai.onnx"):
        return None
    for place in (0, 1) if node.op_type in _COMMUTES else (1,):
        array = constant(node.inputs[place])
        if array is None or array.size != 1 or array.dtype != np.float64:
            continue
        number = array.reshape(-1)[0]
        if number != neutral and np.float32(number) == np.float32(neutral):
            return place
    return None


def _rewrite(editor: GraphEditor, graph: ir.Graph, node: ir.Node, place: int) -> None:
    number = constant(node.inputs[place])
    other = node.inputs[1 - place]
    if number is None or other is None:
        return
    if node.op_type in ("Add", "Sub"):
        summand = number if node.op_type == "Add" else -number
        node.op_type = "Sum"
        node.replace_input_with(0, other)
        node.replace_input_with(1, editor.add_constant(summand, "number"))
        return
    # A power of two leaves the digits as they are.
    factor = number / 2 if node.op_type == "Mul" else number * 2
    first = editor.make_node(
        node.op_type,
        [other, editor.add_constant(factor, "number")],
        like=node,
        hint=f"{node.outputs[0].name}/scaled",
        dtype=ir.DataType.DOUBLE,
        shape=known_dims(node.outputs[0]),
    )
    graph.insert_before(node, first)
    node.op_type = "Mul"
    node.replace_input_with(0, first.outputs[0])
    node.replace_input_with(1, editor.add_constant(np.array(2.0), "two"))
