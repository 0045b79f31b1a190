"""Decoding of attributes and tensors: lazily, small ones only, external files never."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

from yobx.onnx_optim.optim_shape import OptimShape
from yobx.onnx_optim.optim_tensor import MAX_VALUE_SIZE, OptimTensor
from yobx.onnx_optim.tensor_type import BY_NUMBER, TensorType, to_numpy

__all__ = ["attribute_value", "tensor_of_proto"]

_A = onnx.AttributeProto


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
    return proto.data_location == onnx.TensorProto.EXTERNAL


def array_of_proto(proto: onnx.TensorProto) -> npt.NDArray[Any] | None:
    """Contents of a tensor, ``None`` when they are in another file or do not fit its shape."""
    if is_external(proto):
        return None
    try:
        array: npt.NDArray[Any] = numpy_helper.to_array(proto)
    except (ValueError, TypeError, KeyError):
        return None
    return array


@lru_cache(maxsize=4096)
def _plain(number: int, dims: tuple[int, ...]) -> OptimTensor:
    return OptimTensor(BY_NUMBER.get(number, TensorType.kUndefined), OptimShape(dims))


@lru_cache(maxsize=4096)
def _integers(number: int, dims: tuple[int, ...], raw: bytes) -> OptimTensor:
    """Descriptor of integers in the wire's byte order; equal ones are one object."""
    dtype = TensorType(number)
    stored = np.dtype(f"<i{to_numpy(dtype).itemsize}")
    if len(raw) != math.prod(dims) * stored.itemsize:
        return _plain(number, dims)
    array = np.frombuffer(raw, dtype=stored)
    return OptimTensor(dtype, OptimShape(dims), constant=array.reshape(dims))


_RAW_INTEGERS = frozenset((TensorType.kInt32, TensorType.kInt64))
_KEPT_INTEGERS = _RAW_INTEGERS | {TensorType.kBool, TensorType.kUInt8, TensorType.kInt8}
# Other contents (scales, limits) matter for shapes only as scalars and short vectors.
_MAX_OTHERS = 32


def tensor_of_proto(proto: onnx.TensorProto) -> OptimTensor:
    """Descriptor of a stored tensor; contents are decoded only when they are few."""
    number, dims = proto.data_type, tuple(proto.dims[:])
    plain, decoded = _prepared(number, dims)
    if not decoded:
        return plain
    if number in _RAW_INTEGERS and proto.HasField("raw_data"):
        return _integers(number, dims, proto.raw_data)
    array = array_of_proto(proto)
    if array is None or array.shape != dims:
        return plain
    return OptimTensor(plain.dtype, plain.shape, constant=array)


@lru_cache(maxsize=4096)
def _prepared(number: int, dims: tuple[int, ...]) -> tuple[OptimTensor, bool]:
    """The descriptor without contents, and whether such contents are worth decoding."""
    size = math.prod(dims)
    plain = _plain(number, dims)
    few = size <= MAX_VALUE_SIZE and (size <= _MAX_OTHERS or number in _KEPT_INTEGERS)
    return plain, few and plain.dtype != TensorType.kUndefined
