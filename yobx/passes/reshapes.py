"""Chains of Reshape, Squeeze, Unsqueeze and Flatten as one Reshape; shapes as constants."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from yobx.passes.graph_edit import (
    GraphEditor,
    constant,
    graphs_of,
    int_constant,
    known_dims,
)
from yobx.passes.identities import same_dims

__all__ = ["simplify_reshapes"]

_RESHAPES = frozenset(("Reshape", "Squeeze", "Unsqueeze", "Flatten"))
_BROADCASTING = frozenset(("Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "Where", "Equal"))


def simplify_reshapes(model: ir.Model) -> None:
    """Merges chains of reshapes, writes their targets as constants, drops needless Expands.

    Args:
        model: Model, changed in place.
    """
    editor: GraphEditor | None = None
    for graph in graphs_of(model):
        for node in list(graph):
            if node.domain not in ("", "ai.onnx"):
                continue
            if node.op_type in _RESHAPES:
                editor = editor or GraphEditor(model)
                _simplify(editor, graph, node)
            elif node.op_type == "Expand":
                _drop_expand(node)


def _simplify(editor: GraphEditor, graph: ir.Graph, node: ir.Node) -> None:
    source = node.inputs[0]
    chained = False
    while source is not None:
        before = source.producer()
        if before is None or before.op_type not in _RESHAPES or before.graph is not graph:
            break
        if _may_refuse(before):
            break
        source = before.inputs[0]
        chained = True
    output = node.outputs[0]
    if source is None or _may_refuse(node):
        return
    if chained and same_dims(source, output) and GraphEditor.replace(output, source):
        return
    computed = node.op_type == "Reshape" and constant(node.inputs[1]) is None
    if not chained and not computed:
        return
    target = _target(source, output, undetermined=computed and _leaves_open(node.inputs[1]))
    if target is None:
        return
    node.op_type = "Reshape"
    node.attributes.clear()
    node.resize_inputs(2)
    node.replace_input_with(0, source)
    node.replace_input_with(1, editor.add_constant(np.array(target, dtype=np.int64)))


def _may_refuse(node: ir.Node) -> bool:
    """Whether a Squeeze fails in some run, which a Reshape would give another shape in."""
    if node.op_type != "Squeeze":
        return False
    dims = known_dims(node.inputs[0])
    axes = int_constant(node.inputs[1]) if len(node.inputs) > 1 else None
    return dims is None or axes is None or any(dims[axis] != 1 for axis in axes)


def _leaves_open(target: ir.Value | None) -> bool:
    """Whether a computed target has a -1 for the size that is left."""
    node = None if target is None else target.producer()
    while node is not None and node.op_type == "Cast" and not node.domain:
        source = node.inputs[0]
        node = None if source is None else source.producer()
    if node is None or node.op_type != "Concat" or node.domain:
        return False
    return any(-1 in (int_constant(part) or ()) for part in node.inputs)


def _target(source: ir.Value, output: ir.Value, *, undetermined: bool = False) -> list[int] | None:
    """Writes the output's shape as a constant: -1 for one unknown size, 0 for those kept.

    Args:
        source: What is reshaped.
        output: The result.
        undetermined: Whether the present target fails already where a size is 0.
    """
    mine, wanted = known_dims(source), known_dims(output)
    if wanted is None or 0 in wanted:
        return None
    target: list[int] = []
    for axis, size in enumerate(wanted):
        if isinstance(size, int):
            target.append(size)
        elif size is not None and mine is not None and axis < len(mine) and mine[axis] == size:
            target.append(0)
        else:
            target.append(-1)
    if target.count(-1) == 0 and target.count(0) == 1:
        target[target.index(0)] = -1
    # With a -1 beside it, a kept size that is 0 in some run would leave the -1 undetermined.
    unknown = target.count(-1)
    settled = undetermined or 0 not in target
    return target if unknown == 0 or (unknown == 1 and settled) else None


def _drop_expand(node: ir.Node) -> None:
    """An Expand is needless where its user broadcasts to the same shape anyway."""
    output, source = node.outputs[0], node.inputs[0]
    if source is None or output.is_graph_output():
        return
    for user, index in list(output.uses()):
        others = [value for place, value in enumerate(user.inputs) if place != index]
        if user.op_type in _BROADCASTING and any(same_dims(other, output) for other in others):
            user.replace_input_with(index, source)
