"""What a node reads, what it gives, and bytes that say what it computes.

Reading the fields of a node one by one takes longer than looking its result up. The fields of a
message stand in the order of their numbers: inputs, outputs and name first, then operator,
attributes and domain, so that what follows the name identifies the computation.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import onnx

from yobx.onnx_optim.kept import keep

__all__ = ["MAX_READ", "NodeParts", "attribute_key", "node_parts", "parts_read_before"]

#: Names of the inputs, names of the outputs, and a hashable signature of the computation, ``None``
#: when it depends on graphs or on contents that are too long to compare.
NodeParts: TypeAlias = tuple[Sequence[str], Sequence[str], Any]

_A = onnx.AttributeProto
_UNKEYED = frozenset((_A.GRAPH, _A.TENSORS, _A.GRAPHS, _A.SPARSE_TENSOR, _A.SPARSE_TENSORS))
_TENSOR = _A.TENSOR
_MAX_KEY_BYTES = 512
#: Nodes that are kept once read, as parts by their bytes; larger ones are not.
MAX_READ = 4096
_MAX_READ_BYTES = 1024
_READ: dict[bytes, NodeParts] = {}
# Operators whose attributes hold graphs or arrays are read field by field: serialising the one
# copies all that is nested, and the other megabytes.
_HOLDERS = frozenset(("Constant", "If", "Loop", "Scan", "SequenceMap"))
# Tags of fields of a NodeProto.
_OP_TYPE, _DOC, _METADATA = 0x22, b"\x32", b"\x4a"


def node_parts(node: onnx.NodeProto, *, in_function: bool = False) -> NodeParts:
    """The names that a node has, and what identifies its computation.

    Args:
        node: The node.
        in_function: Its attributes may refer to those of the function around it.

    Returns:
        Names of inputs and outputs, and the signature. Equal signatures mean equal computations
        as long as :func:`attribute_key` knows a key for the attributes.
    """
    op_type = node.op_type
    if in_function or op_type in _HOLDERS:
        return _by_fields(node, in_function=in_function)
    return _by_bytes(node, op_type, node.SerializePartialToString())


def parts_read_before(node: onnx.NodeProto) -> NodeParts:
    """Like :func:`node_parts`, outside of functions; what was read is kept.

    A model is mostly inferred once more after a change to a few of its nodes, and its names are
    found faster as the same objects than as equal ones. To read more than ``MAX_READ`` nodes one
    after the other keeps nothing of use.
    """
    op_type = node.op_type
    if op_type in _HOLDERS:
        return _by_fields(node)
    data = node.SerializePartialToString()
    known = _READ.get(data)
    if known is not None:
        return known
    parts = _by_bytes(node, op_type, data)
    return parts if len(data) > _MAX_READ_BYTES else keep(_READ, data, parts, MAX_READ)


def _by_bytes(node: onnx.NodeProto, op_type: str, data: bytes) -> NodeParts:
    field = _field_of(op_type)
    start = data.find(field)
    # A name or an attribute may hold the same bytes: then it is not known which is the operator.
    if start < 0 or data.find(field, start + 1) >= 0:
        return _by_fields(node)
    rest = data[start:]
    if _DOC in rest or _METADATA in rest:  # remarks, most likely, which mean nothing here
        return _by_fields(node)
    return node.input[:], node.output[:], rest


@lru_cache(maxsize=4096)
def _field_of(op_type: str) -> bytes:
    """The field of a NodeProto that holds a short operator name; others are not found."""
    raw = op_type.encode()
    return bytes((_OP_TYPE, min(len(raw), 127))) + raw


def _by_fields(node: onnx.NodeProto, *, in_function: bool = False) -> NodeParts:
    parts = attribute_key(node.attribute[:], references=in_function)
    signature = None if parts is None else (node.op_type, node.domain, node.overload, parts)
    return node.input[:], node.output[:], signature


def attribute_key(
    attributes: Sequence[onnx.AttributeProto], *, references: bool = False
) -> tuple[bytes, ...] | None:
    """Bytes that identify small attributes; ``None`` when they hold big tensors or graphs.

    With ``references``, ``None`` also when one refers to an attribute of the function around.
    """
    parts = []
    for attribute in attributes:
        kind = attribute.type
        if kind in _UNKEYED or (kind == _TENSOR and attribute.ByteSize() > _MAX_KEY_BYTES):
            return None
        if references and attribute.ref_attr_name:
            return None
        parts.append(attribute.SerializeToString())
    return tuple(parts)
