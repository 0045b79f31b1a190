"""Scatters with a reduction, for the dtypes onnxruntime lacks too."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

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
    outputs: list[str] | None = None,
    name: str | None = None,
) -> str:
    """Emit ``ScatterND``.

    Args:
        g: The graph.
        x: `(*i, *rest)`.
        index: Integers `(*b, len(i))`; a constant is int64.
        updates: `(*b, *rest)`, of the type of ``x``.
        kind: ``none``, ``add``, ``sub``, ``mul``, ``max`` or ``min``; of bool ``max`` is "or" and
            ``min`` is "and".
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
        return str(g.op.ScatterND(x, places, updates, reduction=kind, outputs=outputs, name=name))
    wide = _THROUGH[int(dtype)]
    result = g.op.ScatterND(
        cast(g, x, wide), places, cast(g, updates, wide), reduction=kind, name=name
    )
    return cast(g, result, dtype, outputs=outputs)


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
