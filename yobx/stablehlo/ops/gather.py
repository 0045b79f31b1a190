"""Gather: windows of fixed size at computed positions, which are moved so that windows fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from yobx.lowering.casts import to_int64
from yobx.onnx_optim import OptimDim
from yobx.stablehlo.dims import vector
from yobx.stablehlo.ir import TensorType, Value
from yobx.stablehlo.op import Op
from yobx.stablehlo.positions import Positions, counted_along, index_column, repeated
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.stablehlo.spans import moved_span, strided
from yobx.stablehlo.tensor import full_tensor
from yobx.xbuilder import GraphBuilder

from .indexing import Plan, inverse, last_starts, start_vectors, window_index
from .reshaping import reverse
from .slicing import known_windows, sliced


@register_stablehlo_op_converter("stablehlo.gather", complex_parts="each")
def convert_gather(g: GraphBuilder, op: Op) -> str:
    """``Gather`` along one axis, ``GatherND`` for the rest."""
    return gather(op, op.ints("slice_sizes"))


@register_stablehlo_op_converter("stablehlo.dynamic_gather", complex_parts="each")
def convert_dynamic_gather(g: GraphBuilder, op: Op) -> str:
    """The same with slice sizes computed at run time; axes taken whole may be symbolic."""
    values, sizes = op.values(2), op.dims(0)
    if op.in_type(1).rank == 1 and op.attr("dimension_numbers")["index_vector_dim"] == 0:
        return _one_window(op)
    lengths: list[int] = []
    cut: dict[int, tuple[int, int]] = {}
    for axis, size in enumerate(values or (None,) * len(sizes)):
        if size is not None and size.is_int():
            lengths.append(size.as_int())
            continue
        lengths.append(-1)  # the whole axis
        if size is None or size != sizes[axis]:
            cut[axis] = _same_part(op, axis, size)
    if cut:
        starts, ends = (np.array(column) for column in zip(*cut.values(), strict=True))
        shape = tuple(None if i in cut else n for i, n in enumerate(op.in_type().shape))
        part = full_tensor(
            sliced(op, list(cut), starts, ends), TensorType(shape, op.in_type().dtype)
        )
        op = Op(op.source, op.scope, [part, *op.inputs[1:]])
    return gather(op, tuple(lengths))


def _same_part(op: Op, axis: int, count: OptimDim | None) -> tuple[int, int]:
    """Bounds of a part of symbolic size, which is the same one in all windows."""
    size, mapped = op.dims(0)[axis], op.attr("dimension_numbers")["start_index_map"]
    start: OptimDim | None = OptimDim(0)
    if axis in mapped:
        column = _column(op, axis)
        scalar = None if column is None else repeated(column)
        start = None if scalar is None else op.scope.known_scalar(scalar)
    if size is not None and start is not None and count is not None:
        found = moved_span(size, start, count)
        if found is not None:
            return found
    raise op.unsupported(
        f"a slice of symbolic size {count} of an axis of size {size}",
        "Take the axis whole, or a part of it of fixed size.",
    )


def _one_window(op: Op) -> str:
    """A single window whose sizes are computed at run time: a ``Slice``."""
    g, numbers, rank = op.g, op.attr("dimension_numbers"), op.in_type().rank
    dropped = np.array(numbers["collapsed_slice_dims"], dtype=np.int64)
    known = _known_window(op)
    if known is not None:
        return str(g.op.Squeeze(known, dropped) if dropped.size else known)
    lengths = vector(g, op.x(2))
    place = inverse([*numbers["start_index_map"], *_absent(numbers["start_index_map"], rank)])
    given = to_int64(g, op.x(1))
    missing = rank - len(numbers["start_index_map"])
    if missing:
        given = g.op.Concat(given, np.zeros(missing, dtype=np.int64), axis=0)
    if place != list(range(rank)):
        given = g.op.Gather(given, np.array(place))
    last = g.op.Sub(g.op.Shape(op.x()), lengths)
    starts = g.op.Min(g.op.Max(given, np.array(0)), last)
    window = g.op.Slice(op.x(), starts, g.op.Add(starts, lengths), np.arange(rank))
    return str(g.op.Squeeze(window, dropped) if dropped.size else window)


def _known_window(op: Op) -> str | None:
    """The window as a ``Slice`` with constant bounds, along the axes that are not taken whole."""
    starts, lengths, sizes = op.flat_values(1), op.values(2), op.dims(0)
    mapped = op.attr("dimension_numbers")["start_index_map"]
    if lengths is None or starts is None:
        return None
    axes = [i for i in range(len(sizes)) if lengths[i] is None or lengths[i] != sizes[i]]
    if not axes:
        return op.x()
    asked = [starts[mapped.index(i)] if i in mapped else OptimDim(0) for i in axes]
    known = known_windows(op, axes, asked, [lengths[i] for i in axes])
    return None if known is None else sliced(op, axes, *known)


def _absent(axes: Sequence[int], rank: int) -> list[int]:
    return [a for a in range(rank) if a not in axes]


def gather(op: Op, lengths: tuple[int, ...]) -> str:
    """Emit a gather whose slice sizes are numbers, or -1 for a whole axis."""
    g, numbers = op.g, op.attr("dimension_numbers")
    counted = _counted(op, lengths)
    if counted is not None:
        return counted
    batch_rank = op.in_type(1).rank - (numbers["index_vector_dim"] < op.in_type(1).rank)
    plan, x, starts = _plan(op, lengths)
    if len(plan.index_map) == 1 and not plan.batching and plan.sizes == (1,):
        picked = _gather_one_axis(g, x, starts, plan, batch_rank)
    else:
        picked = _gather_nd(op, x, starts, plan, batch_rank)
    return _ordered(op, picked, plan, batch_rank)


def _column(op: Op, axis: int) -> Value | None:
    """The components of all index vectors that belong to an axis of the operand."""
    numbers = op.attr("dimension_numbers")
    mapped, at = numbers["start_index_map"], numbers["index_vector_dim"]
    return index_column(op.source.operands[1], mapped.index(axis), len(mapped), at)


def _counted(op: Op, lengths: tuple[int, ...]) -> str | None:
    """A ``Slice`` for elements at equal distances along some axes, all there are."""
    numbers, sizes, rank = op.attr("dimension_numbers"), op.dims(0), op.in_type(1).rank
    dropped = list(numbers["collapsed_slice_dims"])
    whole = all(n in (-1, sizes[i]) for i, n in enumerate(lengths) if i not in dropped)
    if not dropped or not whole or numbers["index_vector_dim"] != rank - 1:
        return None
    if len(dropped) != rank - 1 or any(axis not in numbers["start_index_map"] for axis in dropped):
        return None
    batch_out = [i for i in range(op.out_type().rank) if i not in numbers["offset_dims"]]
    spans: list[tuple[int, int, int] | None] = []
    backwards: list[int] = []
    for axis in dropped:
        column = _column(op, axis)
        found = None if column is None else counted_along(column)
        # each axis stays where it is, since all batch axes of the result are met once
        if found is None or batch_out[found[1]] != axis:
            return None
        positions, batch_axis = found
        spans.append(_strided(op, axis, positions, batch_axis))
        if spans[-1] is None and positions.backwards:
            spans[-1] = _strided(op, axis, replace(positions, backwards=False), batch_axis)
            backwards.append(axis)
    known = [span for span in spans if span is not None]
    if len(known) != len(dropped):
        return None
    first, last, steps = (np.array(bounds) for bounds in zip(*known, strict=True))
    made = sliced(op, dropped, first, last, steps)
    return reverse(op.g, made, backwards) if backwards else made


def _strided(
    op: Op, axis: int, positions: Positions, batch_axis: int
) -> tuple[int, int, int] | None:
    """Start, end and step of positions along an axis."""
    size, count = op.dims(0)[axis], op.dims(1)[batch_axis]
    start = OptimDim(0) if positions.start is None else op.scope.known_scalar(positions.start)
    if start is None or size is None or count is None:
        return None
    step = positions.step
    if positions.backwards:
        start, step = start + step * (count - 1), -step
    bounds = strided(size, start, step, count)
    return None if bounds is None else (*bounds, step)


def _plan(op: Op, lengths: tuple[int, ...]) -> tuple[Plan, str, Any]:
    """The windows, the operand cut to what is reachable, and start vectors in bounds."""
    g, numbers, sizes = op.g, op.attr("dimension_numbers"), op.dims(0)
    dropped = set(numbers["collapsed_slice_dims"])
    whole = {i for i, n in enumerate(lengths) if n == -1 or sizes[i] == n}
    mapped = [
        (c, axis)
        for c, axis in enumerate(numbers["start_index_map"])
        if axis not in whole or axis in dropped
    ]
    batch_axes = _batch_axes(numbers)
    plan = Plan(
        index_map=tuple(axis for _, axis in mapped),
        batching=tuple(zip(numbers["operand_batching_dims"], batch_axes, strict=True)),
        sizes=tuple(lengths[axis] for _, axis in mapped),
        kept=tuple(axis not in dropped for _, axis in mapped),
    )
    x = op.x()
    cut = [
        i
        for i in range(len(lengths))
        if i not in whole and i not in plan.indexed and i not in numbers["start_index_map"]
    ]
    if cut:
        ends = np.array([lengths[i] for i in cut])
        x = g.op.Slice(x, np.zeros_like(ends), ends, np.array(cut))
    starts = start_vectors(op, 1, numbers["index_vector_dim"])
    starts = _components(g, starts, [c for c, _ in mapped], len(numbers["start_index_map"]))
    return plan, x, _clamped(op, starts, plan) if mapped else starts


def _batch_axes(numbers: dict[str, Any]) -> list[int]:
    """Batching axes of the indices, counted without the axis of the index vector."""
    vector_dim = numbers["index_vector_dim"]
    return [a - (a > vector_dim) for a in numbers["start_indices_batching_dims"]]


def _components(g: GraphBuilder, starts: Any, wanted: list[int], count: int) -> Any:
    if len(wanted) == count:
        return starts
    if isinstance(starts, np.ndarray):
        return starts[..., wanted]
    return g.op.Gather(starts, np.array(wanted, dtype=np.int64), axis=-1)


def _clamped(op: Op, starts: Any, plan: Plan) -> Any:
    g, last = op.g, last_starts(op, plan)
    if isinstance(starts, np.ndarray) and isinstance(last, np.ndarray):
        return np.clip(starts, 0, last)
    if isinstance(starts, np.ndarray):
        starts = g.make_initializer(None, starts)
    if isinstance(last, np.ndarray) and len(set(last.tolist())) == 1:
        return g.op.Clip(starts, np.array(0), np.array(last[0]))
    return g.op.Min(g.op.Max(starts, np.array(0)), last)


def _gather_one_axis(g: GraphBuilder, x: str, starts: Any, plan: Plan, batch_rank: int) -> str:
    """`(batch..., [1], rest...)` by ``Gather``; the batch lands where the axis was, so it moves."""
    axis, rank = plan.index_map[0], g.get_rank(x) or 0
    index = starts[..., 0] if isinstance(starts, np.ndarray) else None
    if index is None:
        index = g.op.Squeeze(starts, np.array([-1]))
    picked = g.op.Gather(x, index, axis=axis)
    if axis and batch_rank:
        order = [*range(axis, axis + batch_rank), *range(axis)]
        order += range(axis + batch_rank, rank - 1 + batch_rank)
        picked = g.op.Transpose(picked, perm=order)
    return str(g.op.Unsqueeze(picked, np.array([batch_rank])) if plan.kept[0] else picked)


def _gather_nd(op: Op, x: str, starts: Any, plan: Plan, batch_rank: int) -> str:
    """`(batch..., windows..., rest...)` by ``GatherND``."""
    g, rank = op.g, op.in_type().rank
    if not plan.indexed:
        return _repeated(g, x, starts, batch_rank)
    order = [*plan.indexed, *plan.rest(rank)]
    if order != list(range(rank)):
        x = g.op.Transpose(x, perm=order)
    return str(op.emit.GatherND(x, window_index(op, starts, plan, batch_rank)))


def _repeated(g: GraphBuilder, x: str, starts: Any, batch_rank: int) -> str:
    """The whole operand for each index."""
    if not batch_rank:
        return x
    if isinstance(starts, np.ndarray):
        batch: Any = np.array(starts.shape[:-1], dtype=np.int64)
    else:
        batch = g.op.Shape(starts, start=0, end=batch_rank)
    ones = np.ones(g.get_rank(x) or 0, dtype=np.int64)
    if isinstance(batch, np.ndarray):
        return str(g.op.Expand(x, np.concatenate([batch, ones])))
    return str(g.op.Expand(x, g.op.Concat(batch, ones, axis=0)))


def _ordered(op: Op, picked: str, plan: Plan, batch_rank: int) -> str:
    """Move `(batch..., windows..., rest...)` to the axes the result has them on."""
    offset_dims, rank = op.attr("dimension_numbers")["offset_dims"], op.out_type().rank
    windows = [a for a, kept in zip(plan.index_map, plan.kept, strict=True) if kept]
    present = [*windows, *plan.rest(op.in_type().rank)]
    batch_out = [i for i in range(rank) if i not in offset_dims]
    offset_out = sorted(offset_dims)
    target = [*batch_out, *(offset_out[sorted(present).index(a)] for a in present)]
    order = inverse(target)
    if order == list(range(rank)):
        return picked
    return str(op.g.op.Transpose(picked, perm=order))
