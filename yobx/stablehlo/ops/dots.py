"""Products over contracted axes."""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from yobx.lowering.casts import cast
from yobx.lowering.layout import permuted
from yobx.lowering.shapes import dims
from yobx.stablehlo.op import Op
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.xbuilder import GraphBuilder

Axes = tuple[int, ...]


@register_stablehlo_op_converter(("stablehlo.dot_general", "stablehlo.dot"))
def convert_dot_general(g: GraphBuilder, op: Op) -> str:
    """``MatMul`` where the axes allow it (a transpose may help), else ``Einsum``."""
    numbers = op.attr("dot_dimension_numbers") or {
        "lhs_batching_dimensions": (),
        "rhs_batching_dimensions": (),
        "lhs_contracting_dimensions": (op.in_type(0).rank - 1,),
        "rhs_contracting_dimensions": (0,),
    }
    x, y = (_as_result_type(op, i) for i in (0, 1))
    batch = (numbers["lhs_batching_dimensions"], numbers["rhs_batching_dimensions"])
    inner = (numbers["lhs_contracting_dimensions"], numbers["rhs_contracting_dimensions"])
    if op.out_dtype() == np.bool_:
        x, y = (cast(g, name, np.int32) for name in (x, y))
        return cast(g, _product(op, x, y, batch, inner), np.bool_)
    return _product(op, x, y, batch, inner)


def _as_result_type(op: Op, index: int) -> str:
    """The operand in the result's element type, in which the product is accumulated."""
    return cast(op.g, op.x(index), op.out_dtype())


def _product(op: Op, x: str, y: str, batch: tuple[Axes, Axes], inner: tuple[Axes, Axes]) -> str:
    ranks = (op.in_type(0).rank, op.in_type(1).rank)
    free = tuple(
        tuple(i for i in range(rank) if i not in b and i not in c)
        for rank, b, c in zip(ranks, batch, inner, strict=True)
    )
    if not inner[0]:
        return _outer(op, x, y, batch, (free[0], free[1]))
    if len(inner[0]) == 1 and len(free[1]) <= 1 and (len(free[0]) <= 1 or not batch[0]):
        return _matmul(op, x, y, batch, inner, free=(free[0], free[1]))
    if not all(dims(op.g, value) and all(dims(op.g, value) or ()) for value in (x, y)):
        x = permuted(op.g, x, (*batch[0], *free[0], *inner[0]))
        y = permuted(op.g, y, (*batch[1], *inner[1], *free[1]))
        batch, inner = _in_order(len(batch[0]), len(free[0]), len(inner[0]))
    if op.out_dtype().name in ("float32", "float64", "int32", "int64", "float16", "bfloat16"):
        return str(op.emit.Einsum(x, y, equation=_equation(ranks, batch, inner)))
    wide = cast(op.g, x, np.int64), cast(op.g, y, np.int64)
    result = op.g.op.Einsum(*wide, equation=_equation(ranks, batch, inner))
    return cast(op.g, result, op.out_dtype())


def _in_order(batch: int, free: int, inner: int) -> tuple[tuple[Axes, Axes], tuple[Axes, Axes]]:
    """The axes of `(batch..., free..., k...)` and `(batch..., k..., free...)`.

    Of operands in another order onnxruntime's ``Einsum`` ends the process if a size is 0.
    """
    first = tuple(range(batch))
    last = tuple(range(batch + free, batch + free + inner))
    return (first, first), (last, tuple(range(batch, batch + inner)))


def _matmul(
    op: Op,
    x: str,
    y: str,
    batch: tuple[Axes, Axes],
    inner: tuple[Axes, Axes],
    *,
    free: tuple[Axes, Axes],
) -> str:
    """``MatMul`` of `(batch..., free..., k)` and `(batch..., k, free)`; vectors as they are."""
    x = permuted(op.g, x, (*batch[0], *free[0], *inner[0]))
    y = permuted(op.g, y, (*batch[1], *inner[1], *free[1]))
    if batch[0] and not free[0]:
        x = op.g.op.Unsqueeze(x, np.array([-2]))
    if batch[0] and not free[1]:
        y = op.g.op.Unsqueeze(y, np.array([-1]))
    result = op.emit.MatMul(x, y)
    lost = [axis for axis, axes in ((-2, free[0]), (-1, free[1])) if batch[0] and not axes]
    return str(op.g.op.Squeeze(result, np.array(lost)) if lost else result)


def _outer(op: Op, x: str, y: str, batch: tuple[Axes, Axes], free: tuple[Axes, Axes]) -> str:
    """No contraction: a broadcast multiplication."""
    g = op.g
    x = permuted(g, x, (*batch[0], *free[0]))
    y = permuted(g, y, (*batch[1], *free[1]))
    if free[1]:
        x = g.op.Unsqueeze(x, np.arange(-len(free[1]), 0))
    if free[0] and batch[0]:
        start = len(batch[1])
        y = g.op.Unsqueeze(y, np.arange(start, start + len(free[0])))
    return str(op.emit.Mul(x, y))


def _equation(ranks: tuple[int, int], batch: tuple[Axes, Axes], inner: tuple[Axes, Axes]) -> str:
    letters = iter(string.ascii_lowercase)
    left: list[Any] = [next(letters) for _ in range(ranks[0])]
    right: list[Any] = [None] * ranks[1]
    for pairs in (batch, inner):
        for i, j in zip(*pairs, strict=True):
            right[j] = left[i]
    right = [letter or next(letters) for letter in right]
    head = [left[i] for i in batch[0]]
    tail = [left[i] for i in range(ranks[0]) if i not in batch[0] and i not in inner[0]]
    tail += [right[j] for j in range(ranks[1]) if j not in batch[1] and j not in inner[1]]
    return f"{''.join(left)},{''.join(right)}->{''.join(head + tail)}"
