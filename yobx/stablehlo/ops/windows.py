"""Reductions over windows: pooling, cumulative sums, and a general form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from yobx.lowering.casts import cast
from yobx.lowering.dtypes import extreme
from yobx.lowering.padding import Window, explicit_pads
from yobx.lowering.pool import max_pool, max_pool_carrying_nan
from yobx.stablehlo import ir
from yobx.stablehlo.op import Op
from yobx.stablehlo.regions import is_identity, monoid, real_form
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.stablehlo.spans import same_size
from yobx.stablehlo.tensor import Tensor, full_tensor
from yobx.xbuilder import GraphBuilder

from .indexing import inverse
from .reduction import reduce_axes
from .reshaping import reverse
from .slicing import pad_or_crop, spread_apart

Pooling = Callable[[str, Window, list[tuple[int, int]]], str]
_HALVES = ("float16", "bfloat16")
#: Beyond this the windows of half precision are combined along one axis after the other.
_PLACES = 64
_EMITTERS = {"add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}


@dataclass(frozen=True)
class _Windows:
    """Attributes of a ``reduce_window``, one entry per axis."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    base: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]

    @property
    def active(self) -> list[int]:
        """Axes along which anything happens."""
        columns = zip(*(getattr(self, f) for f in self.__dataclass_fields__), strict=True)
        return [i for i, c in enumerate(columns) if (*c[:2], *c[3:]) != (1, 1, 1, 0, 0)]


@register_stablehlo_op_converter("stablehlo.reduce_window")
def convert_reduce_window(g: GraphBuilder, op: Op) -> Any:
    """``CumSum`` or ``MaxPool`` where it is one, else the monoid over shifted slices."""
    if len(op.inputs) != 2:
        return tuple(
            parts[0] for parts in _several_operands(op, op.source.regions[0], _windows(op))
        )
    return _reduce_window(op, op.source.regions[0], _windows(op))


@register_stablehlo_op_converter("stablehlo.reduce_window", complex_parts="pair")
def convert_complex_reduce_window(g: GraphBuilder, op: Op) -> Any:
    """Sums part by part; any other computation over shifted slices."""
    source = real_form(op.source)
    if source is None:
        return _several_operands(op, op.source.regions[0], _windows(op))
    views = [Op(source, op.scope, column) for column in zip(*op.parts, strict=True)]
    return [tuple(convert_reduce_window(g, view) for view in views)]


@register_stablehlo_op_converter("custom_call.stablehlo.dynamic_reduce_window")
def convert_dynamic_reduce_window(g: GraphBuilder, op: Op) -> Any:
    """The same with windows computed at run time: numbers, or all that comes before an element."""
    block, view = _called(op), Op(op.source, op.scope, op.inputs[:2])
    windows = _given_windows(op)
    if windows is not None:
        return _reduce_window(view, block, windows)
    found = _padded_at_run_time(op)
    if found is not None:
        return _reduce_window(found[0], block, found[1])
    axis, backwards = _run_axis(op)
    return cumulative(view, block, view.x(), axis, reverse_order=backwards)


@register_stablehlo_op_converter(
    "custom_call.stablehlo.dynamic_reduce_window", complex_parts="pair"
)
def convert_complex_dynamic_reduce_window(g: GraphBuilder, op: Op) -> Any:
    """The same for complex numbers: sums part by part, anything else by a loop."""
    block, view = _called(op), Op(op.source, op.scope, op.inputs[:2], op.parts[:2])
    windows = _given_windows(op)
    if windows is not None:
        return _several_operands(view, block, windows)
    axis, backwards = _run_axis(op)
    if monoid(block) == "add":
        columns = [Op(op.source, op.scope, column) for column in zip(*view.parts, strict=True)]
        return [tuple(cumulative(c, block, c.x(), axis, reverse_order=backwards) for c in columns)]
    whole = tuple(part.full(g, op.scope.lineage) for part in op.parts[0])
    return [running(view, block, whole, axis, reverse_order=backwards)]


