"""Gathers that ONNX writes in several steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .casts import to_int64
from .dtypes import DTYPES
from .shapes import normalise_axis, rank

__all__ = ["gather", "gather_batched"]


def gather(
    g: GraphBuilder,
    x: str,
    index: Any,
    axis: int = 0,
    *,
    outputs: list[str] | None = None,
    name: str | None = None,
) -> str:
    """Emit ``Gather``, written otherwise for strings.

    onnxruntime's Gather of strings copies the first element of each slice only.

    Args:
        g: The builder.
        x: Elements of any dtype.
        index: Where to take them from: an integer, an array, or a name.
        axis: The axis that is taken from.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        The elements, of the dtype of `x`.
    """
    if g.get_type(x) != DTYPES["string"] or g.get_rank(x) in (None, 1):
        return str(g.op.Gather(x, index, axis=axis, outputs=outputs, name=name))
    if not isinstance(index, str):
        index = g.make_initializer(None, index)
    first = normalise_axis(axis, rank(g, x))
    return gather_batched(g, x, index, first, 0, outputs=outputs, name=name)


def gather_batched(
    g: GraphBuilder,
    x: str,
    index: str,
    axis: int,
    batch: int,
    *,
    outputs: list[str] | None = None,
    name: str | None = None,
) -> str:
    """Gather along ``axis``, the first ``batch`` axes of ``x`` and ``index`` running together.

    Args:
        g: The graph.
        x: `(*b, *m, n, *t)`, where `n` is ``axis``.
        index: `(*b, *i)`, integers in `[0, n)`.
        axis: Non-negative axis, at least ``batch``.
        batch: Number of batch axes.
        outputs: Names to give.
        name: Node name.

    Returns:
        Name of the result `(*b, *m, *i, *t)`.
    """
    n, extra = rank(g, x), rank(g, index) - batch
    places = g.op.Unsqueeze(to_int64(g, index), np.array([-1], np.int64))
    if axis == batch:
        return str(g.op.GatherND(x, places, batch_dims=batch, outputs=outputs, name=name))
    middle = list(range(batch, axis))
    moved = g.op.Transpose(x, perm=[*range(batch), axis, *middle, *range(axis + 1, n)])
    taken = g.op.GatherND(moved, places, batch_dims=batch)
    first = batch + extra
    back = [
        *range(batch),
        *range(first, first + len(middle)),
        *range(batch, first),
        *range(first + len(middle), n + extra - 1),
    ]
    return str(g.op.Transpose(taken, perm=back, outputs=outputs, name=name))
