"""Batch normalisation at inference and with batch statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering.casts import cast
from yobx.lowering.legalise import legal
from yobx.lowering.transcendental import const
from yobx.tensorflow.ops._op import FLOATS32, attr, data_format, rank
from yobx.tensorflow.ops._window import in_channels_first
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder


def _default_format(n: int) -> str:
    return "NHWC" if n == 2 else "NDHWC"


@register_tf_op_converter(
    ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"), dtypes=FLOATS32
)
def convert_fused_batch_norm(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Normalisation per channel; statistics are inputs, or come from the batch when training."""
    if bool(attr(op, "is_training")):
        return _with_batch_statistics(g, outputs, op)
    n = rank(g, op, 0) - 2
    epsilon = float(attr(op, "epsilon"))
    scale, offset, mean, variance = (i.name for i in op.inputs[1:5])

    def compute(x: str, names: list[str] | None) -> str:
        return str(
            legal(g).BatchNormalization(
                x, scale, offset, mean, variance, epsilon=epsilon, outputs=names, name=op.name
            )
        )

    in_channels_first(
        g, op, op.inputs[0].name, outputs, compute, n=n, default_format=_default_format(n)
    )
    for name, source in zip(outputs[1:5], (mean, variance, mean, variance), strict=False):
        g.alias(name, source)
    if len(outputs) > 5:
        g.make_initializer(outputs[5], np.zeros((0,), np.float32))
    return outputs[0]


def _with_batch_statistics(g: GraphBuilder, outputs: list[str], op: Any) -> str:
    """Normalise by the mean and variance of the batch itself (``is_training``)."""
    n = rank(g, op, 0)
    last, _ = data_format(op, _default_format(n - 2))
    axes = np.array([i for i in range(n) if i != (n - 1 if last else 1)], np.int64)
    x = cast(g, op.inputs[0].name, np.float32)
    scale, offset = op.inputs[1].name, op.inputs[2].name
    if not last:
        inner = np.arange(1, n - 1, dtype=np.int64)
        scale, offset = g.op.Unsqueeze(scale, inner), g.op.Unsqueeze(offset, inner)
    mean = g.op.ReduceMean(x, axes, keepdims=1)
    centred = g.op.Sub(x, mean)
    variance = g.op.ReduceMean(g.op.Mul(centred, centred), axes, keepdims=1)
    epsilon = const(g, x, float(attr(op, "epsilon")))
    factor = g.op.Div(scale, g.op.Sqrt(g.op.Add(variance, epsilon)))
    value = g.op.Add(g.op.Mul(centred, factor), offset)
    cast(g, value, op.outputs[0].dtype.as_numpy_dtype, outputs=outputs[:1])
    flat_mean, flat_variance = g.op.Squeeze(mean, axes), g.op.Squeeze(variance, axes)
    _training_outputs(g, outputs, op, x, axes, mean=flat_mean, variance=flat_variance)
    return outputs[0]


def _training_outputs(
    g: GraphBuilder, outputs: list[str], op: Any, x: str, axes: Any, *, mean: str, variance: str
) -> None:
    """Write the running statistics: Bessel-corrected variance, averaged with the old values."""
    one = np.array(1, np.float32)
    sizes = g.op.Gather(g.op.Shape(x), axes)
    count = cast(g, g.op.ReduceProd(sizes, keepdims=0), np.float32)
    correction = g.op.Div(count, g.op.Max(g.op.Sub(count, one), one))
    unbiased = g.op.Mul(variance, correction)
    factor = float(attr(op, "exponential_avg_factor", 1.0))
    results = [mean, unbiased]
    if factor != 1.0:
        old = [op.inputs[3].name, op.inputs[4].name]
        keep, take = np.array(1 - factor, np.float32), np.array(factor, np.float32)
        results = [
            g.op.Add(g.op.Mul(a, keep), g.op.Mul(b, take))
            for a, b in zip(old, results, strict=True)
        ]
    for name, source in zip(outputs[1:5], (*results, mean, variance), strict=False):
        g.alias(name, source)
    if len(outputs) > 5:
        g.make_initializer(outputs[5], np.zeros((0,), np.float32))
