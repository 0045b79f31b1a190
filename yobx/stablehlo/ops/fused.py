"""What :mod:`yobx.stablehlo.fusion` finds."""

from __future__ import annotations

from yobx.stablehlo.op import Op
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.stablehlo.tensor import Tensor
from yobx.xbuilder import GraphBuilder


@register_stablehlo_op_converter("yobx.gelu")
def convert_gelu(g: GraphBuilder, op: Op) -> Tensor:
    """``Gelu``, or its parts before opset 20."""
    x, is_tanh = op.compacts()[0], op.attr("approximate") == "tanh"
    if g.opset("") >= 20:
        return op.elementwise(op.emit.Gelu(x, approximate="tanh" if is_tanh else "none"))
    if is_tanh:
        cube = op.emit.Mul(op.emit.Mul(x, x), x)
        inner = op.emit.Add(x, op.emit.Mul(cube, op.scalar(0.044715)))
        curve = op.emit.Tanh(op.emit.Mul(inner, op.scalar((2.0 / 3.141592653589793) ** 0.5)))
    else:
        curve = op.emit.Erf(op.emit.Mul(x, op.scalar(0.5**0.5)))
    half = op.emit.Mul(x, op.scalar(0.5))
    return op.elementwise(op.emit.Mul(half, op.emit.Add(curve, op.scalar(1))))


@register_stablehlo_op_converter("yobx.softmax")
def convert_softmax(g: GraphBuilder, op: Op) -> str:
    """``Softmax`` or ``LogSoftmax`` along one axis."""
    emitter = op.emit.LogSoftmax if op.attr("log") else op.emit.Softmax
    return str(emitter(op.x(), axis=int(op.attr("axis"))))


@register_stablehlo_op_converter("yobx.layer_norm")
def convert_layer_norm(g: GraphBuilder, op: Op) -> str:
    """``LayerNormalization`` over the last axis."""
    return str(op.emit.LayerNormalization(*op.xs(), axis=-1, epsilon=float(op.attr("epsilon"))))
