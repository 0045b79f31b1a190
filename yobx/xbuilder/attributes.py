"""Attributes: Python values to ``AttributeProto``, checked against what the schema declares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx import AttributeProto

from yobx.errors import GraphError
from yobx.onnx_optim import TensorType
from yobx.xbuilder.dtypes import as_array, element_type

__all__ = ["AttributeRef", "make_attribute", "tensor_proto"]

AttributeLike: TypeAlias = Any
"""int, float, bool, str, bytes, sequences of these, array, TensorProto, GraphProto, TypeProto."""

_KIND = {number: name for name, number in AttributeProto.AttributeType.items()}


@dataclass(frozen=True)
class AttributeRef:
    """Inside a local function: the value of an attribute of the call.

    Attributes:
        name: Attribute of the function.
    """

    name: str


def tensor_proto(value: Any, name: str = "") -> onnx.TensorProto:
    """Serialises an array into a ``TensorProto``.

    Args:
        value: Array or number.
        name: Name of the tensor.

    Returns:
        The proto, holding a copy of the values.
    """
    array = as_array(value)
    dtype = element_type(array.dtype)
    if dtype == TensorType.kString:
        return onnx.TensorProto(
            name=name,
            data_type=int(dtype),
            dims=array.shape,
            string_data=[
                item if isinstance(item, bytes) else str(item).encode() for item in array.flat
            ],
        )
    return onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)


def _as_int(value: Any) -> int | None:
    if isinstance(value, (bool, int, np.integer, np.bool_)):
        return int(value)
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iub":
        return int(value)
    return None


def _as_float(value: Any) -> float | None:
    if isinstance(value, (bool, str, bytes)):
        return None
    if isinstance(value, (int, float, np.integer, np.floating)):
        return float(value)
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iuf":
        return float(value)
    return None


def _as_bytes(value: Any) -> bytes | None:
    if isinstance(value, str):
        return value.encode()
    return value if isinstance(value, bytes) else None


_SCALARS: dict[int, tuple[str, Callable[[Any], int | float | bytes | None]]] = {
    AttributeProto.INT: ("i", _as_int),
    AttributeProto.FLOAT: ("f", _as_float),
    AttributeProto.STRING: ("s", _as_bytes),
}
_LISTS: dict[int, tuple[str, Callable[[Any], int | float | bytes | None]]] = {
    AttributeProto.INTS: ("ints", _as_int),
    AttributeProto.FLOATS: ("floats", _as_float),
    AttributeProto.STRINGS: ("strings", _as_bytes),
}


_MESSAGES: dict[int, tuple[str, type]] = {
    AttributeProto.TENSOR: ("t", onnx.TensorProto),
    AttributeProto.GRAPH: ("g", onnx.GraphProto),
    AttributeProto.TYPE_PROTO: ("tp", onnx.TypeProto),
    AttributeProto.SPARSE_TENSOR: ("sparse_tensor", onnx.SparseTensorProto),
}
_ARRAY_LIKE = (np.ndarray, np.generic, int, float)


def _guess_kind(value: Any) -> int:  # noqa: PLR0911 - one line per kind
    """Chooses the attribute type of a value for operators without a schema."""
    if isinstance(value, onnx.TensorProto):
        return AttributeProto.TENSOR
    if isinstance(value, onnx.GraphProto):
        return AttributeProto.GRAPH
    if isinstance(value, onnx.TypeProto):
        return AttributeProto.TYPE_PROTO
    if isinstance(value, np.ndarray) and value.ndim != 1:
        return AttributeProto.TENSOR
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes)):
        items = list(value)
        for kind in (AttributeProto.INTS, AttributeProto.FLOATS, AttributeProto.STRINGS):
            if all(_LISTS[kind][1](item) is not None for item in items):
                return int(kind)
        return AttributeProto.UNDEFINED
    for kind in (AttributeProto.INT, AttributeProto.FLOAT, AttributeProto.STRING):
        if _SCALARS[kind][1](value) is not None:
            return int(kind)
    return AttributeProto.UNDEFINED


def _fill(proto: AttributeProto, kind: int, value: Any) -> bool:
    """Stores the value; ``False`` when it is not of this kind."""
    if kind in _SCALARS:
        field, convert = _SCALARS[kind]
        converted = convert(value)
        if converted is not None:
            setattr(proto, field, converted)
        return converted is not None
    if kind in _LISTS:
        return _fill_list(proto, kind, value)
    if kind == AttributeProto.TENSOR and isinstance(value, _ARRAY_LIKE):
        value = tensor_proto(value)
    if kind not in _MESSAGES:
        return False
    field, message = _MESSAGES[kind]
    if isinstance(value, message):
        getattr(proto, field).CopyFrom(value)
    return isinstance(value, message)


def _fill_list(proto: AttributeProto, kind: int, value: Any) -> bool:
    if isinstance(value, (str, bytes)) or not isinstance(value, (Sequence, np.ndarray)):
        return False
    field, convert = _LISTS[kind]
    items = [convert(item) for item in value]
    if any(item is None for item in items):
        return False
    getattr(proto, field).extend(items)
    return True


def make_attribute(op_type: str, name: str, value: AttributeLike, kind: int = 0) -> AttributeProto:
    """Makes an attribute.

    Args:
        op_type: Operator, for the message.
        name: Attribute name.
        value: Its value.
        kind: Type the schema declares; 0 means no schema, the type follows from the value.

    Returns:
        The attribute.

    Raises:
        GraphError: If the value is not of the declared type.
    """
    proto = AttributeProto(name=name)
    if isinstance(value, AttributeRef):
        if not kind:
            raise GraphError(
                "A reference needs the attribute's type, which only a schema gives. Received: "
                f"{op_type}({name}={value!r}).",
                op_type=op_type,
                hint="Try a literal value.",
            )
        proto.type = kind  # type: ignore[assignment]
        proto.ref_attr_name = value.name
        return proto
    if kind == AttributeProto.INT and isinstance(value, (np.dtype, type)):
        value = element_type(value)  # `to=np.float32` of Cast and friends
    chosen = kind or _guess_kind(value)
    proto.type = chosen  # type: ignore[assignment]
    if not _fill(proto, chosen, value):
        wanted = _KIND[chosen].lower() if chosen else "a number, string, array or list of one kind"
        raise GraphError(
            f"The attribute has another type. Received: {op_type}({name}={_short(value)}) of "
            f"type {type(value).__name__}. Expected: {wanted}.",
            op_type=op_type,
        )
    return proto


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array of {element_type(value.dtype).onnx_text()} {value.shape}"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
