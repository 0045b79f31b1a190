"""One convolution of TensorFlow, with the padding and the dilations of its own or with others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.conv import conv
from yobx.lowering.layout import permuted
from yobx.lowering.shapes import Dim
from yobx.tensorflow.ops._op import constant, data_format, dims, unsupported
from yobx.tensorflow.ops._window import in_channels_first, padding_pairs, window_of
from yobx.xbuilder import GraphBuilder

__all__ = ["WEIGHT_FORMAT", "convolution", "depthwise_weights", "static_weights"]

#: Layout by the number of spatial axes, where an op does not say it.
WEIGHT_FORMAT = {2: "NHWC", 3: "NDHWC"}


def static_weights(g: GraphBuilder, op: Any, index: int) -> tuple[int, ...]:
    """Return the static shape of the weights input."""
    sizes = dims(g, op, index)
    if sizes is None or any(s is None for s in sizes):
        unsupported(op, "the shape of the weights must be static", f"shape={sizes}")
    return tuple(int(s) for s in sizes if s is not None)


def depthwise_weights(g: GraphBuilder, op: Any, name: str, shape: tuple[int, ...]) -> None:
    """Define ``name`` as the weights in the order `(c * multiplier, 1, h, w)`."""
    value = constant(g, op, 1)
    if value is not None:
        g.make_initializer(name, np.transpose(value, (2, 3, 0, 1)).reshape(shape))
        return
    turned = g.op.Transpose(op.inputs[1].name, perm=[2, 3, 0, 1])
    shapes.reshape(g, turned, list(shape), outputs=[name])


def convolution(
    g: GraphBuilder,
    op: Any,
    x: str,
    outputs: list[str] | None,
    *,
    dilations: Sequence[int] | None = None,
    pads: Sequence[tuple[Dim, Dim]] | None = None,
) -> str:
    """Emit ``Conv2D``, ``Conv3D`` or ``DepthwiseConv2dNative``.

    Args:
        g: The graph.
        op: The operation.
        x: Data in its layout.
        outputs: Names to write, ``None`` for any.
        dilations: Others than its own, one for each spatial axis.
        pads: Other padding than its own, (begin, end) for each spatial axis.

    Returns:
        Name of the result in the layout of the operation.
    """
    kernel = static_weights(g, op, 1)
    n = len(kernel) - 2
    window = window_of(op, kernel[:n], WEIGHT_FORMAT[n])
    if dilations is not None:
        window = replace(window, dilations=tuple(dilations))
    group, weights = _depthwise(g, op, kernel) if "Depthwise" in op.type else _plain(g, op, kernel)

    def compute(x: str, names: list[str] | None) -> str:
        pairs = padding_pairs(g, op, x, window, WEIGHT_FORMAT[n]) if pads is None else pads
        return conv(g, x, weights, window, pairs, group=group, outputs=names, name=op.name)

    return in_channels_first(g, op, x, outputs, compute, n=n, default_format=WEIGHT_FORMAT[n])


def _plain(g: GraphBuilder, op: Any, kernel: tuple[int, ...]) -> tuple[int, str]:
    n = len(kernel) - 2
    last, _ = data_format(op, WEIGHT_FORMAT[n])
    sizes = dims(g, op, 0)
    channels = None if sizes is None else sizes[-1 if last else 1]
    if channels is None:
        unsupported(op, "the number of channels must be static", f"shape={sizes}")
    return channels // kernel[-2], permuted(g, op.inputs[1].name, [n + 1, n, *range(n)], "oi")


def _depthwise(g: GraphBuilder, op: Any, kernel: tuple[int, ...]) -> tuple[int, str]:
    height, width, channels, multiplier = kernel
    weights = op.inputs[1].name
    name = f"{g.alias(weights, weights)}/depthwise"  # a local name would not tell weights apart
    if not g.has_name(name):
        depthwise_weights(g, op, name, (channels * multiplier, 1, height, width))
    return channels, name