def _called(op: Op) -> ir.Block:
    name = op.attr("called_computations")[0]
    return op.scope.converters.module.functions[name].body


def _given_windows(op: Op) -> _Windows | None:
    """The windows that a call gets as operands, if all of them are numbers."""
    given = [op.flat_values(i) for i in range(2, 7)]
    known = [v for column in given for v in column or (None,)]
    if not all(v is not None and v.is_int() for v in known):
        return None
    dims, strides, base, dilations, pads = (
        tuple(v.as_int() for v in column or () if v is not None) for column in given
    )
    return _Windows(dims, strides, dilations, base, pads[::2], pads[1::2])


def _padded_at_run_time(op: Op) -> tuple[Op, _Windows] | None:
    """The operand with its padding, and windows without any, if only the padding is unknown."""
    given = [op.static_ints(i) for i in range(2, 6)]
    rank = op.in_type().rank
    if None in given or op.flat_values(6) is not None or given[2] != (1,) * rank:
        return None
    dims, strides, base, dilations = (column or () for column in given)
    g = op.g
    columns = g.op.Transpose(cast(g, op.x(6), np.int64), perm=[1, 0])
    pads = g.op.Reshape(columns, np.array([-1]))
    padded = op.emit.Pad(op.x(), pads, op.inputs[1].compact)
    kind = ir.TensorType((None,) * rank, op.in_type().dtype)
    view = Op(op.source, op.scope, [full_tensor(str(padded), kind), op.inputs[1]])
    return view, _Windows(dims, strides, dilations, base, (0,) * rank, (0,) * rank)


def _run_axis(op: Op) -> tuple[int, bool]:
    """The axis along which windows of symbolic size are all that comes before, or after."""
    sizes, rank = op.dims(0), op.in_type().rank
    window = op.flat_values(2) or (None,) * rank
    padding = op.flat_values(6) or (None,) * (2 * rank)
    axis = next((i for i, v in enumerate(window) if v is None or not v.is_int()), 0)
    size = sizes[axis]
    width = window[axis]
    sides = [
        p is not None and size is not None and same_size(p, size - 1)
        for p in padding[2 * axis :][:2]
    ]
    is_whole = size is not None and width is not None and same_size(width, size)
    if not is_whole or sides not in ([True, False], [False, True]):
        raise op.unsupported(f"windows {window}, padding {padding}", "Fix the sizes of the window.")
    return axis, sides[1]


def _reduce_window(op: Op, block: ir.Block, windows: _Windows) -> Any:
    kind = monoid(block)
    axis = _cumulative_axis(op, windows)
    neutral = is_identity(kind or "", op.out_dtype(), op.constant(1))
    if axis is not None and (neutral or kind is None):
        return cumulative(op, block, op.x(), axis, reverse_order=windows.low[axis] == 0)
    if neutral and kind == "max" and _is_pooling(op, windows):
        return _max_pool(op, windows)
    return _by_slices(op, block, windows)


def _windows(op: Op) -> _Windows:
    rank = op.in_type().rank
    ones = (1,) * rank
    padding = np.asarray(op.attr("padding", np.zeros((rank, 2))), dtype=np.int64).reshape(-1, 2)
    return _Windows(
        op.ints("window_dimensions"),
        op.ints("window_strides") or ones,
        op.ints("window_dilations") or ones,
        op.ints("base_dilations") or ones,
        tuple(int(v) for v in padding[:, 0]),
        tuple(int(v) for v in padding[:, 1]),
    )


def _cumulative_axis(op: Op, windows: _Windows) -> int | None:
    """The axis when each window is all that comes before (or after) an element."""
    if len(windows.active) != 1:
        return None
    axis = windows.active[0]
    size = op.in_type().shape[axis]
    plain = windows.strides[axis] == windows.dilations[axis] == windows.base[axis] == 1
    pads = sorted((windows.low[axis], windows.high[axis]))
    whole = size is not None and windows.sizes[axis] == size and pads == [0, size - 1]
    return axis if plain and whole else None


