"""Changes of element type."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering.casts import cast, convert, to_int64
from yobx.lowering.dtypes import numpy_dtype
from yobx.lowering.float_bits import from_bits, to_bits, unsigned
from yobx.lowering.legalise import legal
from yobx.tensorflow.ops import _complex
from yobx.tensorflow.ops._complex import COMPLEX, with_complex
from yobx.tensorflow.ops._exact_sizes import exact_fraction
from yobx.tensorflow.ops._op import BOOL, NUMBERS, out_dtype
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

FLOAT8 = ("float8_e4m3fn", "float8_e5m2")
#: Bits of a mantissa, the leading one counted.
_MANTISSAS = {
    "float64": 53,
    "float32": 24,
    "float16": 11,
    "bfloat16": 8,
    "float8_e4m3fn": 4,
    "float8_e5m2": 3,
}
#: Pairs that TensorFlow rounds, whatever ``Truncate`` says.
_ROUNDED = {("float64", "bfloat16"), ("float16", "bfloat16")}


def _truncated(g: GraphBuilder, x: str, count: int) -> str:
    """Set the last bits of mantissas to zero."""
    if count <= 0:
        return x
    kind = numpy_dtype(g.get_type(x))
    places = np.array(count, unsigned(kind))
    bits = g.op.BitShift(to_bits(g, x, kind), places, direction="RIGHT")
    kept = from_bits(g, g.op.BitShift(bits, places, direction="LEFT"), kind)
    # A NaN whose mark was among these bits would be an infinity.
    return str(legal(g).Where(legal(g).IsNaN(x), x, kept))


def _complex_cast(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Between complex and real numbers, part by part."""
    if op.get_attr("Truncate") and op.inputs[0].dtype.name == "complex128":
        double = op.outputs[0].dtype.real_dtype.name
        count = _MANTISSAS["float64"] - _MANTISSAS.get(double, _MANTISSAS["float64"])
        with g.scope():
            g.alias(op.inputs[0].name, _truncated(g, op.inputs[0].name, count))
            return _complex.cast(g, sts, outputs, op)
    return _complex.cast(g, sts, outputs, op)


@register_tf_op_converter("Cast", dtypes=(*NUMBERS, *BOOL, *COMPLEX, *FLOAT8))
@with_complex(_complex_cast)
def convert_cast(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Conversion of values; ``Truncate`` drops the low bits of the mantissa instead of rounding."""
    if op.inputs[0].dtype.name == "float64" and op.outputs[0].dtype.name in ("int32", "int64"):
        found = exact_fraction(op.inputs[0])
        if found is not None:
            size, times, by = found
            whole = to_int64(g, size.name) if times > 1 else size.name
            kind = numpy_dtype(g.get_type(whole))
            whole = g.op.Mul(whole, np.array(times, kind)) if times > 1 else whole
            whole = g.op.Div(whole, np.array(by, kind)) if by > 1 else whole
            return cast(g, whole, out_dtype(op), outputs=outputs[:1])
    x, wanted = op.inputs[0].name, out_dtype(op)
    if g.get_type(x) == wanted:
        g.alias(outputs[0], x)
        return outputs[0]
    source, target = op.inputs[0].dtype.name, op.outputs[0].dtype.name
    numbers = source in _MANTISSAS and target in _MANTISSAS
    if op.get_attr("Truncate") and numbers and (source, target) not in _ROUNDED:
        x = _truncated(g, x, _MANTISSAS[source] - _MANTISSAS[target])
    return convert(g, x, wanted, outputs=outputs[:1], name=op.name)
