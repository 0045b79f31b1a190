"""Casts to 16 bits that end an operation of the source, which has its result in that type."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import TensorProto

from yobx.onnx_optim.model_io import subgraphs as all_graphs
from yobx.verification.provenance import operation_of
from yobx.verification.value_types import value_types

__all__ = ["narrowing_casts", "steps_before"]

_LOW: dict[int, str] = {TensorProto.FLOAT16: "float16", TensorProto.BFLOAT16: "bfloat16"}
_FLOATS = frozenset({*_LOW, TensorProto.FLOAT, TensorProto.DOUBLE})


def steps_before(
    cast: onnx.NodeProto, producers: Mapping[str, onnx.NodeProto]
) -> list[onnx.NodeProto]:
    """The steps of the operation of the source that a cast ends, as a converter says.

    Args:
        cast: The cast.
        producers: Name of a value -> the node that makes it.

    Returns:
        Nodes of the same operation that lead to the cast, but for casts to float32.
    """
    own = operation_of(cast)
    found: dict[int, onnx.NodeProto] = {}
    waiting = list(cast.input)
    while waiting and own is not None:
        node = producers.get(waiting.pop())
        if node is None or id(node) in found or operation_of(node) != own or _widens(node):
            continue
        found[id(node)] = node
        waiting += node.input
    return list(found.values())


def _widens(node: onnx.NodeProto) -> bool:
    return node.op_type == "Cast" and any(
        a.name == "to" and a.i == TensorProto.FLOAT for a in node.attribute
    )


def narrowing_casts(model: onnx.ModelProto) -> dict[str, str]:
    """Casts that may end an operation in a 16-bit type.

    Where onnxruntime has no kernel for such a type, a converter casts the operands to float32,
    computes, and casts the result. Only the source can tell whether it computes so: elsewhere a
    cast to fewer bits is a fault.

    Args:
        model: The model.

    Returns:
        Name of the result -> ``float16`` or ``bfloat16``. At least one operand of the operation is
        cast from that type, and the others are constants; so it is of the first of its steps where
        a converter says that several came of one operation.
    """
    graphs = list(all_graphs([model.graph]))
    nodes = [node for graph in graphs for node in graph.node]
    casts = {node.output[0]: node.input[0] for node in nodes if node.op_type == "Cast"}
    producers = {name: node for node in nodes for name in node.output if name}
    candidates = {o: _narrowed_to(p) for o, p in producers.items() if _narrowed_to(p)}
    if not candidates:
        return {}
    types = {name: found.dtype for name, found in value_types(model).items()}
    held = (graph.initializer for graph in graphs if isinstance(graph, onnx.GraphProto))
    constants = {tensor.name for tensors in held for tensor in tensors}
    constants.update(node.output[0] for node in nodes if node.op_type == "Constant")
    found: dict[str, str] = {}
    for name, kind in candidates.items():
        operation = producers.get(casts[name])
        steps = steps_before(producers[name], producers)
        several = steps if len(steps) > 1 else [operation] if operation is not None else []
        own = {o for node in several for o in node.output}
        inputs = {x for node in several for x in node.input} - own - constants
        read = [x for x in inputs if types.get(x) in _FLOATS]
        if read and all(_LOW.get(types.get(casts.get(x, ""), 0)) == kind for x in read):
            found[name] = kind
    return found


def _narrowed_to(node: onnx.NodeProto) -> str:
    """The 16-bit float that a node casts to, ``""`` for other nodes."""
    if node.op_type != "Cast" or node.domain not in {"", "ai.onnx"}:
        return ""
    to = next((a.i for a in node.attribute if a.name == "to"), 0)
    return _LOW.get(to, "")