def cumulative(op: Op, block: ir.Block, x: str, axis: int, *, reverse_order: bool) -> str:
    """Emit running sums, products, maxima or whatever a region computes, along an axis."""
    g, size, kind = op.g, op.dims(0)[axis], monoid(block)
    if op.out_dtype().name in _HALVES and kind in ("add", "mul"):
        # XLA rounds after every element
        return running(op, block, (x,), axis, reverse_order=reverse_order)[0]
    if kind == "add" and op.out_dtype() != np.bool_:
        return str(op.emit.CumSum(x, np.array(axis), reverse=int(reverse_order)))
    if size is None or not size.is_int():
        return running(op, block, (x,), axis, reverse_order=reverse_order)[0]
    if reverse_order:
        return reverse(g, _doubling(op, block, reverse(g, x, [axis]), axis, size.as_int()), [axis])
    return _doubling(op, block, x, axis, size.as_int())


def running(
    op: Op,
    block: ir.Block,
    x: tuple[str, ...],
    axis: int,
    *,
    reverse_order: bool,
    last: bool = False,
) -> tuple[str, ...]:
    """Emit a ``Scan`` that combines each slice with the state and puts the state out.

    Args:
        op: The operation; its second operand is the first state.
        block: Combines two scalars.
        x: The parts of the operand: one, or two of complex numbers.
        axis: Where slices are taken.
        reverse_order: Whether the last slice comes first.
        last: Whether only the last state is wanted.

    Returns:
        The parts of the result.
    """
    g, kind, count = op.g, op.out_type(), len(x)
    rest = [i for i in range(g.get_rank(x[0]) or 0) if i != axis]
    # onnxruntime stops the process where it turns a tensor without elements itself
    order = [axis, *rest]
    x = tuple(str(g.op.Transpose(part, perm=order)) if axis else part for part in x)
    sizes = g.op.Shape(x[0], start=1)
    starts = [op.emit.Expand(part.compact, sizes) for part in op.parts[1]]
    names = [g.unique_name(hint) for hint in ("state",) * count + ("row",) * count]
    inputs = [(n, g.get_type(s), g.get_shape(s)) for n, s in zip(names, starts * 2, strict=True)]
    body = g.subgraph(g.unique_name("running_body"), inputs=inputs)
    scope = op.scope.nested(body)
    tensors = [full_tensor(n, ir.TensorType((), kind.dtype)) for n in names]
    combined = scope.run(block, [tuple(tensors[:count]), tuple(tensors[count:])])[0]
    results = [part.full(body, scope.lineage) for part in combined]
    for hint in ("next",) if last else ("next", "out"):
        for result in results:
            body.make_tensor_output(body.unique_name(hint), source=result)
    if last:
        made_last = g.op.Scan(*starts, *x, body=body, num_scan_inputs=count, outputs=count)
        return (made_last,) if isinstance(made_last, str) else tuple(made_last)
    rows = list(x)
    size = op.dims(0)[axis]
    spare = size is None or not size.is_int()  # Scan fails where there is no item
    if spare:  # it comes last and is cut off
        wide = [str(g.op.Unsqueeze(start, np.array([0]))) for start in starts]
        pairs = zip(wide, x, strict=True) if reverse_order else zip(x, wide, strict=True)
        rows = [op.emit.Concat(*pair, axis=0) for pair in pairs]
    directions = [int(reverse_order)] * count
    done = g.op.Scan(
        *starts,
        *rows,
        body=body,
        num_scan_inputs=count,
        scan_input_directions=directions,
        scan_output_directions=directions,
        outputs=2 * count,
    )
    made = [str(name) for name in done[count:]]
    if spare:
        low = np.array([int(reverse_order)])
        high = g.op.Add(g.op.Shape(x[0], end=1), low)
        made = [str(op.emit.Slice(name, low, high, np.array([0]))) for name in made]
    back = [int(i) for i in np.argsort(order)]
    return tuple(str(g.op.Transpose(name, perm=back)) if axis else name for name in made)


