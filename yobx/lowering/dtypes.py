"""Small questions about ONNX element types that every lowering asks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from yobx.onnx_optim.tensor_type import TensorType
from yobx.onnx_optim.tensor_type import to_numpy as numpy_dtype
from yobx.xbuilder.dtypes import element_type

__all__ = [
    "DTYPES",
    "element_type",
    "extreme",
    "is_float",
    "is_integer",
    "is_signed",
    "numpy_dtype",
]

#: Element types by the name that numpy and the frameworks use.
DTYPES: dict[str, int] = {
    "bool": TensorProto.BOOL,
    "int8": TensorProto.INT8,
    "int16": TensorProto.INT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "uint8": TensorProto.UINT8,
    "uint16": TensorProto.UINT16,
    "uint32": TensorProto.UINT32,
    "uint64": TensorProto.UINT64,
    "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16,
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "string": TensorProto.STRING,
}

_FLOATS = frozenset(DTYPES[n] for n in ("float16", "bfloat16", "float32", "float64"))
_SIGNED = frozenset(DTYPES[n] for n in ("int8", "int16", "int32", "int64"))
_UNSIGNED = frozenset(DTYPES[n] for n in ("uint8", "uint16", "uint32", "uint64"))


def is_float(dtype: int) -> bool:
    """Tell whether ``dtype`` is a floating-point type."""
    return int(dtype) in _FLOATS


def is_signed(dtype: int) -> bool:
    """Tell whether ``dtype`` is a signed integer type."""
    return int(dtype) in _SIGNED


def is_integer(dtype: int) -> bool:
    """Tell whether ``dtype`` is an integer type (bool is not)."""
    return int(dtype) in _SIGNED or int(dtype) in _UNSIGNED


def extreme(dtype: TensorType, *, largest: bool) -> npt.NDArray[Any]:
    """Return the largest or the smallest element of a type, a scalar; of floats an infinity.

    Args:
        dtype: The type, one of numbers.
        largest: Whether the largest one is meant.
    """
    kind = numpy_dtype(dtype)
    if is_float(dtype):
        return np.array(np.inf if largest else -np.inf, kind)
    limits = np.iinfo(kind)
    return np.array(limits.max if largest else limits.min, kind)
