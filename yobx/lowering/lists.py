"""Lists of tensors of one shape, held as one tensor: the list's length is its first axis.

A list whose elements have no shape yet has sizes of zero where they are unknown; it grows to the
shape of the first element written. So a list is always one value, through branches and loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .casts import to_int64
from .diagonals import zero_like
from .gather import gather
from .legalise import legal
from .shapes import Dim, axis_size, join_dims, scalar

__all__ = ["append", "fill_range", "get_item", "grow", "length_of", "reserve", "set_item"]

_LAST = np.array([np.iinfo(np.int64).max], np.int64)
_ZERO = np.array([0], np.int64)


def length_of(g: GraphBuilder, items: str) -> Dim:
    """Return the number of elements."""
    return axis_size(g, items, 0)


def reserve(g: GraphBuilder, zero: np.ndarray[Any, Any], sizes: Sequence[Dim]) -> str:
    """Return a list of ``sizes[0]`` elements of shape ``sizes[1:]``, all ``zero``."""
    return str(legal(g).Expand(zero, join_dims(g, sizes)))


def _item_dims(g: GraphBuilder, item: str) -> list[Dim]:
    return [axis_size(g, item, i) for i in range(g.get_rank(item) or 0)]


def grow(g: GraphBuilder, items: str, dims: Sequence[Dim]) -> str:
    """Return the list with elements of shape ``dims``; new places hold zeros."""
    rank = g.get_rank(items)
    if rank is None:
        return _grow_whole(g, items, dims)
    if rank != len(dims) + 1:
        zero = zero_like(g, items)
        return reserve(g, zero, [length_of(g, items), *dims])
    if not dims:
        return items
    missing = [_missing(g, items, 1 + i, dim) for i, dim in enumerate(dims)]
    if all(isinstance(m, int) and m == 0 for m in missing):
        return items
    pads = g.op.Concat(np.zeros(rank + 1, np.int64), join_dims(g, missing), axis=0)
    return str(legal(g).Pad(items, pads))


def _missing(g: GraphBuilder, items: str, axis: int, wanted: Dim) -> Dim:
    """Return what an axis of a list needs to have the size ``wanted`` if it has none yet."""
    size = g.get_shape(items)[axis]
    value = [wanted] if isinstance(wanted, int) else g.get_value(wanted)
    if value is not None and value[0] == size:
        return 0
    if size.is_int():
        return 0 if size.as_int() else wanted
    current = g.op.Shape(items, start=axis, end=axis + 1)
    return _where_empty(g, current, join_dims(g, [wanted]))


def _where_empty(g: GraphBuilder, sizes: str, wanted: Any) -> str:
    """Return ``wanted`` where a size is zero, else 0: another size must fail, not be filled up."""
    return str(g.op.Where(g.op.Equal(sizes, _ZERO), wanted, _ZERO))


def _grow_whole(g: GraphBuilder, items: str, dims: Sequence[Dim]) -> str:
    """Return the list with elements of shape ``dims``, be it still without shape or not."""
    length = str(g.op.Reshape(g.op.Shape(items, end=1), np.array([1], np.int64)))
    shape = join_dims(g, [length, *dims])
    flat = g.op.Reshape(items, np.array([-1], np.int64))
    missing = _where_empty(g, g.op.Shape(flat), g.op.ReduceProd(shape, keepdims=1))
    padded = legal(g).Pad(flat, g.op.Concat(np.zeros(1, np.int64), missing, axis=0))
    return str(g.op.Reshape(padded, shape, allowzero=1))


def get_item(g: GraphBuilder, items: str, index: str, outputs: list[str] | None = None) -> str:
    """Return element ``index``."""
    return gather(g, items, scalar(g, to_int64(g, index)), outputs=outputs)


def set_item(g: GraphBuilder, items: str, index: str, item: str, *, lengthen: bool = False) -> str:
    """Return the list with element ``index`` replaced, which ``lengthen`` makes room for."""
    filled = grow(g, items, _item_dims(g, item))
    place = g.op.Reshape(to_int64(g, index), np.array([1, 1], np.int64))
    if lengthen:
        filled = _lengthen(g, filled, place)
    return str(g.op.ScatterND(filled, place, g.op.Unsqueeze(item, _ZERO)))


def _lengthen(g: GraphBuilder, items: str, place: str) -> str:
    """Return the list with zeros behind its end, so that it has an element at ``place``."""
    rank = g.get_rank(items) or 1
    needed = g.op.Add(g.op.Reshape(place, np.array([1], np.int64)), np.array([1], np.int64))
    missing = g.op.Max(g.op.Sub(needed, g.op.Shape(items, end=1)), _ZERO)
    parts = [np.zeros(rank, np.int64), missing, np.zeros(rank - 1, np.int64)]
    pads = g.op.Concat(*(p for p in parts if isinstance(p, str) or p.size), axis=0)
    return str(legal(g).Pad(items, pads))


def append(g: GraphBuilder, items: str, item: str) -> str:
    """Return the list with one more element at its end."""
    filled = grow(g, items, _item_dims(g, item))
    return str(g.op.Concat(filled, g.op.Unsqueeze(item, _ZERO), axis=0))


def fill_range(g: GraphBuilder, items: str, start: Dim, values: str) -> str:
    """Return the list with the elements from ``start`` on replaced by the rows of ``values``."""
    length, rows = g.get_shape(items), g.get_shape(values)
    whole = length.has_rank() and rows.has_rank() and length[0] == rows[0]
    if whole and isinstance(start, int) and start == 0:
        return values
    dims = [axis_size(g, values, 1 + i) for i in range((g.get_rank(values) or 1) - 1)]
    filled = grow(g, items, dims)
    first = join_dims(g, [start])
    after = g.op.Add(first, g.op.Shape(values, end=1))
    head = g.op.Slice(filled, _ZERO, first, _ZERO)
    tail = g.op.Slice(filled, after, _LAST, _ZERO)
    return str(g.op.Concat(head, values, tail, axis=0))
