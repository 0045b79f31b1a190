"""Selecting and writing elements by index: `Gather*`, `Scatter*`, `Compress`, `OneHot`."""

from __future__ import annotations

import numpy as np

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.shapes._common import (
    argument,
    axis_of,
    dims_of,
    product,
    register,
    tensor,
    without_value,
)
from yobx.onnx_optim.shapes._values import (
    Array,
    fold,
    from_array,
    scalar,
    to_array,
    with_elements,
)

__all__: list[str] = []


def _gather_values(data: OptimTensor, indices: OptimTensor, axis: int) -> OptimTensor | None:
    """Chosen contents; a vector by constant indices is the common case."""
    if data.value is None and data.constant is None:
        return None
    chosen = indices.constant
    if chosen is None:
        return None
    rank, size = data.shape.rank(), data.shape.dims()[axis].as_int()
    if np.any(chosen >= size) or np.any(chosen < -size):
        return None
    if rank == 1 and data.value is not None:
        picked = [data.value[index] for index in chosen.ravel().tolist()]
        return with_elements(data.dtype, chosen.shape, picked)
    return fold(data.dtype, lambda array: np.take(array, chosen, axis), data)


@register("Gather")
def gather(node: NodeView) -> OptimTensor:
    """The indices' shape takes the place of the chosen axis."""
    data, indices = node.tensor(0), node.tensor(1)
    dims, index_dims = dims_of(data), dims_of(indices)
    if dims is None or index_dims is None:
        return node.unknown("the rank of data or of indices is not known", dtype=data.dtype)
    if not dims:
        node.fail("data must have at least one dimension")
    axis = axis_of(node, int(node.attr("axis", 0)), len(dims))
    if data.value is not None or data.constant is not None:
        found = _gather_values(data, indices, axis)
        if found is not None:
            return found
    return tensor(data.dtype, (*dims[:axis], *index_dims, *dims[axis + 1 :]))


@register("GatherND")
def gather_nd(node: NodeView) -> OptimTensor:
    """Index tuples in the last axis of the indices select slices of data."""
    data, indices = node.tensor(0), node.tensor(1)
    dims, index_dims = dims_of(data), dims_of(indices)
    if dims is None or index_dims is None:
        return node.unknown("the rank of data or of indices is not known", dtype=data.dtype)
    if not dims or not index_dims:
        node.fail("data and indices must have at least one dimension")
    depth = index_dims[-1]
    batch = int(node.attr("batch_dims", 0))
    if not depth.is_int():
        return node.unknown("the length of an index tuple is not known", dtype=data.dtype)
    used = batch + depth.as_int()
    if used > len(dims):
        node.fail(f"index tuples of {depth} elements exceed rank {len(dims)}")
    chosen = indices.constant
    if batch == 0 and chosen is not None and _inside(chosen, dims[: depth.as_int()]):
        places = tuple(np.moveaxis(chosen, -1, 0))
        found = fold(data.dtype, lambda array: array[places], data)
        if found is not None:
            return found
    return tensor(data.dtype, (*index_dims[:-1], *dims[used:]))


def _inside(indices: Array, dims: tuple[OptimDim, ...]) -> bool:
    """True when every index is valid for known sizes."""
    if not all(dim.is_int() for dim in dims):
        return False
    sizes = np.array([dim.as_int() for dim in dims], dtype=np.int64)
    return bool(np.all(indices < sizes) and np.all(indices >= -sizes))


@register("GatherElements")
def gather_elements(node: NodeView) -> OptimTensor:
    """The indices' shape, data's dtype."""
    return without_value(node.tensor(1), node.tensor(0).dtype)


@register("Scatter ScatterElements")
def scatter_elements(node: NodeView) -> OptimTensor:
    """Same shape as data."""
    return without_value(node.tensor(0))


def _scatter_nd(data: Array, indices: Array, updates: Array) -> Array:
    result = data.copy()
    result[tuple(np.moveaxis(indices, -1, 0))] = updates
    return result


@register("ScatterND")
def scatter_nd(node: NodeView) -> OptimTensor:
    """Same shape as data, with contents when everything is known."""
    data, indices, updates = node.tensor(0), node.tensor(1), node.tensor(2)
    places = indices.constant
    known = data.value is not None and updates.value is not None and places is not None
    if known and places is not None and places.ndim and node.attr("reduction", "none") == "none":
        dims = dims_of(data) or ()
        depth = places.shape[-1]
        if depth <= len(dims) and _inside(places, dims[:depth]):
            base, new = _as_objects(data), _as_objects(updates)
            if base is not None and new is not None:
                return from_array(data.dtype, _scatter_nd(base, places, new))
    return without_value(data)


def _as_objects(item: OptimTensor) -> Array | None:
    array = to_array(item)
    return None if array is None else array.astype(object)


def _true_count(condition: Array | None, size: OptimDim) -> OptimDim | None:
    """Number of true conditions; those beyond the size do not count."""
    if condition is None:
        return None
    least = size.as_int() if size.is_int() else size.bounds()[0] or 0
    if condition.size > least and not size.is_int() and np.any(condition[least:]):
        return None
    return OptimDim(int(np.count_nonzero(condition[:least])))


@register("Compress")
def compress(node: NodeView) -> OptimTensor:
    """Entries whose condition is true, along an axis or of the flattened input."""
    item, condition = node.tensor(0), node.tensor(1)
    dims, length = dims_of(item), dims_of(condition)
    axis = node.attr("axis", None)
    if dims is None:
        if axis is None:
            return tensor(item.dtype, [node.fresh(0, "the number of true conditions")])
        return node.unknown("the input's rank is not known", dtype=item.dtype)
    place = None if axis is None else axis_of(node, int(axis), len(dims))
    size = product(dims) if place is None else dims[place]
    if length is not None and len(length) != 1:
        node.fail(f"the condition must be a vector, its rank is {len(length)}")
    count = _true_count(condition.constant, size)
    if count is None:
        upper = size
        if length is not None:
            upper = OptimDim.min(size, length[0])
        count = node.fresh(place or 0, "the number of true conditions", upper=upper)
    if place is None:
        return tensor(item.dtype, [count])
    return tensor(item.dtype, (*dims[:place], count, *dims[place + 1 :]))


@register("OneHot")
def one_hot(node: NodeView) -> OptimTensor:
    """A new axis of size `depth`."""
    indices, depth, values = node.tensor(0), argument(node, 1), node.tensor(2)
    dims = dims_of(indices)
    if dims is None:
        return node.unknown("the rank of indices is not known", dtype=values.dtype)
    axis = axis_of(node, int(node.attr("axis", -1)), len(dims) + 1)
    size = _depth(depth)
    if size is None:
        size = node.fresh(axis, "depth is not known")
    return tensor(values.dtype, (*dims[:axis], size, *dims[axis:]))


def _depth(item: OptimTensor | None) -> OptimDim | None:
    """Depth as an integer, whatever its dtype: a float is truncated."""
    found = scalar(item)
    if found is not None:
        return found
    if item is not None and item.constant is not None and item.constant.size == 1:
        number = item.constant.reshape(-1)[0]
        return OptimDim(int(number)) if np.isfinite(number) else None
    return None
