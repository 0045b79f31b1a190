"""Changes of element type."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering.casts import convert
from yobx.lowering.dtypes import numpy_dtype
from yobx.tensorflow.ops import _complex
from yobx.tensorflow.ops._complex import COMPLEX, with_complex
from yobx.tensorflow.ops._op import BOOL, NUMBERS, out_dtype
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

FLOAT8 = ("float8_e4m3fn", "float8_e5m2")


@register_tf_op_converter("Cast", dtypes=(*NUMBERS, *BOOL, *COMPLEX, *FLOAT8))
@with_complex(_complex.cast)
def convert_cast(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Conversion of values; ``Truncate`` drops the low bits of the mantissa instead of rounding."""
    x, wanted = op.inputs[0].name, out_dtype(op)
    if g.get_type(x) == wanted:
        g.alias(outputs[0], x)
        return outputs[0]
    truncate = bool(op.get_attr("Truncate")) and numpy_dtype(wanted).itemsize == 2
    if truncate and op.outputs[0].dtype.is_floating and op.inputs[0].dtype.name == "float32":
        x = _without_low_bits(g, x, 16 if op.outputs[0].dtype.name == "bfloat16" else 13)
    return convert(g, x, wanted, outputs=outputs[:1], name=op.name)


def _without_low_bits(g: GraphBuilder, x: str, count: int) -> str:
    """Round a float32 towards zero so that ``count`` bits of its mantissa are zero."""
    factor = np.float32(2.0**count + 1.0)
    scaled = g.op.Mul(x, factor)
    high = g.op.Sub(scaled, g.op.Sub(scaled, x))
    step = g.op.Sub(x, high)
    wrong = g.op.Less(g.op.Mul(g.op.Sign(step), g.op.Sign(high)), np.float32(0))
    ulp = g.op.Mul(g.op.Abs(high), np.float32(2.0 ** (count - 24)))
    return str(g.op.Where(wrong, g.op.Sub(high, g.op.Mul(g.op.Sign(high), ulp)), high))
