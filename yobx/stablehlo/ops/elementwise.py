"""Arithmetic and elementary functions, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from yobx.lowering import integers, transcendental
from yobx.lowering.kernels import has_kernel
from yobx.stablehlo.op import Op
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.stablehlo.tensor import Tensor
from yobx.xbuilder import GraphBuilder

#: StableHLO operation -> the ONNX operator that is the same function on every element type.
ONE_TO_ONE = {
    "stablehlo.add": "Add",
    "stablehlo.subtract": "Sub",
    "stablehlo.multiply": "Mul",
    "stablehlo.negate": "Neg",
    "stablehlo.abs": "Abs",
    "stablehlo.exponential": "Exp",
    "stablehlo.log": "Log",
    "stablehlo.sqrt": "Sqrt",
    "stablehlo.sine": "Sin",
    "stablehlo.cosine": "Cos",
    "stablehlo.tanh": "Tanh",
    "stablehlo.logistic": "Sigmoid",
    "stablehlo.floor": "Floor",
    "stablehlo.ceil": "Ceil",
    "stablehlo.round_nearest_even": "Round",
    "chlo.erf": "Erf",
}


def tan(g: GraphBuilder, x: str) -> str:
    """``tan(x)``, in float64 as a quotient."""
    if has_kernel("Tan", g.opset(""), int(g.get_type(x))):
        return str(g.op.Tan(x))
    wide = transcendental.in_float32(g, x)
    return str(g.op.Cast(g.op.Div(g.op.Sin(wide), g.op.Cos(wide)), to=int(g.get_type(x))))


def cosh(g: GraphBuilder, x: str) -> str:
    """``cosh(x)`` as ``h + 1 / (4 h)``, ``h = exp(abs(x)) / 2``, which does not overflow early."""
    wide = transcendental.in_float32(g, x)
    const = transcendental.const
    half = g.op.Exp(g.op.Sub(g.op.Abs(wide), const(g, wide, np.log(2.0))))
    result = g.op.Add(half, g.op.Div(const(g, wide, 0.25), half))
    return str(g.op.Cast(result, to=int(g.get_type(x))))


#: The same for functions that the shared lowering writes.
SHARED: dict[str, Callable[[GraphBuilder, str], str]] = {
    "stablehlo.exponential_minus_one": transcendental.expm1,
    "stablehlo.log_plus_one": transcendental.log1p,
    "chlo.sinh": transcendental.sinh,
    "chlo.cosh": cosh,
    "stablehlo.tan": tan,
    "chlo.tan": tan,
    "chlo.asinh": transcendental.asinh,
    "chlo.acosh": transcendental.acosh,
    "chlo.atanh": transcendental.atanh,
}
for _short in ("sinh", "cosh", "asinh", "acosh", "atanh"):
    SHARED[f"composite.chlo.{_short}"] = SHARED[f"chlo.{_short}"]


def _register_rows() -> None:
    for name, op_type in ONE_TO_ONE.items():

        def plain(g: GraphBuilder, op: Op, _type: str = op_type) -> Tensor:
            return op.elementwise(getattr(op.emit, _type)(*op.compacts()))

        register_stablehlo_op_converter(name)(plain)
    for name, function in SHARED.items():

        def shared(g: GraphBuilder, op: Op, _function: Any = function) -> Tensor:
            return op.elementwise(_function(g, op.compacts()[0]))

        register_stablehlo_op_converter(name)(shared)


_register_rows()


def _is_integer(op: Op) -> bool:
    return op.in_type().dtype.kind in "iub"


@register_stablehlo_op_converter("stablehlo.rsqrt")
def convert_rsqrt(g: GraphBuilder, op: Op) -> Tensor:
    """``1 / sqrt(x)``."""
    return op.elementwise(transcendental.rsqrt(g, op.compacts()[0]))


@register_stablehlo_op_converter("stablehlo.divide")
def convert_divide(g: GraphBuilder, op: Op) -> Tensor:
    """Quotient; of integers truncated, -1 for a zero divisor as XLA has it."""
    x, y = op.compacts()
    if not _is_integer(op):
        return op.elementwise(op.emit.Div(x, y))
    is_zero, divisor = _nonzero_divisor(op, y)
    quotient = integers.truncate_divide(g, x, divisor)
    if is_zero is None:
        return op.elementwise(quotient)
    ones = np.array(-1).astype(np.int64).astype(op.out_dtype())
    return op.elementwise(op.emit.Where(is_zero, ones, quotient))


@register_stablehlo_op_converter("stablehlo.remainder")
def convert_remainder(g: GraphBuilder, op: Op) -> Tensor:
    """Remainder with the sign of the dividend; of integers the dividend for a zero divisor."""
    x, y = op.compacts()
    if not _is_integer(op):
        return op.elementwise(integers.truncate_modulo(g, x, y))
    is_zero, divisor = _nonzero_divisor(op, y)
    remainder = _integer_remainder(op, x, divisor)
    if is_zero is None:
        return op.elementwise(remainder)
    return op.elementwise(op.emit.Where(is_zero, x, remainder))


def _integer_remainder(op: Op, x: str, divisor: str) -> str:
    """``x - truncate(x / divisor) * divisor``: onnxruntime's Mod floors integers."""
    if op.in_type().dtype.kind == "u":
        return str(op.emit.Mod(x, divisor))
    quotient = integers.truncate_divide(op.g, x, divisor)
    return str(op.emit.Sub(x, op.emit.Mul(quotient, divisor)))


