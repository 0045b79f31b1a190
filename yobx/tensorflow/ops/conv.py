"""Convolutions, their adjoints (transposed convolutions) and bias."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.conv import conv, conv_transpose
from yobx.lowering.layout import permuted
from yobx.lowering.legalise import legal
from yobx.lowering.padding import Window, same_pads
from yobx.lowering.shapes import Dim
from yobx.tensorflow.ops._complex import COMPLEX, by_parts
from yobx.tensorflow.ops._convolution import (
    WEIGHT_FORMAT,
    convolution,
    depthwise_weights,
    static_weights,
)
from yobx.tensorflow.ops._op import (
    FLOATS,
    NUMBERS,
    attr,
    constant,
    data_format,
    dims,
    rank,
    unsupported,
)
from yobx.tensorflow.ops._window import in_channels_first, spatial, window_of
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder


@register_tf_op_converter(("Conv2D", "Conv3D"), dtypes=(*FLOATS, "int32"))
def convert_conv(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Convolution with weights `(*k, c / group, o)`."""
    return convolution(g, op, op.inputs[0].name, outputs)


@register_tf_op_converter("Conv", dtypes=(*FLOATS, "int32"))
def convert_general_conv(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Convolution over any batch axes and two or three spatial axes, any padding."""
    kernel = static_weights(g, op, 1)
    n = len(kernel) - 2
    last = str(attr(op, "data_format")) == "CHANNELS_LAST"
    batch = int(attr(op, "batch_dims", 1))
    sizes = dims(g, op, 0)
    channels = None if sizes is None else sizes[-1 if last else batch]
    if channels is None:
        unsupported(op, "the number of channels must be static", f"shape={sizes}")
    strides = spatial([int(s) for s in op.get_attr("strides")], last)
    given = [int(d) for d in op.get_attr("dilations")]
    window = Window(kernel[:n], strides, spatial(given, last) if given else (1,) * n)
    x, order = op.inputs[0].name, [0, n + 1, *range(1, n + 1)]
    w = permuted(g, op.inputs[1].name, [n + 1, n, *range(n)], "oi")
    if batch != 1:
        inner = g.op.Shape(x, start=batch)
        x = g.op.Reshape(x, g.op.Concat(np.array([-1], np.int64), inner, axis=0))
    if last:
        x = g.op.Transpose(x, perm=order)
    pairs = _general_pairs(g, op, x, window, last)
    names = outputs[:1] if not last and batch == 1 else None
    group = channels // kernel[-2]
    result = conv(g, x, w, window, pairs, group=group, outputs=names, name=op.name)
    if last:
        names = outputs[:1] if batch == 1 else None
        result = str(g.op.Transpose(result, perm=[0, *range(2, n + 2), 1], outputs=names))
    if batch == 1:
        return result
    outer = g.op.Shape(op.inputs[0].name, end=batch)
    shape = g.op.Concat(outer, g.op.Shape(result, start=1), axis=0)
    return str(g.op.Reshape(result, shape, allowzero=1, outputs=outputs[:1]))


def _general_pairs(
    g: GraphBuilder, op: Any, x: str, window: Window, last: bool
) -> list[tuple[Dim, Dim]]:
    padding, n = str(attr(op, "padding")), len(window.kernel)
    if padding == "SAME":
        return same_pads(g, x, range(2, 2 + n), window)
    if padding == "VALID":
        return [(0, 0)] * n
    flat = [int(v) for v in op.get_attr("explicit_paddings")]
    pairs = list(zip(flat[::2], flat[1::2], strict=True))
    return list(pairs[1:-1] if last else pairs[2:])


@register_tf_op_converter("DepthwiseConv2dNative", dtypes=FLOATS)
def convert_depthwise_conv(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Convolution of each channel on its own, weights `(h, w, c, multiplier)`."""
    return convolution(g, op, op.inputs[0].name, outputs)


@register_tf_op_converter(
    ("Conv2DBackpropInput", "Conv3DBackpropInputV2"), dtypes=(*FLOATS, "int32", "int64")
)
def convert_conv_transpose(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Adjoint of a convolution with weights `(*k, o / group, c)`: a transposed convolution."""
    kernel = static_weights(g, op, 1)
    n = len(kernel) - 2
    default = WEIGHT_FORMAT[n]
    window = window_of(op, kernel[:n], default)
    last, _ = data_format(op, default)

    def compute(x: str, names: list[str] | None) -> str:
        w = permuted(g, op.inputs[1].name, [n + 1, n, *range(n)], "io")
        sizes = _wanted_sizes(g, op, n, last)
        begins = _begins(g, op, x, window, sizes, last=last)
        group = _transpose_groups(g, op, last, kernel[-2])
        return conv_transpose(
            g, x, w, window, sizes, begins=begins, group=group, outputs=names, name=op.name
        )

    return in_channels_first(
        g, op, op.inputs[2].name, outputs, compute, n=n, default_format=default
    )


def _transpose_groups(g: GraphBuilder, op: Any, last: bool, per_group: int) -> int:
    """Return the number of groups: input channels of the forward convolution over ``per_group``."""
    sizes = op.outputs[0].shape
    channels = None if sizes.rank is None else sizes[-1 if last else 1]
    if channels is None:
        value = constant(g, op, 0)
        channels = None if value is None else int(value[-1 if last else 1])
    return 1 if channels is None else int(channels) // per_group


def _wanted_sizes(g: GraphBuilder, op: Any, n: int, last: bool) -> list[Dim]:
    """Return the spatial sizes that the first input asks for."""
    first = 1 if last else 2
    known = op.outputs[0].shape
    static = known.as_list()[first : first + n] if known.rank is not None else [None] * n
    value = constant(g, op, 0)
    if value is not None and value.size == n + 2:
        static = [int(v) for v in value[first : first + n]]
    source = ""
    sizes: list[Dim] = []
    for i, size in enumerate(static):
        if size is not None:
            sizes.append(int(size))
            continue
        source = source or shapes.vector(g, op.inputs[0].name)
        offset = first if int(op.inputs[0].shape[0] or n + 2) == n + 2 else 0
        sizes.append(str(g.op.Gather(source, np.array([offset + i], np.int64))))
    return sizes


def _begins(
    g: GraphBuilder, op: Any, x: str, window: Window, sizes: list[Dim], *, last: bool
) -> list[Dim]:
    """Return the padding in front that the forward convolution had."""
    padding = str(attr(op, "padding"))
    if padding == "VALID":
        return [0] * len(sizes)
    if padding == "EXPLICIT":
        flat = [int(v) for v in op.get_attr("explicit_paddings")]
        return list(spatial(flat[::2], last))
    begins: list[Dim] = []
    for i, size in enumerate(sizes):
        stride, reach = window.strides[i], window.reach[i]
        n = shapes.axis_size(g, x, 2 + i)
        if isinstance(size, int) and isinstance(n, int):
            begins.append(max((n - 1) * stride + reach - size, 0) // 2)
        elif stride == 1:
            begins.append((reach - 1) // 2)
        else:
            begins.append(_dynamic_begin(g, n, size, stride, reach))
    return begins


def _dynamic_begin(g: GraphBuilder, n: Dim, size: Dim, stride: int, reach: int) -> str:
    windows = shapes.join_dims(g, [n])
    extent = g.op.Add(
        g.op.Mul(windows, np.array([stride], np.int64)), np.array([reach - stride], np.int64)
    )
    surplus = g.op.Sub(extent, shapes.join_dims(g, [size]))
    return str(g.op.Div(g.op.Max(surplus, np.array([0], np.int64)), np.array([2], np.int64)))


@register_tf_op_converter("DepthwiseConv2dNativeBackpropInput", dtypes=(*FLOATS, "int32"))
def convert_depthwise_transpose(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Adjoint of a convolution of each channel on its own."""
    height, width, channels, multiplier = static_weights(g, op, 1)
    window = window_of(op, (height, width))
    last, _ = data_format(op)
    name = f"{op.inputs[1].name}/depthwise"
    if not g.has_name(name):
        depthwise_weights(g, op, name, (channels * multiplier, 1, height, width))

    def compute(x: str, names: list[str] | None) -> str:
        sizes = _wanted_sizes(g, op, 2, last)
        begins = _begins(g, op, x, window, sizes, last=last)
        return conv_transpose(
            g, x, name, window, sizes, begins=begins, group=channels, outputs=names, name=op.name
        )

    return in_channels_first(g, op, op.inputs[2].name, outputs, compute, n=2)


@register_tf_op_converter(("BiasAdd", "BiasAddV1"), dtypes=(*NUMBERS, *COMPLEX))
@by_parts
def convert_bias_add(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Sum of a tensor and a vector along its channel axis."""
    x, bias = (i.name for i in op.inputs)
    last, _ = data_format(op)
    if not last:
        axes = np.arange(1, rank(g, op, 0) - 1, dtype=np.int64)
        bias = g.op.Unsqueeze(bias, axes)
    return str(legal(g).Add(x, bias, outputs=outputs[:1], name=op.name))
