"""Scatter: windows combined into the operand at computed positions; misfits are dropped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from yobx.lowering.casts import cast
from yobx.lowering.legalise import legal
from yobx.lowering.looping import counted
from yobx.lowering.scatter import scatter_nd
from yobx.onnx_optim import OptimDim
from yobx.stablehlo import ir
from yobx.stablehlo.op import Op, part_type
from yobx.stablehlo.positions import counted_along, index_column
from yobx.stablehlo.regions import monoid, real_form
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.stablehlo.spans import fits, is_not_negative
from yobx.stablehlo.tensor import full_tensor
from yobx.xbuilder import GraphBuilder

from .block_updates import find_block, updated
from .indexing import Plan, inverse, last_starts, start_vectors, window_index

if TYPE_CHECKING:
    from yobx.stablehlo.convert import Scope

_REDUCTIONS = {"second": "none", "add": "add", "mul": "mul", "max": "max", "min": "min"}
_BOOL = {"and": "min", "or": "max", "mul": "min", "add": "max"}


@register_stablehlo_op_converter("stablehlo.scatter")
def convert_scatter(g: GraphBuilder, op: Op) -> list[Any]:
    """``ScatterND`` with the reduction that the region applies; any other region in a loop.

    One block of symbolic size is joined with what is around it.
    """
    kind = monoid(op.source.regions[0])
    block = find_block(op) if len(op.inputs) == 3 else None
    if block is not None:

        def combine(old: str, new: str) -> str:
            return _combine(op, op.scope, [[old]], [[new]])[0][0]

        return [updated(op, block, None if kind == "second" else combine)]
    if op.out_dtype() == np.bool_:
        kind = _BOOL.get(kind or "", kind)
    if len(op.inputs) != 3 or kind not in _REDUCTIONS:
        return [one for (one,) in _in_turn(op)]
    reduction = _REDUCTIONS[kind]
    return _narrowed([op], lambda views: [_scatter(views[0], reduction)])


@register_stablehlo_op_converter("stablehlo.scatter", complex_parts="pair")
def convert_complex_scatter(g: GraphBuilder, op: Op) -> Any:
    """Sets and adds part by part, anything else one update after the other."""
    source = real_form(op.source)
    if source is None or len(op.parts) != 3:
        return _in_turn(op)
    views = [
        Op(source, op.scope, [parts[min(k, len(parts) - 1)] for parts in op.parts]) for k in (0, 1)
    ]
    return [tuple(convert_scatter(g, view)[0] for view in views)]


def _narrowed(views: list[Op], scatter: Callable[[list[Op]], list[str]]) -> list[str]:
    """Windows that begin at 0 and are shorter than the axis leave the end of the axis as it is."""
    op, g = views[0], views[0].g
    numbers = op.attr("scatter_dimension_numbers")
    kind, updates = op.in_type(), op.in_type(2)
    skipped = (*numbers["inserted_window_dims"], *numbers["input_batching_dims"])
    axes = [i for i in range(kind.rank) if i not in skipped]
    for axis, place in zip(axes, numbers["update_window_dims"], strict=True):
        size, whole = updates.shape[place], kind.shape[axis]
        if axis in numbers["scattered_dims_to_operand_dims"] or None in (size, whole):
            continue
        if size != whole:
            where, cut = np.array([axis]), np.array([size])
            shape = (*kind.shape[:axis], size, *kind.shape[axis + 1 :])
            heads = []
            for view in views:
                head = str(g.op.Slice(view.x(), np.array([0]), cut, where))
                first = full_tensor(head, ir.TensorType(shape, view.in_type().dtype))
                heads.append(Op(op.source, op.scope, [first, *view.inputs[1:]]))
            end = np.array([np.iinfo(np.int64).max])
            return [
                str(op.emit.Concat(done, g.op.Slice(view.x(), cut, end, where), axis=axis))
                for view, done in zip(views, _narrowed(heads, scatter), strict=True)
            ]
    return scatter(views)


def _scatter(op: Op, reduction: str) -> str:
    placed = _place(op)
    if placed is not None:
        # Windows that do not fit share the spare row, which nobody reads.
        unique = bool(op.attr("unique_indices"))
        made = scatter_nd(op.g, placed.x, placed.index, placed.updates, reduction, unique=unique)
        return placed.finish(op.g, made)
    if reduction == "none":
        return op.x(2)
    return _combine(op, op.scope, [[op.x()]], [[op.x(2)]])[0][0]


def _in_turn(op: Op) -> list[tuple[str, ...]]:
    """Updates one after the other, as XLA applies them; all parts of all operands together."""
    count = len(op.parts) // 2
    pairs = list(zip(op.parts[:count], op.parts[count + 1 :], strict=True))
    views = [
        Op(op.source, op.scope, [x[k], op.parts[count][0], updates[min(k, len(updates) - 1)]])
        for x, updates in pairs
        for k in range(len(x))
    ]
    results = iter(_narrowed(views, lambda cut: _looped(op, cut)))
    return [tuple(next(results) for _ in x) for x, _ in pairs]


def _looped(op: Op, views: list[Op]) -> list[str]:
    placed = [found for view in views if (found := _place(view)) is not None]
    if not placed:
        made = _combine(
            op,
            op.scope,
            _grouped(op, [v.x() for v in views]),
            _grouped(op, [v.x(2) for v in views]),
        )
        return [part for parts in made for part in parts]
    g = op.g
    index, columns = placed[0].index, len(placed[0].plan.indexed)
    if isinstance(index, np.ndarray):
        index = g.make_initializer(None, index)
    index = g.op.Reshape(index, np.array([-1, columns]))
    rows = g.op.Shape(index, start=0, end=1)
    updates = [
        g.op.Reshape(
            p.updates, g.op.Concat(rows, g.op.Shape(p.x, start=columns), axis=0), allowzero=1
        )
        for p in placed
    ]

    def body(
        graph: GraphBuilder, turn: str, states: list[str]
    ) -> tuple[Sequence[str], Sequence[str]]:
        place = graph.op.Gather(index, turn)
        old = [graph.op.GatherND(state, place) for state in states]
        new = [graph.op.Gather(update, turn) for update in updates]
        made = _combine(op, op.scope.nested(graph), _grouped(op, old), _grouped(op, new))
        flat = [part for parts in made for part in parts]
        return [
            graph.op.ScatterND(state, place, value)
            for state, value in zip(states, flat, strict=True)
        ], []

    turns = g.op.Squeeze(rows, np.array([0]))
    final = counted(g, turns, [p.x for p in placed], body)
    return [p.finish(g, name) for p, name in zip(placed, final, strict=True)]


def _grouped(op: Op, names: list[str]) -> list[list[str]]:
    """Names by operand: one, or two of a complex one."""
    left = iter(names)
    return [[next(left) for _ in parts] for parts in op.parts[: len(op.parts) // 2]]


def _combine(op: Op, scope: Scope, old: list[list[str]], new: list[list[str]]) -> list[list[str]]:
    """Emit what the region makes of two arrays of elements, of each operand."""
    g, block = scope.g, op.source.regions[0]
    arguments = []
    for names, argument in zip((*old, *new), block.arguments, strict=True):
        shape = (None,) * (g.get_rank(names[0]) or 0)
        kind = ir.TensorType(shape, part_type(argument.tensor).dtype)
        arguments.append(tuple(full_tensor(name, kind) for name in names))
    results = scope.inline(block, arguments)
    return [
        [_as_large(g, part.compact, name) for part, name in zip(parts, names, strict=True)]
        for parts, names in zip(results, old, strict=True)
    ]


def _as_large(g: GraphBuilder, value: str, like: str) -> str:
    """A value that does not depend on all elements is repeated."""
    if g.get_rank(value) == g.get_rank(like):
        return value
    return str(legal(g).Expand(value, g.op.Shape(like)))


@dataclass(frozen=True)
class _Placed:
    """A scatter that ``ScatterND`` can do.

    Attributes:
        plan: The windows.
        x: Operand with the indexed axes first.
        index: Places `(batch..., windows..., columns)`: an array or a name.
        updates: Updates `(batch..., windows..., rest...)`.
        order: Axes of the operand in ``x``.
        has_spare_row: Whether ``x`` has one more row, for the windows that do not fit.
    """

    plan: Plan
    x: str
    index: Any
    updates: str
    order: list[int]
    has_spare_row: bool

    def finish(self, g: GraphBuilder, result: str) -> str:
        """The result in the operand's own order."""
        if self.has_spare_row:
            result = str(g.op.Slice(result, np.array([0]), np.array([-1]), np.array([0])))
        moved = self.order != list(range(len(self.order)))
        return str(g.op.Transpose(result, perm=inverse(self.order))) if moved else result