def _nonzero_divisor(op: Op, y: str) -> tuple[str | None, str]:
    """``(where y is 0, y with 1 there)``; the condition is ``None`` if y is never 0."""
    constant = op.constant(1)
    if constant is not None and np.all(constant != 0):
        return None, y
    is_zero = op.emit.Equal(y, op.scalar(0))
    return is_zero, op.emit.Where(is_zero, op.scalar(1), y)


@register_stablehlo_op_converter("stablehlo.power")
def convert_power(g: GraphBuilder, op: Op) -> Tensor:
    """``x ** y``; integers by repeated squaring, as XLA does, so that overflow wraps."""
    x, y = op.compacts()
    if not _is_integer(op):
        constant = op.constant(1)
        if constant is not None and constant.size == 1 and float(constant.ravel()[0]) == 2.0:
            return op.elementwise(op.emit.Mul(x, x))
        return op.elementwise(op.emit.Pow(x, y))
    return op.elementwise(_integer_power(op, x, y))


def _integer_power(op: Op, base: str, exponent: str) -> str:
    one, zero = op.scalar(1), op.scalar(0)
    bits = op.out_dtype().itemsize * 8
    constant = op.constant(1)
    if constant is not None and constant.size and constant.min() >= 0:
        bits = max(1, int(constant.max()).bit_length())
    wide = op.emit
    result: Any = one
    rest = exponent
    for bit in range(bits):
        odd = wide.Equal(wide.Mod(rest, op.scalar(2)), one)
        factor = wide.Where(odd, base, one)
        result = factor if bit == 0 else wide.Mul(result, factor)
        if bit + 1 < bits:
            base = wide.Mul(base, base)
            rest = wide.Div(rest, op.scalar(2))
    if op.out_dtype().kind == "u" or (constant is not None and constant.min() >= 0):
        return str(result)
    # a negative exponent: 1 / x truncated
    inverse = wide.Where(wide.Equal(op.compacts()[0], one), one, zero)
    parity = wide.Where(wide.Equal(wide.Mod(exponent, op.scalar(2)), zero), one, op.scalar(-1))
    inverse = wide.Where(wide.Equal(op.compacts()[0], op.scalar(-1)), parity, inverse)
    return str(wide.Where(wide.Less(exponent, zero), inverse, result))


