"""``onnx.TypeProto`` to descriptor and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import onnx

from yobx.onnx_optim.kept import keep
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_sequence import Descriptor, OptimOptional, OptimSequence
from yobx.onnx_optim.optim_shape import UNKNOWN_SHAPE, OptimShape
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.tensor_type import (
    BY_NUMBER,
    MAP_BY_TYPES,
    SEQ_MAP_BY_TYPES,
    TensorType,
)
from yobx.onnx_optim.wire import length_delimited

__all__ = ["descriptor_of_type", "field_of_type", "type_field", "type_of_descriptor"]

NewDim = Callable[[int], OptimDim]
_STORED_BITS = 64
# Tag of the type of a ValueInfoProto.
_TYPE = b"\x12"
# Descriptors of stored types that leave no size open, by their bytes and who stated them.
_NAMED: dict[tuple[bytes, str], OptimTensor] = {}


def dims_of_proto(shape: onnx.TensorShapeProto) -> list[OptimDim | None]:
    """Dimensions of a stored shape; ``None`` for one without a (valid) size or name."""
    dims: list[OptimDim | None] = []
    for dim in shape.dim:
        if dim.HasField("dim_value"):
            dims.append(OptimDim(dim.dim_value) if dim.dim_value >= 0 else None)
        elif dim.dim_param and dim.dim_param != "?":
            parsed = OptimDim(dim.dim_param)
            high = parsed.bounds()[1]
            dims.append(None if high is not None and high < 0 else parsed)
        else:
            dims.append(None)
    return dims


def descriptor_of_type(
    proto: onnx.TypeProto, new_dim: NewDim, *, source: str = "declared"
) -> Descriptor:
    """Descriptor of a declared type.

    Args:
        proto: The type.
        new_dim: Gives a symbol for the axis of an anonymous dimension.
        source: Who stated it.
    """
    kind = proto.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        return _tensor(getattr(proto, kind), new_dim, source)
    if kind == "sequence_type":
        if proto.sequence_type.elem_type.WhichOneof("value") != "map_type":
            return _sequence(proto, source)
        dtype = _map_dtype(proto.sequence_type.elem_type, SEQ_MAP_BY_TYPES)
        return OptimTensor(dtype, OptimShape([new_dim(0)]), source=source)
    if kind == "map_type":
        return OptimTensor(_map_dtype(proto, MAP_BY_TYPES), UNKNOWN_SHAPE, source=source)
    if kind == "optional_type":
        element = descriptor_of_type(proto.optional_type.elem_type, new_dim, source=source)
        if isinstance(element, OptimOptional):
            element = element.element
        return OptimOptional(element, None, source=source)
    return OptimTensor(TensorType.kUndefined, UNKNOWN_SHAPE, source=source)


def _tensor(proto: onnx.TypeProto.Tensor, new_dim: NewDim, source: str) -> OptimTensor:
    key = (proto.SerializeToString(), source)
    known = _NAMED.get(key)
    if known is not None:
        return known
    dtype = BY_NUMBER.get(proto.elem_type, TensorType.kUndefined)
    if not proto.HasField("shape"):
        return OptimTensor(dtype, UNKNOWN_SHAPE, source=source)
    dims = dims_of_proto(proto.shape)
    named = [new_dim(axis) if d is None else d for axis, d in enumerate(dims)]
    found = OptimTensor(dtype, OptimShape(named), source=source)
    return found if None in dims else keep(_NAMED, key, found)


def _map_dtype(proto: onnx.TypeProto, table: Mapping[tuple[int, int], TensorType]) -> TensorType:
    key = (proto.map_type.key_type, proto.map_type.value_type.tensor_type.elem_type)
    return table.get(key, TensorType.kUndefined)


def _sequence(proto: onnx.TypeProto, source: str) -> OptimSequence:
    inner = proto.sequence_type.elem_type
    if inner.WhichOneof("value") != "tensor_type":
        return OptimSequence(source=source)
    dtype = BY_NUMBER.get(inner.tensor_type.elem_type, TensorType.kUndefined)
    dims = None
    if inner.tensor_type.HasField("shape"):
        # An unnamed size may differ from element to element, so no symbol can stand for it.
        dims = dims_of_proto(inner.tensor_type.shape)
    return OptimSequence(dtype, elem_dims=dims, source=source)


def field_of_type(proto: onnx.TypeProto) -> bytes:
    """A type as the field of a ``ValueInfoProto``."""
    return length_delimited(_TYPE, proto.SerializeToString())


def type_field(descriptor: Descriptor) -> bytes:
    """The type that a descriptor states as field of a ``ValueInfoProto``, or nothing."""
    proto = type_of_descriptor(descriptor)
    return b"" if proto is None else field_of_type(proto)


def type_of_descriptor(descriptor: Descriptor) -> onnx.TypeProto | None:
    """The ``TypeProto`` that says what a descriptor says; ``None`` when it says nothing."""
    proto = onnx.TypeProto()
    if isinstance(descriptor, OptimTensor):
        return _tensor_type(descriptor, proto)
    if isinstance(descriptor, OptimSequence):
        if not descriptor.has_elem_dtype():
            return None
        inner = onnx.TypeProto()
        inner.tensor_type.elem_type = int(descriptor.elem_dtype)
        if descriptor.elem_dims is not None:
            write_dims(descriptor.elem_dims, inner.tensor_type.shape)
        proto.sequence_type.elem_type.CopyFrom(inner)
        return proto
    inside = type_of_descriptor(descriptor.element)
    if inside is None:
        return None
    proto.optional_type.elem_type.CopyFrom(inside)
    return proto


def _tensor_type(tensor: OptimTensor, proto: onnx.TypeProto) -> onnx.TypeProto | None:
    dtype = tensor.dtype
    if dtype == TensorType.kUndefined:
        return None
    if dtype.is_map:
        key, value = dtype.map_types()
        target = proto.sequence_type.elem_type if dtype >= TensorType.kSeqMapStringFloat else proto
        target.map_type.key_type = int(key)
        target.map_type.value_type.tensor_type.elem_type = int(value)
        return proto
    proto.tensor_type.elem_type = int(dtype)
    if tensor.shape.has_rank():
        write_dims(tensor.shape.dims(), proto.tensor_type.shape)
    return proto


def write_dims(dims: Sequence[OptimDim | None], proto: onnx.TensorShapeProto) -> None:
    """Store a shape, also that of a scalar; a size that no message can hold is left open."""
    proto.SetInParent()
    for dim in dims:
        if dim is None or (dim.is_int() and dim.as_int().bit_length() >= _STORED_BITS):
            proto.dim.add()
        elif dim.is_int():
            proto.dim.add(dim_value=dim.as_int())
        else:
            proto.dim.add(dim_param=str(dim))
