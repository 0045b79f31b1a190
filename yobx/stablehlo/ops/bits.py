"""Operations on the bits of integers, and logic on bool."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import bits
from yobx.onnx_optim.tensor_type import tensor_type
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
    unsigned = np.dtype(f"u{op.out_dtype().itemsize}")
    y = op.g.op.Cast(op.compacts()[1], to=int(tensor_type(unsigned)))
    inside = op.emit.Less(y, np.array(width, unsigned))
    return op.elementwise(op.emit.Where(inside, shifted, otherwise))


@register_stablehlo_op_converter("stablehlo.shift_left")
def convert_shift_left(g: GraphBuilder, op: Op) -> Tensor:
    """``x << y``, 0 when y is out of range."""
    return _in_range(op, bits.shift_left(g, *op.compacts()), op.scalar(0))


@register_stablehlo_op_converter("stablehlo.shift_right_logical")
def convert_shift_right_logical(g: GraphBuilder, op: Op) -> Tensor:
    """``x >> y`` with zeros coming in, 0 when y is out of range."""
    dtype = op.out_dtype()
    unsigned = int(tensor_type(np.dtype(f"u{dtype.itemsize}")))
    x, y = (g.op.Cast(name, to=unsigned) for name in op.compacts())
    moved = g.op.Cast(bits.shift_right(g, x, y), to=int(tensor_type(dtype)))
    return _in_range(op, moved, op.scalar(0))


@register_stablehlo_op_converter("stablehlo.shift_right_arithmetic")
def convert_shift_right_arithmetic(g: GraphBuilder, op: Op) -> Tensor:
    """``x >> y`` with the sign coming in, all sign bits when y is out of range."""
    x, y = op.compacts()
    dtype = op.out_dtype()
    sign = bits.shift_right(g, x, g.make_initializer(None, op.scalar(dtype.itemsize * 8 - 1)))
    return _in_range(op, bits.shift_right(g, x, y), sign)


@register_stablehlo_op_converter("stablehlo.popcnt")
def convert_popcnt(g: GraphBuilder, op: Op) -> Tensor:
    """Number of ones."""
    count = bits.population_count(g, op.compacts()[0])
    return op.elementwise(g.op.Cast(count, to=int(tensor_type(op.out_dtype()))))


@register_stablehlo_op_converter("stablehlo.count_leading_zeros")
def convert_clz(g: GraphBuilder, op: Op) -> Tensor:
    """Number of leading zeros: the ones among the bits once every bit below a one is set."""
    dtype = op.out_dtype()
    width = dtype.itemsize * 8
    unsigned = np.dtype(f"u{dtype.itemsize}")
    x = g.op.Cast(op.compacts()[0], to=int(tensor_type(unsigned)))
    step = 1
    while step < width:
        moved = g.op.BitShift(x, np.array(step, unsigned), direction="RIGHT")
        x = g.op.BitwiseOr(x, moved)
        step *= 2
    ones = bits.population_count(g, x)
    zeros = g.op.Sub(np.array(width), ones)
    return op.elementwise(g.op.Cast(zeros, to=int(tensor_type(dtype))))
