"""Element types: scalars, and the sequence, optional and map types of ONNX."""

# ruff: noqa: N815 - the member names are those of the ONNX shape engine's specification

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx

from yobx.errors import ArgumentError

__all__ = ["TensorType", "from_numpy", "tensor_type", "to_numpy"]


class TensorType(enum.IntEnum):
    """Element type of a value.

    Scalar members have the numbers of ``onnx.TensorProto.DataType``; the composed ones (sequence,
    optional, map) start at 100 and exist only here.
    """

    kUndefined = 0
    kFloat = 1
    kUInt8 = 2
    kInt8 = 3
    kUInt16 = 4
    kInt16 = 5
    kInt32 = 6
    kInt64 = 7
    kString = 8
    kBool = 9
    kFloat16 = 10
    kDouble = 11
    kUInt32 = 12
    kUInt64 = 13
    kComplex64 = 14
    kComplex128 = 15
    kBFloat16 = 16
    kFloat8E4M3FN = 17
    kFloat8E4M3FNUZ = 18
    kFloat8E5M2 = 19
    kFloat8E5M2FNUZ = 20
    kUInt4 = 21
    kInt4 = 22
    kFloat4E2M1 = 23
    kFloat8E8M0 = 24
    kUInt2 = 25
    kInt2 = 26
    kFloat6E2M3 = 27
    kFloat6E3M2 = 28

    kSeqFloat = 101
    kSeqUInt8 = 102
    kSeqInt8 = 103
    kSeqUInt16 = 104
    kSeqInt16 = 105
    kSeqInt32 = 106
    kSeqInt64 = 107
    kSeqString = 108
    kSeqBool = 109
    kSeqFloat16 = 110
    kSeqDouble = 111
    kSeqUInt32 = 112
    kSeqUInt64 = 113
    kSeqComplex64 = 114
    kSeqComplex128 = 115
    kSeqBFloat16 = 116

    kOptFloat = 201
    kOptUInt8 = 202
    kOptInt8 = 203
    kOptUInt16 = 204
    kOptInt16 = 205
    kOptInt32 = 206
    kOptInt64 = 207
    kOptString = 208
    kOptBool = 209
    kOptFloat16 = 210
    kOptDouble = 211
    kOptUInt32 = 212
    kOptUInt64 = 213
    kOptComplex64 = 214
    kOptComplex128 = 215
    kOptBFloat16 = 216

    kOptSeqFloat = 301
    kOptSeqUInt8 = 302
    kOptSeqInt8 = 303
    kOptSeqUInt16 = 304
    kOptSeqInt16 = 305
    kOptSeqInt32 = 306
    kOptSeqInt64 = 307
    kOptSeqString = 308
    kOptSeqBool = 309
    kOptSeqFloat16 = 310
    kOptSeqDouble = 311
    kOptSeqUInt32 = 312
    kOptSeqUInt64 = 313
    kOptSeqComplex64 = 314
    kOptSeqComplex128 = 315
    kOptSeqBFloat16 = 316

    kMapStringInt64 = 401
    kMapInt64String = 402
    kMapInt64Float = 403
    kMapInt64Double = 404
    kMapStringFloat = 405
    kMapStringDouble = 406
    kMapStringString = 407
    kMapInt64Int64 = 408

    kSeqMapStringFloat = 451
    kSeqMapInt64Float = 452

    @property
    def is_tensor(self) -> bool:
        """True for a scalar element type, the only kind a ``TensorProto`` can hold."""
        return 0 < self < 100

    @property
    def is_map(self) -> bool:
        """True for ``map(K, V)`` and for ``seq(map(K, V))``."""
        return self >= 400

    @property
    def is_integer(self) -> bool:
        """True for signed and unsigned integers, not for bool."""
        return self in _INTEGERS

    @property
    def is_float(self) -> bool:
        """True for every floating-point type, the 8-bit and 4-bit ones included."""
        return self in _FLOATS

    def map_types(self) -> tuple[TensorType, TensorType]:
        """Key and value types of a map-valued member.

        Raises:
            ArgumentError: The member is not a map.
        """
        try:
            return _MAP_TYPES[self]
        except KeyError:
            raise ArgumentError(
                f"Only a map type has key and value types. Received: {self.name}.", argument="dtype"
            ) from None

    def onnx_text(self) -> str:
        """Type in ONNX's own notation, such as ``tensor(float)`` or ``seq(map(int64, float))``."""
        if self == TensorType.kUndefined:
            return "undefined"
        if self.is_tensor:
            return f"tensor({_SCALAR_TEXT[self]})"
        if self.is_map:
            key, value = _MAP_TYPES[self]
            text = f"map({_SCALAR_TEXT[key]}, {_SCALAR_TEXT[value]})"
            return f"seq({text})" if self >= TensorType.kSeqMapStringFloat else text
        inner = f"tensor({_SCALAR_TEXT[TensorType(self % 100)]})"
        family = self // 100
        return {1: f"seq({inner})", 2: f"optional({inner})"}.get(family, f"optional(seq({inner}))")


