"""Products of many complex numbers, which no ONNX operator has: one ``Loop`` each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .casts import to_int64
from .complex_parts import Pair, multiply
from .looping import counted
from .shapes import flatten, rank, scalar
from .transcendental import const

__all__ = ["product", "running_product", "segment_product"]

_FIRST = np.array([0], np.int64)
_FAR = np.array([np.iinfo(np.int64).min + 1], np.int64)


def _ones(g: GraphBuilder, x: str, shape: Any) -> list[str]:
    """The number 1 in a shape, as parts of the type of ``x``."""
    return [str(g.op.Expand(const(g, x, value), shape)) for value in (1, 0)]


def _size(g: GraphBuilder, x: str) -> str:
    return scalar(g, g.op.Shape(x, end=1))


def product(g: GraphBuilder, x: Pair, axes: Sequence[int], *, keepdims: bool) -> Pair:
    """Emit the product over axes.

    Args:
        g: The graph.
        x: Parts of one shape.
        axes: Which axes, from 0; none of them means that nothing is multiplied.
        keepdims: Whether the axes stay with size 1.

    Returns:
        Parts of the product.
    """
    if not axes:
        return x
    n = rank(g, x[0])
    others = [i for i in range(n) if i not in axes]
    shape = g.op.Shape(g.op.ReduceSum(x[0], np.array(axes, np.int64), keepdims=int(keepdims)))
    columns = g.op.ReduceProd(g.op.Concat(np.array([1]), shape, axis=0), keepdims=1)
    whole = g.op.Shape(x[0])
    count = g.op.ReduceProd(g.op.Gather(whole, np.array(axes, np.int64)), keepdims=1)
    table = g.op.Concat(count, columns, axis=0)
    rows = [
        g.op.Reshape(g.op.Transpose(part, perm=[*axes, *others]), table, allowzero=1) for part in x
    ]

    def turn(b: GraphBuilder, j: str, states: list[str]) -> tuple[list[str], list[str]]:
        item = [str(b.op.Gather(part, j, axis=0)) for part in rows]
        return list(multiply(b, (states[0], states[1]), (item[0], item[1]))), []

    found = counted(g, scalar(g, count), _ones(g, x[0], columns), turn)
    real, imaginary = (str(g.op.Reshape(part, shape, allowzero=1)) for part in found)
    return real, imaginary


def running_product(g: GraphBuilder, x: Pair, axis: int, *, exclusive: bool, reverse: bool) -> Pair:
    """Emit the product of all elements up to each along an axis.

    Args:
        g: The graph.
        x: Parts of one shape.
        axis: Which axis, from 0.
        exclusive: Whether an element itself is left out.
        reverse: Whether to begin at the end.

    Returns:
        Parts of the products.
    """
    n = rank(g, x[0])
    perm = [axis, *(i for i in range(n) if i != axis)]

    def turned(value: str) -> str:
        if not reverse:
            return value
        back = np.array([-1], np.int64)
        return str(g.op.Slice(value, back, _FAR, _FIRST, back))

    rows = [turned(str(g.op.Transpose(part, perm=perm))) for part in x]

    def turn(b: GraphBuilder, j: str, states: list[str]) -> tuple[list[str], list[str]]:
        item = [str(b.op.Gather(part, j, axis=0)) for part in rows]
        total = list(multiply(b, (states[0], states[1]), (item[0], item[1])))
        shown = states if exclusive else total
        return total, [str(b.op.Identity(part)) for part in shown]

    start = _ones(g, x[0], g.op.Shape(rows[0], start=1))
    _, _, *found = counted(g, _size(g, rows[0]), start, turn)
    back = [int(i) for i in np.argsort(perm)]
    real, imaginary = (str(g.op.Transpose(turned(part), perm=back)) for part in found)
    return real, imaginary


def segment_product(g: GraphBuilder, x: Pair, ids: str, count: str) -> Pair:
    """Emit the product of the rows of each group, as :func:`~.segments.segment_reduce` does.

    Args:
        g: The graph.
        x: Parts of one shape; the first axes are those of ``ids``.
        ids: Group of each row, below ``count``; negative ones are left out.
        count: Number of groups, int64 `(1,)`.

    Returns:
        Parts of `(count, *rest)`.
    """
    batch = rank(g, ids)
    flat = flatten(g, to_int64(g, ids))
    rest = g.op.Shape(x[0], start=batch)
    table = g.op.Concat(g.op.Shape(flat), rest, axis=0)
    rows = [part if batch == 1 else g.op.Reshape(part, table, allowzero=1) for part in x]
    target = g.op.Where(g.op.Less(flat, np.array(0, np.int64)), count, flat)
    spare = g.op.Add(count, np.array([1], np.int64))

    def turn(b: GraphBuilder, j: str, states: list[str]) -> tuple[list[str], list[str]]:
        place = b.op.Gather(target, b.op.Reshape(j, np.array([1])), axis=0)
        item, old = (
            [str(b.op.Squeeze(b.op.Gather(part, at, axis=0), _FIRST)) for part in table_of]
            for table_of, at in ((rows, b.op.Reshape(j, np.array([1]))), (states, place))
        )
        new = multiply(b, (old[0], old[1]), (item[0], item[1]))
        return [
            str(b.op.ScatterND(state, b.op.Unsqueeze(place, _FIRST), b.op.Unsqueeze(part, _FIRST)))
            for state, part in zip(states, new, strict=True)
        ], []

    start = _ones(g, x[0], g.op.Concat(spare, rest, axis=0))
    found = counted(g, _size(g, flat), start, turn)
    real, imaginary = (str(g.op.Slice(part, _FIRST, count, _FIRST)) for part in found)
    return real, imaginary
