"""Reductions: axes that become 1 or vanish."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.shapes._arithmetic import BINARY
from yobx.onnx_optim.shapes._common import (
    ONE,
    ZERO,
    Dims,
    argument,
    axis_of,
    dims_of,
    product,
    ranked,
    register,
    tensor,
)
from yobx.onnx_optim.shapes._values import (
    MAX_ELEMENTS,
    WIDE_INTEGERS,
    Element,
    from_array,
    to_array,
)
from yobx.onnx_optim.shapes.reshaping import axes_argument
from yobx.onnx_optim.tensor_type import TensorType

__all__ = ["reduced_dims"]

# Operator -> (function on constants, name of the binary operator that folds symbolic elements).
_CONTENTS: dict[str, tuple[Callable[..., Any], str, OptimDim | None]] = {
    "ReduceSum": (np.sum, "Add", ZERO),
    "ReduceProd": (np.prod, "Mul", ONE),
    "ReduceMax": (np.max, "Max", None),
    "ReduceMin": (np.min, "Min", None),
}
_REDUCTIONS = (
    "ReduceSum ReduceProd ReduceMax ReduceMin ReduceMean ReduceL1 ReduceL2 ReduceLogSum "
    "ReduceLogSumExp ReduceSumSquare"
)


def reduced_dims(dims: Dims, axes: frozenset[int], *, keep: bool) -> Dims:
    """Shape after a reduction over `axes`."""
    if keep:
        return tuple(ONE if axis in axes else dim for axis, dim in enumerate(dims))
    return tuple(dim for axis, dim in enumerate(dims) if axis not in axes)


def _axes(node: NodeView, rank: int) -> frozenset[int] | None:
    """Axes to reduce over; empty when nothing is reduced; None when the run decides."""
    given = argument(node, 1)
    if given is not None or node.attr("axes", None) is not None:
        listed = axes_argument(node, 1)
        if listed is None:
            return None
        if listed:
            return frozenset(axis_of(node, axis, rank) for axis in listed)
    return frozenset() if node.attr("noop_with_empty_axes", 0) == 1 else frozenset(range(rank))


def _contents(
    node: NodeView, item: OptimTensor, axes: frozenset[int], *, keep: bool
) -> OptimTensor | None:
    """Reduced contents of a small integer tensor."""
    if item.value is None or node.op_type not in _CONTENTS or item.dtype not in WIDE_INTEGERS:
        return None
    function, combine, neutral = _CONTENTS[node.op_type]
    places = tuple(sorted(axes))
    constant = item.constant
    if constant is not None:
        if constant.size == 0 and neutral is None:
            return None
        result = function(constant, axis=places, keepdims=keep)
        return from_array(item.dtype, np.asarray(result).astype(constant.dtype))
    symbolic = BINARY[combine][1]
    array = to_array(item)
    if array is None or symbolic is None or array.size == 0 or array.size > MAX_ELEMENTS:
        return None

    def join(left: Element, right: Element) -> Element:
        return None if left is None or right is None else symbolic(left, right)

    for axis in sorted(places, reverse=True):
        array = np.asarray(
            np.frompyfunc(join, 2, 1).reduce(array, axis=axis, keepdims=keep), object
        )
    return from_array(item.dtype, array)


@register(_REDUCTIONS)
def reduce(node: NodeView) -> OptimTensor:
    """Reduction over axes that are an attribute or, in later versions, an input."""
    item = node.tensor(0)
    dims = dims_of(item)
    keep = node.attr("keepdims", 1) != 0
    if dims is None:
        return node.unknown("the input's rank is not known", dtype=item.dtype)
    axes = _axes(node, len(dims))
    if axes is None:
        if keep:
            kept = [
                node.fresh(axis, "the axes are not known", upper=_at_least_one(dim))
                for axis, dim in enumerate(dims)
            ]
            return tensor(item.dtype, kept)
        return node.unknown("the axes are not known", dtype=item.dtype)
    if not axes:
        # The operator is applied to single elements: the shape stays, the values may not.
        return tensor(item.dtype, dims)
    found = _contents(node, item, axes, keep=keep)
    return tensor(item.dtype, reduced_dims(dims, axes, keep=keep)) if found is None else found


def _at_least_one(dim: OptimDim) -> OptimDim:
    return OptimDim.max(dim, ONE)


@register("ArgMax ArgMin")
def arg_extreme(node: NodeView) -> OptimTensor:
    """Index of the extreme along one axis."""
    item = node.tensor(0)
    dims = dims_of(item)
    if dims is None:
        return node.unknown("the input's rank is not known", dtype=TensorType.kInt64)
    axis = axis_of(node, int(node.attr("axis", 0)), len(dims))
    keep = node.attr("keepdims", 1) != 0
    return tensor(TensorType.kInt64, reduced_dims(dims, frozenset((axis,)), keep=keep))


@register("GlobalAveragePool GlobalMaxPool GlobalLpPool")
def global_pool(node: NodeView) -> OptimTensor:
    """`(n, c, d1, ...)` to `(n, c, 1, ...)`."""
    item = node.tensor(0)
    dims = ranked(node, item, 3)
    if dims is None:
        return node.unknown("the input's rank is not known", dtype=item.dtype)
    return tensor(item.dtype, (*dims[:2], *(ONE for _ in dims[2:])))


@register("Size")
def size(node: NodeView) -> OptimTensor:
    """Number of elements, as a value."""
    dims = dims_of(node.tensor(0))
    if dims is None:
        return tensor(TensorType.kInt64, ())
    return OptimTensor(TensorType.kInt64, (), value=(product(dims),))