@register_stablehlo_op_converter("stablehlo.maximum")
def convert_maximum(g: GraphBuilder, op: Op) -> Tensor:
    """Larger element, NaN if either is NaN; logical or for bool."""
    x, y = op.compacts()
    return op.elementwise(g.op.Or(x, y) if op.out_dtype() == np.bool_ else op.emit.Max(x, y))


@register_stablehlo_op_converter("stablehlo.minimum")
def convert_minimum(g: GraphBuilder, op: Op) -> Tensor:
    """Smaller element, NaN if either is NaN; logical and for bool."""
    x, y = op.compacts()
    return op.elementwise(g.op.And(x, y) if op.out_dtype() == np.bool_ else op.emit.Min(x, y))


@register_stablehlo_op_converter("stablehlo.round_nearest_afz")
def convert_round_away(g: GraphBuilder, op: Op) -> Tensor:
    """Nearest integer, halves away from zero: one more where the rest is at least 1/2."""
    x = op.compacts()[0]
    size = op.emit.Abs(x)
    whole = op.emit.Floor(size)
    up = op.emit.GreaterOrEqual(op.emit.Sub(size, whole), op.scalar(0.5))
    rounded = op.emit.Where(up, op.emit.Add(whole, op.scalar(1)), whole)
    return op.elementwise(op.emit.Mul(op.emit.Sign(x), rounded))


@register_stablehlo_op_converter("stablehlo.sign")
def convert_sign(g: GraphBuilder, op: Op) -> Tensor:
    """-1, 0 or 1; NaN stays NaN."""
    x = op.compacts()[0]
    if _is_integer(op):
        return op.elementwise(op.emit.Sign(x))
    is_nan = g.op.IsNaN(transcendental.in_float32(g, x))
    return op.elementwise(op.emit.Where(is_nan, x, op.emit.Sign(x)))


@register_stablehlo_op_converter(("chlo.square", "composite.chlo.square"))
def convert_square(g: GraphBuilder, op: Op) -> Tensor:
    """``x * x``."""
    x = op.compacts()[0]
    return op.elementwise(op.emit.Mul(x, x))


@register_stablehlo_op_converter("stablehlo.cbrt")
def convert_cbrt(g: GraphBuilder, op: Op) -> Tensor:
    """Cube root: a power, improved by one Newton step, odd in ``x``."""
    x = transcendental.in_float32(g, op.compacts()[0])
    const = transcendental.const
    size = g.op.Abs(x)
    root = g.op.Pow(size, const(g, x, 1 / 3))
    usable = g.op.And(g.op.Greater(root, const(g, x, 0)), g.op.Not(g.op.IsInf(root)))
    base = g.op.Where(usable, root, const(g, x, 1))
    step = g.op.Sub(base, g.op.Div(size, g.op.Mul(base, base)))
    better = g.op.Sub(base, g.op.Div(step, const(g, x, 3)))
    signed = g.op.Mul(g.op.Sign(x), g.op.Where(usable, better, root))
    return op.elementwise(op.emit.Cast(signed, to=int(g.get_type(op.compacts()[0]))))


@register_stablehlo_op_converter("stablehlo.atan2")
def convert_atan2(g: GraphBuilder, op: Op) -> Tensor:
    """Angle of the point ``(x, y)``, with signed zeros and infinities as in C."""
    y, x = (transcendental.in_float32(g, name) for name in op.compacts())
    return op.elementwise(op.emit.Cast(atan2(g, y, x), to=int(g.get_type(op.compacts()[0]))))


