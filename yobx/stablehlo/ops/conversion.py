"""Changes of element type."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from yobx.lowering import casts
from yobx.lowering.casts import cast
from yobx.stablehlo.op import Op
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.stablehlo.tensor import Tensor
from yobx.xbuilder import GraphBuilder

#: Integers, though numpy does not say so.
_FOUR_BITS = ("int4", "uint4")


@register_stablehlo_op_converter("stablehlo.convert")
def convert_convert(g: GraphBuilder, op: Op) -> Tensor:
    """Convert every element; a float outside an integer's range saturates, NaN becomes 0."""
    x, source, wanted = op.inputs[0], op.in_type().dtype, op.out_dtype()
    if source == wanted:
        return x
    return op.elementwise(convert(op, x.compact, source, wanted))


def convert(op: Op, x: str, source: np.dtype[Any], wanted: np.dtype[Any]) -> str:
    """Emit the conversion of one ONNX value between two different element types."""
    g = op.g
    if source.name in _FOUR_BITS and wanted == np.bool_:
        return casts.convert(g, cast(g, x, np.int8), wanted)
    if wanted == np.bool_ and source.kind not in "iub":
        return str(g.op.Not(op.emit.Equal(x, np.array(0).astype(source))))
    if _is_integer(source) or wanted == np.bool_ or not _is_integer(wanted):
        return casts.convert(g, x, wanted)
    return saturate(op, x, source, wanted)


def _is_integer(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iub" or dtype.name in _FOUR_BITS


def saturate(op: Op, x: str, source: np.dtype[Any], wanted: np.dtype[Any]) -> str:
    """Emit a float to integer conversion as XLA defines it."""
    g = op.g
    limits = ml_dtypes.iinfo(wanted)
    wide = np.dtype(np.float32 if source.itemsize < 4 else source)
    value = cast(g, x, wide)
    is_nan = g.op.IsNaN(value)
    if limits.bits <= 16:
        bounded = g.op.Clip(value, wide.type(limits.min), wide.type(limits.max))
        kept = g.op.Where(is_nan, wide.type(0), bounded)
        return cast(g, cast(g, kept, np.int32), wanted)
    high = wide.type(float(limits.max) + 1)  # the first number that does not fit
    too_high = g.op.GreaterOrEqual(value, high)
    too_low = g.op.Less(value, wide.type(limits.min))
    bad = g.op.Or(is_nan, g.op.Or(too_high, too_low))
    inner = casts.convert(g, g.op.Where(bad, wide.type(0), value), wanted)
    top = op.emit.Where(too_high, np.array(limits.max, wanted), inner)
    return str(op.emit.Where(too_low, np.array(limits.min, wanted), top))


@register_stablehlo_op_converter("stablehlo.reduce_precision")
def convert_reduce_precision(g: GraphBuilder, op: Op) -> Tensor:
    """Round to a float of fewer bits: a cast there and back when ONNX has such a float."""
    bits = (int(op.attr("exponent_bits")), int(op.attr("mantissa_bits")))
    dtype = op.out_dtype()
    own = {"float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23), "float64": (11, 52)}
    if all(a >= b for a, b in zip(bits, own[dtype.name], strict=True)):
        return op.inputs[0]
    formats = {(5, 10): np.float16, (8, 23): np.float32, (8, 7): "bfloat16"}
    if bits not in formats:
        raise op.unsupported(f"exponent and mantissa bits {bits}", "Use a format that ONNX has.")
    narrow = cast(g, op.compacts()[0], formats[bits])
    return op.elementwise(cast(g, narrow, dtype))