_T = TensorType
_INTEGERS = frozenset(
    {
        *(_T.kInt8, _T.kInt16, _T.kInt32, _T.kInt64, _T.kInt4, _T.kInt2),
        *(_T.kUInt8, _T.kUInt16, _T.kUInt32, _T.kUInt64, _T.kUInt4, _T.kUInt2),
    }
)
_FLOATS = frozenset(
    {
        *(_T.kFloat, _T.kDouble, _T.kFloat16, _T.kBFloat16, _T.kFloat8E4M3FN, _T.kFloat8E4M3FNUZ),
        *(_T.kFloat8E5M2, _T.kFloat8E5M2FNUZ, _T.kFloat8E8M0, _T.kFloat4E2M1),
        *(_T.kFloat6E2M3, _T.kFloat6E3M2),
    }
)
_MAP_TYPES: Mapping[TensorType, tuple[TensorType, TensorType]] = MappingProxyType(
    {
        _T.kMapStringInt64: (_T.kString, _T.kInt64),
        _T.kMapInt64String: (_T.kInt64, _T.kString),
        _T.kMapInt64Float: (_T.kInt64, _T.kFloat),
        _T.kMapInt64Double: (_T.kInt64, _T.kDouble),
        _T.kMapStringFloat: (_T.kString, _T.kFloat),
        _T.kMapStringDouble: (_T.kString, _T.kDouble),
        _T.kMapStringString: (_T.kString, _T.kString),
        _T.kMapInt64Int64: (_T.kInt64, _T.kInt64),
        _T.kSeqMapStringFloat: (_T.kString, _T.kFloat),
        _T.kSeqMapInt64Float: (_T.kInt64, _T.kFloat),
    }
)
MAP_BY_TYPES: Mapping[tuple[int, int], TensorType] = MappingProxyType(
    {(int(k), int(v)): t for t, (k, v) in _MAP_TYPES.items() if t < TensorType.kSeqMapStringFloat}
)
SEQ_MAP_BY_TYPES: Mapping[tuple[int, int], TensorType] = MappingProxyType(
    {(int(k), int(v)): t for t, (k, v) in _MAP_TYPES.items() if t >= TensorType.kSeqMapStringFloat}
)

_TO_NUMPY: dict[TensorType, np.dtype[Any]] = {
    _T.kFloat: np.dtype(np.float32),
    _T.kUInt8: np.dtype(np.uint8),
    _T.kInt8: np.dtype(np.int8),
    _T.kUInt16: np.dtype(np.uint16),
    _T.kInt16: np.dtype(np.int16),
    _T.kInt32: np.dtype(np.int32),
    _T.kInt64: np.dtype(np.int64),
    _T.kString: np.dtype(object),
    _T.kBool: np.dtype(np.bool_),
    _T.kFloat16: np.dtype(np.float16),
    _T.kDouble: np.dtype(np.float64),
    _T.kUInt32: np.dtype(np.uint32),
    _T.kUInt64: np.dtype(np.uint64),
    _T.kComplex64: np.dtype(np.complex64),
    _T.kComplex128: np.dtype(np.complex128),
    _T.kBFloat16: np.dtype(ml_dtypes.bfloat16),
    _T.kFloat8E4M3FN: np.dtype(ml_dtypes.float8_e4m3fn),
    _T.kFloat8E4M3FNUZ: np.dtype(ml_dtypes.float8_e4m3fnuz),
    _T.kFloat8E5M2: np.dtype(ml_dtypes.float8_e5m2),
    _T.kFloat8E5M2FNUZ: np.dtype(ml_dtypes.float8_e5m2fnuz),
    _T.kUInt4: np.dtype(ml_dtypes.uint4),
    _T.kInt4: np.dtype(ml_dtypes.int4),
    _T.kFloat4E2M1: np.dtype(ml_dtypes.float4_e2m1fn),
    _T.kFloat8E8M0: np.dtype(ml_dtypes.float8_e8m0fnu),
    _T.kUInt2: np.dtype(ml_dtypes.uint2),
    _T.kInt2: np.dtype(ml_dtypes.int2),
    _T.kFloat6E2M3: np.dtype(ml_dtypes.float6_e2m3fn),
    _T.kFloat6E3M2: np.dtype(ml_dtypes.float6_e3m2fn),
}
_FROM_NUMPY: dict[np.dtype[Any], TensorType] = {d: t for t, d in _TO_NUMPY.items()}
_SCALAR_TEXT: dict[TensorType, str] = {t: t.name[1:].lower() for t in TensorType if 0 < t < 100}


def from_numpy(dtype: npt.DTypeLike) -> TensorType:
    """Element type of a numpy dtype (any string dtype is ``kString``).

    Raises:
        ArgumentError: ONNX has no such element type.
    """
    resolved = np.dtype(dtype)
    found = _FROM_NUMPY.get(resolved)
    if found is None and resolved.kind in "USTO":
        found = TensorType.kString
    if found is None:
        found = _FROM_NUMPY.get(resolved.newbyteorder("="))
    if found is None:
        raise ArgumentError(
            f"An element type must exist in ONNX. Received: numpy dtype={resolved!r}.",
            argument="dtype",
            hint="Try casting to one of the ONNX types first.",
        )
    return found


def to_numpy(dtype: TensorType) -> np.dtype[Any]:
    """Numpy dtype of a scalar element type.

    Raises:
        ArgumentError: The type is undefined or is not a scalar one.
    """
    try:
        return _TO_NUMPY[dtype]
    except KeyError:
        raise ArgumentError(
            f"Only a scalar element type has a numpy dtype. Received: {dtype!r}.", argument="dtype"
        ) from None


def tensor_type(dtype: TensorType | int | npt.DTypeLike) -> TensorType:
    """Element type from a :class:`TensorType`, an ONNX number or a numpy dtype."""
    if isinstance(dtype, TensorType):
        return dtype
    if isinstance(dtype, int):
        found = BY_NUMBER.get(dtype)
        if found is None:
            raise ArgumentError(
                f"An element type must be one that ONNX knows. Received: {dtype}, onnx "
                f"{onnx.__version__}.",
                argument="dtype",
            )
        return found
    return from_numpy(dtype)


BY_NUMBER: dict[int, TensorType] = {int(t): t for t in TensorType}


def stored_type(number: int) -> TensorType:
    """Element type of a number read from a model; undefined when there is no such type."""
    return BY_NUMBER.get(number, TensorType.kUndefined)
