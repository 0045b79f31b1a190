"""Changes of element type: `Cast`, `CastLike`, `BitCast`, `Identity`."""

from __future__ import annotations

import numpy as np

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.registry import RuleResult
from yobx.onnx_optim.shapes._arithmetic import truth_of
from yobx.onnx_optim.shapes._common import dtype_attribute, register, without_value
from yobx.onnx_optim.shapes._values import INTEGERS, Array, Element, with_elements
from yobx.onnx_optim.tensor_type import TensorType, to_numpy

__all__: list[str] = []

_CASTABLE = INTEGERS | {
    TensorType.kFloat16,
    TensorType.kFloat,
    TensorType.kDouble,
    TensorType.kBFloat16,
}


def _cast_constant(array: Array, target: TensorType) -> Array | None:
    """Cast of a constant, None where runtimes are free to differ (overflow, strings, NaN)."""
    if array.dtype == to_numpy(TensorType.kBFloat16):
        array = array.astype(np.float32)
    if target not in _CASTABLE or array.dtype.kind not in "iufb":
        return None
    dtype = to_numpy(target)
    if array.dtype.kind == "f" and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if (
            not np.all(np.isfinite(array))
            or np.any(array < limits.min)
            or np.any(array > limits.max)
        ):
            return None
    with np.errstate(all="ignore"):
        return array.astype(dtype)


def _cast_element(value: Element, target: TensorType) -> Element:
    if value is None or target in (TensorType.kInt64, TensorType.kInt32):
        return value
    low, high = value.bounds()
    if target == TensorType.kBool:
        truth = truth_of(value)
        return None if truth is None else OptimDim(int(truth))
    if target in (TensorType.kUInt64, TensorType.kUInt32) and low is not None and low >= 0:
        return value
    if high is not None and low is not None and target in INTEGERS:
        limits = np.iinfo(to_numpy(target))
        if limits.min <= low and high <= limits.max:
            return value
    return None


def cast_to(item: OptimTensor, target: TensorType) -> OptimTensor:
    """The same contents in another element type."""
    if target == item.dtype:
        return item
    if item.constant is not None:
        array = _cast_constant(item.constant, target)
        if array is not None:
            return OptimTensor(target, item.shape, constant=array)
    elif item.value is not None and target in INTEGERS:
        return with_elements(
            target, item.shape.dims(), [_cast_element(value, target) for value in item.value]
        )
    return without_value(item, target)


@register("Cast")
def cast(node: NodeView) -> OptimTensor:
    """Same shape; values follow between integers, and to bool where they are decided."""
    return cast_to(node.tensor(0), dtype_attribute(node, "to"))


@register("CastLike")
def cast_like(node: NodeView) -> OptimTensor:
    """Same shape as the first input, dtype of the second."""
    return cast_to(node.tensor(0), node.tensor(1).dtype)


@register("BitCast")
def bit_cast(node: NodeView) -> OptimTensor:
    """Same shape, other dtype of the same width."""
    return without_value(node.tensor(0), dtype_attribute(node, "to"))


@register("Identity")
def identity(node: NodeView) -> RuleResult:
    """The very descriptor of the input: tensor, sequence or optional."""
    found = node.inputs[0]
    return node.tensor(0) if found is None else found
