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
        needed.update(node.input)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _read_in(attribute.g, needed)
            for graph in attribute.graphs:
                _read_in(graph, needed)
    kept.reverse()
    return kept, needed


def _read_in(graph: onnx.GraphProto, needed: set[str]) -> None:
    """Adds what a nested graph reads; its own names may be among it, which does no harm."""
    needed.update(info.name for info in graph.output)
    for node in graph.node:
        needed.update(node.input)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _read_in(attribute.g, needed)
            for inner in attribute.graphs:
                _read_in(inner, needed)
