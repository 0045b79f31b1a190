"""Single Transposes: composed, removed, or written as a Reshape when only sizes of 1 move."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from yobx.passes.graph_edit import GraphEditor, constant, graphs_of, known_dims
from yobx.passes.layout import transpose_perm
from yobx.passes.layout_rules import keeps_order

__all__ = ["compose_transposes", "transposes_to_reshapes"]


def compose_transposes(model: ir.Model) -> None:
    """Composes chains of Transposes, removes those that do nothing, folds those of constants.

    Args:
        model: Model, changed in place.
    """
    editor: GraphEditor | None = None
    for graph in graphs_of(model):
        for node in list(graph):
            perm = transpose_perm(node)
            if perm is not None:
                editor = editor or GraphEditor(model)
                _compose(editor, graph, node, perm)


def transposes_to_reshapes(model: ir.Model) -> None:
    """Writes a Transpose that only moves axes of size 1 as a Reshape, which costs nothing.

    To be run when the layout is settled: a Reshape does not tell any more that it is a Transpose.

    Args:
        model: Model, changed in place.
    """
    editor: GraphEditor | None = None
    for graph in graphs_of(model):
        for node in graph:
            perm = transpose_perm(node)
            dims = known_dims(node.inputs[0]) if perm is not None else None
            if perm is not None and dims is not None and keeps_order(dims, perm):
                editor = editor or GraphEditor(model)
                _to_reshape(editor, node, [dims[axis] for axis in perm])


def _compose(editor: GraphEditor, graph: ir.Graph, node: ir.Node, perm: tuple[int, ...]) -> None:
    source = node.inputs[0]
    while source is not None:
        before = source.producer()
        inner = transpose_perm(before)
        if before is None or inner is None or before.graph is not graph:
            break
        perm = tuple(inner[axis] for axis in perm)
        source = before.inputs[0]
    if source is None:
        return
    output = node.outputs[0]
    if perm == tuple(range(len(perm))):
        if not editor.replace(output, source):
            node.op_type = "Identity"
            node.attributes.clear()
            node.replace_input_with(0, source)
        return
    array = constant(source)
    if array is not None and not output.is_graph_output():
        editor.replace(output, editor.add_constant(np.transpose(array, perm), output.name or ""))
        return
    node.replace_input_with(0, source)
    node.attributes["perm"] = ir.AttrInt64s("perm", list(perm))


def _to_reshape(editor: GraphEditor, node: ir.Node, dims: list[int | str | None]) -> None:
    unknown = sum(not isinstance(dim, int) for dim in dims)
    if unknown > 1 or 0 in dims:
        return
    target = np.array([dim if isinstance(dim, int) else -1 for dim in dims], dtype=np.int64)
    node.op_type = "Reshape"
    node.attributes.clear()
    node.resize_inputs(2)
    node.replace_input_with(1, editor.add_constant(target))