def atan2(g: GraphBuilder, y: str, x: str) -> str:
    """Emit the angle of ``(x, y)`` in `[-pi, pi]`."""
    const = transcendental.const
    zero, one = const(g, x, 0), const(g, x, 1)
    # 1 / -0 is -inf: the only way to see the sign of a zero
    x_negative = g.op.Less(g.op.Where(g.op.Equal(x, zero), g.op.Div(one, x), x), zero)
    y_negative = g.op.Less(g.op.Where(g.op.Equal(y, zero), g.op.Div(one, y), y), zero)
    ax, ay = g.op.Abs(x), g.op.Abs(y)
    big, small = g.op.Max(ax, ay), g.op.Min(ax, ay)
    same = g.op.Equal(ax, ay)
    undefined = g.op.Equal(big, zero)
    ratio = g.op.Div(small, g.op.Where(undefined, one, big))
    ratio = g.op.Where(g.op.And(same, g.op.Not(undefined)), one, ratio)
    angle = atan(g, ratio)
    angle = g.op.Where(g.op.Greater(ay, ax), g.op.Sub(const(g, x, np.pi / 2), angle), angle)
    angle = g.op.Where(x_negative, g.op.Sub(const(g, x, np.pi), angle), angle)
    signed = g.op.Where(y_negative, g.op.Neg(angle), angle)
    return str(g.op.Where(g.op.Or(g.op.IsNaN(x), g.op.IsNaN(y)), g.op.Add(x, y), signed))


def atan(g: GraphBuilder, x: str) -> str:
    """Emit ``atan(x)``; float64 through two half-angle steps and a series."""
    if int(g.get_type(x)) != 11:
        return str(g.op.Atan(x))
    const = transcendental.const
    one = const(g, x, 1)
    size = g.op.Abs(x)
    inverted = g.op.Greater(size, one)
    t = g.op.Where(inverted, g.op.Reciprocal(g.op.Where(inverted, size, one)), size)
    for _ in range(3):
        t = g.op.Div(t, g.op.Add(one, g.op.Sqrt(g.op.Add(one, g.op.Mul(t, t)))))
    square = g.op.Mul(t, t)
    series: Any = const(g, x, 1 / 25)
    for k in range(11, -1, -1):
        sign = -1.0 if k % 2 else 1.0
        series = g.op.Add(g.op.Mul(series, square), const(g, x, sign / (2 * k + 1)))
    angle = g.op.Mul(g.op.Mul(series, t), const(g, x, 8))
    angle = g.op.Where(inverted, g.op.Sub(const(g, x, np.pi / 2), angle), angle)
    return str(g.op.Mul(g.op.Sign(x), angle))


@register_stablehlo_op_converter(("chlo.atan", "composite.chlo.atan"))
def convert_atan(g: GraphBuilder, op: Op) -> Tensor:
    """``atan(x)``."""
    x = transcendental.in_float32(g, op.compacts()[0])
    return op.elementwise(op.emit.Cast(atan(g, x), to=int(g.get_type(op.compacts()[0]))))


@register_stablehlo_op_converter(("chlo.asin", "composite.chlo.asin"))
def convert_asin(g: GraphBuilder, op: Op) -> Tensor:
    """``asin(x)`` as the angle of ``(sqrt((1 - x)(1 + x)), x)``."""
    x = transcendental.in_float32(g, op.compacts()[0])
    angle = atan2(g, x, _cofactor(g, x)) if int(g.get_type(x)) == 11 else g.op.Asin(x)
    return op.elementwise(op.emit.Cast(angle, to=int(g.get_type(op.compacts()[0]))))


@register_stablehlo_op_converter(("chlo.acos", "composite.chlo.acos"))
def convert_acos(g: GraphBuilder, op: Op) -> Tensor:
    """``acos(x)`` as the angle of ``(x, sqrt((1 - x)(1 + x)))``."""
    x = transcendental.in_float32(g, op.compacts()[0])
    angle = atan2(g, _cofactor(g, x), x) if int(g.get_type(x)) == 11 else g.op.Acos(x)
    return op.elementwise(op.emit.Cast(angle, to=int(g.get_type(op.compacts()[0]))))


def _cofactor(g: GraphBuilder, x: str) -> str:
    one = transcendental.const(g, x, 1)
    return str(g.op.Sqrt(g.op.Mul(g.op.Sub(one, x), g.op.Add(one, x))))
