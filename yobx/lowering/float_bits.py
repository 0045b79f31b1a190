"""The bits of floating-point numbers, computed where the opset has no such cast (before 26)."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering.casts import cast
from yobx.lowering.dtypes import numpy_dtype
from yobx.lowering.kernels import has_kernel, schema_of
from yobx.lowering.legalise import legal
from yobx.onnx_optim.tensor_type import tensor_type
from yobx.xbuilder import GraphBuilder

__all__ = [
    "can_reread",
    "from_bits",
    "is_negative",
    "next_after",
    "to_bits",
    "total_order",
    "unsigned",
]

# (mantissa bits, exponent bits) by float type
_LAYOUTS = {"float16": (10, 5), "bfloat16": (7, 8), "float32": (23, 8), "float64": (52, 11)}


def unsigned(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the unsigned integers of the same width."""
    return np.dtype(f"u{dtype.itemsize}")


def can_reread(g: GraphBuilder, dtype: np.dtype[Any]) -> bool:
    """Whether the bits of floats can be had as they are, those of NaN too.

    Args:
        g: The builder.
        dtype: Dtype of the floats.
    """
    opset = g.opset("")
    return schema_of("BitCast", opset) is not None and has_kernel(
        "BitCast", opset, tensor_type(dtype)
    )


def total_order(g: GraphBuilder, x: str, dtype: np.dtype[Any]) -> str:
    """Emit integers that are ordered as floats are by their bits; where `can_reread` says so.

    A NaN with the sign bit comes before everything, one without it after everything, and -0.0
    before 0.0.

    Args:
        g: Builder to write to.
        x: Floats.
        dtype: What they are.

    Returns:
        Name of int32, or int64 for float64.
    """
    bits = np.dtype(f"i{dtype.itemsize}")
    wide = np.dtype(np.int64 if dtype.itemsize == 8 else np.int32)
    number = cast(g, g.op.BitCast(x, to=tensor_type(bits)), wide)
    turned = g.op.BitwiseXor(number, np.array(np.iinfo(bits).max, wide))
    return str(g.op.Where(g.op.Less(number, np.array(0, wide)), turned, number))


def is_negative(g: GraphBuilder, x: str) -> str:
    """Emit whether the sign bit of floats is set, as it is for -0.0; a NaN counts as positive.

    Args:
        g: The builder.
        x: Floats of any shape.

    Returns:
        Booleans of the shape of `x`.
    """
    emit = legal(g)
    kind = numpy_dtype(g.get_type(x))
    zero, one = np.array(0, kind), np.array(1, kind)
    nonzero = g.op.Not(emit.Equal(x, zero))
    return str(emit.Less(emit.Where(nonzero, x, emit.Div(one, x)), zero))


def next_after(
    g: GraphBuilder, x: str, y: str, dtype: np.dtype[Any], outputs: list[str] | None = None
) -> str:
    """Emit the float next to ``x`` in the direction of ``y``.

    Args:
        g: Builder to write to.
        x: float32 or float64.
        y: The same, of a shape that broadcasts with it.
        dtype: What they are.
        outputs: Name to give.
    """
    zero, one = np.array(0, np.int64), np.array(1, np.int64)
    # Without its sign a float grows with its bits, so a neighbour is one bit away.
    bits = cast(g, to_bits(g, g.op.Abs(x), dtype), np.int64)
    is_zero = g.op.Equal(x, dtype.type(0))
    outwards = g.op.Or(is_zero, g.op.Equal(g.op.Greater(y, x), g.op.Greater(x, dtype.type(0))))
    step = g.op.Where(outwards, one, np.array(-1, np.int64))
    step = g.op.Where(g.op.Equal(x, y), zero, step)
    moved = from_bits(g, cast(g, g.op.Add(bits, step), unsigned(dtype)), dtype)
    sign_of = g.op.Where(is_zero, y, x)
    signed = g.op.Where(g.op.Less(sign_of, dtype.type(0)), g.op.Neg(moved), moved)
    signed = g.op.Where(g.op.Equal(x, y), y, signed)
    is_nan = g.op.Or(g.op.IsNaN(x), g.op.IsNaN(y))
    return str(g.op.Where(is_nan, dtype.type(np.nan), signed, outputs=outputs))


