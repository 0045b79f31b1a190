"""Convolutions with any dimension numbers, dilations, groups and padding."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering.casts import cast
from yobx.lowering.conv import conv, conv_transpose
from yobx.lowering.layout import permuted
from yobx.lowering.padding import Window
from yobx.lowering.shapes import axis_size, join_dims
from yobx.stablehlo.op import Op
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.xbuilder import GraphBuilder

from .indexing import inverse
from .reshaping import reverse
from .slicing import pad_or_crop, spread_apart


@register_stablehlo_op_converter("stablehlo.convolution")
def convert_convolution(g: GraphBuilder, op: Op) -> str:
    """``Conv`` in ONNX's layout between transposes."""
    rank = op.in_type().rank
    padding = np.asarray(op.attr("padding", np.zeros((rank - 2, 2))), dtype=np.int64)
    return _convolution(op, [(int(a), int(b)) for a, b in padding.reshape(-1, 2)])


@register_stablehlo_op_converter("stablehlo.dynamic_conv")
def convert_dynamic_conv(g: GraphBuilder, op: Op) -> str:
    """The same with padding computed at run time."""
    pads = op.static_ints(2)
    if pads is not None:
        return _convolution(op, list(zip(pads[::2], pads[1::2], strict=True)))
    flat = g.op.Reshape(cast(g, op.x(2), np.int64), np.array([-1]))
    count = op.in_type().rank - 2
    named = [str(g.op.Gather(flat, np.array([i]))) for i in range(2 * count)]
    return _convolution(op, list(zip(named[::2], named[1::2], strict=True)))


