"""Conversions between element types, with the out-of-range results that x86 frameworks give."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.onnx_optim import TensorType
from yobx.xbuilder import GraphBuilder

from .dtypes import DTYPES, element_type, is_float, numpy_dtype
from .legalise import legal

__all__ = ["cast", "convert", "to_int64"]

#: Element types of eight bits, which onnxruntime casts to and from float32.
FLOAT8 = (TensorType.kFloat8E4M3FN, TensorType.kFloat8E5M2)


def cast(g: GraphBuilder, x: str, dtype: Any, outputs: list[str] | None = None) -> str:
    """Emit a plain ``Cast``, or nothing when the type is right and no output name is asked for.

    Args:
        g: The builder.
        x: A value of any dtype.
        dtype: What is wanted: anything that names an ONNX element type.
        outputs: Name of the result.

    Returns:
        The value, of that dtype.
    """
    wanted = element_type(dtype)
    if outputs is None and g.get_type(x) == wanted:
        return x
    return str(g.op.Cast(x, to=int(wanted), outputs=outputs))


def to_int64(g: GraphBuilder, x: str) -> str:
    """Return ``x`` as int64, which is what ONNX wants of shapes, axes and indices."""
    return cast(g, x, np.int64)


def convert(
    g: GraphBuilder,
    x: str,
    dtype: Any,
    outputs: list[str] | None = None,
    name: str | None = None,
) -> str:
    """Emit a value conversion with one result for every input, NaN and infinities included.

    onnxruntime's float to unsigned casts are undefined outside the range (TensorFlow's too: it
    differs within one tensor); through int64 they wrap, and what does not fit there is zero.

    Args:
        g: The builder.
        x: Numbers or booleans of any shape.
        dtype: What is wanted: anything that names an ONNX element type.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        The value, of that dtype.
    """
    source, wanted = g.get_type(x), element_type(dtype)
    if is_float(source) and wanted == DTYPES["uint32"]:
        # The mask also keeps onnxruntime from making one cast of the two.
        low = g.op.BitwiseAnd(g.op.Cast(x, to=DTYPES["int64"]), np.array(2**32 - 1, np.int64))
        return cast(g, low, wanted, outputs=outputs)
    if is_float(source) and wanted == DTYPES["uint64"]:
        return _float_to_uint64(g, x, outputs)
    indirect = source in (DTYPES["bfloat16"], *FLOAT8) or wanted in FLOAT8
    if indirect and DTYPES["float32"] not in (source, wanted):
        x = g.op.Cast(x, to=DTYPES["float32"])
    if wanted in FLOAT8:  # what is out of range becomes NaN or infinite, not the largest number
        return str(g.op.Cast(x, to=int(wanted), saturate=0, outputs=outputs, name=name))
    return str(g.op.Cast(x, to=int(wanted), outputs=outputs, name=name))


def _float_to_uint64(g: GraphBuilder, x: str, outputs: list[str] | None) -> str:
    if numpy_dtype(g.get_type(x)).itemsize < 4:
        x = g.op.Cast(x, to=DTYPES["float32"])
    edge = np.array(2.0**63, numpy_dtype(g.get_type(x)))
    upper = g.op.And(g.op.GreaterOrEqual(x, edge), g.op.Less(x, edge * 2))
    low = g.op.Cast(g.op.Where(upper, g.op.Sub(x, edge), x), to=DTYPES["int64"])
    bias = g.op.Where(upper, np.array(-(2**63), np.int64), np.array(0, np.int64))
    bits = legal(g).Add(low, bias)
    return cast(g, bits, np.uint64, outputs=outputs)
