"""The error function and what is written with it."""

from __future__ import annotations

from yobx.lowering import transcendental
from yobx.stablehlo.op import Op
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.stablehlo.tensor import Tensor
from yobx.xbuilder import GraphBuilder


@register_stablehlo_op_converter("chlo.erfc")
def convert_erfc(g: GraphBuilder, op: Op) -> Tensor:
    """``1 - erf(x)``."""
    return op.elementwise(transcendental.erfc(g, op.compacts()[0]))


@register_stablehlo_op_converter("yobx.gelu")
def convert_gelu(g: GraphBuilder, op: Op) -> Tensor:
    """``x * erfc(-x / sqrt(2)) / 2``, found by :mod:`yobx.stablehlo.fusion`."""
    x = op.compacts()[0]
    if g.opset("") >= 20:
        return op.elementwise(op.emit.Gelu(x))
    ratio = op.emit.Div(x, op.scalar(2.0**0.5))
    half = op.emit.Mul(x, op.scalar(0.5))
    return op.elementwise(op.emit.Mul(half, op.emit.Add(op.emit.Erf(ratio), op.scalar(1))))


@register_stablehlo_op_converter("yobx.softmax")
def convert_softmax(g: GraphBuilder, op: Op) -> str:
    """``Softmax`` along one axis, found by :mod:`yobx.stablehlo.fusion`."""
    return str(op.emit.Softmax(op.x(), axis=int(op.attr("axis"))))
