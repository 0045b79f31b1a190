"""Comparisons, selection and clamping."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import transcendental
from yobx.lowering.casts import cast
from yobx.stablehlo.op import Op
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.stablehlo.tensor import Tensor
from yobx.xbuilder import GraphBuilder

_OPERATORS = {
    "EQ": "Equal",
    "LT": "Less",
    "LE": "LessOrEqual",
    "GT": "Greater",
    "GE": "GreaterOrEqual",
}


@register_stablehlo_op_converter("stablehlo.compare")
def convert_compare(g: GraphBuilder, op: Op) -> Tensor:
    """Compare two tensors; bool is ordered as 0 and 1."""
    x, y = op.compacts()
    direction = op.attr("comparison_direction")
    if op.in_type().dtype == np.bool_ and direction not in ("EQ", "NE"):
        x, y = (cast(g, name, np.int32) for name in (x, y))
    if direction == "NE":
        return op.elementwise(g.op.Not(_equal(op, x, y)), dtype=np.bool_)
    if direction == "EQ":
        return op.elementwise(_equal(op, x, y), dtype=np.bool_)
    return op.elementwise(getattr(op.emit, _OPERATORS[direction])(x, y), dtype=np.bool_)


def _equal(op: Op, x: str, y: str) -> Any:
    if x == y and op.in_type().dtype.kind not in "iub":  # x == x is how programs spell "not NaN"
        return op.g.op.Not(is_nan(op.g, x))
    return op.emit.Equal(x, y)


def is_nan(g: GraphBuilder, x: str) -> str:
    """Emit whether each element is NaN, for every float type."""
    return str(g.op.IsNaN(transcendental.in_float32(g, x)))


@register_stablehlo_op_converter("stablehlo.is_finite")
def convert_is_finite(g: GraphBuilder, op: Op) -> Tensor:
    """Whether each element is neither NaN nor infinite: ``x - x`` is 0 for those only."""
    x = transcendental.in_float32(g, op.compacts()[0])
    finite = g.op.Equal(g.op.Sub(x, x), transcendental.const(g, x, 0))
    return op.elementwise(finite, dtype=np.bool_)


@register_stablehlo_op_converter("chlo.is_inf")
def convert_is_inf(g: GraphBuilder, op: Op) -> Tensor:
    """Whether each element is infinite."""
    found = g.op.IsInf(transcendental.in_float32(g, op.compacts()[0]))
    return op.elementwise(found, dtype=np.bool_)


@register_stablehlo_op_converter("chlo.is_pos_inf")
def convert_is_pos_inf(g: GraphBuilder, op: Op) -> Tensor:
    """Whether each element is plus infinity."""
    found = g.op.IsInf(transcendental.in_float32(g, op.compacts()[0]), detect_negative=0)
    return op.elementwise(found, dtype=np.bool_)


@register_stablehlo_op_converter("chlo.is_neg_inf")
def convert_is_neg_inf(g: GraphBuilder, op: Op) -> Tensor:
    """Whether each element is minus infinity."""
    found = g.op.IsInf(transcendental.in_float32(g, op.compacts()[0]), detect_positive=0)
    return op.elementwise(found, dtype=np.bool_)


@register_stablehlo_op_converter("stablehlo.select", complex_parts="each")
def convert_select(g: GraphBuilder, op: Op) -> Tensor:
    """``on_true`` where the predicate holds, else ``on_false``."""
    predicate, on_true, on_false = op.compacts()
    if op.out_dtype() == np.bool_:
        both = g.op.And(predicate, on_true)
        rest = g.op.And(g.op.Not(predicate), on_false)
        return op.elementwise(g.op.Or(both, rest))
    if on_true == on_false:
        return op.broadcast_result(on_true, (1, 2))
    return op.elementwise(op.emit.Where(predicate, on_true, on_false))


@register_stablehlo_op_converter("stablehlo.clamp")
def convert_clamp(g: GraphBuilder, op: Op) -> Tensor:
    """``min(max(x, low), high)``; ``Clip`` for scalar bounds."""
    low, x, high = op.compacts()
    return op.elementwise(op.emit.Min(op.emit.Max(x, low), high))


@register_stablehlo_op_converter(("chlo.next_after", "composite.chlo.next_after"))
def convert_next_after(g: GraphBuilder, op: Op) -> Any:
    """The next representable number of ``x`` towards ``y``."""
    raise op.unsupported("next_after", "There is no bit cast in ONNX before opset 26.")
