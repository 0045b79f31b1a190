"""Gradients of operations that move, repeat or pool elements: where a model differentiates itself.

Grad-CAM and saliency maps, energies that are minimised and Jacobians hold them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.casts import cast
from yobx.lowering.conv import conv_transpose
from yobx.lowering.dtypes import numpy_dtype
from yobx.lowering.layout import channels_last
from yobx.lowering.legalise import legal
from yobx.lowering.pool import max_pool_with_indices, sum_of_windows
from yobx.lowering.scatter import scatter_nd
from yobx.onnx_optim import OptimDim
from yobx.tensorflow.ops._complex import COMPLEX, by_parts
from yobx.tensorflow.ops._op import (
    ALL,
    FLOATS,
    NUMBERS,
    data_format,
    dims,
    int_list,
    out_dtype,
    require_constant,
    unsupported,
)
from yobx.tensorflow.ops._window import POOL_FORMAT, in_channels_first, padding_pairs, pool_window
from yobx.tensorflow.ops.slicing import replace_slice
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

Sizes = Sequence[OptimDim | None]


@register_tf_op_converter("BroadcastGradientArgs", dtypes=("int32", "int64"))
def convert_broadcast_axes(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """For each of two shapes the axes along which the gradient is summed: there its size is 1.

    Missing axes in front count as 1. Shapes that are the same need no sum.
    """
    names = [shapes.vector(g, i.name) for i in op.inputs]
    values = [g.get_value(name) for name in names]
    for k, name in enumerate(outputs):
        axes = _known_axes(values[k], values[1 - k], only_sums=_only_sums(op.outputs[k]))
        if axes is None:
            axes = _axes_at_run_time(g, op, names, k)
        cast(g, axes, out_dtype(op, k), outputs=[name])
    return outputs[0]


def _only_sums(result: Any) -> bool:
    """Whether all that is done with axes is a sum over them that keeps them."""
    readers = result.consumers()  # none of what is a result itself
    return bool(readers) and all(op.type == "Sum" and op.get_attr("keep_dims") for op in readers)


def _known_axes(own: Sizes | None, other: Sizes | None, *, only_sums: bool) -> Any:
    """Axes that are the same for all values of the names in two shapes, or ``None``."""
    if own is None or other is None or None in own or None in other:
        return None
    if list(own) == list(other):
        return np.array([], np.int64)
    rank = max(len(own), len(other))
    pairs = list(zip(_padded(own, rank), _padded(other, rank), strict=True))
    if only_sums:  # a sum over an axis that has size 1 on both sides is none
        is_known = all(
            size == 1 or _is_above_one(size) or beside in (1, size) for size, beside in pairs
        )
    else:
        is_known = all(size == 1 or _is_above_one(size) for size, _ in pairs) and (
            len(own) != len(other)
            or any(size != beside and _is_above_one(beside) for size, beside in pairs)
        )
    axes = [axis for axis, (size, _) in enumerate(pairs) if size == 1]
    return np.array(axes, np.int64) if is_known else None


def _padded(sizes: Sizes, rank: int) -> list[OptimDim]:
    known = [size for size in sizes if size is not None]
    return [*[OptimDim(1)] * (rank - len(known)), *known]


def _is_above_one(size: OptimDim) -> bool:
    low = size.bounds()[0]
    return low is not None and low > 1


def _axes_at_run_time(g: GraphBuilder, op: Any, names: Sequence[str], k: int) -> str:
    lengths = [dims(g, op, index) for index in range(2)]
    if any(length is None or length[0] is None for length in lengths):
        unsupported(op, "the ranks of both shapes must be known", f"shapes of sizes {lengths}")
    own, other = (int(length[0]) for length in (lengths[k], lengths[1 - k]))  # type: ignore[index, arg-type]
    missing = np.ones(max(other - own, 0), np.int64)
    padded = g.op.Concat(missing, names[k], axis=0) if missing.size else names[k]
    is_one: Any = g.op.Equal(padded, np.array(1, np.int64))
    if own == other:
        unlike = g.op.Cast(g.op.Not(g.op.Equal(*names)), to=np.int64)
        differ = g.op.Greater(g.op.ReduceSum(unlike, keepdims=0), np.array(0, np.int64))
        is_one = g.op.And(is_one, differ)
    return str(g.op.Squeeze(g.op.NonZero(is_one), np.array([0], np.int64)))


@register_tf_op_converter("ConcatOffset", dtypes=("int32", "int64"))
def convert_concat_offset(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Where each part of a concatenation begins, one vector per part."""
    rank = dims(g, op, 1)
    if rank is None or rank[0] is None:
        unsupported(op, "the rank of the parts must be known", f"shape of size {rank}")
    axis = int(require_constant(g, op, 0, "concat_dim")) % rank[0]
    here = np.eye(rank[0], dtype=np.int64)[axis]
    start: Any = np.array([0], np.int64)
    for name, part in zip(outputs, op.inputs[1:], strict=True):
        cast(g, g.op.Mul(start, here), out_dtype(op), outputs=[name])
        size = g.op.Gather(shapes.vector(g, part.name), np.array([axis], np.int64))
        start = g.op.Add(start, size)
    return outputs[0]


