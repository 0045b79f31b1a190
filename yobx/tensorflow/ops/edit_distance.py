"""Levenshtein distance of sequences that are rows of sparse tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.casts import cast
from yobx.lowering.legalise import legal
from yobx.lowering.looping import counted
from yobx.tensorflow.ops._op import ALL, attr, unsupported
from yobx.tensorflow.ops.ragged import flat_positions, row_sizes
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_ZERO, _ONE = np.array([0], np.int64), np.array([1], np.int64)
_LAST = np.array([-1], np.int64)
#: More than any distance.
_FAR = np.array(1 << 60, np.int64)


def _rows(g: GraphBuilder, op: Any, first: int, groups: str, count: str) -> tuple[str, str]:
    """Return sequences as the rows of a matrix with a column to spare, and their lengths."""
    index, values = op.inputs[first].name, op.inputs[first + 1].name
    rows = flat_positions(g, g.op.Slice(index, _ZERO, _LAST, _ONE), groups)
    known = g.op.Shape(values)
    lengths = row_sizes(g, rows, count)
    starts = g.op.CumSum(lengths, np.array(0, np.int64), exclusive=1)
    turn = g.op.Range(np.array(0), shapes.scalar(g, known), np.array(1))
    column = g.op.Sub(turn, g.op.Gather(starts, rows))
    places = g.op.Concat(g.op.Unsqueeze(rows, _ONE), g.op.Unsqueeze(column, _ONE), axis=1)
    longest = g.op.ReduceMax(g.op.Concat(lengths, _ZERO, axis=0), keepdims=1)
    wide = g.op.Concat(count, g.op.Add(longest, _ONE), axis=0)
    # One value more stands for what is behind the end; it is never compared for a result.
    dtype = op.inputs[first + 1].dtype.as_numpy_dtype
    spare = np.array([""], object) if dtype is object else np.zeros(1, dtype)
    source = g.op.ScatterND(g.op.Expand(known, wide), places, turn)
    every = legal(g).Concat(values, spare, axis=0)
    return str(legal(g).Gather(every, source)), str(lengths)


def _distances(g: GraphBuilder, one: str, other: str, lengths: tuple[str, str]) -> str:
    """Return the distance of each pair of rows.

    The table of distances of beginnings (``i`` of ``one``, ``j`` of ``other``) is filled along its
    diagonals ``i + j``, all rows and all ``j`` at once.
    """
    width = g.op.Shape(other, start=1)
    column = g.op.Range(np.array(0), shapes.scalar(g, width), np.array(1))
    count = g.op.Shape(other, end=1)
    table = g.op.Concat(count, width, axis=0)
    nothing = g.op.Expand(_FAR, table)
    start = g.op.Expand(g.op.Where(g.op.Equal(column, _ZERO), _ZERO, _FAR), table)
    both = g.op.Add(*lengths)
    # The sequences that are both empty are done before the first diagonal.
    result = g.op.Expand(np.array(0, np.int64), count)
    turns = g.op.ReduceMax(g.op.Concat(both, _ZERO, axis=0), keepdims=0)
    last = g.op.Unsqueeze(lengths[1], _ONE)
    behind = g.op.Sub(g.op.Shape(one, start=1), _ONE)

    def turn(body: GraphBuilder, number: str, current: list[str]) -> tuple[list[str], list[str]]:
        before, previous, done = current
        diagonal = body.op.Add(number, np.array(1, np.int64))
        shift = np.array([0, 1, 0, 0], np.int64)

        def moved(x: str) -> str:
            padded = body.op.Pad(x, shift, _FAR)
            return str(body.op.Slice(padded, _ZERO, _LAST, _ONE))

        # Column j is about letter j - 1 of the other sequence and letter number - j of this one.
        inside = body.op.Max(body.op.Min(body.op.Sub(number, column), behind), _ZERO)
        letters = legal(body).Gather(one, inside, axis=1)
        ahead = body.op.Max(body.op.Sub(column, np.array(1, np.int64)), _ZERO)
        others = legal(body).Gather(other, ahead, axis=1)
        change = cast(body, body.op.Not(legal(body).Equal(letters, others)), np.int64)
        step = body.op.Add(body.op.Min(previous, moved(previous)), np.array(1, np.int64))
        best = body.op.Min(step, body.op.Add(moved(before), change))
        final = body.op.Squeeze(body.op.GatherElements(best, last, axis=1), _ONE)
        done = body.op.Where(body.op.Equal(both, diagonal), final, done)
        return [previous, best, done], []

    return str(counted(g, turns, [nothing, start, result], turn)[2])


@register_tf_op_converter("EditDistance", dtypes=ALL)
def convert_edit_distance(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Changes, insertions and deletions that make one sequence of another."""
    rank = op.inputs[2].shape[0] or op.inputs[5].shape[0] or op.inputs[0].shape[1]
    if rank is None or rank < 2:
        received = f"rank={'unknown' if rank is None else rank}"
        unsupported(op, "the rank of a sparse tensor must be static, and at least 2", received)
    ends = (_ZERO, _LAST, _ZERO)
    groups = g.op.Max(*(g.op.Slice(op.inputs[k].name, *ends) for k in (2, 5)))
    count = g.op.ReduceProd(g.op.Concat(groups, _ONE, axis=0), keepdims=1)
    one, own = _rows(g, op, 0, groups, count)
    other, wanted = _rows(g, op, 3, groups, count)
    found = cast(g, _distances(g, one, other, (own, wanted)), np.float32)
    if bool(attr(op, "normalize", True)):
        # Of no letters wanted, any is infinitely many; none is right.
        none = g.op.Equal(found, np.array(0, np.float32))
        share = g.op.Div(found, cast(g, wanted, np.float32))
        found = g.op.Where(none, np.array(0, np.float32), share)
    return str(g.op.Reshape(found, groups, allowzero=1, outputs=outputs[:1], name=op.name))