def _doubling(op: Op, block: ir.Block, x: str, axis: int, size: int) -> str:
    """Combine each element with the one 1, 2, 4, ... places before it."""
    step = 1
    zeros = [0] * op.in_type().rank
    while step < size:
        low, high = list(zeros), list(zeros)
        low[axis], high[axis] = step, -step
        x = _combined(op, block, pad_or_crop(op, x, low, high, op.inputs[1].compact), x)
        step *= 2
    return x


def _combined(op: Op, block: ir.Block, left: str, right: str) -> str:
    kind = ir.TensorType((), op.out_dtype())
    arguments = [(full_tensor(name, kind),) for name in (left, right)]
    return str(op.scope.inline(block, arguments)[0][0].compact)


def _is_pooling(op: Op, windows: _Windows) -> bool:
    spatial = [i for i in windows.active if i >= 0]
    static = all(b == 1 for b in windows.base) and min(*windows.low, *windows.high, 0) >= 0
    if 0 in op.out_type().shape:  # runtimes give a window one place that lacks less than a stride
        return False
    fits = all(
        max(windows.low[i], windows.high[i]) < windows.sizes[i] * windows.dilations[i]
        for i in spatial
    )
    return static and fits and 1 <= len(spatial) <= 3 and op.out_dtype() != np.bool_


def _spatial_last(op: Op, windows: _Windows) -> tuple[list[int], list[int], int]:
    """Order of axes with the windowed ones last, these, and how many come before them."""
    spatial = windows.active
    rest = [i for i in range(op.in_type().rank) if i not in spatial]
    return [*rest, *spatial], spatial, len(rest)


@register_stablehlo_op_converter("yobx.average_pool")
def convert_average_pool(g: GraphBuilder, op: Op) -> str:
    """``AveragePool``."""
    include = int(op.attr("include_pad"))

    def emit(x: str, window: Window, pairs: list[tuple[int, int]]) -> str:
        return str(
            op.emit.AveragePool(
                x,
                kernel_shape=list(window.kernel),
                strides=list(window.strides),
                pads=explicit_pads(pairs),
                count_include_pad=include,
            )
        )

    return _pooled(op, _windows(op), emit)


def _max_pool(op: Op, windows: _Windows) -> str:
    g, dtype = op.g, op.in_type().dtype

    def emit(x: str, window: Window, pairs: list[tuple[int, int]]) -> str:
        pool = max_pool if dtype.kind in "iu" else max_pool_carrying_nan
        return pool(g, x, window, pairs)

    return _pooled(op, windows, emit)


def _pooled(op: Op, windows: _Windows, emit: Pooling) -> str:
    """Pool with the windowed axes last, after two others."""
    g = op.g
    order, spatial, lead = _spatial_last(op, windows)
    x = op.x()
    moved = order != list(range(len(order)))
    x = str(g.op.Transpose(x, perm=order)) if moved else x
    shape: Any = None
    if lead != 2:
        shape = g.op.Shape(x, start=0, end=lead) if lead else None
        tail = g.op.Shape(x, start=lead, end=len(order))
        head = np.array([1, -1])
        x = g.op.Reshape(x, g.op.Concat(head, tail, axis=0))
    window = Window(
        tuple(windows.sizes[i] for i in spatial),
        tuple(windows.strides[i] for i in spatial),
        tuple(windows.dilations[i] for i in spatial),
    )
    pairs = [(windows.low[i], windows.high[i]) for i in spatial]
    pooled = emit(x, window, pairs)
    if lead != 2:
        tail = g.op.Shape(pooled, start=2, end=2 + len(spatial))
        target = g.op.Concat(shape, tail, axis=0) if shape is not None else tail
        pooled = g.op.Reshape(pooled, target, allowzero=1)
    return str(g.op.Transpose(pooled, perm=inverse(order))) if moved else pooled


