"""Arithmetic with conventions of its own: division, remainders, powers, skipped zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import transcendental as lib
from yobx.lowering import trigonometric
from yobx.lowering.bits import shift_left, shift_right
from yobx.lowering.casts import cast
from yobx.lowering.integers import (
    floor_divide,
    floor_modulo,
    integer_power,
    truncate_divide,
    truncate_modulo,
)
from yobx.lowering.legalise import legal
from yobx.tensorflow.ops import _complex_math
from yobx.tensorflow.ops._complex import COMPLEX, by_parts, with_complex
from yobx.tensorflow.ops._op import (
    BOOL,
    FLOATS,
    INTS,
    NUMBERS,
    UINTS,
    constant,
    unsupported,
)
from yobx.tensorflow.ops._patterns import match_gelu
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_UNARY_LIBRARY = {
    "Acos": trigonometric.acos,
    "Acosh": lib.acosh,
    "Asin": trigonometric.asin,
    "Asinh": lib.asinh,
    "Atan": trigonometric.atan,
    "Atanh": lib.atanh,
    "Cosh": lib.cosh,
    "Expm1": lib.expm1,
    "Log1p": lib.log1p,
    "Rsqrt": lib.rsqrt,
    "Sinh": lib.sinh,
}


@register_tf_op_converter(tuple(_UNARY_LIBRARY), dtypes=(*FLOATS, *COMPLEX))
@with_complex(_complex_math.unary)
def convert_library(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A function written out of other ones."""
    emit = _UNARY_LIBRARY[op.type]
    return emit(g, op.inputs[0].name, outputs=outputs[:1], name=op.name)


