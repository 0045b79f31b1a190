"""Dtypes as comparison needs them: bit patterns, last places, wide copies."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

__all__ = [
    "dtype_name",
    "epsilon_half",
    "is_complex",
    "is_float",
    "ordered_bits",
    "spacing",
    "ulp_distance",
    "widen",
]

_LOW_FLOATS = frozenset(
    np.dtype(getattr(ml_dtypes, name))
    for name in (
        "bfloat16",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
        "float4_e2m1fn",
    )
)


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether values of this dtype are rounded (complex included)."""
    return dtype.kind in "fc" or dtype in _LOW_FLOATS


def is_complex(dtype: np.dtype[Any]) -> bool:
    """Whether values have a real and an imaginary part."""
    return dtype.kind == "c"


def dtype_name(dtype: np.dtype[Any]) -> str:
    """A readable name; every kind of string is ``string``."""
    return "string" if dtype.kind in "OSUT" else dtype.name


def epsilon_half(dtype: np.dtype[Any]) -> float:
    """Half a unit in the last place at 1.0: the unit `u` of rounding errors."""
    return float(ml_dtypes.finfo(dtype).eps) / 2.0


def widen(array: NDArray[Any]) -> NDArray[Any]:
    """A float64 (or complex128) copy for statistics."""
    if is_complex(array.dtype):
        return array.astype(np.complex128)
    return array.astype(np.float64)


def ordered_bits(array: NDArray[Any]) -> NDArray[np.int64]:
    """Bit patterns as integers that grow with the value, so that neighbours differ by 1.

    Args:
        array: A real float array of 8, 16, 32 or 64 bits.

    Returns:
        int64 of the same shape; ``-0.0`` and ``+0.0`` both give 0.
    """
    width = array.dtype.itemsize * 8
    unsigned = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").reshape(array.shape)
    if width == 64:
        raw = unsigned.view(np.int64)
        minimum = np.int64(np.iinfo(np.int64).min)
        return np.where(raw < 0, minimum - raw, raw)
    sign = np.int64(1) << np.int64(width - 1)
    wide = unsigned.astype(np.int64)
    return np.where(wide >= sign, sign - wide, wide)


def ulp_distance(got: NDArray[Any], want: NDArray[Any]) -> NDArray[np.float64]:
    """Distance in representable values, as float64 (it can exceed int64).

    Complex numbers give the larger of the distances of their parts.
    """
    if is_complex(want.dtype):
        return np.maximum(ulp_distance(got.real, want.real), ulp_distance(got.imag, want.imag))
    left, right = ordered_bits(got), ordered_bits(want)
    near: NDArray[np.float64] = np.abs(left.astype(np.float64) - right.astype(np.float64))
    if want.dtype.itemsize == 8:
        # float64 cannot hold every 64-bit pattern: small distances are taken exactly.
        with np.errstate(over="ignore"):
            exact = (left - right).astype(np.float64)
        near = np.where(near < 2.0**52, np.abs(exact), near)
    return near


def spacing(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[np.float64]:
    """Size of one unit in the last place of `dtype` at each value, in float64."""
    info = ml_dtypes.finfo(dtype)
    magnitude = np.maximum(np.abs(values.astype(np.float64)), float(info.smallest_normal))
    exponent = np.floor(np.log2(magnitude))
    return np.ldexp(float(info.eps), exponent.astype(np.int64))
