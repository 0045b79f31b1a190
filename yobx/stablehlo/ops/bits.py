"""Operations on the bits of integers, and logic on bool."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import bits
from yobx.lowering.casts import cast
from yobx.lowering.float_bits import from_bits, to_bits, unsigned
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
    kind = unsigned(op.out_dtype())
    y = cast(op.g, op.compacts()[1], kind)
    inside = op.emit.Less(y, np.array(width, kind))
    return op.elementwise(op.emit.Where(inside, shifted, otherwise))


@register_stablehlo_op_converter("stablehlo.shift_left")
def convert_shift_left(g: GraphBuilder, op: Op) -> Tensor:
    """``x << y``, 0 when y is out of range."""
    return _in_range(op, bits.shift_left(g, op.compacts()[0], op.compacts()[1]), op.scalar(0))


@register_stablehlo_op_converter("stablehlo.shift_right_logical")
def convert_shift_right_logical(g: GraphBuilder, op: Op) -> Tensor:
    """``x >> y`` with zeros coming in, 0 when y is out of range."""
    dtype = op.out_dtype()
    kind = unsigned(dtype)
    x, y = (cast(g, name, kind) for name in op.compacts())
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
    kind = unsigned(dtype)
    x = cast(g, op.compacts()[0], kind)
    step = 1
    while step < width:
        moved = g.op.BitShift(x, np.array(step, kind), direction="RIGHT")
        x = g.op.BitwiseOr(x, moved)
        step *= 2
    ones = bits.population_count(g, x)
    zeros = g.op.Sub(np.array(width), ones)
    return op.elementwise(cast(g, zeros, dtype))


@register_stablehlo_op_converter("stablehlo.bitcast_convert")
def convert_bitcast(g: GraphBuilder, op: Op) -> Tensor | str:
    """Reinterpret bits. Of floats they are computed, for ONNX has no such cast before opset 26."""
    source, wanted = op.in_type().dtype, op.out_dtype()
    if source == wanted:
        return op.inputs[0]
    if source.itemsize == wanted.itemsize:
        x = op.compacts()[0]
        whole = to_bits(op.g, x, source)
        return op.elementwise(from_bits(op.g, whole, wanted))
    whole = to_bits(op.g, op.x(), source)
    cut = _split if source.itemsize > wanted.itemsize else _join
    return from_bits(op.g, cut(op, whole, source.itemsize, unsigned(wanted)), wanted)


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
