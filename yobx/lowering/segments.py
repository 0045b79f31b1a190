"""Reductions over groups of rows, the groups given by an index per row."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .casts import cast, to_int64
from .dtypes import numpy_dtype
from .legalise import legal
from .scatter import scatter_nd
from .shapes import Dim, axis_size, flatten, join_dims, rank, reshape

__all__ = ["counts_of", "mean_of", "neutral", "segment_reduce", "sorted_segment_count"]

_KINDS = {"Sum": "add", "Prod": "mul", "Max": "max", "Min": "min"}


def neutral(dtype: Any, kind: str) -> np.ndarray[Any, Any]:
    """Return what an empty group gives: 0, 1, or the extreme finite value.

    Args:
        dtype: Dtype of the rows, one of numbers.
        kind: The reduction.

    Returns:
        A scalar of that dtype.
    """
    if kind in ("Sum", "Prod"):
        return np.array(int(kind == "Prod"), dtype)
    if np.dtype(dtype).kind in "iu":
        limits: Any = np.iinfo(dtype)
    else:
        import ml_dtypes

        limits = ml_dtypes.finfo(dtype)
    return np.array(limits.min if kind == "Max" else limits.max, dtype)


def _rows(g: GraphBuilder, x: str, ids: str) -> tuple[str, str, list[Dim]]:
    """Return data as `(rows, *rest)`, ids as `(rows,)` and the sizes of ``rest``."""
    batch = rank(g, ids)
    rest = [axis_size(g, x, i) for i in range(batch, rank(g, x))]
    flat_ids = flatten(g, to_int64(g, ids))
    if batch == 1:
        return x, flat_ids, rest
    count = g.op.Shape(flat_ids)
    return reshape(g, x, [str(count), *rest]), flat_ids, rest


def segment_reduce(g: GraphBuilder, kind: str, x: str, ids: str, count: str) -> str:
    """Return `(count, *rest)`: the rows of each group reduced; negative ids are left out.

    Args:
        g: The graph.
        kind: ``Sum``, ``Prod``, ``Max`` or ``Min``.
        x: Data; its first axes are those of ``ids``.
        ids: Group of each row, below ``count``.
        count: Number of groups, int64 `(1,)`.

    Returns:
        Name of the result.
    """
    data, flat, rest = _rows(g, x, ids)
    negative = g.op.Less(flat, np.array(0, np.int64))
    target = g.op.Where(negative, count, flat)
    spare = g.op.Add(count, np.array([1], np.int64))
    fill = neutral(numpy_dtype(g.get_type(x)), kind)
    base = legal(g).Expand(fill, join_dims(g, [spare, *rest]))
    places = g.op.Unsqueeze(target, np.array([1], np.int64))
    full = scatter_nd(g, base, places, data, _KINDS[kind])
    zero = np.array([0], np.int64)
    return str(g.op.Slice(full, zero, count, zero))


def counts_of(g: GraphBuilder, ids: str, count: str) -> str:
    """Return the number of rows of each group, int64 `(count,)`.

    Args:
        g: The builder.
        ids: The group of each row, `(rows,)`.
        count: Number of groups, int64.
    """
    flat = flatten(g, to_int64(g, ids))
    ones = g.op.Expand(np.array(1, np.int64), g.op.Shape(flat))
    return segment_reduce(g, "Sum", ones, flat, count)


def sorted_segment_count(g: GraphBuilder, ids: str) -> str:
    """Return the number of groups of sorted ids: the last one plus one, 0 without rows.

    Args:
        g: The builder.
        ids: The group of each row, in order, `(rows,)`.
    """
    start = np.array([-1], np.int64)
    last = g.op.Slice(
        g.op.Concat(start, to_int64(g, ids), axis=0),
        start,
        np.array([np.iinfo(np.int64).max], np.int64),
        np.array([0], np.int64),
    )
    return str(g.op.Add(last, np.array([1], np.int64)))


def mean_of(g: GraphBuilder, total: str, counts: str, *, root: bool = False) -> str:
    """Return sums divided by the group sizes (or their square roots), empty groups by one.

    Args:
        g: The builder.
        total: Sums `(count, ...)`.
        counts: Numbers of rows, `(count,)`.
        root: Whether to divide by their square roots.

    Returns:
        Means of the dtype of `total`.
    """
    extra = rank(g, total) - 1
    size = g.op.Max(counts, np.array(1, np.int64))
    if extra:
        size = g.op.Unsqueeze(size, np.arange(1, 1 + extra, dtype=np.int64))
    dtype = g.get_type(total)
    if root:
        return str(legal(g).Div(total, legal(g).Sqrt(cast(g, size, dtype))))
    return str(legal(g).Div(total, cast(g, size, dtype)))
