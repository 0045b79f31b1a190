"""Activation functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import transcendental as lib
from yobx.lowering.casts import cast
from yobx.lowering.diagonals import band_mask, row_minus_column
from yobx.lowering.error_function import erf_float64
from yobx.lowering.legalise import legal
from yobx.tensorflow.ops._op import FLOATS, FLOATS32, INTS, UINTS, attr, out_dtype, rank
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


@register_tf_op_converter("Relu", dtypes=(*FLOATS, *INTS, *UINTS))
def convert_relu(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """``max(x, 0)``."""
    x = op.inputs[0].name
    if op.inputs[0].dtype.is_unsigned:
        return str(g.op.Identity(x, outputs=outputs[:1], name=op.name))
    if op.inputs[0].dtype.is_integer:
        zero = lib.const(g, x, 0)
        return str(legal(g).Max(x, zero, outputs=outputs[:1], name=op.name))
    return str(legal(g).Relu(x, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("Relu6", dtypes=(*FLOATS, *INTS, *UINTS))
def convert_relu6(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """``min(max(x, 0), 6)``."""
    x = op.inputs[0].name
    low, high = lib.const(g, x, 0), lib.const(g, x, 6)
    return str(legal(g).Clip(x, low, high, outputs=outputs[:1], name=op.name))


def _negative_branch(g: GraphBuilder, x: str, alpha: float, scale: float) -> str:
    """Emit ``scale * x`` above zero and ``scale * alpha * (exp(x) - 1)`` below."""
    zero = lib.const(g, x, 0)
    below = legal(g).Mul(lib.expm1(g, legal(g).Min(x, zero)), lib.const(g, x, alpha * scale))
    above = x if scale == 1.0 else legal(g).Mul(x, lib.const(g, x, scale))
    return str(legal(g).Where(legal(g).Less(x, zero), below, above))


@register_tf_op_converter("Elu", dtypes=FLOATS)
def convert_elu(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """``x`` above zero, ``exp(x) - 1`` below."""
    x = op.inputs[0].name
    if op.inputs[0].dtype.name == "float64" and not lib.native(g, "Elu", x):
        return str(g.op.Identity(_negative_branch(g, x, 1.0, 1.0), outputs=outputs[:1]))
    return str(legal(g).Elu(x, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("Selu", dtypes=FLOATS)
def convert_selu(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Scaled exponential linear unit."""
    x = op.inputs[0].name
    if op.inputs[0].dtype.name == "float64":
        value = _negative_branch(g, x, SELU_ALPHA, SELU_SCALE)
        return str(g.op.Identity(value, outputs=outputs[:1], name=op.name))
    return str(legal(g).Selu(x, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("LeakyRelu", dtypes=FLOATS)
def convert_leaky_relu(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """``x`` above zero, ``alpha * x`` below."""
    alpha = float(attr(op, "alpha"))
    x = op.inputs[0].name
    if op.inputs[0].dtype.name == "float64" and not lib.native(g, "LeakyRelu", x):
        below = g.op.Mul(x, lib.const(g, x, alpha))
        positive = g.op.Less(x, lib.const(g, x, 0))
        return str(g.op.Where(positive, below, x, outputs=outputs[:1], name=op.name))
    return str(legal(g).LeakyRelu(x, alpha=alpha, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("Softplus", dtypes=FLOATS)
def convert_softplus(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """``log(1 + exp(x))``."""
    return lib.softplus(g, op.inputs[0].name, outputs=outputs[:1], name=op.name)


@register_tf_op_converter("Softsign", dtypes=FLOATS)
def convert_softsign(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """``x / (1 + abs(x))``."""
    return lib.softsign(g, op.inputs[0].name, outputs=outputs[:1], name=op.name)


@register_tf_op_converter(("Softmax", "LogSoftmax"), dtypes=FLOATS)
def convert_softmax(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Softmax over the last axis, or its logarithm."""
    emit = getattr(legal(g), op.type)
    return str(emit(op.inputs[0].name, axis=-1, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("Erf", dtypes=FLOATS)
def convert_erf(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Error function."""
    if op.inputs[0].dtype.name == "float64":
        return erf_float64(g, op.inputs[0].name, complement=False, outputs=outputs[:1])
    return str(legal(g).Erf(op.inputs[0].name, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("Erfc", dtypes=FLOATS)
def convert_erfc(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Complementary error function."""
    if op.inputs[0].dtype.name == "float64":
        return erf_float64(g, op.inputs[0].name, complement=True, outputs=outputs[:1])
    return lib.erfc(g, op.inputs[0].name, outputs=outputs[:1], name=op.name)


@register_tf_op_converter("L2Loss", dtypes=FLOATS)
def convert_l2_loss(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """``sum(x * x) / 2``."""
    x = op.inputs[0].name
    total = legal(g).ReduceSum(legal(g).Mul(x, x), keepdims=0)
    return str(legal(g).Mul(total, lib.const(g, x, 0.5), outputs=outputs[:1], name=op.name))


@register_tf_op_converter("LRN", dtypes=FLOATS32)
def convert_lrn(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Local response normalisation over the channels of `(n, h, w, c)`."""
    radius = int(attr(op, "depth_radius"))
    x = op.inputs[0].name
    if float(attr(op, "alpha")) <= 0 or float(attr(op, "beta")) <= 0:
        return _plain_lrn(g, op, radius, outputs)
    perm = [0, rank(g, op, 0) - 1, *range(1, rank(g, op, 0) - 1)]
    size = 2 * radius + 1
    # Squares are summed over the window in TensorFlow; ONNX divides alpha by its size.
    normalised = legal(g).LRN(
        g.op.Transpose(x, perm=perm),
        size=size,
        alpha=float(attr(op, "alpha")) * size,
        beta=float(attr(op, "beta")),
        bias=float(attr(op, "bias")),
    )
    return str(
        g.op.Transpose(normalised, perm=list(np.argsort(perm)), outputs=outputs[:1], name=op.name)
    )


def _plain_lrn(g: GraphBuilder, op: Any, radius: int, outputs: list[str]) -> str:
    """The same for factors and exponents that onnxruntime does not take."""
    x = cast(g, op.inputs[0].name, np.float32)
    channels = g.op.Squeeze(g.op.Shape(x, start=-1))
    distance = row_minus_column(g, channels, channels)
    near = band_mask(g, distance, np.array(-radius, np.int64), np.array(radius, np.int64))
    total = g.op.MatMul(g.op.Mul(x, x), cast(g, near, np.float32))
    alpha, beta, bias = (np.float32(attr(op, name)) for name in ("alpha", "beta", "bias"))
    size = g.op.Add(g.op.Mul(total, alpha), bias)
    return cast(g, g.op.Mul(x, g.op.Pow(size, -beta)), out_dtype(op), outputs=outputs[:1])
