"""Gradients of activations, which models that differentiate inside themselves hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering.legalise import legal
from yobx.lowering.transcendental import const
from yobx.tensorflow.ops import _complex_math
from yobx.tensorflow.ops._complex import COMPLEX, by_parts, with_complex
from yobx.tensorflow.ops._op import FLOATS, attr, data_format, rank
from yobx.tensorflow.ops.activations import SELU_ALPHA, SELU_SCALE
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder


@register_tf_op_converter(("ReluGrad", "Relu6Grad", "LeakyReluGrad"), dtypes=FLOATS)
def convert_piecewise(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The gradient where the activation has slope 1, and zero (or ``alpha`` of it) elsewhere."""
    gradient, x = (i.name for i in op.inputs)
    passes = legal(g).Greater(x, const(g, x, 0))
    other: Any = const(g, x, 0)
    if op.type == "Relu6Grad":
        passes = g.op.And(passes, legal(g).Less(x, const(g, x, 6)))
    if op.type == "LeakyReluGrad":
        other = legal(g).Mul(gradient, const(g, x, float(attr(op, "alpha"))))
    return str(legal(g).Where(passes, gradient, other, outputs=outputs[:1], name=op.name))


@register_tf_op_converter(("EluGrad", "SeluGrad"), dtypes=FLOATS)
def convert_exponential(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """From the activation's result: its distance from the lower limit is the slope below zero."""
    gradient, y = (i.name for i in op.inputs)
    scale, limit = (1.0, 1.0) if op.type == "EluGrad" else (SELU_SCALE, SELU_SCALE * SELU_ALPHA)
    below = legal(g).Mul(gradient, legal(g).Add(y, const(g, y, limit)))
    above = gradient if scale == 1.0 else legal(g).Mul(gradient, const(g, y, scale))
    negative = legal(g).Less(y, const(g, y, 0))
    return str(legal(g).Where(negative, below, above, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("SoftplusGrad", dtypes=FLOATS)
def convert_softplus(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """``gradient * sigmoid(x)``."""
    gradient, x = (i.name for i in op.inputs)
    return str(legal(g).Mul(gradient, legal(g).Sigmoid(x), outputs=outputs[:1], name=op.name))


@register_tf_op_converter("SoftsignGrad", dtypes=FLOATS)
def convert_softsign(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """``gradient / (1 + abs(x)) ** 2``."""
    gradient, x = (i.name for i in op.inputs)
    size = legal(g).Add(legal(g).Abs(x), const(g, x, 1))
    square = legal(g).Mul(size, size)
    return str(legal(g).Div(gradient, square, outputs=outputs[:1], name=op.name))


@register_tf_op_converter(("SigmoidGrad", "TanhGrad"), dtypes=(*FLOATS, *COMPLEX))
@with_complex(_complex_math.binary)
def convert_saturating(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """From the activation's result ``y``: ``y * (1 - y)`` or ``1 - y * y`` times the gradient."""
    y, gradient = (i.name for i in op.inputs)
    one = const(g, y, 1)
    if op.type == "SigmoidGrad":
        slope = legal(g).Mul(y, legal(g).Sub(one, y))
    else:
        slope = legal(g).Sub(one, legal(g).Mul(y, y))
    return str(legal(g).Mul(gradient, slope, outputs=outputs[:1], name=op.name))


@register_tf_op_converter(
    ("SqrtGrad", "RsqrtGrad", "InvGrad", "ReciprocalGrad"), dtypes=(*FLOATS, *COMPLEX)
)
@with_complex(_complex_math.binary)
def convert_powers(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """From the result ``y`` of a power of ``x``."""
    y, gradient = (i.name for i in op.inputs)
    if op.type == "SqrtGrad":
        half = legal(g).Mul(gradient, const(g, y, 0.5))
        return str(legal(g).Div(half, y, outputs=outputs[:1], name=op.name))
    square = legal(g).Mul(y, y)
    if op.type == "RsqrtGrad":
        square = legal(g).Mul(legal(g).Mul(square, y), const(g, y, 0.5))
    slope = legal(g).Neg(square)
    return str(legal(g).Mul(gradient, slope, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("BiasAddGrad", dtypes=(*FLOATS, *COMPLEX))
@by_parts
def convert_bias(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Sum over all axes but the channels."""
    n = rank(g, op, 0)
    last, _ = data_format(op)
    axes = np.array([i for i in range(n) if i != (n - 1 if last else 1)], np.int64)
    x = op.inputs[0].name
    return str(legal(g).ReduceSum(x, axes, keepdims=0, outputs=outputs[:1], name=op.name))
