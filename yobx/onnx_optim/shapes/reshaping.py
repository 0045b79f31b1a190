"""Operators that keep the elements and change the shape: `Reshape`, `Squeeze`, `Transpose`, ..."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_shape import OptimShape
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.shapes._common import (
    ONE,
    Dims,
    argument,
    axis_of,
    dims_of,
    guarded,
    int_list,
    known_ints,
    positive,
    product,
    ranked,
    register,
    tensor,
)
from yobx.onnx_optim.shapes._values import Element, elements, fold, vector

__all__ = ["axes_argument", "reinterpret"]


def axes_argument(node: NodeView, position: int) -> tuple[int, ...] | None:
    """Axes from the input at `position` or else from attribute `axes`; None when not known.

    Whether they are given at all is told by `argument(node, position)`.
    """
    given = argument(node, position)
    if given is not None:
        return known_ints(elements(given))
    return int_list(node.attr("axes", None))


def reinterpret(item: OptimTensor, dims: Sequence[OptimDim]) -> OptimTensor:
    """The same elements in the same order under another shape."""
    shape = OptimShape(dims)
    if item.constant is not None and shape.is_fully_known():
        sizes = [dim.as_int() for dim in dims]
        return OptimTensor(item.dtype, shape, constant=item.constant.reshape(sizes))
    if item.value is not None and shape.is_fully_known():
        return OptimTensor(item.dtype, shape, value=item.value)
    return OptimTensor(item.dtype, shape)


def _is_zero_with(entry: OptimDim, copied: OptimDim) -> bool:
    """True when `copied` is 0 whenever `entry` is."""
    if entry == copied:
        return True
    if copied.is_int():
        return copied.as_int() == 0
    return copied.exact_div(entry) * entry == copied


def _least(entry: OptimDim, source: Dims | None) -> int:
    """A lower bound, -1 if there is none; what is a size of the input is not negative."""
    low = entry.bounds()[0]
    floor = 0 if source is not None and entry in source else -1
    return floor if low is None else max(low, floor)


def _entry(entry: OptimDim, index: int, source: Dims | None) -> OptimDim | None:
    """Size that a non-negative entry of the target gives, where 0 copies the input's size."""
    copied = source[index] if source is not None and index < len(source) else None
    if entry.is_int():
        return copied if entry.as_int() == 0 else entry
    low = _least(entry, source)
    if low >= 1:
        return entry
    if low < 0:
        return None
    if copied is None:
        # Beyond the input's rank a 0 has nothing to copy and the run fails.
        return entry if source is not None else None
    if _is_zero_with(entry, copied):
        return entry
    return guarded(entry, copied)


def _resolve(node: NodeView, target: Sequence[Element], source: Dims | None) -> Dims:
    keep_zero = node.attr("allowzero", 0) == 1
    result: list[OptimDim | None] = []
    wildcard: int | None = None
    open_axes: list[int] = []
    for index, entry in enumerate(target):
        if entry is not None and entry.is_int() and entry.as_int() == -1:
            if wildcard is not None:
                node.fail("the target shape has more than one -1")
            wildcard = index
            result.append(None)
            continue
        size: OptimDim | None = None
        if entry is not None:
            if entry.is_int() and entry.as_int() < -1:
                node.fail(f"the target shape holds {entry}")
            if keep_zero:
                size = entry if _least(entry, source) >= 0 else None
            else:
                size = _entry(entry, index, source)
        if size is None:
            open_axes.append(index)
        result.append(size)
    _solve(node, result, wildcard, open_axes, source)
    return tuple(
        node.fresh(index, "the target of Reshape is not known here") if size is None else size
        for index, size in enumerate(result)
    )


def _solve(
    node: NodeView,
    result: list[OptimDim | None],
    wildcard: int | None,
    open_axes: list[int],
    source: Dims | None,
) -> None:
    """Fills the size that the number of elements determines, in place."""
    if source is None:
        return
    total = product(source)
    others = product(size for size in result if size is not None)
    if wildcard is not None and not open_axes:
        _require_multiple(node, total, others)
        result[wildcard] = total.exact_div(others) if not _is_int(others, 0) else None
    elif wildcard is None and len(open_axes) == 1:
        low = others.bounds()[0]
        if low is not None and low >= 1 and node.attr("allowzero", 0) == 1:
            _require_multiple(node, total, others)
            result[open_axes[0]] = total.exact_div(others)
    elif wildcard is None and not open_axes and total != others:
        if total.is_int() and others.is_int():
            node.fail(f"{total} elements cannot fill a shape of {others}")
        node.equal(total, others)


def _require_multiple(node: NodeView, total: OptimDim, others: OptimDim) -> None:
    """Refuse a number of elements that no size of the open axis makes right."""
    if others.is_int() and total.is_int():
        count, number = others.as_int(), total.as_int()
        if count == 0 or number % count:
            node.fail(f"{number} elements do not divide into {count}")


def _is_int(dim: OptimDim, number: int) -> bool:
    return dim.is_int() and dim.as_int() == number


@register("Reshape")
def reshape(node: NodeView) -> OptimTensor:
    """`Reshape` with 0, -1, `allowzero` and symbolic targets."""
    item = node.tensor(0)
    target = vector(argument(node, 1)) if len(node.inputs) > 1 else None
    if len(node.inputs) < 2:
        given = int_list(node.attr("shape", None))
        target = None if given is None else tuple(OptimDim(size) for size in given)
    if target is None:
        return node.unknown("the length of the target shape is not known", dtype=item.dtype)
    return reinterpret(item, _resolve(node, target, dims_of(item)))


