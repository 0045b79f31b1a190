"""How exactly each value of a graph can be computed, read off the operators that lead to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import onnx

from yobx.verification.long_sums import SUMMING_SCATTERS, scatter_reduction
from yobx.verification.provenance import Operation, operation_of
from yobx.verification.tolerances import CLASSES, Tolerances

__all__ = ["ValueClass", "classify", "node_class", "operation_results", "reads", "subgraphs"]


_STEPS = frozenset({"Ceil", "Floor", "Round", "Sign"})
_WHOLE = frozenset(
    int(getattr(onnx.TensorProto, name))
    for name in ("BOOL", *(f"{u}INT{bits}" for u in ("", "U") for bits in (8, 16, 32, 64)))
)
#: Operators that interpolate, with the mode they have where none is stated.
_SAMPLERS = {"Resize": "nearest", "GridSample": "linear"}


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
        operation: The operation of the source that all inexact operators came of, if it is one.
        narrowed: Whether the value is the result of that operation, cast to the 16 bits in which
            the source has it.
    """

    label: str = "exact"
    depth: int = 0
    op_type: str = ""
    inexact: int = -1
    zero_sign: bool = True
    unlisted: frozenset[str] = frozenset()
    operation: Operation | None = None
    narrowed: bool = False


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
    if node.op_type in SUMMING_SCATTERS and not node.domain:
        return tolerances.scattered.get(scatter_reduction(node), "exact")
    if node.op_type in _SAMPLERS and not node.domain and _mode(node) == "nearest":
        return "exact"  # of its neighbours one is moved
    if not bodies:
        return tolerances.class_of(node.domain, node.op_type)
    labels = [node_class(inner, tolerances) for body in bodies for inner in body.node]
    return max(labels, key=CLASSES.index, default="exact")


def _is_step(node: onnx.NodeProto) -> bool:
    """Whether a node makes whole numbers of what it is given."""
    to = next((a.i for a in node.attribute if a.name == "to"), None)
    return node.op_type in _STEPS or (node.op_type == "Cast" and to in _WHOLE)


def _mode(node: onnx.NodeProto) -> str:
    told = [a.s.decode() for a in node.attribute if a.name == "mode"]
    return told[0] if told else _SAMPLERS[node.op_type]


def classify(
    model: onnx.ModelProto, tolerances: Tolerances, narrow: frozenset[str] = frozenset()
) -> dict[str, ValueClass]:
    """Classifies every value of the main graph.

    Args:
        model: The model.
        tolerances: The table of operator classes.
        narrow: Results of casts which end an operation of the source in 16 bits.

    Returns:
        Value name -> its class. Inputs and initializers are exact and are not listed.
    """
    classes: dict[str, ValueClass] = {}
    results = operation_results(model.graph.node)
    inside = {o for n in model.graph.node for o in n.output if o and o not in results}
    for index, node in enumerate(model.graph.node):
        sources = [classes.get(name, ValueClass()) for name in reads(node)]
        result = _combine(node, index, sources, tolerances)
        operation = _operation(node, node_class(node, tolerances), sources)
        if operation is not None and not (
            operation != operation_of(node) and inside & set(node.input)
        ):
            ends = not narrow.isdisjoint(node.output)
            narrowed = ends or any(source.narrowed for source in sources)
            result = replace(result, operation=operation, narrowed=narrowed)
        for name in node.output:
            if name:
                classes[name] = result
    parts = {name: replace(classes[name], operation=None, narrowed=False) for name in inside}
    return {**classes, **parts}


def operation_results(nodes: Iterable[onnx.NodeProto]) -> dict[str, Operation]:
    """Results of the operations of the source that the nodes of one graph came of.

    Args:
        nodes: The nodes.

    Returns:
        Value -> its operation; values that another node of the same operation reads are none.
    """
    made: dict[str, Operation] = {}
    for node in nodes:
        own = operation_of(node)
        for name in node.input:
            if own is not None and made.get(name) == own:
                del made[name]
        if own is not None:
            made.update((name, own) for name in node.output if name)
    return made


def reads(node: onnx.NodeProto) -> Iterator[str]:
    """What a node reads, with all that the nodes of its bodies do."""
    yield from node.input
    for body in subgraphs(node):
        for inner in body.node:
            yield from reads(inner)


def _operation(node: onnx.NodeProto, label: str, sources: list[ValueClass]) -> Operation | None:
    """The operation of the source whose result a value is, or a part of it, moved or selected."""
    own = operation_of(node)
    met = {source.operation for source in sources if source.depth}
    if label != "exact":
        met.add(own)
    only = met.pop() if len(met) == 1 and not any(subgraphs(node)) else None
    # In another type it is not what the operation gave.
    return None if node.op_type == "Cast" and own != only else only


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
    # Units in the last place say nothing of a step: it turns over, or does not. What both sides
    # round correctly they step alike.
    loose = any(source.label not in {"exact", "rounded"} for source in sources)
    many = many or (loose and _is_step(node))
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