def _computed_in(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Type of the arithmetic: integers wrap alike in a wider type."""
    if dtype.kind not in "iub":
        return dtype
    return np.dtype(np.int32 if dtype.itemsize < 4 or dtype == np.int32 else np.int64)


def _strides(op: Op, name: str) -> tuple[int, ...]:
    return op.ints(name) or (1,) * (op.in_type().rank - 2)


def _convolution(op: Op, pads: list[Any]) -> str:
    g, n = op.g, op.attr("dimension_numbers")
    x, w = op.x(0), op.x(1)
    computed = _computed_in(op.out_dtype())
    x, w = (cast(g, v, computed) for v in (x, w))
    lead = (n["input_batch_dimension"], n["input_feature_dimension"])
    x = permuted(g, x, [*lead, *n["input_spatial_dimensions"]])
    out = (n["kernel_output_feature_dimension"], n["kernel_input_feature_dimension"])
    w = permuted(g, w, [*out, *n["kernel_spatial_dimensions"]])
    flipped = [i + 2 for i, turned in enumerate(op.attr("window_reversal", ())) if turned]
    if flipped:
        w = reverse(g, w, flipped)
    if not n["input_spatial_dimensions"]:
        x, w = (g.op.Unsqueeze(v, np.array([2])) for v in (x, w))
        result = g.op.Squeeze(_grouped(op, x, w, [(0, 0)]), np.array([2]))
    else:
        result = _fitting(op, x, w, pads)
    result = cast(g, result, op.out_dtype())
    back = (n["output_batch_dimension"], n["output_feature_dimension"])
    return permuted(g, result, inverse([*back, *n["output_spatial_dimensions"]]))


def _fitting(op: Op, x: str, w: str, pads: list[Any]) -> str:
    """Where the window is larger than its input, give room for it and cut the result away."""
    places = op.attr("dimension_numbers")["output_spatial_dimensions"]
    empty = [i for i, place in enumerate(places) if op.out_type().shape[place] == 0]
    if not empty:
        return _grouped(op, x, w, pads)
    kernel = _kernel(op, w, len(pads))
    dilations = _strides(op, "rhs_dilation")
    pads = [(0, kernel[i] * dilations[i]) if i in empty else p for i, p in enumerate(pads)]
    none = np.zeros(len(empty), np.int64)
    return str(op.g.op.Slice(_grouped(op, x, w, pads), none, none, np.array(empty) + 2))


def _grouped(op: Op, x: str, w: str, pads: list[Any]) -> str:
    """Feature groups as they are; batch groups become feature groups."""
    g, batch = op.g, int(op.attr("batch_group_count", 1))
    if batch == 1:
        return _windowed(op, x, w, pads, int(op.attr("feature_group_count", 1)))
    rank = g.get_rank(x) or 0
    sizes = [axis_size(g, x, i) for i in range(rank)]
    split = g.op.Reshape(x, join_dims(g, [batch, -1, *sizes[1:]]))
    order = [1, 0, *range(2, rank + 1)]
    channels = sizes[1]
    merged = batch * channels if isinstance(channels, int) else -1
    parts = [axis_size(g, split, 1), merged, *sizes[2:]]
    merged_x = g.op.Reshape(g.op.Transpose(split, perm=order), join_dims(g, parts))
    return _windowed(op, merged_x, w, pads, batch)


def _kernel(op: Op, w: str, count: int) -> tuple[int, ...]:
    """Sizes of the window."""
    kernel = [axis_size(op.g, w, 2 + i) for i in range(count)]
    if not all(isinstance(k, int) for k in kernel):
        raise op.unsupported("a kernel of symbolic size", "Fix the size of the kernel.")
    return tuple(int(k) for k in kernel)


def _windowed(op: Op, x: str, w: str, pads: list[Any], group: int) -> str:
    g, count = op.g, len(pads)
    sizes = _kernel(op, w, count)
    strides, dilations = (
        v if len(v) == count else (1,) * count
        for v in (_strides(op, "window_strides"), _strides(op, "rhs_dilation"))
    )
    lhs = _strides(op, "lhs_dilation")
    window = Window(sizes, strides, dilations)
    static = all(isinstance(p, int) for pair in pads for p in pair)
    if any(d != 1 for d in lhs) and len(lhs) == count:
        if static and set(strides) == {1}:
            begins = [r - 1 - p for r, (p, _) in zip(window.reach, pads, strict=True)]
            if min(begins) >= 0:
                spread = Window(sizes, lhs, dilations)
                return _transposed(op, x, w, window=spread, begins=begins, pads=pads, group=group)
        x = _spread(op, x, lhs)
    if static and any(p < 0 for pair in pads for p in pair):
        cut = [(min(a, 0), min(b, 0)) for a, b in pads]
        lead = [(0, 0), (0, 0), *cut]
        x = pad_or_crop(op, x, [a for a, _ in lead], [b for _, b in lead], None)
        pads = [(max(a, 0), max(b, 0)) for a, b in pads]
    return conv(g, x, w, window, pads, group=group)


def _spread(op: Op, x: str, lhs: tuple[int, ...]) -> str:
    for i, gap in enumerate(lhs):
        if gap > 1:
            x = spread_apart(op, x, 2 + i, gap - 1, op.scalar(0))
    return x


def _transposed(
    op: Op, x: str, w: str, *, window: Window, begins: list[int], pads: list[Any], group: int
) -> str:
    """A convolution over a spread-out input is the adjoint of a strided one."""
    g, count = op.g, len(begins)
    turned = reverse(g, w, list(range(2, 2 + count)))
    kernel = [int(k) for k in window.kernel]
    if group == 1:
        weights = g.op.Transpose(turned, perm=[1, 0, *range(2, 2 + count)])
    else:
        inner = axis_size(g, w, 1)
        outs = axis_size(g, w, 0)
        per = outs // group if isinstance(outs, int) else -1
        split = g.op.Reshape(turned, join_dims(g, [group, per, inner, *kernel]))
        order = [0, 2, 1, *range(3, 3 + count)]
        swapped = g.op.Transpose(split, perm=order)
        weights = g.op.Reshape(swapped, join_dims(g, [-1, per, *kernel]))
    sizes: list[Any] = []
    for i, (low, high) in enumerate(pads):
        size, stride = axis_size(g, x, 2 + i), window.strides[i]
        extra = low + high - window.reach[i] + 1 + 1 - stride
        if isinstance(size, int):
            sizes.append((size - 1) * stride + 1 + low + high - window.reach[i] + 1)
        else:
            sizes.append(g.op.Add(g.op.Mul(size, np.array([stride])), np.array([extra])))
    return conv_transpose(g, x, str(weights), window, sizes, begins=begins, group=group)
