"""Dense constants of MLIR as numpy arrays.

Most element types come through the buffer protocol without a copy. The bindings refuse complex,
sub-byte and small float types, for which MLIR's own lossless spelling is decoded: raw bytes in
hexadecimal above a hundred elements, round-trip literals below.
"""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np

__all__ = ["decode_constant", "decode_dense", "element_dtype"]

_DTYPES: dict[str, Any] = {
    "i1": np.bool_,
    "index": np.int64,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "bf16": ml_dtypes.bfloat16,
    "complex<f32>": np.complex64,
    "complex<f64>": np.complex128,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E3M4": ml_dtypes.float8_e3m4,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
}
for _bits in (8, 16, 32, 64):
    _DTYPES[f"i{_bits}"] = np.dtype(f"int{_bits}")
    _DTYPES[f"ui{_bits}"] = np.dtype(f"uint{_bits}")
for _bits in (2, 4):
    _DTYPES[f"i{_bits}"] = getattr(ml_dtypes, f"int{_bits}")
    _DTYPES[f"ui{_bits}"] = getattr(ml_dtypes, f"uint{_bits}")

_TOKEN = re.compile(r"0x[0-9A-Fa-f]+|true|false|[-+]?[0-9][-+0-9.eE]*")


def element_dtype(spelling: str) -> np.dtype[Any] | None:
    """Numpy dtype of an MLIR element type, or ``None`` if there is none (token, tuple)."""
    found = _DTYPES.get(spelling)
    return None if found is None else np.dtype(found)


def decode_dense(attribute: Any) -> np.ndarray[Any, Any]:
    """Array of a ``DenseElementsAttr``, of any element type; read only.

    Args:
        attribute: The attribute, kept alive by the array.

    Returns:
        Array of the attribute's shape; a splat is a broadcast view.
    """
    kind = str(attribute.type.element_type)
    if kind in ("i1", "f16", "f32", "f64", "index") or kind.lstrip("ui") in ("8", "16", "32", "64"):
        return np.asarray(memoryview(attribute)) if kind != "index" else np.array(attribute)
    return decode_constant(str(attribute), tuple(attribute.type.shape), _DTYPES[kind])


def decode_constant(text: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    """Array of MLIR's spelling ``dense<...>`` of a constant.

    Args:
        text: Anything that holds ``dense<...>`` once.
        shape: Shape of the constant.
        dtype: Its numpy dtype.

    Returns:
        Array of that shape and dtype.
    """
    body = text[text.index("dense<") + len("dense<") : text.rindex("> : tensor<")]
    dtype = np.dtype(dtype)
    if body.startswith('"0x'):
        flat = np.frombuffer(bytes.fromhex(body[3:-1]), dtype=dtype)
    else:
        flat = _literals(_TOKEN.findall(body), dtype)
    count = int(np.prod(shape))
    return np.broadcast_to(flat[0], shape) if flat.size == 1 != count else flat.reshape(shape)


def _literals(tokens: list[str], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Array of printed elements; a hexadecimal one holds the bits of a float."""
    if dtype.kind == "c":
        parts = _literals(tokens, np.dtype(f"f{dtype.itemsize // 2}"))
        return parts.view(dtype)
    is_float = dtype.name.startswith(("float", "bfloat"))
    bits = np.dtype(f"u{dtype.itemsize}")
    values = [
        np.array(int(token, 16), bits).view(dtype)
        if is_float and token.startswith("0x")
        else np.array(float(token) if is_float else int(token)).astype(dtype)
        for token in tokens
    ]
    return np.array(values, dtype=dtype)
