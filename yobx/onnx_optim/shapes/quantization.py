"""Quantisation and its inverse."""

from __future__ import annotations

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.shapes._common import argument, register, tensor, without_value
from yobx.onnx_optim.tensor_type import TensorType

__all__: list[str] = []


@register("QuantizeLinear")
@register("QuantizeLinear", domain="com.microsoft")
def quantize(node: NodeView) -> OptimTensor:
    """Same shape; dtype of the zero point, else of the attribute, else uint8."""
    zero_point = argument(node, 2)
    if zero_point is not None and zero_point.dtype:
        dtype = zero_point.dtype
    elif zero_point is not None:
        dtype = TensorType(node.attr("output_dtype", 0))
    else:
        dtype = TensorType(node.attr("output_dtype", 0) or TensorType.kUInt8)
    return without_value(node.tensor(0), dtype)


@register("DequantizeLinear")
@register("DequantizeLinear", domain="com.microsoft")
def dequantize(node: NodeView) -> OptimTensor:
    """Same shape; dtype of the attribute, else of the scale."""
    scale = node.tensor(1)
    wanted = node.attr("output_dtype", 0)
    return without_value(node.tensor(0), TensorType(wanted) if wanted else scale.dtype)


@register("DynamicQuantizeLinear")
def dynamic_quantize(node: NodeView) -> tuple[OptimTensor, ...]:
    """The quantised input, its scale and its zero point."""
    return (
        without_value(node.tensor(0), TensorType.kUInt8),
        tensor(TensorType.kFloat, ()),
        tensor(TensorType.kUInt8, ()),
    )[: node.n_outputs]
