"""Operations on sets that are the last axis of dense tensors, or rows of sparse ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.casts import cast
from yobx.lowering.legalise import legal
from yobx.tensorflow.ops._op import attr, rank, unsupported
from yobx.tensorflow.ops.ragged import flat_positions, row_sizes
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_VALUES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "string")
_ZERO, _ONE = np.array([0], np.int64), np.array([1], np.int64)
_LAST = np.array([-1], np.int64)
#: How often a value is found that only the first set has, only the second one, or both: those of
#: the first set are counted twice.
_FOUND = {"a-b": (2,), "b-a": (1,), "intersection": (3,), "union": None}


class _Set:
    """One operand: for each element the number of its set and its value."""

    def __init__(self, g: GraphBuilder, op: Any, first: int, *, sparse: bool) -> None:
        name = op.inputs[first].name
        if sparse:
            values, shape = op.inputs[first + 1].name, op.inputs[first + 2].name
            width = op.inputs[first].shape[1]
            count = op.inputs[first + 2].shape[0] if width is None else width
            if count is None:
                unsupported(op, "the rank of a sparse tensor must be static", "rank=unknown")
            self.rank = int(count)
            self.groups = g.op.Slice(shape, _ZERO, _LAST, _ZERO)
            index = g.op.Slice(name, _ZERO, _LAST, _ONE)
            self.sets = flat_positions(g, index, self.groups)
            self.values = values
            return
        self.rank = rank(g, op, first)
        self.groups = g.op.Shape(name, end=self.rank - 1)
        self.values = g.op.Reshape(name, _LAST)
        size = g.op.Shape(name, start=self.rank - 1)
        number = g.op.Range(np.array(0), shapes.scalar(g, _product(g, self.groups)), np.array(1))
        each = g.op.Concat(g.op.Shape(number), size, axis=0)
        spread = g.op.Expand(g.op.Unsqueeze(number, _ONE), each)
        self.sets = g.op.Reshape(spread, _LAST)


def _product(g: GraphBuilder, sizes: str) -> str:
    """Return the product of a vector, 1 if it has no elements."""
    return str(g.op.ReduceProd(g.op.Concat(sizes, _ONE, axis=0), keepdims=1))


def _counts(g: GraphBuilder, sets: str, groups: str) -> str:
    """Return how many elements each set has, as a vector."""
    return row_sizes(g, sets, _product(g, groups))


@register_tf_op_converter(
    ("DenseToDenseSetOperation", "DenseToSparseSetOperation", "SparseToSparseSetOperation"),
    dtypes=_VALUES,
)
def convert_sets(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Union, intersection or difference of sets in pairs, as a sparse tensor of sorted values."""
    first, second = (part.startswith("Sparse") for part in op.type.split("To"))
    one = _Set(g, op, 0, sparse=first)
    other = _Set(g, op, 3 if first else 1, sparse=second)
    every = legal(g).Concat(one.values, other.values, axis=0)
    values, _, code, _ = legal(g).Unique(every, sorted=1, outputs=4)
    kinds = g.op.Max(g.op.Shape(values), _ONE)
    keys = g.op.Add(g.op.Mul(g.op.Concat(one.sets, other.sets, axis=0), kinds), code)
    middle = g.op.Shape(one.sets)
    own, _, _, _ = g.op.Unique(g.op.Slice(keys, _ZERO, middle, _ZERO), sorted=1, outputs=4)
    rest = g.op.Slice(keys, middle, np.array([np.iinfo(np.int64).max]), _ZERO)
    theirs, _, _, _ = g.op.Unique(rest, sorted=1, outputs=4)
    found, _, _, times = g.op.Unique(g.op.Concat(own, own, theirs, axis=0), sorted=1, outputs=4)
    wanted = _FOUND[str(attr(op, "set_operation")).lower()]
    if wanted is not None:
        kept = g.op.Equal(times, np.array(wanted[0], np.int64))
        found = g.op.Compress(found, kept, axis=0)
    sets = g.op.Div(found, kinds)
    legal(g).Gather(values, g.op.Sub(found, g.op.Mul(sets, kinds)), outputs=outputs[1:2])
    return _emit_index(g, sets, one, outputs)


def _emit_index(g: GraphBuilder, sets: str, one: _Set, outputs: list[str]) -> str:
    """Write the places of elements that are sorted by set, and the shape that holds them."""
    counts = _counts(g, sets, one.groups)
    before = g.op.CumSum(counts, np.array(0, np.int64), exclusive=1)
    turn = g.op.Range(np.array(0), shapes.scalar(g, g.op.Shape(sets)), np.array(1))
    column = g.op.Unsqueeze(g.op.Sub(turn, g.op.Gather(before, sets)), _ONE)
    parts, left = [column], sets
    for axis in reversed(range(one.rank - 1)):
        size = g.op.Slice(one.groups, np.array([axis]), np.array([axis + 1]), _ZERO)
        size = g.op.Max(size, _ONE)
        above = g.op.Div(left, size)
        parts.insert(0, g.op.Unsqueeze(g.op.Sub(left, g.op.Mul(above, size)), _ONE))
        left = above
    g.op.Concat(*parts, axis=1, outputs=outputs[:1])
    most = g.op.ReduceMax(g.op.Concat(counts, _ZERO, axis=0), keepdims=1)
    return str(g.op.Concat(one.groups, most, axis=0, outputs=outputs[2:3]))


@register_tf_op_converter("SetSize", dtypes=_VALUES)
def convert_size(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Number of distinct values of each row of a sparse tensor."""
    one = _Set(g, op, 0, sparse=True)
    values, _, code, _ = legal(g).Unique(one.values, sorted=1, outputs=4)
    kinds = g.op.Max(g.op.Shape(values), _ONE)
    keys, _, _, _ = g.op.Unique(g.op.Add(g.op.Mul(one.sets, kinds), code), sorted=1, outputs=4)
    counts = _counts(g, g.op.Div(keys, kinds), one.groups)
    return cast(g, g.op.Reshape(counts, one.groups, allowzero=1), np.int32, outputs=outputs[:1])
