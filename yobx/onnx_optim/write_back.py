"""Writing what was inferred into a model: outputs and value_info, at every level."""

from __future__ import annotations

import onnx

from yobx.onnx_optim.context import ShapesContext
from yobx.onnx_optim.optim_sequence import Descriptor
from yobx.onnx_optim.type_protos import type_of_descriptor

__all__ = ["TypeWriter"]

_NAME_FIELD = 0x0A
_TYPE_FIELD = 0x12
_GRAPH_VALUE_INFO = b"\x6a"
_FUNCTION_VALUE_INFO = b"\x62"


class TypeWriter:
    """Writes descriptors as types, each different one encoded once."""

    def __init__(self) -> None:
        self._encoded: dict[Descriptor, bytes] = {}

    def encoded(self, descriptor: Descriptor) -> bytes:
        """The type field of a ``ValueInfoProto`` in wire format; empty when nothing is known."""
        found = self._encoded.get(descriptor)
        if found is None:
            proto = type_of_descriptor(descriptor)
            found = b""
            if proto is not None:
                data = proto.SerializeToString()
                found = b"\x12" + varint(len(data)) + data
            self._encoded[descriptor] = found
        return found

    def graph(self, graph: onnx.GraphProto, context: ShapesContext) -> None:
        """Write the outputs and the value_info of one graph (not of its subgraphs)."""
        values = context.values
        given = {value.name for value in graph.input}
        for output in graph.output:
            found = values.get(output.name) or context.lookup(output.name)
            given.add(output.name)
            if found is not None:
                proto = type_of_descriptor(found)
                if proto is not None:
                    output.type.CopyFrom(proto)
        self._rest(graph, context, given, _GRAPH_VALUE_INFO)

    def function(self, function: onnx.FunctionProto, context: ShapesContext) -> None:
        """Write the value_info of a function body."""
        self._rest(function, context, set(function.input), _FUNCTION_VALUE_INFO)

    def _rest(
        self,
        holder: onnx.GraphProto | onnx.FunctionProto,
        context: ShapesContext,
        given: set[str],
        field: bytes,
    ) -> None:
        """Rewrite existing value_info and add the missing ones in the order of the nodes.

        They are added in wire format in one call: building them through the Python classes takes
        longer than inferring them.
        """
        values = context.values
        for info in holder.value_info:
            given.add(info.name)
            found = values.get(info.name)
            proto = None if found is None else type_of_descriptor(found)
            if proto is not None:
                info.type.CopyFrom(proto)
        parts: list[bytes] = []
        for node in holder.node:
            for name in node.output:
                if name in given:
                    continue
                found = values.get(name)
                if found is None:
                    continue
                encoded = self.encoded(found)
                if encoded:
                    raw = name.encode()
                    body = b"\x0a" + varint(len(raw)) + raw + encoded
                    parts.append(field + varint(len(body)) + body)
        if parts:
            holder.MergeFromString(b"".join(parts))


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


_SHORT = tuple(bytes((i,)) for i in range(128))


def varint(number: int) -> bytes:
    """Length prefix of the wire format."""
    return _SHORT[number] if number < 128 else _varint(number)
