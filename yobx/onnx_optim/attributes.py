"""Decoding of attributes and tensors: lazily, small ones only, external files never."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import numpy.typing as npt
import onnx
from onnx import numpy_helper

from yobx.onnx_optim.kept import keep
from yobx.onnx_optim.optim_shape import OptimShape
from yobx.onnx_optim.optim_tensor import MAX_VALUE_SIZE, OptimTensor
from yobx.onnx_optim.tensor_type import BY_NUMBER, TensorType

__all__ = ["attribute_value", "tensor_of_proto"]

_A = onnx.AttributeProto
# Looking an enumerator up in a class of messages takes longer than reading a field.
_EXTERNAL = onnx.TensorProto.EXTERNAL


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data


_DECODERS: dict[int, Callable[[onnx.AttributeProto], Any]] = {
    _A.FLOAT: lambda a: a.f,
    _A.INT: lambda a: a.i,
    _A.STRING: lambda a: _text(a.s),
    _A.TENSOR: lambda a: array_of_proto(a.t),
    _A.GRAPH: lambda a: a.g,
    _A.FLOATS: lambda a: list(a.floats),
    _A.INTS: lambda a: list(a.ints),
    _A.STRINGS: lambda a: [_text(s) for s in a.strings],
    _A.TENSORS: lambda a: [array_of_proto(t) for t in a.tensors],
    _A.GRAPHS: lambda a: list(a.graphs),
    _A.TYPE_PROTO: lambda a: a.tp,
    _A.TYPE_PROTOS: lambda a: list(a.type_protos),
    _A.SPARSE_TENSOR: lambda a: a.sparse_tensor,
    _A.SPARSE_TENSORS: lambda a: list(a.sparse_tensors),
}


def attribute_value(attribute: onnx.AttributeProto) -> Any:
    """Python value of an attribute; a text for a string, an array for a tensor.

    An attribute whose type field is missing (old files) is read by the field that is set.
    """
    kind: int = attribute.type
    if kind == _A.UNDEFINED:
        kind = _guess_kind(attribute)
    return _DECODERS[kind](attribute)


def _guess_kind(attribute: onnx.AttributeProto) -> int:
    singles = (("f", _A.FLOAT), ("i", _A.INT), ("s", _A.STRING), ("t", _A.TENSOR), ("g", _A.GRAPH))
    for field, kind in singles:
        if attribute.HasField(field):
            return kind
    many = (("floats", _A.FLOATS), ("strings", _A.STRINGS), ("tensors", _A.TENSORS))
    for field, kind in many:
        if getattr(attribute, field):
            return kind
    return _A.INTS


@lru_cache(maxsize=2048)
def schema_attributes(domain: str, op_type: str, version: int) -> dict[str, int]:
    """Type of each attribute that the operator's schema names; empty without schema."""
    try:
        schema = onnx.defs.get_schema(op_type, version, domain)
    except onnx.defs.SchemaError:
        return {}
    kinds = onnx.AttributeProto.AttributeType
    # The stubs of onnx do not know that this is an enumeration.
    types: dict[str, Any] = {name: a.type for name, a in schema.attributes.items()}
    return {name: kinds.Value(kind.name) for name, kind in types.items()}


def is_external(proto: onnx.TensorProto) -> bool:
    """True when the data are in another file."""
    return proto.data_location == _EXTERNAL


def array_of_proto(proto: onnx.TensorProto) -> npt.NDArray[Any] | None:
    """Contents of a tensor, ``None`` when they are in another file or do not fit its shape."""
    if is_external(proto):
        return None
    try:
        array: npt.NDArray[Any] = numpy_helper.to_array(proto)
    except (ValueError, TypeError, KeyError):
        return None
    return array


_KEPT_INTEGERS = frozenset(
    (
        TensorType.kInt64,
        TensorType.kInt32,
        TensorType.kBool,
        TensorType.kUInt8,
        TensorType.kInt8,
    )
)
# Other contents (scales, limits) matter for shapes only as scalars and short vectors.
_MAX_OTHERS = 32

#: Element type and sizes of a stored tensor.
_Key: TypeAlias = tuple[int, ...]
# The descriptor without contents, and whether such contents are worth decoding.
_PLAIN: dict[_Key, tuple[OptimTensor, bool]] = {}
# By contents too, as bytes or listed: equal tensors have one descriptor.
_DECODED: dict[tuple[_Key, bytes | tuple[int, ...]], OptimTensor] = {}


def tensor_of_proto(proto: onnx.TensorProto) -> OptimTensor:
    """Descriptor of a stored tensor; contents are decoded only when they are few."""
    key = (proto.data_type, *proto.dims[:])
    plain, worth = _PLAIN.get(key) or _plain(key)
    if not worth or is_external(proto):
        return plain
    contents: bytes | tuple[int, ...] = proto.raw_data
    if not contents and key[0] == TensorType.kInt64:
        contents = tuple(proto.int64_data[:])
    if not contents:  # listed in another field, or none at all
        return _decoded(proto, plain)
    known = _DECODED.get((key, contents))
    if known is None:
        known = keep(_DECODED, (key, contents), _decoded(proto, plain))
    return known


def _plain(key: _Key) -> tuple[OptimTensor, bool]:
    number, *dims = key
    plain = OptimTensor(BY_NUMBER.get(number, TensorType.kUndefined), OptimShape(dims))
    size = math.prod(dims)
    few = size <= MAX_VALUE_SIZE and (size <= _MAX_OTHERS or number in _KEPT_INTEGERS)
    return keep(_PLAIN, key, (plain, few and plain.dtype != TensorType.kUndefined))


def _decoded(proto: onnx.TensorProto, plain: OptimTensor) -> OptimTensor:
    array = array_of_proto(proto)
    if array is None or array.shape != tuple(proto.dims):
        return plain
    return OptimTensor(plain.dtype, plain.shape, constant=array)
