"""Normalisations with several outputs; those with one are rows in the elementwise table."""

from __future__ import annotations

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.shapes._common import (
    ONE,
    argument,
    axis_of,
    dims_of,
    dtype_attribute,
    register,
    tensor,
    without_value,
)
from yobx.onnx_optim.tensor_type import TensorType

__all__: list[str] = []


@register("GroupNormalization RMSNormalization")
def like_input(node: NodeView) -> OptimTensor:
    """Same shape as the first input."""
    item = node.tensor(0)
    if node.op_type == "RMSNormalization":
        scale = argument(node, 1)
        return without_value(item, item.dtype if scale is None or not scale.dtype else scale.dtype)
    return without_value(item)


@register("BatchNormalization")
def batch_normalization(node: NodeView) -> tuple[OptimTensor, ...]:
    """The input's shape, then statistics of one number per channel."""
    item = node.tensor(0)
    dims = dims_of(item)
    result = without_value(item)
    if node.n_outputs == 1:
        return (result,)
    channels = _channels(node, dims, item)
    mean = argument(node, 3)
    dtype = item.dtype if mean is None or not mean.dtype else mean.dtype
    return (result, *(tensor(dtype, (channels,)) for _ in range(node.n_outputs - 1)))


def _channels(node: NodeView, dims: tuple[OptimDim, ...] | None, item: OptimTensor) -> OptimDim:
    """Number of channels: of the scale when it is known, else axis 1 of the input."""
    scale = dims_of(argument(node, 1))
    if scale is not None and len(scale) == 1 and scale[0].is_int():
        return scale[0]
    if dims is not None:
        if len(dims) > 1:
            return dims[1]
        return ONE
    if scale is not None and len(scale) == 1:
        return scale[0]
    return node.fresh(0, f"the rank of the input is not known ({item.dtype.name})", output=1)


@register("LayerNormalization", since=1)
def layer_normalization(node: NodeView) -> tuple[OptimTensor, ...]:
    """The input's shape, then mean and inverse deviation with the normalised axes of size 1."""
    item = node.tensor(0)
    dims = dims_of(item)
    results = [without_value(item)]
    if node.n_outputs > 1:
        dtype = dtype_attribute(node, "stash_type", TensorType.kFloat)
        if dims is None:
            results += [
                node.unknown("the input's rank is not known", dtype=dtype, output=index)
                for index in range(1, node.n_outputs)
            ]
        else:
            axis = axis_of(node, int(node.attr("axis", -1)), len(dims))
            kept = tuple(dim if place < axis else ONE for place, dim in enumerate(dims))
            results += [tensor(dtype, kept)] * (node.n_outputs - 1)
    return tuple(results)
