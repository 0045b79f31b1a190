"""Constants, iota and explicit broadcasts: they stay compact until something needs them full."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering.casts import cast
from yobx.stablehlo import ir
from yobx.stablehlo.dims import known_values, size_scalar
from yobx.stablehlo.op import Op
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.stablehlo.spans import same_size
from yobx.stablehlo.tensor import Tensor, full_tensor
from yobx.xbuilder import GraphBuilder

_FOLDED_IOTA = 1024


@register_stablehlo_op_converter("stablehlo.constant")
def convert_constant(g: GraphBuilder, op: Op) -> Tensor:
    """An initializer; a constant of one repeated element stays a scalar."""
    return _constant(g, np.asarray(op.attr("value")), op.out_type())


@register_stablehlo_op_converter("stablehlo.constant", complex_parts="pair")
def convert_complex_constant(g: GraphBuilder, op: Op) -> Any:
    """Two initializers, of the real and of the imaginary part."""
    value = np.asarray(op.attr("value"))
    kind = op.out_type()
    return [tuple(_constant(g, np.array(p), kind) for p in (value.real, value.imag))]


def _constant(g: GraphBuilder, value: np.ndarray[Any, Any], kind: ir.TensorType) -> Tensor:
    if kind.rank and value.size and (not any(value.strides) or _is_splat(value)):
        scalar = g.make_initializer(None, np.array(value[(0,) * value.ndim]))
        return Tensor(scalar, kind, tuple(d == 1 for d in value.shape))
    return full_tensor(g.make_initializer(None, value), kind)


def _is_splat(value: np.ndarray[Any, Any]) -> bool:
    return value.size <= _FOLDED_IOTA and bool(np.all(value == value[(0,) * value.ndim]))


@register_stablehlo_op_converter(("stablehlo.iota", "stablehlo.dynamic_iota"))
def convert_iota(g: GraphBuilder, op: Op) -> Tensor:
    """Positions along one axis, broadcast along the others."""
    axis, kind = int(op.attr("iota_dimension")), op.out_type()
    size = kind.shape[axis]
    if size is not None:
        row: Any = g.make_initializer(None, np.arange(size).astype(kind.dtype))
    else:
        values = known_values(g, op.x())
        stop = size_scalar(g, None if values is None else values[axis], op.scope.lineage)
        if stop is None:
            stop = cast(g, _size(op, axis), np.int64)
        row = g.op.Range(np.array(0), stop, np.array(1))
        row = cast(g, row, kind.dtype)
    after = kind.rank - 1 - axis
    if after:
        row = g.op.Unsqueeze(row, np.arange(1, after + 1))
    covered = tuple(i == axis or d == 1 for i, d in enumerate(kind.shape))
    return Tensor(str(row), kind, covered, op.x() if op.inputs else None)


def _size(op: Op, axis: int) -> str:
    """One element of the vector of sizes; where that is a scalar reshaped, the scalar."""
    made = op.source.operands[0].owner
    if made is not None and made.name == "stablehlo.reshape" and not made.operands[0].tensor.rank:
        return op.scope.get(made.operands[0])[0].compact
    return str(op.g.op.Gather(op.x(), np.array(axis)))


@register_stablehlo_op_converter("stablehlo.broadcast_in_dim", complex_parts="each")
def convert_broadcast_in_dim(g: GraphBuilder, op: Op) -> Tensor:
    """Operand axes are placed among the result's; nothing is repeated yet."""
    return placed(op, op.inputs[0], op.ints("broadcast_dimensions"), None)


@register_stablehlo_op_converter("stablehlo.dynamic_broadcast_in_dim", complex_parts="each")
def convert_dynamic_broadcast_in_dim(g: GraphBuilder, op: Op) -> Tensor:
    """The same, towards a shape computed at run time."""
    return placed(op, op.inputs[0], op.ints("broadcast_dimensions"), op.x(1))


def placed(op: Op, x: Tensor, axes: tuple[int, ...], shape: str | None) -> Tensor:
    g, kind = op.g, op.out_type()
    covered = [d == 1 for d in kind.shape]
    wanted = known_values(g, shape) if shape is not None else None
    sizes = op.dims(0) if any(d is None for d in kind.shape) else ()
    for i, axis in enumerate(axes):
        same = x.type.shape[i] == kind.shape[axis] is not None
        if not same and wanted is not None and sizes:
            size, target = sizes[i], wanted[axis]
            same = size is not None and target is not None and same_size(size, target)
        covered[axis] = covered[axis] or (same and x.covered[i])
    compact = _spread(op, x, axes, kind.rank)
    return Tensor(compact, kind, tuple(covered), shape)


def _spread(op: Op, x: Tensor, axes: tuple[int, ...], rank: int) -> str:
    """The compact value with axes of size 1 between and after its own; leading ones are implied."""
    g, name = op.g, x.compact
    own = g.get_rank(name) or 0
    axes = axes[len(axes) - own :]  # leading axes that are not there are 1
    order = sorted(range(own), key=lambda i: axes[i])
    if order != list(range(own)):
        name = g.op.Transpose(name, perm=order)
        axes = tuple(sorted(axes))
    if not axes:
        return name
    missing = [i - axes[0] for i in range(axes[0], rank) if i not in axes]
    return str(g.op.Unsqueeze(name, np.array(missing))) if missing else name


@register_stablehlo_op_converter("stablehlo.get_dimension_size")
def convert_get_dimension_size(g: GraphBuilder, op: Op) -> str:
    """One size of the operand, as an int32 scalar."""
    axis = int(op.attr("dimension"))
    size = op.in_type().shape[axis]
    if size is not None:
        return g.make_initializer(None, np.array(size, dtype=np.int32))
    vector = g.op.Shape(op.x(), start=axis, end=axis + 1)
    return cast(g, g.op.Squeeze(vector, np.array([0])), np.int32)
