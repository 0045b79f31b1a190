"""Which nodes of a finished graph its outputs need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import onnx

__all__ = ["live_nodes"]


def live_nodes(
    nodes: Sequence[onnx.NodeProto], outputs: Iterable[str]
) -> tuple[list[onnx.NodeProto], set[str]]:
    """Leaves out the nodes that nothing reads.

    Args:
        nodes: Nodes in topological order.
        outputs: Values that are wanted.

    Returns:
        The nodes that are needed, in order, and the names of all values that are read or wanted.
    """
    needed = set(outputs)
    kept = []
    for node in reversed(nodes):
        if needed.isdisjoint(node.output):
            continue
        kept.append(node)
        _add_read(node, needed)
    kept.reverse()
    return kept, needed


def _add_read(node: onnx.NodeProto, needed: set[str]) -> None:
    """Adds what a node reads; own names of nested graphs may be among it, which does no harm."""
    needed.update(node.input)
    for attribute in node.attribute:
        nested = [*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])]
        for graph in nested:
            needed.update(info.name for info in graph.output)
            for inner in graph.node:
                _add_read(inner, needed)
