"""The mean over all spatial axes, as GlobalAveragePool."""

from __future__ import annotations

import onnx_ir as ir

from yobx.passes.graph_edit import (
    GraphEditor,
    graphs_of,
    int_constant,
    known_dims,
    rank_of,
)

__all__ = ["mean_to_global_pool"]

_CHANNELS_FIRST = frozenset(
    ("Conv", "MaxPool", "AveragePool", "BatchNormalization", "Relu", "Clip", "Add", "Mul", "Concat")
)


def mean_to_global_pool(model: ir.Model) -> None:
    """Turns a ReduceMean over the spatial axes of a feature map into GlobalAveragePool.

    Runtimes keep their blocked layout across the latter.

    Args:
        model: Model, changed in place.
    """
    editor: GraphEditor | None = None
    for graph in graphs_of(model):
        for node in list(graph):
            if node.op_type != "ReduceMean" or node.domain not in ("", "ai.onnx"):
                continue
            source = node.inputs[0]
            rank = rank_of(source)
            if rank not in (4, 5) or source is None or source.dtype != ir.DataType.FLOAT:
                continue
            producer = source.producer()
            if producer is None or producer.op_type not in _CHANNELS_FIRST:
                continue
            if _all_spatial(node, rank):
                editor = editor or GraphEditor(model)
                _to_pool(editor, graph, node, rank)


def _to_pool(editor: GraphEditor, graph: ir.Graph, node: ir.Node, rank: int) -> None:
    keep = node.attributes.get("keepdims")
    kept = keep is None or keep.as_int() == 1
    target = node
    if not kept:
        dims = known_dims(node.outputs[0])
        target = editor.make_node(
            "GlobalAveragePool",
            [node.inputs[0]],
            like=node,
            hint=f"{node.outputs[0].name}/pooled",
            dtype=node.outputs[0].dtype,
            shape=None if dims is None else [*dims, *[1] * (rank - 2)],
        )
        graph.insert_before(node, target)
        node.replace_input_with(0, target.outputs[0])
        node.op_type = "Flatten"
    else:
        node.op_type = "GlobalAveragePool"
    node.attributes.clear()
    node.resize_inputs(1)


def _all_spatial(node: ir.Node, rank: int) -> bool:
    attribute = node.attributes.get("axes")
    given = int_constant(node.inputs[1]) if len(node.inputs) > 1 else None
    axes = tuple(attribute.as_ints()) if attribute is not None else given
    return axes is not None and {axis % rank for axis in axes} == set(range(2, rank))
