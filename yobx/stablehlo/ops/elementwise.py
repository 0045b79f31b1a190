"""Arithmetic and elementary functions, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from yobx.lowering import integers, transcendental, trigonometric
from yobx.lowering.casts import cast
from yobx.lowering.rounding import round_half_away
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


#: The same for functions that the shared lowering writes.
SHARED: dict[str, Callable[..., str]] = {
    "stablehlo.exponential_minus_one": transcendental.expm1,
    "stablehlo.log_plus_one": transcendental.log1p,
    "stablehlo.rsqrt": transcendental.rsqrt,
    "stablehlo.tan": trigonometric.tan,
    "stablehlo.atan2": trigonometric.atan2,
}
#: CHLO operations, which JAX writes as such or as composites.
CHLO: dict[str, Callable[[GraphBuilder, str], str]] = {
    "acos": trigonometric.acos,
    "acosh": transcendental.acosh,
    "asin": trigonometric.asin,
    "asinh": transcendental.asinh,
    "atan": trigonometric.atan,
    "atanh": transcendental.atanh,
    "cosh": transcendental.cosh,
    "erfc": transcendental.erfc,
    "sinh": transcendental.sinh,
    "tan": trigonometric.tan,
}
#: Of an exponent that is an integer; XLA reads six bits.
_LARGEST_EXPONENT = 63


def _register_rows() -> None:
    for name, op_type in ONE_TO_ONE.items():

        def plain(g: GraphBuilder, op: Op, _type: str = op_type) -> Tensor:
            return op.elementwise(getattr(op.emit, _type)(*op.compacts()))

        register_stablehlo_op_converter(name)(plain)
    rows: list[tuple[str | tuple[str, ...], Callable[..., str]]] = [*SHARED.items()]
    rows += [((f"chlo.{word}", f"composite.chlo.{word}"), f) for word, f in CHLO.items()]
    for names, function in rows:

        def shared(g: GraphBuilder, op: Op, _function: Any = function) -> Tensor:
            return op.elementwise(_function(g, *op.compacts()))

        register_stablehlo_op_converter(names)(shared)


_register_rows()


def _is_integer(op: Op) -> bool:
    return op.in_type().dtype.kind in "iub"


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
    remainder = integers.truncate_modulo(g, x, divisor)
    if is_zero is None:
        return op.elementwise(remainder)
    return op.elementwise(op.emit.Where(is_zero, x, remainder))


def _nonzero_divisor(op: Op, y: str) -> tuple[str | None, str]:
    """``(where y is 0, y with 1 there)``; the condition is ``None`` if y is never 0."""
    constant = op.constant(1)
    if constant is not None and np.all(constant != 0):
        return None, y
    is_zero = op.emit.Equal(y, op.scalar(0))
    return is_zero, op.emit.Where(is_zero, op.scalar(1), y)


@register_stablehlo_op_converter("stablehlo.power")
def convert_power(g: GraphBuilder, op: Op) -> Tensor:
    """``x ** y``; integers by repeated squaring, as XLA does, so that overflow wraps.

    XLA reads six bits of an integer exponent that is not negative, and so does the model.
    """
    x, y = op.compacts()
    if not _is_integer(op):
        constant = op.constant(1)
        if constant is not None and constant.size == 1 and float(constant.ravel()[0]) == 2.0:
            return op.elementwise(op.emit.Mul(x, x))
        return op.elementwise(op.emit.Pow(x, y))
    return op.elementwise(_integer_power(g, op, x, y))


def _integer_power(g: GraphBuilder, op: Op, base: str, exponent: str) -> str:
    constant = op.constant(1)
    if constant is None or np.any(constant > _LARGEST_EXPONENT):
        low = op.emit.Mod(exponent, op.scalar(_LARGEST_EXPONENT + 1))
    else:
        low = exponent
    result = integers.integer_power(g, base, low)
    if op.out_dtype().kind == "u" or (constant is not None and np.all(constant >= 0)):
        return result
    # a negative exponent: 1 / x truncated
    one, zero, wide = op.scalar(1), op.scalar(0), op.emit
    inverse = wide.Where(wide.Equal(base, one), one, zero)
    parity = wide.Where(wide.Equal(wide.Mod(exponent, op.scalar(2)), zero), one, op.scalar(-1))
    inverse = wide.Where(wide.Equal(base, op.scalar(-1)), parity, inverse)
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
    """Nearest integer, halves away from zero."""
    return op.elementwise(round_half_away(g, op.compacts()[0]))


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
    return op.elementwise(cast(op.g, signed, g.get_type(op.compacts()[0])))
