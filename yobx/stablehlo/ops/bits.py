"""Operations on the bits of integers, and logic on bool."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import bits
from yobx.lowering.casts import cast
from yobx.stablehlo.op import Op
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.stablehlo.tensor import Tensor
from yobx.xbuilder import GraphBuilder


def _register_logic() -> None:
    for word in ("and", "or", "xor"):

        def logic(g: GraphBuilder, op: Op, _word: str = word.capitalize()) -> Tensor:
            emitter = op.emit if op.out_dtype() != np.bool_ else g.op
            name = _word if op.out_dtype() == np.bool_ else f"Bitwise{_word}"
            return op.elementwise(getattr(emitter, name)(*op.compacts()))

        register_stablehlo_op_converter(f"stablehlo.{word}")(logic)


_register_logic()


@register_stablehlo_op_converter("stablehlo.not")
def convert_not(g: GraphBuilder, op: Op) -> Tensor:
    """Complement of bool or of all bits."""
    x = op.compacts()[0]
    return op.elementwise(g.op.Not(x) if op.out_dtype() == np.bool_ else op.emit.BitwiseNot(x))


def _in_range(op: Op, shifted: str, otherwise: Any) -> Tensor:
    """A shift by less than 0 or by the width or more leaves no bit."""
    width = op.out_dtype().itemsize * 8
    distance = op.constant(1)
    if distance is not None and np.all((distance >= 0) & (distance < width)):
        return op.elementwise(shifted)
    unsigned = _unsigned(op.out_dtype())
    y = cast(op.g, op.compacts()[1], unsigned)
    inside = op.emit.Less(y, np.array(width, unsigned))
    return op.elementwise(op.emit.Where(inside, shifted, otherwise))


@register_stablehlo_op_converter("stablehlo.shift_left")
def convert_shift_left(g: GraphBuilder, op: Op) -> Tensor:
    """``x << y``, 0 when y is out of range."""
    return _in_range(op, bits.shift_left(g, op.compacts()[0], op.compacts()[1]), op.scalar(0))


@register_stablehlo_op_converter("stablehlo.shift_right_logical")
def convert_shift_right_logical(g: GraphBuilder, op: Op) -> Tensor:
    """``x >> y`` with zeros coming in, 0 when y is out of range."""
    dtype = op.out_dtype()
    unsigned = _unsigned(dtype)
    x, y = (cast(g, name, unsigned) for name in op.compacts())
    moved = cast(g, bits.shift_right(g, x, y), dtype)
    return _in_range(op, moved, op.scalar(0))


@register_stablehlo_op_converter("stablehlo.shift_right_arithmetic")
def convert_shift_right_arithmetic(g: GraphBuilder, op: Op) -> Tensor:
    """``x >> y`` with the sign coming in, all sign bits when y is out of range."""
    dtype = np.dtype(f"i{op.out_dtype().itemsize}")
    own = op.out_dtype()
    x, y = (cast(g, name, dtype) for name in op.compacts())
    most = g.make_initializer(None, np.array(dtype.itemsize * 8 - 1, dtype))
    sign = cast(g, bits.shift_right(g, x, most), own)
    return _in_range(op, cast(g, bits.shift_right(g, x, y), own), sign)


@register_stablehlo_op_converter("stablehlo.popcnt")
def convert_popcnt(g: GraphBuilder, op: Op) -> Tensor:
    """Number of ones."""
    count = bits.population_count(g, op.compacts()[0])
    return op.elementwise(cast(g, count, op.out_dtype()))


@register_stablehlo_op_converter("stablehlo.count_leading_zeros")
def convert_clz(g: GraphBuilder, op: Op) -> Tensor:
    """Number of leading zeros: the ones among the bits once every bit below a one is set."""
    dtype = op.out_dtype()
    width = dtype.itemsize * 8
    unsigned = _unsigned(dtype)
    x = cast(g, op.compacts()[0], unsigned)
    step = 1
    while step < width:
        moved = g.op.BitShift(x, np.array(step, unsigned), direction="RIGHT")
        x = g.op.BitwiseOr(x, moved)
        step *= 2
    ones = bits.population_count(g, x)
    zeros = g.op.Sub(np.array(width), ones)
    return op.elementwise(cast(g, zeros, dtype))


# (mantissa bits, exponent bits) by float type
_LAYOUTS = {"float16": (10, 5), "bfloat16": (7, 8), "float32": (23, 8), "float64": (52, 11)}


@register_stablehlo_op_converter("stablehlo.bitcast_convert")
def convert_bitcast(g: GraphBuilder, op: Op) -> Tensor | str:
    """Reinterpret bits. Of floats they are computed, for ONNX has no such cast before opset 26."""
    source, wanted = op.in_type().dtype, op.out_dtype()
    if source == wanted:
        return op.inputs[0]
    if source.itemsize == wanted.itemsize:
        x = op.compacts()[0]
        whole = _to_bits(op, x, source)
        return op.elementwise(_from_bits(op, whole, wanted))
    whole = _to_bits(op, op.x(), source)
    unsigned = _unsigned(wanted)
    if source.itemsize > wanted.itemsize:
        return _from_bits(op, _split(op, whole, source.itemsize, unsigned), wanted)
    return _from_bits(op, _join(op, whole, source.itemsize, unsigned), wanted)


def _unsigned(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(f"u{dtype.itemsize}")


def _split(op: Op, x: str, width: int, part: np.dtype[Any]) -> str:
    """Parts of each element, lowest bits first, along a new last axis."""
    whole = np.dtype(f"u{width}")
    shifts = (np.arange(width // part.itemsize) * 8 * part.itemsize).astype(whole)
    wide = op.g.op.Unsqueeze(x, np.array([-1]))
    moved = op.g.op.BitShift(wide, shifts, direction="RIGHT")
    return cast(op.g, moved, part)


def _join(op: Op, x: str, width: int, whole: np.dtype[Any]) -> str:
    """The last axis as one element, lowest bits first."""
    count = whole.itemsize // width
    shifts = (np.arange(count) * 8 * width).astype(whole)
    moved = op.g.op.BitShift(cast(op.g, x, whole), shifts, direction="LEFT")
    parts = op.g.op.Split(moved, num_outputs=count, axis=-1, outputs=count)
    total = parts[0]
    for part in parts[1:]:
        total = op.g.op.BitwiseOr(total, part)
    return str(op.g.op.Squeeze(total, np.array([-1])))


def _to_bits(op: Op, x: str, dtype: np.dtype[Any]) -> str:
    """Bits of each element as an unsigned integer."""
    g, unsigned = op.g, _unsigned(dtype)
    if dtype.kind in "iub":
        return cast(g, x, unsigned)
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
    nonzero = g.op.Not(g.op.Equal(value, wide.type(0)))
    signed = g.op.Where(nonzero, value, g.op.Div(wide.type(1), value))
    sign = np.array(2 ** (8 * dtype.itemsize - 1)).astype(unsigned)
    zero = np.array(0, unsigned)
    minus = op.emit.Where(g.op.Less(signed, wide.type(0)), sign, zero)
    return str(g.op.BitwiseOr(cast(g, number, unsigned), minus))


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


def _from_bits(op: Op, x: str, dtype: np.dtype[Any]) -> str:
    """Elements of a type that have the bits given as unsigned integers."""
    g = op.g
    if dtype.kind in "iub":
        return cast(g, x, dtype)
    mantissa, exponent = _LAYOUTS[dtype.name]
    unsigned, bias = _unsigned(dtype), 2 ** (exponent - 1) - 1
    wide = np.dtype(np.float64 if dtype == np.float64 else np.float32)
    last = 2**exponent - 1
    shifted = g.op.BitShift(x, np.array(mantissa, unsigned), direction="RIGHT")
    field = cast(g, g.op.BitwiseAnd(shifted, np.array(last, unsigned)), np.int64)
    part = cast(g, g.op.BitwiseAnd(x, np.array(2**mantissa - 1, unsigned)), np.int64)
    normal = g.op.Greater(field, np.array(0))
    whole = g.op.Add(part, g.op.Where(normal, np.array(2**mantissa), np.array(0)))
    powers = np.ldexp(1.0, np.maximum(np.arange(last + 1), 1) - bias - mantissa)
    powers[last] = np.inf
    scale = g.op.Gather(g.make_initializer(None, powers.astype(wide)), field)
    value = g.op.Mul(cast(g, whole, wide), scale)
    bad = g.op.And(g.op.Equal(field, np.array(last)), g.op.Greater(part, np.array(0)))
    value = g.op.Where(bad, wide.type(np.nan), value)
    top = g.op.BitShift(x, np.array(8 * dtype.itemsize - 1, unsigned), direction="RIGHT")
    minus = cast(g, top, np.bool_)
    signed = g.op.Where(minus, g.op.Neg(value), value)
    return cast(g, signed, dtype)
