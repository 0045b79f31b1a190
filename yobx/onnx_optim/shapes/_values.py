"""Values that flow: small integer tensors whose elements are integers or symbolic expressions.

An element is an `OptimDim`, or None where nothing is known about it. Constants of other dtypes
travel as NumPy arrays, so that scales, limits and conditions are known as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_shape import OptimShape
from yobx.onnx_optim.optim_tensor import MAX_VALUE_SIZE, OptimTensor
from yobx.onnx_optim.shapes._common import dims_of
from yobx.onnx_optim.tensor_type import TensorType

__all__ = [
    "INTEGERS",
    "MAX_ELEMENTS",
    "WIDE_INTEGERS",
    "Array",
    "Element",
    "constant_scalar",
    "elements",
    "fold",
    "from_array",
    "scalar",
    "to_array",
    "vector",
    "with_elements",
]

Array = npt.NDArray[Any]
Element = OptimDim | None

MAX_ELEMENTS = MAX_VALUE_SIZE
"""Tensors with more elements carry no value: shape arithmetic never needs them."""

INTEGERS = frozenset(
    {
        TensorType.kInt8,
        TensorType.kInt16,
        TensorType.kInt32,
        TensorType.kInt64,
        TensorType.kUInt8,
        TensorType.kUInt16,
        TensorType.kUInt32,
        TensorType.kUInt64,
        TensorType.kBool,
    }
)

WIDE_INTEGERS = frozenset({TensorType.kInt32, TensorType.kInt64})
"""Dtypes in which sizes are computed: symbolic values are only stated for these and for bool."""


def elements(tensor: OptimTensor | None) -> tuple[Element, ...] | None:
    """Flat elements of an integer or bool tensor, or None when nothing is known."""
    return None if tensor is None else tensor.value


def vector(tensor: OptimTensor | None) -> tuple[Element, ...] | None:
    """Elements of a list of sizes; unknown ones when only the length of the list is known."""
    if tensor is None:
        return None
    if tensor.value is not None:
        return tensor.value
    dims = dims_of(tensor)
    if dims is None or len(dims) != 1 or not dims[0].is_int():
        return None
    count = dims[0].as_int()
    return (None,) * count if 0 <= count <= MAX_ELEMENTS else None


def scalar(tensor: OptimTensor | None) -> Element:
    """The single element of a tensor, or None."""
    values = elements(tensor)
    return values[0] if values is not None and len(values) == 1 else None


def constant_scalar(tensor: OptimTensor | None) -> Any:
    """The single element of a known constant as a Python number or string, or None."""
    if tensor is None or tensor.constant is None or tensor.constant.size != 1:
        return None
    return tensor.constant.reshape(-1).tolist()[0]


def with_elements(
    dtype: TensorType, dims: Sequence[OptimDim | int], values: Sequence[Element]
) -> OptimTensor:
    """Descriptor with the given flat elements; without value when nothing in it is known."""
    kept = [value if value is None or _fits(dtype, value) else None for value in values]
    if kept and all(value is None for value in kept):
        return OptimTensor(dtype, OptimShape(dims))
    return OptimTensor(dtype, OptimShape(dims), value=tuple(kept))


def _fits(dtype: TensorType, value: OptimDim) -> bool:
    """False for an integer that the dtype cannot hold: the run wraps around."""
    if not value.is_int():
        return True
    bits = 31 if dtype == TensorType.kInt32 else 63
    return -(1 << bits) <= value.as_int() < (1 << bits) or dtype == TensorType.kUInt64


def to_array(tensor: OptimTensor | None) -> Array | None:
    """Known contents as an array: of the dtype itself, or of objects (`OptimDim` or None)."""
    if tensor is None:
        return None
    if tensor.constant is not None:
        return tensor.constant
    values = tensor.value
    if values is None:
        return None
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result.reshape([dim.as_int() for dim in tensor.shape.dims()])


def from_array(dtype: TensorType, array: Array) -> OptimTensor:
    """Descriptor of a tensor with these contents, dropped when there are too many."""
    shape = OptimShape(array.shape)
    if array.size > MAX_ELEMENTS:
        return OptimTensor(dtype, shape)
    if array.dtype == object and dtype != TensorType.kString:
        flat = [
            OptimDim(int(item)) if isinstance(item, (int, np.integer)) else item
            for item in array.ravel().tolist()
        ]
        return with_elements(dtype, array.shape, flat)
    return OptimTensor(dtype, shape, constant=array)


def fold(
    dtype: TensorType, function: Callable[..., Array], *tensors: OptimTensor | None
) -> OptimTensor | None:
    """Applies a structural NumPy function to the known contents of the inputs.

    Args:
        dtype: Element type of the result.
        function: Moves elements without computing on them, so that it is right for objects too.
        *tensors: Inputs; all of them must be known.

    Returns:
        The descriptor of the result, or None when an input is not known.
    """
    arrays = []
    for tensor in tensors:
        array = to_array(tensor)
        if array is None:
            return None
        arrays.append(array)
    return from_array(dtype, np.asarray(function(*arrays)))
