"""Scatters with a reduction, for the dtypes onnxruntime lacks too."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.errors import ConversionError
from yobx.xbuilder import GraphBuilder

from . import shapes
from .casts import cast, to_int64
from .dtypes import DTYPES
from .gather import gather
from .legalise import legal

__all__ = ["inside", "scatter_nd", "without_outside"]

# onnxruntime's reducing scatters know these; the others go through a type that wraps alike.
_THROUGH = {
    DTYPES["bool"]: np.int32,
    DTYPES["int8"]: np.int32,
    DTYPES["int16"]: np.int32,
    DTYPES["uint8"]: np.int32,
    DTYPES["uint16"]: np.int32,
    DTYPES["uint32"]: np.int64,
    DTYPES["float16"]: np.float32,
    DTYPES["bfloat16"]: np.float32,
}


def scatter_nd(
    g: GraphBuilder,
    x: str,
    index: str | np.ndarray[Any, Any],
    updates: str,
    kind: str,
    *,
    unique: bool = False,
    outputs: list[str] | None = None,
    name: str | None = None,
) -> str:
    """Emit updates of slices at index tuples, combined where tuples are the same.

    onnxruntime's ``ScatterND`` shares the tuples among threads, two of which may change one place
    at the same time and lose an update. What may repeat goes through ``ScatterElements``.

    Args:
        g: The graph.
        x: `(*i, *rest)`.
        index: Integers `(*b, len(i))`; a constant is int64.
        updates: `(*b, *rest)`, of the type of ``x``.
        kind: ``none``, ``add``, ``sub``, ``mul``, ``max`` or ``min``; of bool ``max`` is "or" and
            ``min`` is "and".
        unique: Whether no two tuples are the same, but for places that nobody reads.
        outputs: Names to give.
        name: Node name.

    Returns:
        Name of the result, of the shape and type of ``x``.
    """
    dtype = g.get_type(x)
    if kind == "sub":
        updates, kind = legal(g).Neg(updates), "add"
    places = to_int64(g, index) if isinstance(index, str) else index
    if kind == "none":
        return str(g.op.ScatterND(x, places, updates, outputs=outputs, name=name))
    if int(dtype) not in _THROUGH:
        return _combined(g, x, places, updates, kind, unique=unique, outputs=outputs, name=name)
    wide = _THROUGH[int(dtype)]
    x, updates = cast(g, x, wide), cast(g, updates, wide)
    result = _combined(g, x, places, updates, kind, unique=unique, name=name)
    return cast(g, result, dtype, outputs=outputs)


def _combined(
    g: GraphBuilder,
    x: str,
    places: str | np.ndarray[Any, Any],
    updates: str,
    kind: str,
    *,
    unique: bool,
    outputs: list[str] | None = None,
    name: str | None = None,
) -> str:
    """Emit a scatter with a reduction that onnxruntime knows."""
    names: dict[str, Any] = {"outputs": outputs, "name": name}
    if unique or not _may_repeat(g, places):
        return str(g.op.ScatterND(x, places, updates, reduction=kind, **names))
    if isinstance(places, np.ndarray):
        places = g.make_initializer(None, places)
    columns = (shapes.dims(g, places) or (None,))[-1]
    if columns is None:
        raise ConversionError(
            f"The number of indexed axes is needed here and not known. Received: {places!r}.",
            hint="Pin the last size of the indices.",
        )
    if columns == 0:
        return str(g.op.ScatterND(x, places, updates, reduction=kind, **names))
    rows = _row_of(g, x, places, columns)
    rest = [shapes.axis_size(g, x, axis) for axis in range(columns, shapes.rank(g, x))]
    if shapes.rank(g, places) != 2:
        updates = shapes.reshape(g, updates, [str(g.op.Shape(rows)), *rest])
    if rest:
        rows = g.op.Unsqueeze(rows, np.arange(1, 1 + len(rest), dtype=np.int64))
        rows = str(g.op.Expand(rows, g.op.Shape(updates)))
    if columns == 1:
        return str(g.op.ScatterElements(x, rows, updates, axis=0, reduction=kind, **names))
    count = str(g.op.ReduceProd(g.op.Shape(x, end=columns), keepdims=1))
    flat = shapes.reshape(g, x, [count, *rest])
    done = g.op.ScatterElements(flat, rows, updates, axis=0, reduction=kind, name=name)
    return str(g.op.Reshape(done, g.op.Shape(x), allowzero=1, outputs=outputs))


def _may_repeat(g: GraphBuilder, places: str | np.ndarray[Any, Any]) -> bool:
    """Whether two index tuples may be the same."""
    known = places if isinstance(places, np.ndarray) else g.get_constant(places)
    if known is None:
        sizes = shapes.dims(g, str(places))
        return sizes is None or any(size != 1 for size in sizes[:-1])
    tuples = np.asarray(known).reshape(-1, known.shape[-1])
    # A negative index may be the same as one that is not.
    mixed = np.any(np.any(tuples < 0, axis=0) & np.any(tuples >= 0, axis=0))
    return len(tuples) > 1 and bool(mixed or len(np.unique(tuples, axis=0)) < len(tuples))


def _row_of(g: GraphBuilder, x: str, places: str, columns: int) -> str:
    """Emit the row of a tensor whose first `columns` axes are one, int64 `(n,)`.

    A tuple that lies outside has a row outside, which onnxruntime refuses as it does the tuple.
    """
    if columns == 1:
        return shapes.flatten(g, places)
    sizes = g.op.Shape(x, end=columns)
    tuples = shapes.reshape(g, places, [-1, columns])
    last = np.array([-1], np.int64)
    row = np.array([0], np.int64)
    for column in range(columns):
        at = np.array([column], np.int64)
        row = g.op.Mul(row, g.op.Gather(sizes, at)) if column else row
        row = g.op.Add(row, g.op.Gather(tuples, at, axis=1))
    beyond = g.op.ReduceProd(sizes, keepdims=1)
    row = g.op.Where(inside(g, str(sizes), tuples), row, beyond)
    return str(g.op.Squeeze(row, last))


def inside(g: GraphBuilder, sizes: str, index: str) -> str:
    """Emit which index tuples lie within a tensor; negative ones do not.

    Args:
        g: The graph.
        sizes: The first sizes of the tensor, int64 `(k,)`.
        index: int64 `(*b, k)`.

    Returns:
        Booleans `(*b, 1)`.
    """
    zero = np.array(0, np.int64)
    good = g.op.And(g.op.GreaterOrEqual(index, zero), g.op.Less(index, sizes))
    whole = g.op.ReduceMin(cast(g, good, np.int32), np.array([-1], np.int64), keepdims=1)
    return cast(g, whole, np.bool_)


def without_outside(g: GraphBuilder, sizes: str, index: str, updates: str) -> tuple[str, str]:
    """Emit the index tuples that lie within a tensor, and their updates.

    Args:
        g: The graph.
        sizes: The first sizes of the tensor, int64 `(k,)`.
        index: Integers `(*b, k)`.
        updates: `(*b, *rest)`.

    Returns:
        Index `(m, k)` and updates `(m, *rest)`.
    """
    places = to_int64(g, index)
    count = g.op.Size(sizes)
    last = g.op.Reshape(count, np.array([1], np.int64))
    flat = g.op.Reshape(places, g.op.Concat(np.array([-1], np.int64), last, axis=0))
    rank = g.get_rank(index) or 1
    rest = g.op.Shape(updates, start=rank - 1)
    wide = g.op.Reshape(updates, g.op.Concat(g.op.Shape(flat, end=1), rest, axis=0), allowzero=1)
    good = g.op.Squeeze(inside(g, sizes, flat), np.array([1], np.int64))
    kept = g.op.Squeeze(g.op.NonZero(good), np.array([0], np.int64))
    return str(g.op.Gather(flat, kept, axis=0)), gather(g, str(wide), kept)
