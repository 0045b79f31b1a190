"""Slices, updates of slices, and padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from yobx.lowering.casts import to_int64
from yobx.onnx_optim import OptimDim
from yobx.stablehlo.dims import dims_of, known_values, vector
from yobx.stablehlo.op import Op
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.stablehlo.spans import LAST, moved_span, span, strided
from yobx.stablehlo.tensor import Tensor
from yobx.xbuilder import GraphBuilder


@register_stablehlo_op_converter("stablehlo.slice", complex_parts="each")
def convert_slice(g: GraphBuilder, op: Op) -> Tensor | str:
    """Elements from start to limit by stride along each axis."""
    starts, limits, strides = (op.ints(n) for n in ("start_indices", "limit_indices", "strides"))
    sizes = op.in_type().shape
    axes = [
        i
        for i, (lo, hi, step) in enumerate(zip(starts, limits, strides, strict=True))
        if (lo, hi, step) != (0, sizes[i], 1)
    ]
    if not axes:
        return op.inputs[0]
    pick = [np.array([v[i] for i in axes]) for v in (starts, limits, strides)]
    return str(g.op.Slice(op.x(), pick[0], pick[1], np.array(axes), pick[2]))


@register_stablehlo_op_converter("stablehlo.real_dynamic_slice", complex_parts="each")
def convert_real_dynamic_slice(g: GraphBuilder, op: Op) -> Tensor | str:
    """A slice whose bounds are computed at run time, and in range."""
    bounds = [known_values(g, op.x(i)) for i in (1, 2, 3)]
    sizes = dims_of(g, op.x())
    axes = [i for i in range(op.in_type().rank) if not _is_whole(i, sizes, bounds)]
    if not axes:
        return op.inputs[0]
    known = [_known_span(sizes, bounds, axis) for axis in axes]
    spans = [s for s in known if s is not None]
    if len(spans) == len(axes):
        starts, limits, strides = (np.array(column) for column in zip(*spans, strict=True))
        return sliced(op, axes, starts, limits, strides)
    starts, limits, strides = (_picked(op, i, axes) for i in (1, 2, 3))
    values = bounds[1]
    if values is not None and all(values[i] is not None and values[i] == sizes[i] for i in axes):
        limits = np.full(len(axes), LAST)
    return sliced(op, axes, starts, limits, strides)


def sliced(op: Op, axes: list[int], starts: Any, limits: Any, strides: Any = None) -> str:
    """Emit a ``Slice`` with as many inputs as it needs."""
    is_plain = isinstance(strides, np.ndarray) and set(strides.tolist()) == {1}
    steps = () if strides is None or is_plain else (strides,)
    return str(op.g.op.Slice(op.x(), starts, limits, np.array(axes), *steps))


def _known_span(sizes: Any, bounds: Any, axis: int) -> tuple[int, int, int] | None:
    """Start, end and stride of an axis as constants."""
    size, (start, limit, stride) = sizes[axis], (b[axis] if b is not None else None for b in bounds)
    if size is None or start is None or limit is None or stride is None or not stride.is_int():
        return None
    step = stride.as_int()
    if step == 1:
        found = span(size, start, limit - start)
    else:
        found = strided(size, start, step, (limit - start).ceil_div(step))
    return None if found is None else (*found, step)


def _is_whole(axis: int, sizes: Any, bounds: Any) -> bool:
    starts, limits, strides = bounds
    if starts is None or limits is None or strides is None or not sizes:
        return False
    return bool(
        starts[axis] == 0 and strides[axis] == 1 and limits[axis] == sizes[axis] is not None
    )


def _picked(op: Op, operand: int, axes: list[int]) -> Any:
    """Some elements of a vector of bounds."""
    g, made = op.g, op.source.operands[operand].owner
    values = known_values(g, op.x(operand))
    picked = [values[i] if values is not None else None for i in axes]
    if all(v is not None and v.is_int() for v in picked):
        return np.array([v.as_int() for v in picked if v is not None])
    if len(axes) == op.in_type().rank:
        return vector(g, op.x(operand))
    is_joined = made is not None and made.name == "stablehlo.concatenate"
    if made is not None and is_joined and all(p.tensor.shape == (1,) for p in made.operands):
        pieces = [op.scope.get(made.operands[i])[0].full(g, op.scope.lineage) for i in axes]
        return to_int64(g, pieces[0] if len(pieces) == 1 else g.op.Concat(*pieces, axis=0))
    return to_int64(g, g.op.Gather(op.x(operand), np.array(axes)))


def clamped_starts(op: Op, first: int, room: list[Any]) -> Any:
    """Start indices (scalar operands from ``first`` on) as one int64 vector within bounds.

    Args:
        op: Operation.
        first: Index of the first start operand.
        room: Per axis the largest start allowed, a number or the name of an int64 vector `(1,)`.

    Returns:
        An array when all starts are known numbers, else a name.
    """
    g = op.g
    values = [op.static_ints(first + i) for i in range(len(room))]
    if all(v is not None for v in values) and all(isinstance(r, int) for r in room):
        return np.array([min(max(v[0], 0), r) for v, r in zip(values, room, strict=True) if v])
    parts: list[Any] = []
    for i, (value, limit) in enumerate(zip(values, room, strict=True)):
        if limit == 0 or (value is not None and value[0] <= 0):
            parts.append(np.array([0]))
            continue
        if value is not None and isinstance(limit, int):
            parts.append(np.array([min(value[0], limit)]))
            continue
        start = g.op.Unsqueeze(to_int64(g, op.x(first + i)), np.array([0]))
        low = g.op.Max(start, np.array([0])) if op.in_type(first + i).dtype.kind == "i" else start
        parts.append(g.op.Min(low, np.array([limit]) if isinstance(limit, int) else limit))
    return parts[0] if len(parts) == 1 else g.op.Concat(*parts, axis=0)


@register_stablehlo_op_converter("stablehlo.dynamic_slice", complex_parts="each")
def convert_dynamic_slice(g: GraphBuilder, op: Op) -> Tensor | str:
    """A block of fixed size; its start is moved so that the block fits."""
    lengths = op.ints("slice_sizes")
    sizes = op.dims(0)
    axes = [i for i, n in enumerate(lengths) if sizes[i] != n]
    if not axes:
        return op.inputs[0]
    asked = [(op.values(1 + i) or (None,))[0] for i in axes]
    known = known_windows(op, axes, asked, [OptimDim(lengths[i]) for i in axes])
    if known is not None:
        return sliced(op, axes, *known)
    room = [_room(g, op, i, lengths[i]) for i in axes]
    view = _StartsView(op, [1 + i for i in axes])
    starts = clamped_starts(view, 0, room)
    counts = np.array([lengths[i] for i in axes])
    ends = starts + counts if isinstance(starts, np.ndarray) else g.op.Add(starts, counts)
    return str(g.op.Slice(op.x(), starts, ends, np.array(axes)))


def known_windows(
    op: Op, axes: Sequence[int], starts: Sequence[OptimDim | None], counts: Sequence[Any]
) -> tuple[Any, Any] | None:
    """Constant starts and ends of blocks that are moved into the first operand.

    Args:
        op: Operation.
        axes: Axes that are cut.
        starts: Where each block is asked for, ``None`` where unknown.
        counts: Its number of elements, ``None`` where unknown.

    Returns:
        Two arrays for ``Slice``; ``None`` if some bound is not known.
    """
    sizes = op.dims(0)
    spans = []
    for axis, start, count in zip(axes, starts, counts, strict=True):
        size = sizes[axis]
        if size is None or start is None or count is None:
            return None
        found = moved_span(size, start, count)
        if found is None:
            return None
        spans.append(found)
    first, last = zip(*spans, strict=True)
    return np.array(first), np.array(last)


class _StartsView(Op):
    """An operation seen through some of its operands only."""

    __slots__ = ()

    def __init__(self, op: Op, operands: list[int]) -> None:
        super().__init__(op.source, op.scope, [op.inputs[i] for i in operands])


def _room(g: GraphBuilder, op: Op, axis: int, length: int) -> Any:
    size = op.dims(0)[axis]
    if size is not None and size.is_int():
        return size.as_int() - length
    return g.op.Sub(g.op.Shape(op.x(), start=axis, end=axis + 1), np.array([length]))


@register_stablehlo_op_converter("stablehlo.dynamic_update_slice", complex_parts="each")
def convert_dynamic_update_slice(g: GraphBuilder, op: Op) -> Tensor | str:
    """Overwrite a block; its start is moved so that the block fits."""
    sizes, lengths = op.dims(0), op.dims(1)
    axes = [i for i in range(len(sizes)) if sizes[i] != lengths[i]]
    if not axes:
        return op.inputs[1]
    if 0 in op.in_type(1).shape:
        return op.inputs[0]
    room = [_update_room(g, op, i) for i in axes]
    starts = clamped_starts(_StartsView(op, [2 + i for i in axes]), 0, room)
    if len(axes) == 1:
        return _update_one_axis(g, op, axes[0], starts)
    return _update_block(g, op, axes, starts)


def _update_room(g: GraphBuilder, op: Op, axis: int) -> Any:
    size, length = op.dims(0)[axis], op.dims(1)[axis]
    if size is not None and length is not None and (size - length).is_int():
        return (size - length).as_int()
    return g.op.Sub(
        g.op.Shape(op.x(), start=axis, end=axis + 1), g.op.Shape(op.x(1), start=axis, end=axis + 1)
    )


def _update_one_axis(g: GraphBuilder, op: Op, axis: int, starts: Any) -> str:
    """What is before, the update, what is after."""
    where = np.array([axis])
    length = op.dims(1)[axis]
    count: Any = (
        np.array([length.as_int()])
        if length is not None and length.is_int()
        else g.op.Shape(op.x(1), start=axis, end=axis + 1)
    )
    known = isinstance(starts, np.ndarray) and isinstance(count, np.ndarray)
    ends = starts + count if known else g.op.Add(starts, count)
    pieces = [op.x(1)]
    if not (isinstance(starts, np.ndarray) and starts[0] == 0):
        pieces.insert(0, g.op.Slice(op.x(), np.array([0]), starts, where))
    size = op.dims(0)[axis]
    if not (known and size is not None and size == OptimDim(int(ends[0]))):
        pieces.append(g.op.Slice(op.x(), ends, np.array([np.iinfo(np.int64).max]), where))
    return str(op.emit.Concat(*pieces, axis=axis)) if len(pieces) > 1 else pieces[0]


def _update_block(g: GraphBuilder, op: Op, axes: list[int], starts: Any) -> str:
    """``ScatterND`` at the positions of the block along the axes where it is smaller."""
    last = axes[-1] + 1
    grid: list[Any] = []
    for axis in range(last):
        shape = [1] * last + [1]
        row = _positions(g, op, axis)
        if axis in axes:
            at = axes.index(axis)
            offset = (
                starts[at : at + 1]
                if isinstance(starts, np.ndarray)
                else g.op.Slice(starts, np.array([at]), np.array([at + 1]), np.array([0]))
            )
            known = isinstance(row, np.ndarray) and isinstance(offset, np.ndarray)
            row = row + offset if known else g.op.Add(row, offset)
        shape[axis] = -1
        grid.append((row, shape))
    return str(op.emit.ScatterND(op.x(), joined_grid(g, grid), op.x(1)))


def _positions(g: GraphBuilder, op: Op, axis: int) -> Any:
    size = op.dims(1)[axis]
    if size is not None and size.is_int():
        return np.arange(size.as_int())
    stop = g.op.Squeeze(g.op.Shape(op.x(1), start=axis, end=axis + 1), np.array([0]))
    return g.op.Range(np.array(0), stop, np.array(1))


def joined_grid(g: GraphBuilder, columns: list[tuple[Any, list[int]]]) -> Any:
    """Index tensor of all combinations: `(n0, n1, ..., number of columns)`.

    Args:
        g: Builder.
        columns: Per column its positions (an array or a name) and the shape that spreads them over
            the grid, ending in 1.

    Returns:
        An array when all columns are known, else a name.
    """
    rows = [
        row.reshape(shape) if isinstance(row, np.ndarray) else g.op.Reshape(row, np.array(shape))
        for row, shape in columns
    ]
    return stacked(g, rows)


def stacked(g: GraphBuilder, columns: list[Any]) -> Any:
    """Broadcast int64 columns of shape `(..., 1)` against each other and join them."""
    if all(isinstance(c, np.ndarray) for c in columns):
        return np.concatenate(np.broadcast_arrays(*columns), axis=-1).astype(np.int64)
    if len(columns) == 1:
        return columns[0]
    names = [c if isinstance(c, str) else g.make_initializer(None, c) for c in columns]
    total = names[0]
    for name in names[1:]:
        total = g.op.Add(total, name)
    sizes = dims_of(g, total)
    known = [d.as_int() for d in sizes if d is not None and d.is_int()]
    target = np.array(known) if len(known) == len(sizes) else g.op.Shape(total)
    wide = [n if dims_of(g, n) == sizes else g.op.Expand(n, target) for n in names]
    return g.op.Concat(*wide, axis=-1)


@register_stablehlo_op_converter("stablehlo.pad", complex_parts="each")
def convert_pad(g: GraphBuilder, op: Op) -> str:
    """Padding outside (negative: cropping) and between the elements."""
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    low, high, interior = (op.ints(n) for n in names)
    x = op.x()
    for axis, gap in enumerate(interior):
        if gap:
            x = spread_apart(op, x, axis, gap, op.inputs[1].compact)
    return pad_or_crop(op, x, low, high, op.inputs[1].compact)


def pad_or_crop(op: Op, x: str, low: Any, high: Any, value: Any) -> str:
    """Emit ``Pad`` for positive and ``Slice`` for negative amounts."""
    g = op.g
    grow = np.maximum(np.array([*low, *high]), 0)
    if grow.any():
        x = op.emit.Pad(x, grow, value)
    crops = [i for i in range(len(low)) if low[i] < 0 or high[i] < 0]
    if crops:
        limit = np.iinfo(np.int64).max
        starts = np.array([max(-low[i], 0) for i in crops])
        ends = np.array([high[i] if high[i] < 0 else limit for i in crops])
        x = g.op.Slice(x, starts, ends, np.array(crops))
    return x


def spread_apart(op: Op, x: str, axis: int, gap: int, value: Any) -> str:
    """Emit ``x`` with ``gap`` times ``value`` between neighbours along an axis."""
    g, rank = op.g, op.in_type().rank
    split = g.op.Unsqueeze(x, np.array([axis + 1]))
    pads = np.zeros(2 * (rank + 1), dtype=np.int64)
    pads[rank + 1 + axis + 1] = gap
    padded = op.emit.Pad(split, pads, value)
    shape = np.zeros(rank, dtype=np.int64)
    shape[axis] = -1
    merged = _merge_axes(g, padded, axis)
    # the gap after the last element goes; of no element nothing is left either
    return str(g.op.Slice(merged, np.array([0]), np.array([-gap]), np.array([axis])))


def _merge_axes(g: GraphBuilder, x: str, axis: int) -> str:
    sizes = dims_of(g, x)
    if all(d is not None and d.is_int() for d in sizes):
        known = [d.as_int() for d in sizes if d is not None]
        known[axis : axis + 2] = [known[axis] * known[axis + 1]]
        return str(g.op.Reshape(x, np.array(known), allowzero=1))
    parts: list[Any] = []
    if axis:
        parts.append(g.op.Shape(x, start=0, end=axis))
    parts.append(np.array([-1]))
    if axis + 2 < len(sizes):
        parts.append(g.op.Shape(x, start=axis + 2, end=len(sizes)))
    shape = parts[0] if len(parts) == 1 else g.op.Concat(*parts, axis=0)
    return str(g.op.Reshape(x, shape))


@register_stablehlo_op_converter("stablehlo.dynamic_pad", complex_parts="each")
def convert_dynamic_pad(g: GraphBuilder, op: Op) -> str:
    """Padding by amounts computed at run time; negative amounts crop."""
    interior = op.static_ints(4)
    if interior is None:
        raise op.unsupported("interior padding of unknown size", "Give it as a number.")
    x = op.x()
    for axis, gap in enumerate(interior):
        if gap:
            x = spread_apart(op, x, axis, gap, op.inputs[1].compact)
    low, high = op.static_ints(2), op.static_ints(3)
    if low is not None and high is not None:
        return pad_or_crop(op, x, low, high, op.inputs[1].compact)
    before, after = (to_int64(g, op.x(i)) for i in (2, 3))
    zero = np.array(0)
    grow = g.op.Concat(g.op.Max(before, zero), g.op.Max(after, zero), axis=0)
    padded = op.emit.Pad(x, grow, op.inputs[1].compact)
    starts = g.op.Max(g.op.Neg(before), zero)
    ends = g.op.Add(g.op.Shape(padded), g.op.Min(after, zero))
    return str(g.op.Slice(padded, starts, ends, np.arange(op.in_type().rank)))