def _by_slices(op: Op, block: ir.Block, windows: _Windows) -> str:
    """Combine one strided slice of the padded operand for each place in the window."""
    value = op.inputs[1].compact
    x = _padded(op, op.inputs[0], value, windows)
    kind = monoid(block)
    if _is_whole(op, windows) and kind in _EMITTERS:
        return _whole_axes(op, block, x, windows, kind)
    places = list(np.ndindex(*windows.sizes))
    if op.out_dtype().name in _HALVES and kind in ("add", "mul") and len(places) <= _PLACES:
        # XLA rounds after every element, row after row; onnxruntime only where a loop turns
        parts = [_at_place(op.g, x, windows, place) for place in places]
        rows = op.emit.Concat(*(op.emit.Unsqueeze(p, np.array([0])) for p in parts), axis=0)
        return running(op, block, (str(rows),), 0, reverse_order=False, last=True)[0]
    result = ""
    for axis in windows.active:
        result = _along(op, block, result or x, windows, axis)
    if not result:
        result = x
    if is_identity(kind or "", op.out_dtype(), op.constant(1)):
        return result
    return _combined(op, block, value, result)


def _several_operands(op: Op, block: ir.Block, windows: _Windows) -> list[tuple[Tensor, ...]]:
    """Windows over several operands, or complex ones, that a region combines together."""
    count = len(op.parts) // 2
    padded = []
    for operand, start in zip(op.parts[:count], op.parts[count:], strict=True):
        padded.append(
            tuple(
                full_tensor(_padded(op, x, value.compact, windows), x.type)
                for x, value in zip(operand, start, strict=True)
            )
        )
    results = padded
    for axis in windows.active:
        columns = [[_shifted(op.g, t.compact, windows, axis) for t in parts] for parts in results]
        places = [
            [
                tuple(_scalar(part[i], like=kind) for part, kind in zip(column, parts, strict=True))
                for column, parts in zip(columns, results, strict=True)
            ]
            for i in range(windows.sizes[axis])
        ]
        results, *rest = places
        for place in rest:
            results = op.scope.inline(block, [*results, *place])
    starts = [tuple(_scalar(t.compact, like=t) for t in parts) for parts in op.parts[count:]]
    ready = [tuple(_scalar(t.compact, like=t) for t in parts) for parts in results]
    final = op.scope.inline(block, [*starts, *ready])
    return [tuple(op.full(part.compact, i) for part in parts) for i, parts in enumerate(final)]


def _scalar(name: str, *, like: Tensor) -> Tensor:
    """A value as an argument of a region of scalars; it broadcasts."""
    return full_tensor(name, ir.TensorType((), like.type.dtype))


def _padded(op: Op, x: Tensor, value: str, windows: _Windows) -> str:
    """The full operand with gaps and padding of an initial value."""
    name = x.full(op.g, op.scope.lineage)
    for axis, base in enumerate(windows.base):
        if base > 1:
            name = spread_apart(op, name, axis, base - 1, value)
    return pad_or_crop(op, name, windows.low, windows.high, value)


def _is_whole(op: Op, windows: _Windows) -> bool:
    """Whether each window is a whole axis, so that a plain reduction does."""
    sizes = op.in_type().shape
    return bool(windows.active) and all(
        (windows.sizes[i], windows.low[i], windows.high[i], windows.base[i]) == (sizes[i], 0, 0, 1)
        and windows.dilations[i] == 1
        for i in windows.active
    )


def _whole_axes(op: Op, block: ir.Block, x: str, windows: _Windows, kind: str) -> str:
    axes = tuple(windows.active)
    reduced = op.g.op.Unsqueeze(reduce_axes(op, kind, x, axes), np.array(axes))
    if is_identity(kind, op.out_dtype(), op.constant(1)):
        return str(reduced)
    return _combined(op, block, op.inputs[1].compact, reduced)


def _along(op: Op, block: ir.Block, x: str, windows: _Windows, axis: int) -> str:
    """A window is separable: combine along one axis after the other."""
    first, *rest = _shifted(op.g, x, windows, axis)
    for part in rest:
        first = _combined(op, block, first, part)
    return first


