"""Elementwise operators: shape and value both follow NumPy's broadcasting."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_shape import OptimShape
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.shapes._arithmetic import (
    ABSORBING,
    BINARY,
    COMPARE,
    UNARY,
    Binary,
    Unary,
    binary,
)
from yobx.onnx_optim.shapes._common import (
    argument,
    broadcast_shape,
    dtype_attribute,
    register,
    same_dim,
    without_value,
)
from yobx.onnx_optim.shapes._values import (
    MAX_ELEMENTS,
    WIDE_INTEGERS,
    Array,
    Element,
    to_array,
    with_elements,
)
from yobx.onnx_optim.tensor_type import TensorType

__all__ = ["LIKE_FIRST", "combine", "fold_numpy"]

# Operators whose only tensor input of interest is the first one: same dtype, same shape.
LIKE_FIRST = (
    "Acos Acosh Asin Asinh Atan Atanh Celu Cos Cosh CumProd CumSum Elu Erf Gelu HardSigmoid "
    "HardSwish Hardmax InstanceNormalization LRN LeakyRelu LogSoftmax LpNormalization "
    "MeanVarianceNormalization Mish ReverseSequence RotaryEmbedding Selu Shrink Sigmoid Sin Sinh "
    "Softmax Softplus Softsign Swish Tan Tanh TensorScatter ThresholdedRelu Trilu"
)
_PREDICATES = "IsInf IsNaN"


@register(LIKE_FIRST)
def like_first(node: NodeView) -> OptimTensor:
    """Same dtype and shape as the first input."""
    return without_value(node.tensor(0))


@register(_PREDICATES)
def predicate(node: NodeView) -> OptimTensor:
    """A truth value per element of the first input."""
    return OptimTensor(TensorType.kBool, node.tensor(0).shape)


def fold_numpy(
    function: Callable[..., Any], tensors: Sequence[OptimTensor], dtype: TensorType
) -> OptimTensor | None:
    """Computes an elementwise function on constants; None when one of them is not constant."""
    arrays: list[Array] = []
    for item in tensors:
        if item.constant is None or item.dtype == TensorType.kString:
            return None
        arrays.append(item.constant)
    result: Any
    try:
        with np.errstate(all="ignore"):
            result = arrays[0] if len(arrays) > 1 else function(arrays[0])
            for other in arrays[1:]:
                result = function(result, other)
    except TypeError:  # NumPy has no such operation for this dtype
        return None
    if result is None:
        return None
    array = np.asarray(result)
    wanted = np.dtype(bool) if dtype == TensorType.kBool else arrays[0].dtype
    if array.size > MAX_ELEMENTS:
        return None
    return OptimTensor(dtype, OptimShape(array.shape), constant=array.astype(wanted, copy=False))


def _unary_elements(item: OptimTensor, function: Unary) -> OptimTensor | None:
    if item.value is None:
        return None
    values = [None if value is None else function(value) for value in item.value]
    return with_elements(item.dtype, item.shape.dims(), values)


@register(" ".join(name for name in UNARY))
def unary(node: NodeView) -> OptimTensor:
    """Unary arithmetic with values: `Abs`, `Neg`, `Not`, `Floor`, ..."""
    item = node.tensor(0)
    if item.constant is not None:
        folded = fold_numpy(UNARY[node.op_type][0], (item,), item.dtype)
        if folded is not None:
            return folded
    elif item.value is not None:
        function = UNARY[node.op_type][1]
        found = None if function is None else _unary_elements(item, function)
        if found is not None:
            return found
    return without_value(item)


def _small(shape: OptimShape) -> list[int] | None:
    """Integer sizes of a shape that is small enough to carry values."""
    if not shape.has_rank() or not shape.is_fully_known():
        return None
    sizes = [dim.as_int() for dim in shape.dims()]
    count = 1
    for size in sizes:
        count *= size
    return sizes if count <= MAX_ELEMENTS else None


def _aligned(item: OptimTensor, sizes: list[int]) -> list[Element] | None:
    """Flat elements of an operand stretched to the result's shape."""
    values = item.value
    if values is None:
        return None
    count = 1
    for size in sizes:
        count *= size
    if len(values) == count:
        return list(values)
    if len(values) == 1:
        return list(values) * count
    array = to_array(item)
    if array is None:
        return None
    stretched: list[Any] = np.broadcast_to(array, sizes).ravel().tolist()
    return [OptimDim(x) if isinstance(x, (int, bool)) else x for x in stretched]


def combine(
    function: Binary,
    tensors: Sequence[OptimTensor],
    shape: OptimShape,
    dtype: TensorType,
    absorbing: OptimDim | None = None,
) -> OptimTensor | None:
    """Symbolic elementwise result of two or more operands, None when nothing is known."""
    if any(item.value is None for item in tensors) and absorbing is None:
        return None
    sizes = _small(shape)
    if sizes is None:
        return None
    result: list[Element] | None = None
    for item in tensors:
        column = _aligned(item, sizes)
        if column is None:
            column = [None] * math.prod(sizes)
        if result is None:
            result = column
        else:
            result = [
                binary(function, a, b, absorbing) for a, b in zip(result, column, strict=True)
            ]
    return None if result is None else with_elements(dtype, shape.dims(), result)


def _dtype_of(tensors: Sequence[OptimTensor]) -> TensorType:
    """First element type that is known: operands of one type variable share it."""
    for item in tensors:
        if item.dtype != TensorType.kUndefined:
            return item.dtype
    return TensorType.kUndefined


def _operands(node: NodeView) -> list[OptimTensor]:
    return [node.tensor(index) for index in range(len(node.inputs))]


