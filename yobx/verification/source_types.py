"""In which types the source computes what a converter may compute in others.

Noise is what rounding does to the source, so it is that of the source's types: a converter that
takes the way by fewer bits, or by floats where the source has whole numbers, may not excuse what it
loses by it. What an operation of the source reads and gives tells its types; what lies between
them is the converter's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import onnx

from yobx.verification.error_classes import reads, subgraphs
from yobx.verification.provenance import Operation, operation_of
from yobx.verification.value_types import ValueType

__all__ = ["source_units"]


def source_units(
    model: onnx.ModelProto, types: Mapping[str, ValueType], units: Mapping[int | None, float]
) -> dict[str, float]:
    """What rounding is in the source, of values whose operation says so.

    Args:
        model: Converted model.
        types: Types of its values.
        units: Rounding of every ONNX type of floats, relative to a value.

    Returns:
        Value -> rounding of the finest type that its operation gives, or reads where it gives no
        floats; 0 where it does neither. Values of nodes without an operation have none.
    """
    found: dict[str, float] = {}
    for graph in _graphs(model.graph):
        constants = {i.name for i in graph.initializer}
        constants |= {o for n in graph.node if n.op_type == "Constant" for o in n.output}
        given = _given(graph)
        for nodes in _operations(graph.node).values():
            made = {name for node in nodes for name in node.output if name}
            read = {name for node in nodes for name in reads(node) if name} - made - constants
            kinds = [types[name].dtype for name in (*(made & given), *read) if name in types]
            ends = [types[name].dtype for name in made & given if name in types]
            if len(kinds) < len((made & given) | read):
                continue
            rounding = [units[kind] for kind in ends if kind in units]
            rounding = rounding or [units[kind] for kind in kinds if kind in units]
            found.update(dict.fromkeys(made, min(rounding, default=0.0)))
    return found


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for node in graph.node:
        for body in subgraphs(node):
            yield from _graphs(body)


def _operations(nodes: Iterable[onnx.NodeProto]) -> dict[Operation, list[onnx.NodeProto]]:
    """The nodes that came of each operation of the source."""
    found: dict[Operation, list[onnx.NodeProto]] = {}
    for node in nodes:
        operation = operation_of(node)
        if operation is not None:
            found.setdefault(operation, []).append(node)
    return found


def _given(graph: onnx.GraphProto) -> set[str]:
    """Values that are read outside of the operation which made them."""
    makers = {name: operation_of(node) for node in graph.node for name in node.output if name}
    given = {value.name for value in graph.output}
    for node in graph.node:
        own = operation_of(node)
        given.update(n for n in reads(node) if n in makers and (own is None or makers[n] != own))
    return given
