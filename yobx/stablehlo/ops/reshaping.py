"""Operations that rearrange elements: reshape, transpose, reverse, concatenate."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.stablehlo.dims import known_values, reshape_to
from yobx.stablehlo.op import Op
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.stablehlo.tensor import Tensor
from yobx.xbuilder import GraphBuilder


@register_stablehlo_op_converter("stablehlo.reshape", complex_parts="each")
def convert_reshape(g: GraphBuilder, op: Op) -> Tensor | str:
    """New shape, same order; a repeated scalar only changes its claim."""
    x, kind = op.inputs[0], op.out_type()
    if not x.is_full and (g.get_rank(x.compact) or 0) == 0 and kind.static_shape() is not None:
        return Tensor(x.compact, kind, tuple(d == 1 for d in kind.shape))
    return reshape_to(g, op.x(), [d for d in kind.shape if d is not None], None)


@register_stablehlo_op_converter("stablehlo.dynamic_reshape", complex_parts="each")
def convert_dynamic_reshape(g: GraphBuilder, op: Op) -> Tensor | str:
    """The same, to a shape computed at run time."""
    x, kind = op.inputs[0], op.out_type()
    if not x.is_full and g.get_rank(x.compact) == 0:
        return Tensor(x.compact, kind, tuple(d == 1 for d in kind.shape), op.x(1))
    values = known_values(g, op.x(1)) or (None,) * kind.rank
    dims = [d if d is not None else v for d, v in zip(kind.shape, values, strict=True)]
    return reshape_to(g, op.x(), dims, op.x(1))


@register_stablehlo_op_converter("stablehlo.transpose", complex_parts="each")
def convert_transpose(g: GraphBuilder, op: Op) -> Tensor | str:
    """Permute the axes."""
    permutation = op.ints("permutation")
    if permutation == tuple(range(len(permutation))):
        return op.inputs[0]
    return str(g.op.Transpose(op.x(), perm=list(permutation)))


@register_stablehlo_op_converter("stablehlo.reverse", complex_parts="each")
def convert_reverse(g: GraphBuilder, op: Op) -> Tensor | str:
    """Reverse the order along some axes: a slice with step -1."""
    axes = np.array(op.ints("dimensions"))
    if not axes.size:
        return op.inputs[0]
    return reverse(g, op.x(), axes)


def reverse(g: GraphBuilder, x: str, axes: Any) -> str:
    """Emit ``x`` reversed along the axes given."""
    axes = np.asarray(axes, dtype=np.int64)
    ends = np.full(axes.shape, np.iinfo(np.int64).min, dtype=np.int64)
    steps = np.full(axes.shape, -1, dtype=np.int64)
    return str(g.op.Slice(x, steps, ends, axes, steps))


@register_stablehlo_op_converter("stablehlo.concatenate", complex_parts="each")
def convert_concatenate(g: GraphBuilder, op: Op) -> Tensor | str:
    """Join along one axis; empty operands are left out."""
    axis = int(op.attr("dimension"))
    kept = [i for i, t in enumerate(op.inputs) if t.type.shape[axis] != 0] or [0]
    if len(kept) == 1:
        return op.inputs[kept[0]]
    return str(op.emit.Concat(*[op.x(i) for i in kept], axis=axis))


@register_stablehlo_op_converter("stablehlo.optimization_barrier")
def convert_optimization_barrier(g: GraphBuilder, op: Op) -> tuple[Tensor, ...]:
    """Nothing: values pass through."""
    return op.inputs
