"""Reductions along whole axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering.casts import cast
from yobx.lowering.reduce import reduce
from yobx.stablehlo import ir
from yobx.stablehlo.op import Op
from yobx.stablehlo.regions import arg_reduction, is_identity, monoid, real_form
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.stablehlo.tensor import Tensor, full_tensor
from yobx.xbuilder import GraphBuilder

_REDUCTIONS = {"add": "Sum", "mul": "Prod", "max": "Max", "min": "Min"}
#: XLA rounds a half-precision result after every element; a loop over more would be too slow.
_ROUNDED = 1024
_NEUTRAL = {"or": 0, "xor": 0, "and": -1}
_BOOL = {"or": "max", "and": "min", "max": "max", "min": "min", "mul": "min", "add": "max"}


@register_stablehlo_op_converter("stablehlo.reduce")
def convert_reduce(g: GraphBuilder, op: Op) -> Any:
    """One ONNX reduction for a monoid, ArgMax for pairs with an index, a loop for the rest."""
    axes = op.ints("dimensions")
    count = len(op.inputs) // 2
    block = op.source.regions[0]
    kind = monoid(block) if count == 1 else None
    if kind is not None and op.out_dtype() == np.bool_:
        kind = _BOOL.get(kind, kind)
    if kind in _REDUCTIONS and not _rounds_often(op, kind or "", axes):
        return _reduce(op, kind or "", axes)
    pair = arg_reduction(block) if count == 2 else None
    if pair is not None and _is_iota(op.source.operands[1], axes):
        return _arg_reduce(op, pair, axes[0])
    return tuple(parts[0] for parts in _fold(op, axes))


@register_stablehlo_op_converter("stablehlo.reduce", complex_parts="pair")
def convert_complex_reduce(g: GraphBuilder, op: Op) -> Any:
    """A sum part by part, anything else by a loop."""
    source = real_form(op.source)
    if source is None:
        return _fold(op, op.ints("dimensions"))
    views = [Op(source, op.scope, column) for column in zip(*op.parts, strict=True)]
    return [tuple(convert_reduce(g, view) for view in views)]


def _rounds_often(op: Op, kind: str, axes: tuple[int, ...]) -> bool:
    """Whether the result depends on rounding between the elements, and these are few."""
    if op.out_dtype().name not in ("float16", "bfloat16") or kind not in ("add", "mul"):
        return False
    sizes = [op.in_type().shape[axis] for axis in axes]
    count = int(np.prod([s or 0 for s in sizes]))
    return None not in sizes and 1 < count <= _ROUNDED


def _reduce(op: Op, kind: str, axes: tuple[int, ...]) -> str:
    result = reduce_axes(op, kind, op.x(), axes)
    if is_identity(kind, op.out_dtype(), op.constant(1)):
        return result
    arguments = [(full_tensor(result, op.out_type()),), (op.inputs[1],)]
    parts = op.scope.inline(op.source.regions[0], arguments)
    return str(parts[0][0].compact)


def reduce_axes(op: Op, kind: str, x: str, axes: tuple[int, ...]) -> str:
    """Emit one reduction without initial value; NaN is carried on."""
    if not axes:
        return x
    is_bool = op.out_dtype() == np.bool_
    number = cast(op.g, x, np.int32) if is_bool else x
    result = reduce(op.g, _REDUCTIONS[kind], number, np.array(axes), keepdims=False)
    if is_bool:  # the greatest of no elements is the least number, and false
        return str(op.g.op.Greater(result, np.array(0, np.int32)))
    return cast(op.g, result, op.out_dtype())


def _is_iota(value: ir.Value, axes: tuple[int, ...]) -> bool:
    """Whether a value is the position along the only reduced axis."""
    op = value.owner
    while op is not None and op.name == "stablehlo.convert":
        op = op.operands[0].owner
    if op is None or len(axes) != 1:
        return False
    if op.name in ("stablehlo.iota", "stablehlo.dynamic_iota"):
        return bool(op.attributes["iota_dimension"] == axes[0])
    if op.name in ("stablehlo.broadcast_in_dim", "stablehlo.dynamic_broadcast_in_dim"):
        axes_in = op.attributes["broadcast_dimensions"]
        return axes[0] in axes_in and _is_iota(op.operands[0], (axes_in.index(axes[0]),))
    return False


def _arg_reduce(op: Op, kind: str, axis: int) -> tuple[str, str]:
    """Extreme and its first position; of floats by ``TopK``, for which NaN is the largest."""
    g, x, where = op.g, op.x(), np.array([axis])
    if op.in_type().dtype.kind in "iub":
        key = cast(g, x, np.int32) if op.in_type().dtype == np.bool_ else x
        name = "ArgMax" if kind == "max" else "ArgMin"
        return _picked(op, x, getattr(op.emit, name)(key, axis=axis, keepdims=1), axis)
    key = x if kind == "max" else op.emit.Neg(x)
    value, position = op.emit.TopK(key, np.array([1]), axis=axis, outputs=2)
    if kind == "min":
        value = op.emit.Neg(value)
    return str(g.op.Squeeze(value, where)), _index(op, g.op.Squeeze(position, where))


def _picked(op: Op, x: str, position: str, axis: int) -> tuple[str, str]:
    g, where = op.g, np.array([axis])
    value = g.op.Squeeze(g.op.GatherElements(x, position, axis=axis), where)
    return str(value), _index(op, g.op.Squeeze(position, where))


def _index(op: Op, position: str) -> str:
    return cast(op.g, position, op.out_dtype(1))


def _fold(op: Op, axes: tuple[int, ...]) -> list[tuple[Tensor, ...]]:
    """Combine element after element with the region: a ``Scan`` over the reduced axes made one."""
    g, count, rank = op.g, len(op.inputs) // 2, op.in_type().rank
    kept = [i for i in range(rank) if i not in axes]
    rows, starts = [], []
    for values, initial in zip(op.parts[:count], op.parts[count:], strict=True):
        for value, start in zip(values, initial, strict=True):
            row = _rows(op, value.full(g, op.scope.lineage), axes, kept)
            shape = g.op.Shape(row, start=1, end=1 + len(kept))
            rows.append(_not_empty(op, row, shape, axes))
            starts.append(op.emit.Expand(start.compact, shape))
    return _scan(op, starts, rows)


def _not_empty(op: Op, row: str, shape: str, axes: tuple[int, ...]) -> str:
    """Rows with a neutral one before them: ``Scan`` takes one at least, and there may be none."""
    neutral = _NEUTRAL.get(monoid(op.source.regions[0]) or "") if len(op.inputs) == 2 else None
    may_be_empty = any(op.in_type().shape[axis] is None for axis in axes)
    if neutral is None or not may_be_empty or op.in_type().dtype.kind not in "iu":
        return row
    one = np.array([1])
    element = np.array(neutral).astype(op.in_type().dtype)
    first = op.emit.Expand(element, op.g.op.Concat(one, shape, axis=0))
    return str(op.emit.Concat(first, row, axis=0))


def _rows(op: Op, name: str, axes: tuple[int, ...], kept: list[int]) -> str:
    """The reduced axes in front, as one."""
    g, rank = op.g, len(axes) + len(kept)
    order = [*axes, *kept]
    if order != list(range(rank)):
        name = g.op.Transpose(name, perm=order)
    if len(axes) == 1:
        return name
    tail = g.op.Shape(name, start=len(axes), end=rank)
    shape = g.op.Concat(np.array([-1]), tail, axis=0) if kept else np.array([-1])
    return str(g.op.Reshape(name, shape))


def _scan(op: Op, starts: list[str], rows: list[str]) -> list[tuple[Tensor, ...]]:
    g, count = op.g, len(starts)
    names = [g.unique_name(hint) for hint in ("state",) * count + ("row",) * count]
    inputs = [
        (name, g.get_type(source), g.get_shape(source))
        for name, source in zip(names, (*starts, *starts), strict=True)
    ]
    body = g.subgraph(g.unique_name("reduce_body"), inputs=inputs)
    scope = op.scope.nested(body)
    flat = iter(names)
    arguments = [
        tuple(full_tensor(next(flat), part.type) for part in parts)
        for parts in (*op.parts[len(op.parts) // 2 :],) * 2
    ]
    results = scope.run(op.source.regions[0], _spread(op, arguments))
    for part in (part for parts in results for part in parts):
        body.make_tensor_output(body.unique_name("next"), source=part.full(body, scope.lineage))
    made = g.op.Scan(*starts, *rows, body=body, num_scan_inputs=count, outputs=count)
    done = iter((made,) if isinstance(made, str) else made)
    return [
        tuple(op.full(next(done), i) for _ in parts)
        for i, parts in enumerate(op.parts[: len(op.parts) // 2])
    ]


def _spread(op: Op, arguments: list[tuple[Tensor, ...]]) -> list[tuple[Tensor, ...]]:
    """Scalars of the region stand for all kept elements at once."""
    kind = op.out_type().shape
    return [
        tuple(full_tensor(p.compact, ir.TensorType(kind, p.type.dtype)) for p in parts)
        for parts in arguments
    ]
