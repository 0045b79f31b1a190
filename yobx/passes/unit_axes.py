"""Transposes moved outside the axes of size 1 that one-dimensional convolutions add and remove."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from yobx.passes.graph_edit import GraphEditor, graphs_of, int_constant, known_dims, rank_of
from yobx.passes.layout import transpose_perm

__all__ = ["transpose_outside_unit_axes"]


def transpose_outside_unit_axes(model: ir.Model) -> None:
    """Rewrites Unsqueeze - Transpose and Transpose - Squeeze so that the Transpose is outside.

    What is between two such convolutions is then transposed at its own rank, where the layout
    can be carried across it.

    Args:
        model: Model, changed in place.
    """
    if model.opset_imports.get("", 0) < 13:
        return  # the axes are attributes
    editor: GraphEditor | None = None
    for graph in graphs_of(model):
        for node in list(graph):
            if node.domain or node.op_type not in ("Transpose", "Squeeze"):
                continue
            before = node.inputs[0].producer() if node.inputs[0] is not None else None
            if before is None or before.graph is not graph or not _only_use(before):
                continue
            editor = editor or GraphEditor(model)
            perm = transpose_perm(node)
            if perm is not None and before.op_type == "Unsqueeze":
                _unsqueeze_last(editor, before, node, perm)
            inner = transpose_perm(before)
            if inner is not None and node.op_type == "Squeeze":
                _squeeze_first(editor, before, node, inner)


def _only_use(node: ir.Node) -> bool:
    output = node.outputs[0]
    return len(output.uses()) == 1 and not output.is_graph_output()


def _axes(node: ir.Node, rank: int) -> list[int] | None:
    given = int_constant(node.inputs[1]) if len(node.inputs) > 1 else None
    return None if given is None else sorted(axis % rank for axis in given)


def _without(perm: Sequence[int], axes: Sequence[int]) -> list[int]:
    """The permutation of the axes that are left when some are taken away."""
    kept = [axis for axis in perm if axis not in axes]
    order = sorted(kept)
    return [order.index(axis) for axis in kept]


def _unsqueeze_last(
    editor: GraphEditor, unsqueeze: ir.Node, transpose: ir.Node, perm: Sequence[int]
) -> None:
    source = unsqueeze.inputs[0]
    axes = _axes(unsqueeze, len(perm))
    if source is None or axes is None:
        return
    new_perm = _without(perm, axes)
    moved = _transposed(editor, source, new_perm, transpose)
    places = sorted(perm.index(axis) for axis in axes)
    transpose.op_type = "Unsqueeze"
    transpose.attributes.clear()
    transpose.resize_inputs(2)
    transpose.replace_input_with(0, moved)
    transpose.replace_input_with(1, editor.add_constant(np.array(places, dtype=np.int64)))


def _squeeze_first(
    editor: GraphEditor, transpose: ir.Node, squeeze: ir.Node, perm: Sequence[int]
) -> None:
    source = transpose.inputs[0]
    axes = _axes(squeeze, len(perm))
    dims = known_dims(source)
    graph = squeeze.graph
    if source is None or axes is None or dims is None or not isinstance(graph, ir.Graph):
        return
    taken = sorted(perm[axis] for axis in axes)
    first = editor.make_node(
        "Squeeze",
        [source, editor.add_constant(np.array(taken, dtype=np.int64))],
        like=squeeze,
        dtype=source.dtype,
        shape=[dim for axis, dim in enumerate(dims) if axis not in taken],
    )
    graph.insert_before(squeeze, first)
    squeeze.op_type = "Transpose"
    squeeze.resize_inputs(1)
    squeeze.replace_input_with(0, first.outputs[0])
    squeeze.attributes["perm"] = ir.AttrInt64s("perm", _without(perm, taken))


def _transposed(
    editor: GraphEditor, source: ir.Value, perm: Sequence[int], like: ir.Node
) -> ir.Value:
    graph = like.graph
    if list(perm) == sorted(perm) or not isinstance(graph, ir.Graph):
        return source
    dims = known_dims(source)
    node = editor.make_node(
        "Transpose",
        [source],
        {"perm": list(perm)},
        like=like,
        dtype=source.dtype,
        shape=None if dims is None or rank_of(source) != len(perm) else [dims[a] for a in perm],
    )
    graph.insert_before(like, node)
    return node.outputs[0]