@register("Flatten")
def flatten(node: NodeView) -> OptimTensor:
    """Two dimensions: the product before `axis` and the product from it on."""
    item = node.tensor(0)
    dims = dims_of(item)
    if dims is None:
        return tensor(
            item.dtype, [node.fresh(axis, "the input's rank is not known") for axis in range(2)]
        )
    axis = int(node.attr("axis", 1))
    if not -len(dims) <= axis <= len(dims):
        node.fail(f"axis {axis} is out of range for rank {len(dims)}")
    if axis < 0:
        axis += len(dims)
    return reinterpret(item, (product(dims[:axis]), product(dims[axis:])))


@register("Squeeze")
def squeeze(node: NodeView) -> OptimTensor:
    """Drops dimensions of size 1."""
    item = node.tensor(0)
    dims = dims_of(item)
    given = argument(node, 1) is not None or node.attr("axes", None) is not None
    if dims is None:
        return node.unknown("the input's rank is not known", dtype=item.dtype)
    if not given:
        dims = tuple(node.simplify(dim) for dim in dims)
        if any(not dim.is_int() and (dim.bounds()[0] or 0) < 2 for dim in dims):
            return node.unknown("which sizes are 1 is not known", dtype=item.dtype)
        return reinterpret(item, tuple(dim for dim in dims if not _is_int(dim, 1)))
    axes = axes_argument(node, 1)
    if axes is None:
        count = _count(argument(node, 1))
        if count is None:
            return node.unknown("the axes are not known", dtype=item.dtype)
        return _fresh_all(node, item, len(dims) - count, "the axes are not known")
    dropped = {axis_of(node, axis, len(dims)) for axis in axes}
    for axis in dropped:
        if dims[axis].is_int():
            if dims[axis].as_int() != 1:
                node.fail(f"axis {axis} has size {dims[axis]}, not 1")
        else:
            node.equal(dims[axis], ONE)
    return reinterpret(item, tuple(dim for axis, dim in enumerate(dims) if axis not in dropped))


def _count(item: OptimTensor | None) -> int | None:
    """Number of elements of a vector."""
    dims = dims_of(item)
    if dims is None:
        return None
    count = product(dims)
    return count.as_int() if count.is_int() else None


def _fresh_all(node: NodeView, item: OptimTensor, rank: int, reason: str) -> OptimTensor:
    if rank < 0:
        node.fail("more axes than dimensions")
    return tensor(item.dtype, [node.fresh(axis, reason) for axis in range(rank)])


@register("Unsqueeze")
def unsqueeze(node: NodeView) -> OptimTensor:
    """Inserts dimensions of size 1."""
    item = node.tensor(0)
    dims = dims_of(item)
    if dims is None:
        return node.unknown("the input's rank is not known", dtype=item.dtype)
    axes = axes_argument(node, 1)
    if axes is None:
        count = _count(argument(node, 1))
        if count is None:
            return node.unknown("the axes are not known", dtype=item.dtype)
        return _fresh_all(node, item, len(dims) + count, "the axes are not known")
    rank = len(dims) + len(axes)
    inserted = {axis_of(node, axis, rank) for axis in axes}
    if len(inserted) != len(axes):
        node.fail(f"axes {axes} repeat an axis")
    rest = iter(dims)
    return reinterpret(item, tuple(ONE if axis in inserted else next(rest) for axis in range(rank)))


@register("Transpose")
def transpose(node: NodeView) -> OptimTensor:
    """Permutes the dimensions, by default into reverse order."""
    item = node.tensor(0)
    perm = int_list(node.attr("perm", None))
    dims = dims_of(item)
    if dims is None:
        if perm is None:
            return node.unknown("the input's rank is not known", dtype=item.dtype)
        return _fresh_all(node, item, len(perm), "the input's rank is not known")
    if perm is None:
        perm = tuple(range(len(dims) - 1, -1, -1))
    perm = tuple(axis_of(node, axis, len(dims)) for axis in perm)
    if len(perm) != len(dims) or len(set(perm)) != len(perm):
        node.fail(f"perm={perm} is no permutation of {len(dims)} axes")
    if item.value is not None or item.constant is not None:
        folded = fold(item.dtype, lambda array: np.transpose(array, perm), item)
        if folded is not None:
            return folded
    return tensor(item.dtype, [dims[axis] for axis in perm])


@register("DepthToSpace SpaceToDepth")
def depth_and_space(node: NodeView) -> OptimTensor:
    """`(n, c, h, w)` to `(n, c / b², h·b, w·b)`, or to `(n, c·b², h / b, w / b)`."""
    item = node.tensor(0)
    dims = ranked(node, item, 4, 4)
    if dims is None:
        return _fresh_all(node, item, 4, "the input's rank is not known")
    block = positive(node, "blocksize", 0)
    batch, channels, height, width = dims
    if node.op_type == "DepthToSpace":
        sizes = (channels.exact_div(block * block), height * block, width * block)
    else:
        sizes = (channels * (block * block), height.exact_div(block), width.exact_div(block))
    return tensor(item.dtype, (batch, *sizes))
