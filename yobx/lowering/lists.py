"""Lists of tensors of one shape, held as one tensor: the list's length is its first axis.

A list whose elements have no shape yet has sizes of zero where they are unknown; it grows to the
shape of the first element written. So a list is always one value, through branches and loops.
Whether its elements have their shape is no part of that value, for that shape may have a size of
zero too: callers say it (``shaped``), as a truth or as the name of a boolean scalar. A list that
has its shape never grows, and another shape fails while the model runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from yobx.xbuilder import GraphBuilder

from .casts import to_int64
from .diagonals import zero_like
from .gather import gather
from .legalise import legal
from .shapes import Dim, axis_size, join_dims, scalar
from .shapes import rank as rank_of

__all__ = ["Shaped", "append", "fill_range", "get_item", "grow", "length_of", "reserve", "set_item"]

_LAST = np.array([np.iinfo(np.int64).max], np.int64)
_ZERO = np.array([0], np.int64)

Shaped: TypeAlias = bool | str
"""Whether the elements of a list have their shape: a truth, or the name of a boolean scalar."""


def length_of(g: GraphBuilder, items: str) -> Dim:
    """Return the number of elements."""
    return axis_size(g, items, 0)


def reserve(g: GraphBuilder, zero: np.ndarray[Any, Any], sizes: Sequence[Dim]) -> str:
    """Return a list of ``sizes[0]`` elements of shape ``sizes[1:]``, all ``zero``."""
    return str(legal(g).Expand(zero, join_dims(g, sizes)))


def _item_dims(g: GraphBuilder, item: str) -> list[Dim]:
    return [axis_size(g, item, i) for i in range(rank_of(g, item))]


def grow(g: GraphBuilder, items: str, dims: Sequence[Dim], *, shaped: Shaped) -> str:
    """Return the list with elements of shape ``dims``; new places hold zeros.

    Args:
        g: The builder.
        items: The list, `(length, *dims)`.
        dims: Shape of an element.
        shaped: Whether its elements have their shape.
    """
    rank = g.get_rank(items)
    if rank is None:
        return _grow_whole(g, items, dims, shaped)
    if shaped is True:
        return items
    if rank != len(dims) + 1:
        zero = zero_like(g, items)
        length = length_of(g, items)
        if isinstance(shaped, str):
            length = _unless(g, shaped, join_dims(g, [length]), 1)
        return reserve(g, zero, [length, *dims])
    if not dims:
        return items
    missing = [_missing(g, items, 1 + i, dim) for i, dim in enumerate(dims)]
    if all(isinstance(m, int) and m == 0 for m in missing):
        return items
    more = join_dims(g, missing)
    if isinstance(shaped, str):
        more = g.op.Where(shaped, np.array(0, np.int64), more)
    pads = g.op.Concat(np.zeros(rank + 1, np.int64), more, axis=0)
    return str(legal(g).Pad(items, pads))


def _unless(g: GraphBuilder, refused: str, values: Any, count: int) -> str:
    """Return a vector of ``count`` values, or fail while the model runs."""
    places = np.arange(count, dtype=np.int64)
    beyond = g.op.Mul(g.op.Cast(refused, to=7), np.array(count, np.int64))
    index = g.op.Add(places, beyond)
    return str(g.op.Gather(values, index, axis=0, name="elements_of_a_list_differ_in_shape"))


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


def _grow_whole(g: GraphBuilder, items: str, dims: Sequence[Dim], shaped: Shaped) -> str:
    """Return the list with elements of shape ``dims``, where its rank is not known here."""
    length = str(g.op.Reshape(g.op.Shape(items, end=1), np.array([1], np.int64)))
    shape = join_dims(g, [length, *dims])
    flat = g.op.Reshape(items, np.array([-1], np.int64))
    if shaped is not True:
        missing = _where_empty(g, g.op.Shape(flat), g.op.ReduceProd(shape, keepdims=1))
        if isinstance(shaped, str):
            missing = str(g.op.Where(shaped, np.array(0, np.int64), missing))
        flat = legal(g).Pad(flat, g.op.Concat(np.zeros(1, np.int64), missing, axis=0))
    return str(g.op.Reshape(flat, _checked_shape(g, items, shape, len(dims), shaped), allowzero=1))


def _checked_shape(g: GraphBuilder, items: str, shape: Any, rank: int, shaped: Shaped) -> Any:
    """Return the shape of a list, or fail if the list has elements of another shape."""
    if shaped is False:
        return shape
    # As many elements in another shape are another shape, be it of another rank.
    filled = g.op.Concat(g.op.Shape(items), np.full(rank + 1, -1, np.int64), axis=0)
    own = g.op.Slice(filled, np.array([1], np.int64), np.array([rank + 2], np.int64), _ZERO)
    rest = g.op.Slice(shape, np.array([1], np.int64), _LAST, _ZERO)
    wanted = g.op.Concat(rest, np.array([-1], np.int64), axis=0)
    same = g.op.ReduceMin(g.op.Cast(g.op.Equal(own, wanted), to=7), keepdims=0)
    other = g.op.Equal(same, np.array(0, np.int64))
    refused = other if shaped is True else g.op.And(shaped, other)
    return _unless(g, str(refused), shape, rank + 1)


def _checked(g: GraphBuilder, items: str, item_dims: Sequence[Any] | None, dims: Any) -> str:
    """Return a list that has its shape, or fail if its elements have another one than ``dims``.

    onnxruntime does not ask for the shape of empty tensors that it joins.
    """
    own = g.get_shape(items)
    if item_dims is not None and own.has_rank() and list(own.dims()[1:]) == list(item_dims):
        return items
    shape = join_dims(g, [length_of(g, items), *dims])
    if not isinstance(shape, str):
        shape = g.make_initializer(None, shape)
    return str(g.op.Reshape(items, _checked_shape(g, items, shape, len(dims), True), allowzero=1))


def _dims_of(g: GraphBuilder, x: str) -> list[Any] | None:
    shape = g.get_shape(x)
    return list(shape.dims()) if shape.has_rank() else None


def get_item(g: GraphBuilder, items: str, index: str, outputs: list[str] | None = None) -> str:
    """Return element ``index``."""
    return gather(g, items, scalar(g, to_int64(g, index)), outputs=outputs)


def set_item(
    g: GraphBuilder, items: str, index: str, item: str, *, shaped: Shaped, lengthen: bool = False
) -> str:
    """Return the list with element ``index`` replaced, which ``lengthen`` makes room for.

    Args:
        g: The builder.
        items: The list, `(length, *dims)`.
        index: Where, an int64 scalar.
        item: The element, `(*dims)`.
        shaped: Whether its elements have their shape.
        lengthen: Whether the list may be too short.
    """
    filled = grow(g, items, _item_dims(g, item), shaped=shaped)
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


def append(g: GraphBuilder, items: str, item: str, *, shaped: Shaped) -> str:
    """Return the list with one more element at its end.

    Args:
        g: The builder.
        items: The list, `(length, *dims)`.
        item: The element, `(*dims)`.
        shaped: Whether its elements have their shape.
    """
    dims = _item_dims(g, item)
    filled = grow(g, items, dims, shaped=shaped)
    filled = _checked(g, filled, _dims_of(g, item), dims)
    return str(g.op.Concat(filled, g.op.Unsqueeze(item, _ZERO), axis=0))


def fill_range(g: GraphBuilder, items: str, start: Dim, values: str, *, shaped: Shaped) -> str:
    """Return the list with the elements from ``start`` on replaced by the rows of ``values``.

    Args:
        g: The builder.
        items: The list, `(length, *dims)`.
        start: Number of the first element that is replaced.
        values: The new elements, `(count, *dims)`.
        shaped: Whether its elements have their shape.
    """
    length, rows = g.get_shape(items), g.get_shape(values)
    whole = length.has_rank() and rows.has_rank() and length[0] == rows[0]
    if whole and isinstance(start, int) and start == 0:
        return values
    dims = [axis_size(g, values, 1 + i) for i in range((g.get_rank(values) or 1) - 1)]
    filled = grow(g, items, dims, shaped=shaped)
    first = join_dims(g, [start])
    after = g.op.Add(first, g.op.Shape(values, end=1))
    known = _dims_of(g, values)
    filled = _checked(g, filled, None if known is None else known[1:], dims)
    head = g.op.Slice(filled, _ZERO, first, _ZERO)
    tail = g.op.Slice(filled, after, _LAST, _ZERO)
    return str(g.op.Concat(head, values, tail, axis=0))
