"""Quantisation and its inverse."""

from __future__ import annotations

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.shapes._common import (
    argument,
    dtype_attribute,
    register,
    tensor,
    without_value,
)
from yobx.onnx_optim.tensor_type import TensorType

__all__: list[str] = []


@register("QuantizeLinear")
@register("QuantizeLinear", domain="com.microsoft")
def quantize(node: NodeView) -> OptimTensor:
    """Same shape; dtype of the zero point, else of the attribute, else uint8."""
    zero_point = argument(node, 2)
    dtype = dtype_attribute(node, "output_dtype")
    if zero_point is None:
        dtype = dtype or TensorType.kUInt8
    return without_value(node.tensor(0), (zero_point and zero_point.dtype) or dtype)


@register("DequantizeLinear")
@register("DequantizeLinear", domain="com.microsoft")
def dequantize(node: NodeView) -> OptimTensor:
    """Same shape; dtype of the attribute, else of the scale."""
    scale = node.tensor(1)
    wanted = dtype_attribute(node, "output_dtype")
    return without_value(node.tensor(0), wanted or scale.dtype)


@register("DynamicQuantizeLinear")
def dynamic_quantize(node: NodeView) -> tuple[OptimTensor, ...]:
    """The quantised input, its scale and its zero point."""
    return (
        without_value(node.tensor(0), TensorType.kUInt8),
        tensor(TensorType.kFloat, ()),
        tensor(TensorType.kUInt8, ()),
    )[: node.n_outputs]
