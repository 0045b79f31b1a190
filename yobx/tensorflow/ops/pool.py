"""Poolings."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.casts import cast
from yobx.lowering.dtypes import extreme
from yobx.lowering.legalise import legal
from yobx.lowering.padding import Window, pad_spatial, same_pads
from yobx.lowering.pool import average_pool, max_pool, max_pool_with_indices, window_slices
from yobx.tensorflow.ops._op import (
    FLOATS,
    NUMBERS,
    attr,
    data_format,
    dims,
    int_list,
    out_dtype,
    require_constant,
    unsupported,
)
from yobx.tensorflow.ops._window import POOL_FORMAT, in_channels_first, padding_pairs, pool_window
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder


def _pool(g: GraphBuilder, outputs: list[str], op: Any, window: Window, emit: Any) -> str:
    n = len(window.kernel)

    def compute(x: str, names: list[str] | None) -> str:
        pairs = padding_pairs(g, op, x, window, POOL_FORMAT[n + 2])
        return str(emit(g, x, window, pairs, outputs=names, name=op.name))

    return in_channels_first(
        g, op, op.inputs[0].name, outputs, compute, n=n, default_format=POOL_FORMAT[n + 2]
    )


def _largest(
    g: GraphBuilder, outputs: list[str], op: Any, ksize: list[int], strides: list[int]
) -> str:
    """Emit the largest element of each window, over space or over channels."""
    last, _ = data_format(op, POOL_FORMAT[len(ksize)])
    depth = ksize[-1]
    if last and depth > 1 and strides == ksize and set(ksize[:-1]) == {1}:
        # TensorFlow has this form for windows of channels that do not overlap.
        x = op.inputs[0].name
        width = np.array([depth], np.int64)
        parts = g.op.Shape(x, end=-1), g.op.Div(g.op.Shape(x, start=-1), width), width
        groups = g.op.Reshape(x, g.op.Concat(*parts, axis=0), allowzero=1)
        axis = np.array([-1], np.int64)
        return str(legal(g).ReduceMax(groups, axis, keepdims=0, outputs=outputs[:1], name=op.name))
    return _pool(g, outputs, op, pool_window(op, ksize, strides), max_pool)


@register_tf_op_converter(("MaxPool", "MaxPool3D"), dtypes=NUMBERS)
def convert_max_pool(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Largest element of each window."""
    return _largest(g, outputs, op, int_list(op, "ksize"), int_list(op, "strides"))


@register_tf_op_converter("MaxPoolV2", dtypes=NUMBERS)
def convert_max_pool_v2(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Largest element of each window; window and strides are inputs."""
    ksize = [int(v) for v in require_constant(g, op, 1, "ksize")]
    strides = [int(v) for v in require_constant(g, op, 2, "strides")]
    return _largest(g, outputs, op, ksize, strides)


@register_tf_op_converter(("AvgPool", "AvgPool3D"), dtypes=FLOATS)
def convert_average_pool(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Mean of each window, padding not counted."""
    window = pool_window(op, int_list(op, "ksize"), int_list(op, "strides"))
    return _pool(g, outputs, op, window, average_pool)


@register_tf_op_converter("MaxPoolWithArgmax", dtypes=NUMBERS)
def convert_max_pool_with_argmax(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Largest element of each window and its flat index in NHWC order."""
    window = pool_window(op, int_list(op, "ksize"), int_list(op, "strides"))
    values, indices = max_pool_with_indices(
        g,
        op.inputs[0].name,
        window,
        lambda x: padding_pairs(g, op, x, window),
        with_batch=bool(attr(op, "include_batch_in_index")),
    )
    g.op.Identity(values, outputs=outputs[:1], name=op.name)
    cast(g, indices, out_dtype(op, 1), outputs=outputs[1:2])
    return outputs[0]


@register_tf_op_converter("Dilation2D", dtypes=NUMBERS)
def convert_dilation(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Largest sum of image and structuring element over each window of `(n, h, w, c)`."""
    sizes = dims(g, op, 1)
    if sizes is None or sizes[0] is None or sizes[1] is None:
        unsupported(op, "the structuring element's shape must be static", f"shape={sizes}")
    kernel = (sizes[0], sizes[1])
    strides, rates = int_list(op, "strides")[1:-1], int_list(op, "rates")[1:-1]
    window = Window(kernel, tuple(strides), tuple(rates))
    x, element = op.inputs[0].name, op.inputs[1].name
    lowest = extreme(g.get_type(x), largest=False)
    if str(attr(op, "padding")) == "SAME":
        pairs = same_pads(g, x, (1, 2), window)
        x = pad_spatial(g, x, (1, 2), pairs, lowest)
    taps = window_slices(g, x, window, first_axis=1)
    rows = shapes.reshape(g, element, [kernel[0] * kernel[1], -1])
    sums = [
        legal(g).Add(tap, g.op.Gather(rows, np.array(i, np.int64), axis=0))
        for i, tap in enumerate(taps)
    ]
    if str(attr(op, "padding")) == "SAME" and not op.inputs[0].dtype.is_floating:
        # The lowest integer wraps where something is added to it.
        sums = [
            legal(g).Where(inside, total, lowest)
            for inside, total in zip(_inside(g, op, window), sums, strict=True)
        ]
    return str(legal(g).Max(*sums, outputs=outputs[:1], name=op.name))


def _inside(g: GraphBuilder, op: Any, window: Window) -> list[str]:
    """Return for each element of a window whether it is in the image, not in its padding."""
    x = op.inputs[0].name
    ones = g.op.Expand(np.array(1, np.float32), g.op.Shape(x))
    padded = pad_spatial(g, ones, (1, 2), same_pads(g, x, (1, 2), window))
    taps = window_slices(g, padded, window, first_axis=1)
    return [str(g.op.Greater(tap, np.float32(0))) for tap in taps]
