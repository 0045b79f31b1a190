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
        results = {value.name for value in graph.output}
        operations = _operations(graph.node)
        readers: dict[str, set[Operation | None]] = {}
        for own, nodes in operations.items():
            for name in {name for node in nodes for name in reads(node) if name}:
                readers.setdefault(name, set()).add(own)
        for own, nodes in operations.items():
            if own is None:
                continue
            made = {name for node in nodes for name in node.output if name}
            read = {name for node in nodes for name in reads(node) if name}
            given = {n for n in made if n in results or readers.get(n, set()) - {own}}
            rounding = _rounding(given, read - made - constants, types, units)
            if rounding is not None:
                found.update(dict.fromkeys(made, rounding))
    return found


def _rounding(
    given: set[str],
    taken: set[str],
    types: Mapping[str, ValueType],
    units: Mapping[int | None, float],
) -> float | None:
    """That of an operation by what it gives and takes; ``None`` where a type is not known."""
    if not types.keys() >= given | taken:
        return None
    for names in (given, taken):
        rounding = [units[types[name].dtype] for name in names if types[name].dtype in units]
        if rounding:
            return min(rounding)
    return 0.0


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for node in graph.node:
        for body in subgraphs(node):
            yield from _graphs(body)


def _operations(nodes: Iterable[onnx.NodeProto]) -> dict[Operation | None, list[onnx.NodeProto]]:
    """The nodes that came of each operation of the source, and those of none."""
    found: dict[Operation | None, list[onnx.NodeProto]] = {}
    for node in nodes:
        found.setdefault(operation_of(node), []).append(node)
    return found