def _shifted(g: GraphBuilder, x: str, windows: _Windows, axis: int) -> list[str]:
    """For each place in the window along an axis, the elements that all windows have there."""
    size, stride, dilation = (getattr(windows, f)[axis] for f in ("sizes", "strides", "dilations"))
    reach = (size - 1) * dilation + 1
    limit, where = np.iinfo(np.int64).max, np.array([axis])
    parts = []
    for place in range(size):
        start = place * dilation
        tail = reach - 1 - start
        end = np.array([limit if tail == 0 else -tail])
        if start or tail or stride != 1:
            parts.append(str(g.op.Slice(x, np.array([start]), end, where, np.array([stride]))))
        else:
            parts.append(x)
    return parts


@register_stablehlo_op_converter("stablehlo.select_and_scatter")
def convert_select_and_scatter(g: GraphBuilder, op: Op) -> str:
    """Send each source element to the place in its window that the region selects, and add."""
    windows = _windows(op)
    is_bool = op.out_dtype() == np.bool_
    if monoid(op.source.regions[1]) not in (("add", "or") if is_bool else ("add",)):
        raise op.unsupported("a scatter other than add", "Scatter the sum.")
    combine = g.op.Or if is_bool else op.emit.Add
    value = op.inputs[2].compact
    lowest = _never_selected(op)
    x = pad_or_crop(op, op.x(), windows.low, windows.high, lowest)
    places = list(np.ndindex(*windows.sizes))
    parts = [_at_place(g, x, windows, place) for place in places]
    best, chosen = parts[0], g.op.Expand(np.array(0, np.int32), g.op.Shape(parts[0]))
    for number, part in enumerate(parts[1:], start=1):
        kind = ir.TensorType((), op.in_type().dtype)
        arguments = [(full_tensor(n, kind),) for n in (best, part)]
        keep = op.scope.inline(op.source.regions[0], arguments)[0][0].compact
        best = op.emit.Where(keep, best, part)
        chosen = g.op.Where(keep, chosen, np.array(number, np.int32))
    total = ""
    for number, place in enumerate(places):
        here = g.op.Equal(chosen, np.array(number, np.int32))
        share = op.emit.Where(here, op.x(1), op.scalar(0))
        share = _placed_back(op, share, windows, place)
        total = share if not total else combine(total, share)
    return str(combine(total, value))


def _never_selected(op: Op) -> np.ndarray[Any, Any]:
    """What padding holds: the element that loses against every other."""
    compare = op.source.regions[0].outputs[0].owner
    is_max = compare is None or compare.attributes.get("comparison_direction") in ("GE", "GT")
    if op.in_type().dtype == np.bool_:
        return np.array(not is_max)
    return extreme(op.g.get_type(op.inputs[0].compact), largest=not is_max)


def _at_place(g: GraphBuilder, x: str, windows: _Windows, place: tuple[int, ...]) -> str:
    for axis in windows.active:
        x = _shifted(g, x, windows, axis)[place[axis]]
    return x


def _placed_back(op: Op, share: str, windows: _Windows, place: tuple[int, ...]) -> str:
    """Elements of the source's shape at their place in the operand's shape, 0 elsewhere."""
    zero, low, high = op.scalar(0), [], []
    open_axes = []
    for axis, size in enumerate(op.in_type().shape):
        if axis not in windows.active:
            low.append(0)
            high.append(0)
            continue
        stride, count = windows.strides[axis], op.in_type(1).shape[axis]
        if stride > 1 and count != 1:
            share = spread_apart(op, share, axis, stride - 1, zero)
        before = place[axis] - windows.low[axis]
        low.append(before)
        if size is None or count is None:
            # more than can be missing; what is too much goes
            open_axes.append(axis)
            high.append(windows.sizes[axis] + stride + windows.low[axis] + windows.high[axis])
        else:
            high.append(size - (count - 1) * stride - 1 - before)
    placed = pad_or_crop(op, share, low, high, zero)
    if not open_axes:
        return placed
    axes = np.array(open_axes)
    ends = op.g.op.Gather(op.g.op.Shape(op.x()), axes)
    return str(op.g.op.Slice(placed, np.zeros(len(axes), np.int64), ends, axes))