def to_bits(g: GraphBuilder, x: str, dtype: np.dtype[Any]) -> str:
    """Emit the bits of each element as an unsigned integer of the same width.

    Args:
        g: Builder to write to.
        x: Numbers of shape `(...)`.
        dtype: What they are.

    Returns:
        Name of unsigned integers of the same shape. Where they are computed, a NaN has the bits of
        the usual quiet one.
    """
    bits = unsigned(dtype)
    if dtype.kind in "iub":
        return cast(g, x, bits)
    if can_reread(g, dtype):
        return str(g.op.BitCast(x, to=tensor_type(bits)))
    mantissa, exponent = _LAYOUTS[dtype.name]
    wide = np.dtype(np.float64 if dtype == np.float64 else np.float32)
    value = cast(g, x, wide)
    bias, lowest = 2 ** (exponent - 1) - 1, 2 - 2 ** (exponent - 1)
    size = g.op.Abs(value)
    special = g.op.Or(g.op.IsNaN(value), g.op.IsInf(value))
    usable = g.op.And(g.op.Not(special), g.op.Greater(size, wide.type(0)))
    clean = g.op.Where(usable, size, wide.type(1))
    scaled, power = _normalised(g, clean, wide, lowest, bias)
    whole = cast(g, g.op.Mul(scaled, wide.type(2.0**mantissa)), np.int64)
    normal = g.op.GreaterOrEqual(whole, np.array(2**mantissa))
    field = g.op.Where(normal, g.op.Add(power, np.array(bias - 1)), np.array(0))
    number = g.op.Add(g.op.Mul(field, np.array(2**mantissa)), whole)
    number = g.op.Where(normal, number, whole)
    top = np.array((2**exponent - 1) << mantissa)
    number = g.op.Where(usable, number, np.array(0))
    number = g.op.Where(g.op.IsInf(value), top, number)
    number = g.op.Where(g.op.IsNaN(value), np.array(int(top) + 2 ** (mantissa - 1)), number)
    sign = np.array(2 ** (8 * dtype.itemsize - 1)).astype(bits)
    minus = legal(g).Where(is_negative(g, value), sign, np.array(0, bits))
    return str(g.op.BitwiseOr(cast(g, number, bits), minus))


def _normalised(
    g: GraphBuilder, size: str, wide: np.dtype[Any], lowest: int, bias: int
) -> tuple[str, str]:
    """``(size / 2**e, e)`` with the first in [1, 2), or less at the lowest exponent."""
    guess = g.op.Floor(g.op.Div(g.op.Log(size), wide.type(np.log(2.0))))
    guess = cast(g, g.op.Clip(guess, wide.type(lowest), wide.type(bias)), np.int64)
    powers = np.ldexp(1.0, -np.arange(lowest, bias + 1)).astype(wide)

    def scaled(power: str) -> str:
        place = g.op.Sub(power, np.array(lowest))
        return str(g.op.Mul(size, g.op.Gather(g.make_initializer(None, powers), place)))

    first = scaled(guess)
    up = cast(g, g.op.GreaterOrEqual(first, wide.type(2)), np.int64)
    down = cast(g, g.op.Less(first, wide.type(1)), np.int64)
    power = g.op.Add(guess, g.op.Sub(up, down))
    power = g.op.Max(g.op.Min(power, np.array(bias)), np.array(lowest))
    return scaled(power), str(power)


def from_bits(g: GraphBuilder, x: str, dtype: np.dtype[Any]) -> str:
    """Emit the elements of a type whose bits are given.

    Args:
        g: Builder to write to.
        x: Unsigned integers of shape `(...)` and of the width of the type.
        dtype: The type.
    """
    if dtype.kind in "iub":
        return cast(g, x, dtype)
    if can_reread(g, dtype):
        return str(g.op.BitCast(x, to=tensor_type(dtype)))
    mantissa, exponent = _LAYOUTS[dtype.name]
    bits, bias = unsigned(dtype), 2 ** (exponent - 1) - 1
    wide = np.dtype(np.float64 if dtype == np.float64 else np.float32)
    last = 2**exponent - 1
    shifted = g.op.BitShift(x, np.array(mantissa, bits), direction="RIGHT")
    field = cast(g, g.op.BitwiseAnd(shifted, np.array(last, bits)), np.int64)
    part = cast(g, g.op.BitwiseAnd(x, np.array(2**mantissa - 1, bits)), np.int64)
    normal = g.op.Greater(field, np.array(0))
    whole = g.op.Add(part, g.op.Where(normal, np.array(2**mantissa), np.array(0)))
    powers = np.ldexp(1.0, np.maximum(np.arange(last + 1), 1) - bias - mantissa)
    powers[last] = np.inf
    scale = g.op.Gather(g.make_initializer(None, powers.astype(wide)), field)
    value = g.op.Mul(cast(g, whole, wide), scale)
    bad = g.op.And(g.op.Equal(field, np.array(last)), g.op.Greater(part, np.array(0)))
    value = g.op.Where(bad, wide.type(np.nan), value)
    top = g.op.BitShift(x, np.array(8 * dtype.itemsize - 1, bits), direction="RIGHT")
    minus = cast(g, top, np.bool_)
    signed = g.op.Where(minus, g.op.Neg(value), value)
    return cast(g, signed, dtype)
