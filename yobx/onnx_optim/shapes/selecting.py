"""Results whose size depends on the data: `NonZero`, `Unique`, `TopK`, `NonMaxSuppression`."""

from __future__ import annotations

import numpy as np

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.shapes._common import (
    ZERO,
    argument,
    axis_of,
    dims_of,
    product,
    register,
    tensor,
)
from yobx.onnx_optim.shapes._values import from_array, scalar
from yobx.onnx_optim.tensor_type import TensorType

__all__: list[str] = []

INT64 = TensorType.kInt64


@register("NonZero")
def non_zero(node: NodeView) -> OptimTensor:
    """`(rank, number of elements that are not zero)`."""
    item = node.tensor(0)
    dims = dims_of(item)
    if dims is None:
        rank = node.fresh(0, "the input's rank is not known")
        return tensor(INT64, (rank, node.fresh(1, "the number of non-zero elements")))
    if item.constant is not None and item.dtype != TensorType.kString and dims:
        return from_array(INT64, np.array(np.nonzero(item.constant), dtype=np.int64))
    # A scalar counts as a vector of one element.
    count = node.fresh(1, "the number of non-zero elements", upper=product(dims))
    return tensor(INT64, (OptimDim(max(len(dims), 1)), count))


@register("Unique")
def unique(node: NodeView) -> tuple[OptimTensor, ...]:
    """The distinct entries, and three index vectors."""
    item = node.tensor(0)
    dims = dims_of(item)
    axis = node.attr("axis", None)
    if axis is None:
        size = None if dims is None else product(dims)
        count = _distinct(node, item, size)
        first = tensor(item.dtype, [count])
    elif dims is None:
        size = None
        count = node.fresh(0, "the number of distinct slices", output=min(1, node.n_outputs - 1))
        first = node.unknown("the input's rank is not known", dtype=item.dtype)
    else:
        place = axis_of(node, int(axis), len(dims))
        size = dims[place]
        count = node.fresh(place, "the number of distinct slices", upper=size)
        first = tensor(item.dtype, (*dims[:place], count, *dims[place + 1 :]))
    if node.n_outputs == 1:
        return (first,)
    inverse = node.fresh(0, "the input's rank is not known", output=2) if size is None else size
    indices, counts = tensor(INT64, [count]), tensor(INT64, [count])
    return (first, indices, tensor(INT64, [inverse]), counts)[: node.n_outputs]


def _distinct(node: NodeView, item: OptimTensor, size: OptimDim | None) -> OptimDim:
    if item.constant is not None and item.constant.dtype.kind in "iub":
        return OptimDim(int(np.unique(item.constant).size))
    if size is not None and size.is_int() and size.as_int() <= 1:
        return size
    return node.fresh(0, "the number of distinct elements", upper=size)


@register("TopK")
def top_k(node: NodeView) -> tuple[OptimTensor, ...]:
    """Values and indices; the chosen axis has size k."""
    item = node.tensor(0)
    dims = dims_of(item)
    if dims is None:
        return (
            node.unknown("the input's rank is not known", dtype=item.dtype),
            node.unknown("the input's rank is not known", dtype=INT64, output=1),
        )[: node.n_outputs]
    axis = axis_of(node, int(node.attr("axis", -1)), len(dims))
    count = OptimDim(int(node.attr("k", 0))) if node.version < 10 else scalar(argument(node, 1))
    if count is None:
        count = node.fresh(axis, "k is not known", upper=dims[axis])
    found = (*dims[:axis], count, *dims[axis + 1 :])
    return (tensor(item.dtype, found), tensor(INT64, found))[: node.n_outputs]


@register("NonMaxSuppression")
def non_max_suppression(node: NodeView) -> OptimTensor:
    """`(number of boxes kept, 3)`, bounded by batches, classes and the limit per class."""
    boxes, scores, limit = dims_of(node.tensor(0)), dims_of(node.tensor(1)), argument(node, 2)
    per_class = ZERO if limit is None else scalar(limit)
    candidates = None if boxes is None or len(boxes) != 3 else boxes[1]
    if scores is not None and len(scores) == 3:
        candidates = scores[2] if candidates is None else candidates
    if per_class is None:
        per_class = candidates
    elif candidates is not None:
        per_class = OptimDim.min(OptimDim.max(per_class, ZERO), candidates)
    upper = None
    if per_class is not None and scores is not None and len(scores) == 3:
        upper = scores[0] * scores[1] * per_class
    if upper == ZERO:
        return tensor(INT64, (ZERO, OptimDim(3)))
    return tensor(INT64, (node.fresh(0, "the number of boxes kept", upper=upper), OptimDim(3)))
