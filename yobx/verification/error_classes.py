"""How exactly each value of a graph can be computed, read off the operators that lead to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import onnx

from yobx.verification.tolerances import CLASSES, Tolerances

__all__ = ["ValueClass", "classify", "node_class", "subgraphs"]


@dataclass(frozen=True)
class ValueClass:
    """What the ancestors of a value do to it.

    Attributes:
        label: The loosest class among the ancestors.
        depth: 0 exact, 1 one inexact operator, 2 more than one.
        op_type: The inexact operator when `depth` is 1.
        inexact: Identity of that operator's node.
        zero_sign: Whether the sign of a zero is determined.
        unlisted: Operators met that the tolerance table does not name.
    """

    label: str = "exact"
    depth: int = 0
    op_type: str = ""
    inexact: int = -1
    zero_sign: bool = True
    unlisted: frozenset[str] = frozenset()


def subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """The graphs held by a node's attributes."""
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.g
        elif attribute.type == onnx.AttributeProto.GRAPHS:
            yield from attribute.graphs


def node_class(node: onnx.NodeProto, tolerances: Tolerances) -> str:
    """Class of one node; a control-flow node has the loosest class of its bodies."""
    bodies = list(subgraphs(node))
    if not bodies:
        return tolerances.class_of(node.domain, node.op_type)
    labels = [node_class(inner, tolerances) for body in bodies for inner in body.node]
    return max(labels, key=CLASSES.index, default="exact")


def classify(model: onnx.ModelProto, tolerances: Tolerances) -> dict[str, ValueClass]:
    """Classifies every value of the main graph.

    Args:
        model: The model.
        tolerances: The table of operator classes.

    Returns:
        Value name -> its class. Inputs and initializers are exact and are not listed.
    """
    classes: dict[str, ValueClass] = {}
    for index, node in enumerate(model.graph.node):
        sources = [classes.get(name, ValueClass()) for name in _reads(node)]
        result = _combine(node, index, sources, tolerances)
        for name in node.output:
            if name:
                classes[name] = result
    return classes


def _reads(node: onnx.NodeProto) -> Iterator[str]:
    yield from node.input
    for body in subgraphs(node):
        for inner in body.node:
            yield from _reads(inner)


def _combine(
    node: onnx.NodeProto, index: int, sources: list[ValueClass], tolerances: Tolerances
) -> ValueClass:
    label = node_class(node, tolerances)
    labels = [label, *(source.label for source in sources)]
    inexact = {(source.inexact, source.op_type) for source in sources if source.depth == 1}
    many = any(source.depth > 1 for source in sources)
    if label != "exact":
        inexact.add((index, node.op_type))
        many = many or any(subgraphs(node))
    depth = 2 if many or len(inexact) > 1 else len(inexact)
    only = next(iter(inexact)) if depth == 1 else (-1, "")
    nested = {inner.op_type for body in subgraphs(node) for inner in body.node}
    free = tolerances.zero_sign_free
    unlisted = (
        set() if tolerances.is_listed(node.domain, node.op_type) or nested else {node.op_type}
    )
    loosest = max(labels, key=CLASSES.index)
    determined = (
        loosest in {"exact", "rounded"} and node.op_type not in free and not (nested & free)
    )
    return ValueClass(
        label=loosest,
        depth=depth,
        inexact=only[0],
        op_type=only[1],
        zero_sign=determined and all(source.zero_sign for source in sources),
        unlisted=frozenset(unlisted).union(*(source.unlisted for source in sources)),
    )
