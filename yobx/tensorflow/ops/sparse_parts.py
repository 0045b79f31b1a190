"""Sparse tensors put together and cut; they travel as indices, values and shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering.casts import cast
from yobx.tensorflow.ops._complex import COMPLEX, by_parts
from yobx.tensorflow.ops._op import ALL
from yobx.tensorflow.ops.ragged import flat_positions
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_ZERO = np.array([0], np.int64)
_ONE = np.array([1], np.int64)


@register_tf_op_converter("SparseConcat", dtypes=(*ALL, *COMPLEX))
@by_parts
def convert_concat(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Sparse tensors behind each other along an axis, in row-major order."""
    count = len(op.inputs) // 3
    names = [i.name for i in op.inputs]
    indices, values, sizes = (names[i * count : (i + 1) * count] for i in range(3))
    rank = int(op.inputs[2 * count].shape[0])
    axis = int(op.get_attr("concat_dim")) % rank
    unit = np.eye(rank, dtype=np.int64)[axis]
    moved, start = [], None
    for index, size in zip(indices, sizes, strict=True):
        moved.append(index if start is None else g.op.Add(index, start))
        along = g.op.Mul(size, unit)
        start = along if start is None else g.op.Add(start, along)
    shape = g.op.Add(g.op.Mul(sizes[0], 1 - unit), start, outputs=outputs[2:3])
    index = g.op.Concat(*moved, axis=0) if count > 1 else moved[0]
    value = g.op.Concat(*values, axis=0) if count > 1 else values[0]
    place = flat_positions(g, index, shape)
    _, order = g.op.TopK(place, g.op.Shape(place), largest=0, sorted=1, outputs=2)
    g.op.Gather(index, order, axis=0, outputs=outputs[:1], name=op.name)
    return str(g.op.Gather(value, order, axis=0, outputs=outputs[1:2]))


@register_tf_op_converter("SparseSlice", dtypes=(*ALL, *COMPLEX))
@by_parts
def convert_slice(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The entries inside a box, and what is left of the shape."""
    index, values, shape, start, size = (i.name for i in op.inputs)
    end = g.op.Add(start, size)
    inside = g.op.And(g.op.GreaterOrEqual(index, start), g.op.Less(index, end))
    outside = cast(g, g.op.Not(inside), np.int64)
    kept = g.op.Equal(g.op.ReduceSum(outside, _ONE, keepdims=0), np.array(0, np.int64))
    places = g.op.Squeeze(g.op.NonZero(kept), _ZERO)
    g.op.Sub(g.op.Gather(index, places, axis=0), start, outputs=outputs[:1], name=op.name)
    left = g.op.Max(g.op.Sub(shape, start), np.array(0, np.int64))
    g.op.Min(left, size, outputs=outputs[2:3])
    return str(g.op.Gather(values, places, axis=0, outputs=outputs[1:2]))