def _place(op: Op) -> _Placed | None:
    """Say where the windows go, or ``None`` if the only one is the whole operand."""
    g, rank = op.g, op.in_type().rank
    plan, batch_rank = _plan(op)
    x, updates = op.x(), _updates(op, plan)
    if not plan.indexed:
        if op.in_type(1).rank > 1:
            raise op.unsupported("several windows over the whole operand", "Combine them first.")
        return None
    order = [*plan.indexed, *plan.rest(rank)]
    if order != list(range(rank)):
        x = g.op.Transpose(x, perm=order)
    starts = _known_starts(op, plan)
    valid = None
    if starts is None:
        starts = start_vectors(op, 1, op.attr("scatter_dimension_numbers")["index_vector_dim"])
        valid = _valid(op, starts, plan)
    if valid is None:
        index = window_index(op, starts, plan, batch_rank)
        return _Placed(plan, x, index, updates, order, has_spare_row=False)
    taller, index = _with_spare_row(op, x, starts, valid=valid, plan=plan, batch_rank=batch_rank)
    return _Placed(plan, taller, index, updates, order, has_spare_row=True)


def _known_starts(op: Op, plan: Plan) -> np.ndarray[Any, Any] | None:
    """Where the only window begins, as constants that count from either end, if it fits."""
    sizes, values = op.dims(0), op.flat_values(1)
    if op.in_type(1).rank != 1 or plan.batching or values is None:
        return None
    found: list[int] = []
    for axis, start, count in zip(plan.index_map, values, plan.sizes, strict=True):
        size = sizes[axis]
        if size is None or start is None or not fits(size, start, OptimDim(count)):
            return None
        place = start if start.is_int() else start - size
        if not place.is_int():
            return None
        found.append(place.as_int())
    return np.array(found, dtype=np.int64)


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


