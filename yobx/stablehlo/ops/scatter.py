"""Scatter: windows combined into the operand at computed positions; misfits are dropped."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering.casts import cast
from yobx.lowering.scatter import scatter_nd
from yobx.stablehlo import ir
from yobx.stablehlo.op import Op
from yobx.stablehlo.regions import monoid, real_form
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.stablehlo.tensor import full_tensor
from yobx.xbuilder import GraphBuilder

from .indexing import Plan, inverse, last_starts, start_vectors, window_index

_REDUCTIONS = {"second": "none", "add": "add", "mul": "mul", "max": "max", "min": "min"}
_BOOL = {"and": "min", "or": "max", "mul": "min", "add": "max"}


@register_stablehlo_op_converter("stablehlo.scatter")
def convert_scatter(g: GraphBuilder, op: Op) -> tuple[Any, ...] | str:
    """``ScatterND`` with the reduction that the region applies."""
    if len(op.inputs) != 3:
        raise op.unsupported(f"{len(op.inputs) // 2} operands", "Scatter them one by one.")
    kind = monoid(op.source.regions[0])
    if op.out_dtype() == np.bool_:
        kind = _BOOL.get(kind or "", kind)
    if kind not in _REDUCTIONS:
        raise op.unsupported(
            f"update computation {kind or 'of several operations'}",
            "Use set, add, multiply, min or max.",
        )
    return _scatter_narrow(op, _REDUCTIONS[kind])


def _scatter_narrow(op: Op, reduction: str) -> str:
    """Windows that begin at 0 and are shorter than the axis leave the end of the axis as it is."""
    numbers, g = op.attr("scatter_dimension_numbers"), op.g
    kind, updates = op.in_type(), op.in_type(2)
    skipped = (*numbers["inserted_window_dims"], *numbers["input_batching_dims"])
    axes = [i for i in range(kind.rank) if i not in skipped]
    for axis, place in zip(axes, numbers["update_window_dims"], strict=True):
        size, whole = updates.shape[place], kind.shape[axis]
        if axis in numbers["scattered_dims_to_operand_dims"] or None in (size, whole):
            continue
        if size != whole:
            where, cut, x = np.array([axis]), np.array([size]), op.x()
            head = str(g.op.Slice(x, np.array([0]), cut, where))
            tail = g.op.Slice(x, cut, np.array([np.iinfo(np.int64).max]), where)
            shape = (*kind.shape[:axis], size, *kind.shape[axis + 1 :])
            first = full_tensor(head, ir.TensorType(shape, kind.dtype))
            done = _scatter_narrow(Op(op.source, op.scope, [first, *op.inputs[1:]]), reduction)
            return str(op.emit.Concat(done, tail, axis=axis))
    return _scatter(op, reduction)


@register_stablehlo_op_converter("stablehlo.scatter", complex_parts="pair")
def convert_complex_scatter(g: GraphBuilder, op: Op) -> Any:
    """Sets and adds part by part."""
    source = real_form(op.source)
    if source is None or len(op.parts) != 3:
        raise op.unsupported("this update computation of complex numbers", "Use set or add.")
    views = [
        Op(source, op.scope, [parts[min(k, len(parts) - 1)] for parts in op.parts]) for k in (0, 1)
    ]
    return [tuple(convert_scatter(g, view) for view in views)]


def _scatter(op: Op, reduction: str) -> str:
    g, rank = op.g, op.in_type().rank
    plan, batch_rank = _plan(op)
    x, updates = op.x(), _updates(op, plan)
    if not plan.indexed:
        return _combine_whole(op, x, updates, reduction)
    order = [*plan.indexed, *plan.rest(rank)]
    moved = order != list(range(rank))
    if moved:
        x = g.op.Transpose(x, perm=order)
    starts = start_vectors(op, 1, op.attr("scatter_dimension_numbers")["index_vector_dim"])
    valid = _valid(op, starts, plan)
    if valid is None:
        result = scatter_nd(g, x, window_index(op, starts, plan, batch_rank), updates, reduction)
    else:
        result = _scatter_valid(
            op,
            x,
            starts,
            valid=valid,
            plan=plan,
            batch_rank=batch_rank,
            updates=updates,
            reduction=reduction,
        )
    return str(g.op.Transpose(result, perm=inverse(order))) if moved else result


def _plan(op: Op) -> tuple[Plan, int]:
    numbers = op.attr("scatter_dimension_numbers")
    rank, vector_dim = op.in_type().rank, numbers["index_vector_dim"]
    inserted, batching = numbers["inserted_window_dims"], numbers["input_batching_dims"]
    window_axes = [i for i in range(rank) if i not in inserted and i not in batching]
    update_sizes = [op.dims(2)[i] for i in numbers["update_window_dims"]]
    sizes = {
        axis: size.as_int() if size is not None and size.is_int() else -1
        for axis, size in zip(window_axes, update_sizes, strict=True)
    }
    mapped = numbers["scattered_dims_to_operand_dims"]
    if any(sizes.get(axis, 1) == -1 for axis in mapped):
        raise op.unsupported("a window of symbolic size at a computed position", "Fix its size.")
    batch_axes = [a - (a > vector_dim) for a in numbers["scatter_indices_batching_dims"]]
    plan = Plan(
        index_map=tuple(mapped),
        batching=tuple(zip(batching, batch_axes, strict=True)),
        sizes=tuple(sizes.get(axis, 1) for axis in mapped),
        kept=tuple(axis not in inserted for axis in mapped),
    )
    return plan, op.in_type(1).rank - (vector_dim < op.in_type(1).rank)


def _updates(op: Op, plan: Plan) -> str:
    """Updates as `(batch..., windows..., rest...)`, in the order of the index tensor."""
    numbers, g = op.attr("scatter_dimension_numbers"), op.g
    rank = op.in_type().rank
    inserted, batching = numbers["inserted_window_dims"], numbers["input_batching_dims"]
    window_axes = [i for i in range(rank) if i not in inserted and i not in batching]
    place = dict(zip(window_axes, numbers["update_window_dims"], strict=True))
    batch = [i for i in range(op.in_type(2).rank) if i not in numbers["update_window_dims"]]
    windows = [a for a, kept in zip(plan.index_map, plan.kept, strict=True) if kept]
    order = [*batch, *(place[a] for a in (*windows, *plan.rest(rank)))]
    name = op.x(2)
    return name if order == list(range(len(order))) else str(g.op.Transpose(name, perm=order))


def _valid(op: Op, starts: Any, plan: Plan) -> Any:
    """Where whole windows lie inside, `(batch..., 1)`; ``None`` if all do for certain."""
    g, last = op.g, last_starts(op, plan)
    if isinstance(starts, np.ndarray) and isinstance(last, np.ndarray):
        inside = np.all((starts >= 0) & (starts <= last), axis=-1, keepdims=True)
        return None if inside.all() else inside
    if isinstance(starts, np.ndarray):
        starts = g.make_initializer(None, starts)
    bounded = g.op.Min(g.op.Max(starts, np.array(0)), last)
    inside = g.op.Equal(bounded, starts)
    if len(plan.index_map) == 1:
        return inside
    least = g.op.ReduceMin(cast(g, inside, np.int32), np.array([-1]), keepdims=1)
    return cast(g, least, np.bool_)


def _scatter_valid(
    op: Op,
    x: str,
    starts: Any,
    *,
    valid: Any,
    plan: Plan,
    batch_rank: int,
    updates: str,
    reduction: str,
) -> str:
    """Send the windows that do not fit to one more row, and cut that off again."""
    g, rank = op.g, op.in_type().rank
    pads = np.zeros(2 * rank, dtype=np.int64)
    pads[rank] = 1
    taller = op.emit.Pad(x, pads)
    index = window_index(op, starts, plan, batch_rank)
    windows = [batch_rank + i for i in range(sum(plan.kept))]
    if isinstance(valid, np.ndarray):
        mask: Any = np.expand_dims(valid, tuple(windows)) if windows else valid
    else:
        mask = g.op.Unsqueeze(valid, np.array(windows)) if windows else valid
    size = op.dims(0)[plan.indexed[0]]
    away: Any = np.zeros(len(plan.indexed), dtype=np.int64)
    if size is not None and size.is_int():
        away[0] = size.as_int()
    else:
        row = g.op.Shape(x, start=0, end=1)
        away = g.op.Concat(row, away[1:], axis=0) if len(away) > 1 else row
    result = scatter_nd(g, taller, g.op.Where(mask, index, away), updates, reduction)
    return str(g.op.Slice(result, np.array([0]), np.array([-1]), np.array([0])))


def _combine_whole(op: Op, x: str, updates: str, reduction: str) -> str:
    """No index at all: one window over the whole operand."""
    if op.in_type(1).rank > 1:
        raise op.unsupported("several windows over the whole operand", "Combine them first.")
    if reduction == "none":
        return updates
    block: ir.Block = op.source.regions[0]
    arguments = [(full_tensor(n, op.in_type()),) for n in (x, updates)]
    result = op.scope.inline(block, arguments)[0][0]
    return result.full(op.g, op.scope.lineage)