@register_tf_op_converter("StridedSliceGrad", dtypes=(*ALL, *COMPLEX))
@by_parts
def convert_slice_gradient(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Zeros but for the elements that a strided slice took."""
    kind = numpy_dtype(out_dtype(op))
    zero = np.array("" if op.outputs[0].dtype.name == "string" else 0, kind)
    zeros = legal(g).Expand(zero, shapes.vector(g, op.inputs[0].name))
    sizes = dims(g, op, 0)
    if sizes is None or sizes[0] is None:
        unsupported(op, "the rank of the sliced tensor must be known", f"shape of size {sizes}")
    return replace_slice(g, op, zeros, sizes[0], outputs)


@register_tf_op_converter(("AvgPoolGrad", "AvgPool3DGrad"), dtypes={"T": FLOATS})
def convert_average_gradient(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """To each element its share of every window it was in."""
    window = pool_window(op, int_list(op, "ksize"), int_list(op, "strides"))
    n = len(window.kernel)
    layout = POOL_FORMAT[n + 2]
    last, _ = data_format(op, layout)
    shape = shapes.vector(g, op.inputs[0].name)
    first = 1 if last else 2
    sizes = [
        str(g.op.Slice(shape, np.array([i]), np.array([i + 1]))) for i in range(first, first + n)
    ]

    def compute(x: str, names: list[str] | None) -> str:
        dtype = numpy_dtype(out_dtype(op))
        image = legal(g).Expand(np.ones((), dtype), shapes.join_dims(g, [1, 1, *sizes]))
        pairs = padding_pairs(g, op, image, window, layout)
        shares = legal(g).Div(x, sum_of_windows(g, image, window, pairs))
        places = shapes.join_dims(g, [-1, 1, *(shapes.axis_size(g, x, 2 + i) for i in range(n))])
        ones = g.make_initializer(None, np.ones((1, 1, *window.kernel), dtype))
        spread = conv_transpose(
            g, g.op.Reshape(shares, places), ones, window, sizes, begins=[p[0] for p in pairs]
        )
        whole = g.op.Concat(g.op.Shape(x, end=2), *sizes, axis=0)
        return str(g.op.Reshape(spread, whole, allowzero=1, outputs=names, name=op.name))

    return in_channels_first(g, op, op.inputs[1].name, outputs, compute, n=n, default_format=layout)


@register_tf_op_converter("MaxPoolGrad", dtypes=NUMBERS)
def convert_max_gradient(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """To the first largest element of each window the gradient of the window."""
    last, _ = data_format(op)
    window = pool_window(op, int_list(op, "ksize"), int_list(op, "strides"))
    x, gradient = op.inputs[0].name, op.inputs[2].name
    if not last:
        x, gradient = channels_last(g, x, 4), channels_last(g, gradient, 4)
    _, index = max_pool_with_indices(
        g, x, window, lambda first: padding_pairs(g, op, first, window), with_batch=True
    )
    zeros = legal(g).Expand(
        np.array([0], numpy_dtype(out_dtype(op))),
        g.op.Reshape(g.op.Size(x), np.array([1], np.int64)),
    )
    places = g.op.Reshape(index, np.array([-1, 1], np.int64))
    total = scatter_nd(g, zeros, places, shapes.flatten(g, gradient), "add")
    shape = g.op.Shape(x)
    if last:
        return str(g.op.Reshape(total, shape, allowzero=1, outputs=outputs[:1], name=op.name))
    back = g.op.Reshape(total, shape, allowzero=1)
    return str(g.op.Transpose(back, perm=[0, 3, 1, 2], outputs=outputs[:1], name=op.name))
