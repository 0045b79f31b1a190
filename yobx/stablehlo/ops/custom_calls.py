"""Custom calls that JAX emits on CPU, and shardings: what only annotates passes its operands on."""

from __future__ import annotations

from yobx.stablehlo.op import Op
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.stablehlo.tensor import Tensor

_ANNOTATIONS = (
    "sdy.sharding_constraint",
    "custom_call.Sharding",
    "custom_call.annotate_device_placement",
    "custom_call.xla.sdy.FuncResultSharding",
    "custom_call.LayoutConstraint",
)


@register_stablehlo_op_converter(_ANNOTATIONS, complex_parts="each")
def convert_annotation(g: object, op: Op) -> tuple[Tensor, ...]:
    """Where a value is kept says nothing about its elements."""
    return op.inputs
