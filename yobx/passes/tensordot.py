"""A MatMul of a flattened value, without the reshapes around it."""

from __future__ import annotations

import onnx_ir as ir

from yobx.passes.graph_edit import GraphEditor, graphs_of, known_dims, rank_of

__all__ = ["unflatten_matmul"]


def unflatten_matmul(model: ir.Model) -> None:
    """Turns Reshape - MatMul - Reshape into the MatMul of the value as it is.

    Frameworks flatten all axes but the last one before a dense layer and restore them after it;
    MatMul does that by itself.

    Args:
        model: Model, changed in place.
    """
    for graph in graphs_of(model):
        for node in list(graph):
            if node.op_type != "MatMul" or node.domain or node.graph is not graph:
                continue
            before = node.inputs[0].producer() if node.inputs[0] is not None else None
            uses = list(node.outputs[0].uses())
            if before is None or before.op_type != "Reshape" or len(uses) != 1:
                continue
            after = uses[0][0]
            if after.op_type != "Reshape" or uses[0][1] != 0 or after.graph is not graph:
                continue
            if node.outputs[0].is_graph_output() or not _restores(before, node, after):
                continue
            node.replace_input_with(0, before.inputs[0])
            node.outputs[0].shape = after.outputs[0].shape
            GraphEditor.replace(after.outputs[0], node.outputs[0])
            graph.remove(after, safe=True)


def _restores(before: ir.Node, node: ir.Node, after: ir.Node) -> bool:
    """Whether the axes in front are the same before and after, and the last one is kept."""
    original, flat = known_dims(before.inputs[0]), known_dims(before.outputs[0])
    restored, weights = known_dims(after.outputs[0]), known_dims(node.inputs[1])
    if original is None or flat is None or restored is None or weights is None:
        return False
    if rank_of(node.inputs[0]) != 2 or len(weights) != 2 or len(original) < 3:
        return False
    return (
        None not in original
        and original[-1] == flat[-1]
        and restored[:-1] == original[:-1]
        and restored[-1] == weights[-1]
    )
