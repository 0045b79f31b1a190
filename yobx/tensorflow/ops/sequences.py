"""Decoding of label sequences, and rows of sparse and ragged tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.casts import cast, to_int64
from yobx.lowering.legalise import legal
from yobx.tensorflow.ops._complex import COMPLEX, by_parts
from yobx.tensorflow.ops._op import ALL, attr, rank, unsupported
from yobx.tensorflow.ops.ragged import row_sizes
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_ZERO, _ONE = np.array([0], np.int64), np.array([1], np.int64)
_LAST = np.array([-1], np.int64)


@register_tf_op_converter("CTCGreedyDecoder", dtypes=("float32", "float64", "int32", "int64"))
def convert_ctc(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The best label of every step, repetitions merged and blanks dropped, as a sparse matrix."""
    scores = g.op.Transpose(op.inputs[0].name, perm=[1, 0, 2])
    lengths = g.op.Unsqueeze(to_int64(g, op.inputs[1].name), _ONE)
    classes = g.op.Shape(scores, start=2)
    blank = int(attr(op, "blank_index", -1))
    blank_label = g.op.Add(classes, np.array(blank)) if blank < 0 else np.array([blank])
    labels = g.op.ArgMax(scores, axis=2, keepdims=0)
    steps = g.op.Range(
        np.array(0), shapes.scalar(g, g.op.Shape(scores, start=1, end=2)), np.array(1)
    )
    used = g.op.Less(steps, lengths)
    keep = g.op.And(used, g.op.Not(g.op.Equal(labels, blank_label)))
    if bool(attr(op, "merge_repeated")):
        # Nothing comes before the first label.
        shifted = g.op.Pad(labels, np.array([0, 1, 0, 0]), np.array(-1))
        before = g.op.Slice(shifted, _ZERO, _LAST, _ONE)
        keep = g.op.And(keep, g.op.Not(g.op.Equal(labels, before)))
    numbers = cast(g, keep, np.int64)
    places = g.op.CumSum(numbers, np.array(1), exclusive=1)
    found = g.op.Transpose(g.op.NonZero(keep), perm=[1, 0])
    row = g.op.Slice(found, _ZERO, _ONE, _ONE)
    column = g.op.Unsqueeze(g.op.GatherND(places, found), _ONE)
    g.op.Concat(row, column, axis=1, outputs=outputs[:1])
    g.op.GatherND(labels, found, outputs=outputs[1:2])
    counts = g.op.ReduceSum(numbers, _ONE, keepdims=0)
    width = g.op.ReduceMax(g.op.Concat(counts, _ZERO, axis=0), keepdims=1)
    g.op.Concat(g.op.Shape(scores, end=1), width, axis=0, outputs=outputs[2:3])
    best = g.op.ReduceMax(scores, np.array([2]), keepdims=0)
    zero = np.array(0, op.inputs[0].dtype.as_numpy_dtype)
    total = g.op.ReduceSum(g.op.Where(used, best, zero), _ONE, keepdims=1)
    g.op.Neg(total, outputs=outputs[3:4])
    return outputs[0]


@register_tf_op_converter("SparseFillEmptyRows", dtypes=(*ALL, *COMPLEX))
@by_parts
def convert_fill_rows(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A sparse matrix with an entry added to every row that has none, sorted by rows."""
    indices, values, shape, default = (i.name for i in op.inputs)
    width = op.inputs[0].shape[1]
    if width is None:
        unsupported(op, "the rank of the sparse tensor must be static", "rank=unknown")
    rows = g.op.Squeeze(g.op.Slice(indices, _ZERO, _ONE, _ONE), _ONE)
    row_count = g.op.Slice(shape, _ZERO, _ONE)
    counts = row_sizes(g, rows, row_count)
    empty = g.op.Equal(counts, np.array(0, np.int64), outputs=outputs[2:3])
    missing = g.op.Transpose(g.op.NonZero(empty), perm=[1, 0])
    added = g.op.Pad(missing, np.array([0, 0, 0, int(width) - 1]), np.array(0))
    every = g.op.Concat(indices, added, axis=0)
    whole = g.op.Shape(every, end=1)
    # No two keys are equal: TopK says nothing of the order of equal ones.
    first = g.op.Squeeze(g.op.Slice(every, _ZERO, _ONE, _ONE), _ONE)
    places = g.op.Range(np.array(0), shapes.scalar(g, whole), np.array(1))
    keys = g.op.Add(g.op.Mul(first, whole), places)
    _, order = g.op.TopK(keys, whole, axis=0, largest=0, outputs=2)
    g.op.Gather(every, order, axis=0, outputs=outputs[:1])
    filler = legal(g).Expand(default, g.op.Shape(missing, end=1))
    merged = legal(g).Concat(values, filler, axis=0)
    legal(g).Gather(merged, order, axis=0, outputs=outputs[1:2])
    back = g.op.ScatterElements(places, order, places, axis=0)
    g.op.Slice(back, _ZERO, g.op.Shape(indices, end=1), _ZERO, outputs=outputs[3:4])
    return outputs[0]


_SPARSE = {"T": (*ALL, *COMPLEX), "Tsplits": ("int32", "int64")}


@register_tf_op_converter("RaggedTensorToSparse", dtypes=_SPARSE)
@by_parts
def convert_ragged_to_sparse(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Rows of different lengths as a sparse matrix: indices, values, shape."""
    if len(op.inputs) != 2 or rank(g, op, 1) != 1:
        unsupported(
            op,
            "one ragged axis over single values is supported",
            f"ragged axes={len(op.inputs) - 1}, rank of values={rank(g, op, 1)}",
        )
    splits = to_int64(g, op.inputs[0].name)
    starts = g.op.Slice(splits, _ZERO, _LAST)
    ends = g.op.Slice(splits, _ONE, np.array([np.iinfo(np.int64).max]))
    lengths = g.op.Sub(ends, starts)
    width = g.op.ReduceMax(g.op.Concat(lengths, _ZERO, axis=0), keepdims=1)
    columns = g.op.Range(np.array(0), shapes.scalar(g, width), np.array(1))
    there = g.op.Less(columns, g.op.Unsqueeze(lengths, _ONE))
    g.op.Transpose(g.op.NonZero(there), perm=[1, 0], outputs=outputs[:1])
    g.alias(outputs[1], op.inputs[1].name)
    g.op.Concat(g.op.Shape(lengths), width, axis=0, outputs=outputs[2:3])
    return outputs[0]
