"""One descriptor for two values of which a run has one: what both share is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_sequence import (
    Descriptor,
    OptimOptional,
    OptimSequence,
    Presence,
    common_dims,
)
from yobx.onnx_optim.optim_shape import UNKNOWN_SHAPE, OptimShape
from yobx.onnx_optim.optim_tensor import UNKNOWN_TENSOR, OptimTensor
from yobx.onnx_optim.tensor_type import TensorType

__all__ = ["LENGTH", "DimFor", "merge", "merge_shapes"]

LENGTH = -1
"""Axis that stands for the length of a sequence."""

DimFor: TypeAlias = Callable[[OptimDim, OptimDim, int], OptimDim]


def merge(a: Descriptor, b: Descriptor, dim_for: DimFor) -> Descriptor:
    """What holds whether the value is ``a`` or ``b``.

    Args:
        a: One possible value.
        b: The other.
        dim_for: Gives the size to state for an axis whose sizes differ (:data:`LENGTH` for the
            length of a sequence).
    """
    if a is b or a == b:
        return a
    if isinstance(a, OptimOptional) or isinstance(b, OptimOptional):
        return _merge_optionals(a, b, dim_for)
    if isinstance(a, OptimSequence):
        if isinstance(b, OptimSequence):
            return _merge_sequences(a, b, dim_for)
        return _merge_mixed(a, b)
    return _merge_mixed(b, a) if isinstance(b, OptimSequence) else _merge_tensors(a, b, dim_for)


def _merge_mixed(sequence: OptimSequence, tensor: OptimTensor) -> Descriptor:
    """A sequence against a tensor: only possible when nothing is known of the tensor."""
    return OptimSequence(sequence.elem_dtype) if tensor.is_unknown() else UNKNOWN_TENSOR


def _merge_dtypes(a: TensorType, b: TensorType) -> TensorType:
    """Both branches must have one type, so a known one serves for an unknown one."""
    if b in (a, TensorType.kUndefined):
        return a
    return b if a == TensorType.kUndefined else TensorType.kUndefined


def merge_shapes(a: OptimShape, b: OptimShape, dim_for: DimFor) -> OptimShape:
    """Shape that holds for both; unknown when the ranks differ."""
    if a == b:
        return a
    if not a.has_rank() or not b.has_rank() or len(a) != len(b):
        return UNKNOWN_SHAPE
    return OptimShape(
        [x if x == y else dim_for(x, y, axis) for axis, (x, y) in enumerate(zip(a, b, strict=True))]
    )


def _merge_tensors(a: OptimTensor, b: OptimTensor, dim_for: DimFor) -> OptimTensor:
    dtype = _merge_dtypes(a.dtype, b.dtype)
    shape = merge_shapes(a.shape, b.shape, dim_for)
    value = None
    if a.value is not None and b.value is not None and len(a.value) == len(b.value):
        value = tuple(x if x == y else None for x, y in zip(a.value, b.value, strict=True))
        if all(v is None for v in value):
            value = None
    constant = None
    if value is None and a.constant is not None and b.constant is not None:
        same = a.shape == b.shape and a.constant.tobytes() == b.constant.tobytes()
        constant = a.constant if same and a.constant.dtype != object else None
    return OptimTensor(
        dtype,
        shape,
        value=value,
        constant=constant,
        minimum=a.minimum if a.minimum == b.minimum else None,
        maximum=a.maximum if a.maximum == b.maximum else None,
    )


def _merge_sequences(a: OptimSequence, b: OptimSequence, dim_for: DimFor) -> OptimSequence:
    dtype = _merge_dtypes(a.elem_dtype, b.elem_dtype)
    length = None
    if a.length is not None and b.length is not None:
        length = a.length if a.length == b.length else dim_for(a.length, b.length, LENGTH)
    if a.elem_shapes is not None and a.elem_shapes == b.elem_shapes:
        return OptimSequence(dtype, a.elem_shapes)
    if a.is_empty():  # says nothing of the elements the other may have
        dims = b.elem_dims
    else:
        dims = a.elem_dims if b.is_empty() else common_dims((a.elem_dims, b.elem_dims))
    return OptimSequence(dtype, length=length, elem_dims=dims)


def _merge_optionals(a: Descriptor, b: Descriptor, dim_for: DimFor) -> OptimOptional:
    inner_a = a.element if isinstance(a, OptimOptional) else a
    inner_b = b.element if isinstance(b, OptimOptional) else b
    there_a = a.present if isinstance(a, OptimOptional) else Presence.YES
    there_b = b.present if isinstance(b, OptimOptional) else Presence.YES
    present = there_a if there_a == there_b else Presence.MAYBE
    if there_a is Presence.NO and _same_kind(inner_a, inner_b):
        return OptimOptional(inner_b, present)
    if there_b is Presence.NO and _same_kind(inner_a, inner_b):
        return OptimOptional(inner_a, present)
    element = merge(inner_a, inner_b, dim_for)
    if isinstance(element, OptimOptional):
        element = element.element
    return OptimOptional(element, present)


def _same_kind(a: Descriptor, b: Descriptor) -> bool:
    return type(a) is type(b)
