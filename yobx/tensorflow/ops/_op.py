"""A narrow view of a TensorFlow operation: what a converter asks of it, and how it refuses."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from yobx.errors import OpOccurrence, UnsupportedAttributeError
from yobx.lowering import shapes
from yobx.onnx_optim import TensorType
from yobx.xbuilder import GraphBuilder
from yobx.xbuilder.dtypes import element_type

__all__ = [
    "ALL",
    "BFLOAT",
    "BOOL",
    "FLOATS",
    "FLOATS32",
    "INTS",
    "MOVABLE",
    "NUMBERS",
    "STRING",
    "UINTS",
    "attr",
    "constant",
    "data_format",
    "dims",
    "int_list",
    "out_dtype",
    "rank",
    "require_constant",
    "unsupported",
]

FLOATS32 = ("float16", "bfloat16", "float32")
FLOATS = (*FLOATS32, "float64")
BFLOAT = ("bfloat16",)
INTS = ("int8", "int16", "int32", "int64")
UINTS = ("uint8", "uint16", "uint32", "uint64")
NUMBERS = (*FLOATS, *INTS, *UINTS)
BOOL = ("bool",)
STRING = ("string",)
MOVABLE = (*NUMBERS, *BOOL)
ALL = (*MOVABLE, *STRING)


def attr(op: Any, name: str, default: Any = None) -> Any:
    """Return an attribute, bytes as text, or ``default`` if the op has none of this name."""
    try:
        value = op.get_attr(name)
    except ValueError:
        return default
    return value.decode() if isinstance(value, bytes) else value


def int_list(op: Any, name: str) -> list[int]:
    """Return a list attribute as Python integers."""
    return [int(v) for v in op.get_attr(name)]


def out_dtype(op: Any, index: int = 0) -> TensorType:
    """Return the ONNX element type of an output."""
    return element_type(op.outputs[index].dtype.as_numpy_dtype)


def constant(g: GraphBuilder, op: Any, index: int) -> npt.NDArray[Any] | None:
    """Return the value of an input if it is known while converting."""
    value = g.get_constant(op.inputs[index].name)
    return None if value is None else np.asarray(value)


def require_constant(g: GraphBuilder, op: Any, index: int, what: str) -> npt.NDArray[Any]:
    """Return the value of an input.

    Raises:
        UnsupportedAttributeError: If it is computed by the model.
    """
    value = constant(g, op, index)
    if value is None:
        unsupported(op, f"{what} must be known while converting", f"{what}={op.inputs[index].name}")
    return value


def dims(g: GraphBuilder, op: Any, index: int) -> tuple[int | None, ...] | None:
    """Return the static sizes of an input, from the builder or else from TensorFlow."""
    known = shapes.dims(g, op.inputs[index].name)
    stated = op.inputs[index].shape
    if stated.rank is None:
        return known
    traced = tuple(stated.as_list())
    if known is None or len(known) != len(traced):
        return traced
    return tuple(a if a is not None else b for a, b in zip(known, traced, strict=True))


def rank(g: GraphBuilder, op: Any, index: int) -> int:
    """Return the rank of an input.

    Raises:
        ConversionError: If neither the builder nor TensorFlow knows it.
    """
    known = dims(g, op, index)
    return len(known) if known is not None else shapes.rank(g, op.inputs[index].name)


def data_format(op: Any, default: str = "NHWC") -> tuple[bool, str]:
    """Return whether the channels come last, and the format's name."""
    name = str(attr(op, "data_format", default))
    return name.endswith("C"), name


def unsupported(op: Any, rule: str, received: str, advice: str = "") -> NoReturn:
    """Refuse an op whose attributes or operands cannot be expressed.

    Raises:
        UnsupportedAttributeError: Always.
    """
    advice = advice or "Rewrite that part of the model, or pass a converter in extra_converters."
    raise UnsupportedAttributeError(
        f"{op.type}: {rule}. Received: {received}. Where: {op.name}.",
        OpOccurrence(op.type, op.name, detail=received),
        hint=advice,
    )