@register_tf_op_converter("Tan", dtypes=(*FLOATS, *COMPLEX))
@with_complex(_complex_math.unary)
def convert_tan(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Tangent."""
    return trigonometric.tan(g, op.inputs[0].name, outputs=outputs[:1], name=op.name)


@register_tf_op_converter("Mul", dtypes=(*NUMBERS, *COMPLEX))
@with_complex(_complex_math.binary)
def convert_mul(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Product; the last product of an exact GELU becomes one ``Gelu``."""
    source = match_gelu(g, op)
    if source is not None:
        return str(legal(g).Gelu(source, outputs=outputs[:1], name=op.name))
    x, y = (i.name for i in op.inputs)
    return str(legal(g).Mul(x, y, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("Div", dtypes=(*NUMBERS, *COMPLEX))
@with_complex(_complex_math.binary)
def convert_div(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Quotient: exact for floats, truncated for integers."""
    x, y = (i.name for i in op.inputs)
    if op.inputs[0].dtype.is_floating:
        return str(legal(g).Div(x, y, outputs=outputs[:1], name=op.name))
    return truncate_divide(g, x, y, outputs=outputs[:1], name=op.name)


@register_tf_op_converter("TruncateDiv", dtypes=NUMBERS)
def convert_truncate_div(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Quotient rounded towards zero."""
    x, y = (i.name for i in op.inputs)
    return truncate_divide(g, x, y, outputs=outputs[:1], name=op.name)


@register_tf_op_converter("FloorDiv", dtypes=NUMBERS)
def convert_floor_div(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Quotient rounded towards minus infinity."""
    x, y = (i.name for i in op.inputs)
    return floor_divide(g, x, y, outputs=outputs[:1], name=op.name)


@register_tf_op_converter("FloorMod", dtypes=NUMBERS)
def convert_floor_mod(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Remainder with the sign of the divisor."""
    x, y = (i.name for i in op.inputs)
    return floor_modulo(g, x, y, outputs=outputs[:1], name=op.name)


@register_tf_op_converter(("Mod", "TruncateMod"), dtypes=("float32", "float64", "int32", "int64"))
def convert_truncate_mod(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Remainder with the sign of the dividend."""
    x, y = (i.name for i in op.inputs)
    return truncate_modulo(g, x, y, outputs=outputs[:1], name=op.name)


def _where_zero(g: GraphBuilder, operand: str, value: str, outputs: list[str], name: str) -> str:
    """Emit ``value``, and zero wherever ``operand`` is zero (even against NaN)."""
    zero = lib.const(g, operand, 0)
    skipped = legal(g).Equal(operand, zero)
    return str(legal(g).Where(skipped, zero, value, outputs=outputs, name=name))


@register_tf_op_converter("DivNoNan", dtypes=(*FLOATS, *COMPLEX))
@with_complex(_complex_math.binary)
def convert_div_no_nan(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Quotient, zero where the divisor is zero."""
    x, y = (i.name for i in op.inputs)
    return _where_zero(g, y, legal(g).Div(x, y), outputs[:1], op.name)


@register_tf_op_converter("MulNoNan", dtypes=(*FLOATS, *COMPLEX))
@with_complex(_complex_math.binary)
def convert_mul_no_nan(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Product, zero where the second factor is zero."""
    x, y = (i.name for i in op.inputs)
    return _where_zero(g, y, legal(g).Mul(x, y), outputs[:1], op.name)


@register_tf_op_converter("Xdivy", dtypes=(*FLOATS, *COMPLEX))
@with_complex(_complex_math.binary)
def convert_xdivy(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """``x / y``, zero where ``x`` is zero."""
    x, y = (i.name for i in op.inputs)
    return _where_zero(g, x, legal(g).Div(x, y), outputs[:1], op.name)


@register_tf_op_converter("Xlogy", dtypes=(*FLOATS, *COMPLEX))
@with_complex(_complex_math.binary)
def convert_xlogy(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """``x * log(y)``, zero where ``x`` is zero."""
    x, y = (i.name for i in op.inputs)
    return _where_zero(g, x, legal(g).Mul(x, legal(g).Log(y)), outputs[:1], op.name)


@register_tf_op_converter("Xlog1py", dtypes=(*FLOATS, *COMPLEX))
@with_complex(_complex_math.binary)
def convert_xlog1py(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """``x * log(1 + y)``, zero where ``x`` is zero."""
    x, y = (i.name for i in op.inputs)
    return _where_zero(g, x, legal(g).Mul(x, lib.log1p(g, y)), outputs[:1], op.name)


@register_tf_op_converter("Pow", dtypes=(*NUMBERS, *COMPLEX))
@with_complex(_complex_math.binary)
def convert_pow(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Power; small constant exponents become products."""
    x, y = (i.name for i in op.inputs)
    exponent = constant(g, op, 1)
    if exponent is not None and exponent.ndim == 0 and exponent == 2:
        return str(legal(g).Mul(x, x, outputs=outputs[:1], name=op.name))
    if not op.inputs[0].dtype.is_floating:
        if exponent is not None and (exponent < 0).any():
            unsupported(
                op,
                "TensorFlow has no negative power of an integer",
                f"y={exponent.tolist()}",
                "Cast to a float type first.",
            )
        return integer_power(g, x, y, outputs=outputs[:1], name=op.name)
    return str(legal(g).Pow(x, y, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("Square", dtypes=(*NUMBERS, *COMPLEX))
@with_complex(_complex_math.unary)
def convert_square(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """``x * x``."""
    x = op.inputs[0].name
    return str(legal(g).Mul(x, x, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("SquaredDifference", dtypes=(*FLOATS, "int32", "int64", *COMPLEX))
@with_complex(_complex_math.binary)
def convert_squared_difference(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """``(x - y) ** 2``."""
    x, y = (i.name for i in op.inputs)
    difference = legal(g).Sub(x, y)
    return str(legal(g).Mul(difference, difference, outputs=outputs[:1], name=op.name))


@register_tf_op_converter(("Reciprocal", "Inv"), dtypes=(*FLOATS, *COMPLEX))
@with_complex(_complex_math.unary)
def convert_reciprocal(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """``1 / x``."""
    return str(legal(g).Reciprocal(op.inputs[0].name, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("Sign", dtypes=(*FLOATS, *INTS, *COMPLEX))
@with_complex(_complex_math.unary)
def convert_sign(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """-1, 0 or 1; of NaN, NaN (onnxruntime's half precision kernel gives 0)."""
    x = op.inputs[0].name
    wide = lib.in_float32(g, x)
    if wide == x:
        return str(legal(g).Sign(x, outputs=outputs[:1], name=op.name))
    return cast(g, g.op.Sign(wide), op.outputs[0].dtype.as_numpy_dtype, outputs=outputs[:1])


@register_tf_op_converter("IsFinite", dtypes=(*FLOATS, *BOOL))
def convert_is_finite(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Neither NaN nor infinite."""
    x = op.inputs[0].name
    odd = g.op.Or(legal(g).IsNaN(x), legal(g).IsInf(x))
    return str(g.op.Not(odd, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("Atan2", dtypes=FLOATS)
def convert_atan2(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Angle of the point ``(x, y)``."""
    y, x = (i.name for i in op.inputs)
    return trigonometric.atan2(g, y, x, outputs=outputs[:1], name=op.name)


@register_tf_op_converter("ClipByValue", dtypes=(*NUMBERS, *COMPLEX))
@by_parts
def convert_clip(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """``max(min(x, high), low)``, part by part; ``Clip`` ends with the upper limit if crossed."""
    x, low, high = (i.name for i in op.inputs)
    limits = [v for v in (constant(g, op, 1), constant(g, op, 2)) if v is not None and v.ndim == 0]
    if len(limits) == 2 and limits[0] <= limits[1]:
        return str(legal(g).Clip(x, low, high, outputs=outputs[:1], name=op.name))
    below = legal(g).Min(x, high)
    return str(legal(g).Max(below, low, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("ApproximateEqual", dtypes=(*NUMBERS, *BOOL))
def convert_approximate_equal(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """``abs(x - y) < tolerance``."""
    x, y = (i.name for i in op.inputs)
    if op.inputs[0].dtype.is_unsigned:
        distance = legal(g).Sub(legal(g).Max(x, y), legal(g).Min(x, y))
    else:
        distance = legal(g).Abs(legal(g).Sub(x, y))
    tolerance = np.float32(op.get_attr("tolerance"))
    if op.inputs[0].dtype.is_floating:
        bound: Any = lib.const(g, x, tolerance)
    else:
        distance, bound = cast(g, distance, np.float32), tolerance
    return str(legal(g).Less(distance, bound, outputs=outputs[:1], name=op.name))


@register_tf_op_converter(("LeftShift", "RightShift"), dtypes=(*INTS, *UINTS))
def convert_shift(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Shift of bits; signed numbers shift their sign in, distances are clamped to the width."""
    x, y = (i.name for i in op.inputs)
    emit = shift_left if op.type == "LeftShift" else shift_right
    return emit(g, x, y, outputs=outputs[:1], name=op.name)
