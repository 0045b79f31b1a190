"""Reductions over windows: pooling, cumulative sums, and a general form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from yobx.lowering.padding import Window
from yobx.lowering.pool import max_pool
from yobx.stablehlo import ir
from yobx.stablehlo.op import Op
from yobx.stablehlo.regions import is_identity, monoid
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.stablehlo.tensor import full_tensor
from yobx.xbuilder import GraphBuilder

from .indexing import inverse
from .reduction import reduce_axes
from .reshaping import reverse
from .slicing import pad_or_crop, spread_apart

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
        raise op.unsupported(f"{len(op.inputs) // 2} operands", "Reduce them one by one.")
    return _reduce_window(op, op.source.regions[0], _windows(op))


@register_stablehlo_op_converter("custom_call.stablehlo.dynamic_reduce_window")
def convert_dynamic_reduce_window(g: GraphBuilder, op: Op) -> Any:
    """The same with windows computed at run time: numbers, or all that comes before an element."""
    name = op.attr("called_computations")[0]
    block = op.scope.converters.module.functions[name].body
    given = [op.flat_values(i) for i in range(2, 7)]
    sizes, rank = op.dims(0), op.in_type().rank
    view = Op(op.source, op.scope, op.inputs[:2])
    known = [v for column in given for v in column or (None,)]
    if all(v is not None and v.is_int() for v in known):
        dims, strides, base, dilations, pads = (
            tuple(v.as_int() for v in column or () if v is not None) for column in given
        )
        return _reduce_window(
            view, block, _Windows(dims, strides, dilations, base, pads[::2], pads[1::2])
        )
    window, padding = given[0] or (None,) * rank, given[4] or (None,) * (2 * rank)
    axis = next(i for i, v in enumerate(window) if v is None or not v.is_int())
    size = sizes[axis]
    sides = [p is not None and size is not None and p == size - 1 for p in padding[2 * axis :][:2]]
    if size is None or window[axis] != size or sides not in ([True, False], [False, True]):
        raise op.unsupported(f"windows {window}, padding {padding}", "Fix the sizes of the window.")
    return cumulative(view, block, view.x(), axis, reverse_order=sides[1])


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
    g, size = op.g, op.dims(0)[axis]
    if monoid(block) == "add" and op.out_dtype() != np.bool_:
        return str(op.emit.CumSum(x, np.array(axis), reverse=int(reverse_order)))
    if size is None or not size.is_int():
        return running(op, block, x, axis, reverse_order=reverse_order)
    if reverse_order:
        return reverse(g, _doubling(op, block, reverse(g, x, [axis]), axis, size.as_int()), [axis])
    return _doubling(op, block, x, axis, size.as_int())


def running(op: Op, block: ir.Block, x: str, axis: int, *, reverse_order: bool) -> str:
    """Emit a ``Scan`` that combines each slice with the state and puts the state out."""
    g, kind = op.g, op.out_type()
    rest = [i for i in range(kind.rank) if i != axis]
    sizes = g.op.Gather(g.op.Shape(x), np.array(rest, dtype=np.int64))
    start = g.op.Expand(op.inputs[1].compact, sizes)
    names = [g.unique_name("state"), g.unique_name("row")]
    inputs = [(n, g.get_type(start), g.get_shape(start)) for n in names]
    body = g.subgraph(g.unique_name("running_body"), inputs=inputs)
    scope = op.scope.nested(body)
    part = ir.TensorType((), kind.dtype)
    arguments = [(full_tensor(n, part),) for n in names]
    result = scope.run(block, arguments)[0][0].full(body, scope.lineage)
    body.make_tensor_output(body.unique_name("next"), source=result)
    body.make_tensor_output(body.unique_name("out"), source=result)
    keywords: dict[str, Any] = {"scan_input_axes": [axis], "scan_output_axes": [axis]}
    if reverse_order:
        keywords |= {"scan_input_directions": [1], "scan_output_directions": [1]}
    made = g.op.Scan(start, x, body=body, num_scan_inputs=1, outputs=2, **keywords)
    return str(made[1])


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


def _max_pool(op: Op, windows: _Windows) -> str:
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
    pooled = max_pool(g, x, window, pairs)
    if lead != 2:
        tail = g.op.Shape(pooled, start=2, end=2 + len(spatial))
        target = g.op.Concat(shape, tail, axis=0) if shape is not None else tail
        pooled = g.op.Reshape(pooled, target)
    return str(g.op.Transpose(pooled, perm=inverse(order))) if moved else pooled


def _by_slices(op: Op, block: ir.Block, windows: _Windows) -> str:
    """Combine one strided slice of the padded operand for each place in the window."""
    x = op.x()
    value = op.inputs[1].compact
    for axis, base in enumerate(windows.base):
        if base > 1:
            x = spread_apart(op, x, axis, base - 1, value)
    x = pad_or_crop(op, x, windows.low, windows.high, value)
    kind = monoid(block)
    if _is_whole(op, windows) and kind in _EMITTERS:
        return _whole_axes(op, block, x, windows, kind)
    result = ""
    for axis in windows.active:
        result = _along(op, block, result or x, windows, axis)
    if not result:
        result = x
    if is_identity(kind or "", op.out_dtype(), op.constant(1)):
        return result
    return _combined(op, block, value, result)


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
    g = op.g
    size, stride, dilation = (getattr(windows, f)[axis] for f in ("sizes", "strides", "dilations"))
    reach = (size - 1) * dilation + 1
    limit, where = np.iinfo(np.int64).max, np.array([axis])
    result = ""
    for place in range(size):
        start = place * dilation
        tail = reach - 1 - start
        end = np.array([limit if tail == 0 else -tail])
        part = x
        if start or tail or stride != 1:
            part = str(g.op.Slice(x, np.array([start]), end, where, np.array([stride])))
        result = part if not result else _combined(op, block, result, part)
    return result