def _all_fit(op: Op, plan: Plan) -> bool:
    """Whether all windows lie inside, of which the places are counted."""
    numbers, sizes = op.attr("scatter_dimension_numbers"), op.dims(0)
    for component, (axis, count) in enumerate(zip(plan.index_map, plan.sizes, strict=True)):
        column = index_column(
            op.source.operands[1], component, len(plan.index_map), numbers["index_vector_dim"]
        )
        found = None if column is None else counted_along(column)
        size = sizes[axis]
        if found is None or size is None:
            return False
        positions, batch_axis = found
        number = op.dims(1)[batch_axis]
        start = OptimDim(0)
        if positions.start is not None:
            known = op.scope.known_scalar(positions.start)
            if known is None:
                return False
            start = known
        if number is None:
            return False
        end = start + positions.step * (number - 1)
        # without any position the last one is before the first one, and as good
        low, high = (start, end) if positions.step > 0 else (end, start)
        if not (is_not_negative(low) and is_not_negative(size - count - high)):
            return False
    return True


def _valid(op: Op, starts: Any, plan: Plan) -> Any:
    """Where whole windows lie inside, `(batch..., 1)`; ``None`` if all do for certain."""
    if not isinstance(starts, np.ndarray) and _all_fit(op, plan):
        return None
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


def _with_spare_row(
    op: Op, x: str, starts: Any, *, valid: Any, plan: Plan, batch_rank: int
) -> tuple[str, str]:
    """The operand with one more row, and an index that sends windows that do not fit there."""
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
    return taller, str(g.op.Where(mask, index, away))
