"""Reductions along whole axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.onnx_optim.tensor_type import tensor_type
from yobx.stablehlo import ir
from yobx.stablehlo.op import Op
from yobx.stablehlo.regions import arg_reduction, is_identity, monoid
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.stablehlo.tensor import Tensor, full_tensor
from yobx.xbuilder import GraphBuilder

from .comparison import is_nan

_REDUCTIONS = {"add": "ReduceSum", "mul": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin"}
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
    if kind in _REDUCTIONS:
        return _reduce(op, kind or "", axes)
    pair = arg_reduction(block) if count == 2 else None
    if pair is not None and _is_iota(op.source.operands[1], axes):
        return _arg_reduce(op, pair, axes[0])
    return _fold(op, axes)


def _reduce(op: Op, kind: str, axes: tuple[int, ...]) -> str:
    g, x, block = op.g, op.x(), op.source.regions[0]
    result = reduce_axes(op, kind, x, axes)
    if is_identity(kind, op.out_dtype(), op.constant(1)):
        return result
    parts = op.scope.inline(block, [(full_tensor(result, op.out_type()),), (op.inputs[1],)])
    del g
    return str(parts[0][0].compact)


def reduce_axes(op: Op, kind: str, x: str, axes: tuple[int, ...]) -> str:
    """Emit one reduction without initial value; NaN is carried on."""
    g, dtype = op.g, op.out_dtype()
    if not axes:
        return x
    where = np.array(axes)
    if dtype == np.bool_:
        result = getattr(g.op, _REDUCTIONS[kind])(g.op.Cast(x, to=6), where, keepdims=0)
        return str(g.op.Cast(result, to=9))
    result = getattr(op.emit, _REDUCTIONS[kind])(x, where, keepdims=0)
    if kind in ("add", "mul") or dtype.kind in "iu":
        return str(result)
    # onnxruntime passes over NaN here: bring it in again
    nan = op.emit.Where(is_nan(g, x), x, op.scalar(0))
    return str(op.emit.Add(result, op.emit.ReduceSum(nan, where, keepdims=0)))


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
        key = g.op.Cast(x, to=6) if op.in_type().dtype == np.bool_ else x
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
    wanted = int(tensor_type(op.out_dtype(1)))
    return position if wanted == 7 else str(op.g.op.Cast(position, to=wanted))


def _fold(op: Op, axes: tuple[int, ...]) -> tuple[str, ...]:
    """Combine element after element with the region: a ``Scan`` over the reduced axes made one."""
    g, count, rank = op.g, len(op.inputs) // 2, op.in_type().rank
    kept = [i for i in range(rank) if i not in axes]
    order = [*axes, *kept]
    rows = []
    for i in range(count):
        name = op.x(i)
        if order != list(range(rank)):
            name = g.op.Transpose(name, perm=order)
        if len(axes) != 1:
            tail = g.op.Shape(name, start=len(axes), end=rank)
            shape = g.op.Concat(np.array([-1]), tail, axis=0) if kept else np.array([-1])
            name = g.op.Reshape(name, shape)
        rows.append(name)
    starts = []
    for i in range(count):
        shape = g.op.Shape(rows[i], start=1, end=1 + len(kept))
        starts.append(g.op.Expand(op.x(count + i), shape))
    return _scan(op, starts, rows)


def _scan(op: Op, starts: list[str], rows: list[str]) -> tuple[str, ...]:
    g, count = op.g, len(starts)
    names = [g.unique_name(hint) for hint in ("state",) * count + ("row",) * count]
    inputs = [
        (name, g.get_type(source), g.get_shape(source))
        for name, source in zip(names, (*starts, *starts), strict=True)
    ]
    body = g.subgraph(g.unique_name("reduce_body"), inputs=inputs)
    scope = op.scope.nested(body)
    types = [op.out_type(i % count) for i in range(2 * count)]
    arguments = [(full_tensor(n, t),) for n, t in zip(names, types, strict=True)]
    results = scope.run(op.source.regions[0], arguments)
    for parts in results:
        body.make_tensor_output(body.unique_name("next"), source=parts[0].full(body, scope.lineage))
    made = g.op.Scan(*starts, *rows, body=body, num_scan_inputs=count, outputs=count)
    return tuple(made) if count > 1 else (str(made[0] if isinstance(made, tuple) else made),)


__all__ = ["Tensor", "reduce_axes"]