@register(" ".join(name for name in BINARY))
def arithmetic(node: NodeView) -> OptimTensor:
    """Arithmetic of two or more operands, with values."""
    tensors = _operands(node)
    if len(tensors) == 1:
        return tensors[0]
    first = tensors[0]
    dtype = first.dtype if node.op_type == "Pow" else _dtype_of(tensors)
    shape = broadcast_shape(node, tensors)
    absorbing = ABSORBING.get(node.op_type) if dtype in WIDE_INTEGERS else None
    unknown = [item for item in tensors if item.value is None and item.constant is None]
    if unknown and (absorbing is None or len(unknown) == len(tensors)):
        return (
            without_value(first)
            if shape is first.shape and dtype == first.dtype
            else OptimTensor(dtype, shape)
        )
    function, symbolic = BINARY[node.op_type]
    truncating = node.op_type == "Mod" and node.attr("fmod", 0) == 1
    found = fold_numpy(np.fmod if truncating else function, tensors, dtype)
    if found is None and symbolic is not None and not truncating and dtype in WIDE_INTEGERS:
        found = combine(symbolic, tensors, shape, dtype, absorbing)
    return OptimTensor(dtype, shape) if found is None else found


@register(" ".join(name for name in COMPARE))
def comparison(node: NodeView) -> OptimTensor:
    """Comparison or logic of two operands, with values."""
    tensors = _operands(node)
    shape = broadcast_shape(node, tensors)
    function, symbolic = COMPARE[node.op_type]
    found = fold_numpy(function, tensors, TensorType.kBool)
    if found is None:
        absorbing = ABSORBING.get(node.op_type)
        found = combine(symbolic, tensors, shape, TensorType.kBool, absorbing)
    return OptimTensor(TensorType.kBool, shape) if found is None else found


@register("Mean PRelu BitShift")
def broadcast_only(node: NodeView) -> OptimTensor:
    """Operands broadcast to one shape; nothing is said of the values."""
    tensors = _operands(node)
    if node.op_type == "PRelu" and node.version < 7:
        return without_value(tensors[0])  # one slope a channel
    shape = broadcast_shape(node, tensors)
    if node.op_type == "PRelu" and not shape.has_rank():
        # The slope stretches to the input; that the input does too is what some runtimes allow.
        return without_value(tensors[0])
    return OptimTensor(_dtype_of(tensors), shape)


@register("SwiGLU")
def gated(node: NodeView) -> OptimTensor:
    """Two inputs of the same shape, no broadcasting."""
    left, right = node.tensor(0), node.tensor(1)
    if not left.shape.has_rank():
        return without_value(right, left.dtype)
    if not right.shape.has_rank() or left.shape.rank() != right.shape.rank():
        return without_value(left)
    dims = tuple(
        same_dim(node, a, b, "gate and value")
        for a, b in zip(left.shape.dims(), right.shape.dims(), strict=True)
    )
    return OptimTensor(left.dtype, OptimShape(dims))


@register("Where")
def where(node: NodeView) -> OptimTensor:
    """Three-way broadcasting; elements whose condition is known are chosen."""
    tensors = _operands(node)
    dtype = _dtype_of(tensors[1:])
    shape = broadcast_shape(node, tensors)
    chooser, first, second = (item.constant for item in tensors)
    if chooser is not None and first is not None and second is not None:
        array = np.asarray(np.where(chooser, first, second))
        if array.size <= MAX_ELEMENTS:
            return OptimTensor(dtype, OptimShape(array.shape), constant=array)
    sizes = _small(shape)
    if sizes is None:
        return OptimTensor(dtype, shape)
    columns = [_aligned(item, sizes) for item in tensors]
    unknown: list[Element] = [None] * math.prod(sizes)
    if columns[1] is None and columns[2] is None:
        return OptimTensor(dtype, shape)
    rows = zip(*(unknown if column is None else column for column in columns), strict=True)
    return with_elements(dtype, shape.dims(), [_choose(*row) for row in rows])


def _choose(condition: Element, left: Element, right: Element) -> Element:
    if condition is None:
        return left if left is not None and left == right else None
    if condition.is_int():
        return left if condition.as_int() else right
    return None


@register("Clip")
def clip(node: NodeView) -> OptimTensor:
    """Same shape as the input; values are clipped when the limits are inputs that are known."""
    item = node.tensor(0)
    low, high = argument(node, 1), argument(node, 2)
    if item.value is None or item.dtype not in WIDE_INTEGERS:
        return without_value(item)
    result = item
    for limit, name in ((low, "Max"), (high, "Min")):
        if limit is None:
            continue
        function = BINARY[name]
        found = fold_numpy(function[0], (result, limit), item.dtype)
        if found is None and function[1] is not None:
            found = combine(function[1], (result, limit), item.shape, item.dtype)
        if found is None:
            return without_value(item)
        result = found
    return result


@register("Dropout")
def dropout(node: NodeView) -> tuple[OptimTensor, ...]:
    """The input's shape twice; the mask is of bool, before opset 10 of the input's type."""
    item = without_value(node.tensor(0))
    mask = without_value(item, TensorType.kBool if node.version >= 10 else item.dtype)
    return (item, mask)[: node.n_outputs]


@register("Bernoulli RandomNormalLike RandomUniformLike EyeLike")
def like_with_dtype(node: NodeView) -> OptimTensor:
    """The input's shape with the dtype of attribute `dtype`, else the input's."""
    item = node.tensor(0)
    if node.op_type == "EyeLike" and item.shape.has_rank() and item.shape.rank() != 2:
        node.fail(f"input must have rank 2, its rank is {item.shape.rank()}")
    return without_value(item, dtype_attribute(node, "dtype", item.dtype))
