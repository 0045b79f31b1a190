"""Joining, cutting and repeating: `Concat`, `Split`, `Expand`, `Tile`."""

from __future__ import annotations

import math

import numpy as np

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim, of_terms
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.polynomial import primitive
from yobx.onnx_optim.shapes._common import (
    ONE,
    ZERO,
    Dims,
    argument,
    axis_of,
    broadcast_dim,
    dims_of,
    int_list,
    known_ints,
    positive,
    product,
    register,
    same_dim,
    tensor,
)
from yobx.onnx_optim.shapes._values import (
    INTEGERS,
    MAX_ELEMENTS,
    Element,
    elements,
    fold,
    to_array,
    vector,
    with_elements,
)

__all__ = ["concat_dims"]

# A size that depends on which inputs are empty is stated for few inputs and while it is readable.
MAX_CHOICES = 3
MAX_CHOICE_TEXT = 400


def concat_dims(node: NodeView, shapes: list[Dims], axis: int) -> Dims:
    """Shape of a concatenation along a non-negative axis.

    Runtimes do not compare the other sizes of an input without elements, so that two sizes that
    differ are only known to be equal when both inputs have some.
    """
    first = shapes[0]
    rank = len(first)
    total = first[axis] if axis < rank else ZERO
    agree = True
    for other in shapes[1:]:
        if len(other) != rank:
            node.fail(f"ranks {rank} and {len(other)} cannot be joined")
        total = total + other[axis]
        agree = agree and (
            other is first or other[:axis] + other[axis + 1 :] == first[:axis] + first[axis + 1 :]
        )
    if not agree:
        first = _reference(node, shapes, axis)
    return (*first[:axis], total.rejoined(), *first[axis + 1 :])


def _certainly_filled(shape: Dims) -> bool:
    return all((dim.bounds()[0] or 0) >= 1 for dim in shape)


def _reference(node: NodeView, shapes: list[Dims], axis: int) -> Dims:
    """The sizes beside the axis when the inputs do not spell them alike."""
    filled = [shape for shape in shapes if _certainly_filled(shape)]
    if not filled and all(_filled_like(node, shapes[0], shape) for shape in shapes[1:]):
        return shapes[0]
    result = list(filled[0] if filled else shapes[0])
    for index in range(len(result)):
        if index == axis:
            continue
        for shape in filled[1:]:
            result[index] = same_dim(
                node, result[index], shape[index], f"axis {index} of joined inputs"
            )
        if not filled and any(shape[index] != shapes[0][index] for shape in shapes):
            result[index] = _of_first_filled(node, shapes, index)
    return tuple(result)


def _filled_like(node: NodeView, first: Dims, other: Dims) -> bool:
    """Tell whether the first input has elements wherever another one has: its sizes count then."""
    ones = [OptimDim.min(size, ONE) for size in _open_sizes(other)]
    return all(_is_no_less(node, size, ones) for size in _open_sizes(first))


def _is_no_less(node: NodeView, size: OptimDim, ones: list[OptimDim]) -> bool:
    """Tell whether a size is surely 1 or more where one of some numbers, each 0 or 1, is 1."""
    smaller = of_terms(primitive(size.terms))  # it is 0 where the size is
    return any(OptimDim.max(smaller, one) == smaller for one in ones) or any(
        node.is_at_most(one, size) for one in ones
    )


def _of_first_filled(node: NodeView, shapes: list[Dims], index: int) -> OptimDim:
    """The size of the inputs that have elements, or of the first input when none has."""
    upper = OptimDim.max(shape[index] for shape in shapes)
    if len(shapes) <= MAX_CHOICES:
        # A size times min(size, 1) is the size itself: it counts when the other sizes are not 0.
        choices = [shape[index] * _filled(shape, without=shape[index]) for shape in shapes]
        alone = shapes[0][index]
        if choices[0] != alone:
            for shape in shapes[1:]:
                alone = alone * (ONE - _filled(shape))
            choices.append(alone)
        found = OptimDim.max(choices)
        if len(str(found)) <= MAX_CHOICE_TEXT:
            return found
    reason = "the inputs differ in this size and may have no elements"
    return node.fresh(index, reason, upper=upper)


def _filled(shape: Dims, *, without: OptimDim | None = None) -> OptimDim:
    """1 when no size, except one that is left out, is 0; else 0."""
    open_sizes = [d for d in _open_sizes(shape) if d != without]
    return OptimDim.min(product(open_sizes), ONE)


def _open_sizes(shape: Dims) -> list[OptimDim]:
    """The sizes that may be 0."""
    return [d for d in dict.fromkeys(shape) if (d.bounds()[0] or 0) < 1]


def _concat_values(tensors: list[OptimTensor], axis: int, rank: int) -> OptimTensor | None:
    """Contents of the result: any rank when all are known, partly known for vectors."""
    first = tensors[0]
    if rank == 1 and first.dtype in INTEGERS:
        joined: list[Element] = []
        for item in tensors:
            values = vector(item)
            if values is None:
                return None
            joined.extend(values)
        if len(joined) > MAX_ELEMENTS:
            return None
        return with_elements(first.dtype, (OptimDim(len(joined)),), joined)
    if any(item.value is None and item.constant is None for item in tensors):
        return None
    if len({(*s[:axis], *s[axis + 1 :]) for s in (item.shape for item in tensors)}) > 1:
        return None  # NumPy refuses other sizes even of an input without elements
    return fold(first.dtype, lambda *arrays: np.concatenate(arrays, axis), *tensors)


@register("Concat")
def concat(node: NodeView) -> OptimTensor:
    """Sum of sizes along `axis`; the other sizes are shared."""
    tensors = [node.tensor(index) for index in range(len(node.inputs))]
    known = [dims for dims in map(dims_of, tensors) if dims is not None]
    dtype = tensors[0].dtype
    if not known:
        return node.unknown("no input has a known rank", dtype=dtype)
    rank = len(known[0])
    axis = axis_of(node, int(node.attr("axis", 1)), rank)
    if len(known) == len(tensors):
        alike = all(len(dims) == rank for dims in known)
        found = _concat_values(tensors, axis, rank) if alike else None
        if found is not None:
            return found
        return tensor(dtype, concat_dims(node, known, axis))
    reason = "an input of unknown rank is joined"
    dims = list(concat_dims(node, known, axis))
    if not any(_certainly_filled(shape) for shape in known):  # that input may decide the sizes
        return tensor(dtype, [node.fresh(index, reason) for index in range(rank)])
    dims[axis] = node.fresh(axis, reason)
    return tensor(dtype, dims)


def _even_sizes(node: NodeView, size: OptimDim, count: int) -> list[OptimDim]:
    """Sizes of `count` parts; the last ones are smaller where the division leaves a rest."""
    if node.version < 18:
        return [size.exact_div(count)] * count
    if size.is_int() and size.as_int() % count == 0:
        return [OptimDim(size.as_int() // count)] * count
    chunk = size.ceil_div(count)
    parts = [chunk] * (count - 1)
    parts.append(OptimDim.max(size - chunk * (count - 1), ZERO))
    return parts


def _split_sizes(node: NodeView, axis: int, size: OptimDim, count: int) -> list[OptimDim]:
    given = argument(node, 1)
    # Runtimes take an empty list of sizes for an omitted one.
    if given is not None and vector(given) != ():
        values = vector(given)
        if values is None:
            values = (None,) * count
        if len(values) != count:
            node.fail(f"{len(values)} sizes for {count} outputs")
        return [
            node.fresh(axis, "a size of Split is not known", output=index, upper=size)
            if value is None
            else value
            for index, value in enumerate(values)
        ]
    listed = int_list(node.attr("split", None))
    if listed is None:
        if positive(node, "num_outputs", count) != count:
            node.fail(f"num_outputs={node.attr('num_outputs')} and there are {count} outputs")
        return _even_sizes(node, size, count)
    if len(listed) != count:
        node.fail(f"{len(listed)} sizes for {count} outputs")
    return [OptimDim(part) for part in listed]


def _split_values(
    item: OptimTensor, axis: int, sizes: list[OptimDim]
) -> tuple[OptimTensor, ...] | None:
    numbers = known_ints(sizes)
    if numbers is None or (item.value is None and item.constant is None):
        return None
    if to_array(item) is None:
        return None
    ends = np.cumsum(numbers)
    parts = []
    for length, end in zip(numbers, ends.tolist(), strict=True):
        chosen = np.arange(end - length, end)
        part = fold(item.dtype, lambda array, rows=chosen: np.take(array, rows, axis), item)
        if part is None:
            return None
        parts.append(part)
    return tuple(parts)


@register("Split")
def split(node: NodeView) -> tuple[OptimTensor, ...]:
    """One output per part along `axis`."""
    item = node.tensor(0)
    dims = dims_of(item)
    count = node.n_outputs
    if dims is None:
        unknown = node.unknown("the input's rank is not known", dtype=item.dtype)
        return (unknown,) * count
    axis = axis_of(node, int(node.attr("axis", 0)), len(dims))
    sizes = _split_sizes(node, axis, dims[axis], count)
    total = dims[axis]
    if total.is_int() and (numbers := known_ints(sizes)) and sum(numbers) != total.as_int():
        node.fail(f"sizes {numbers} do not add up to {total}")
    found = _split_values(item, axis, sizes)
    if found is not None:
        return found
    return tuple(tensor(item.dtype, (*dims[:axis], size, *dims[axis + 1 :])) for size in sizes)


def _expand_dim(node: NodeView, axis: int, size: OptimDim, wanted: Element) -> OptimDim:
    if wanted is not None and (wanted.bounds()[0] or 0) >= 0:
        return broadcast_dim(node, (size, wanted))
    if size.is_int() and size.as_int() != 1:
        return size
    return node.fresh(axis, "the size to expand to is not known")


@register("Expand")
def expand(node: NodeView) -> OptimTensor:
    """Broadcasts the input with a shape given as a value."""
    item = node.tensor(0)
    dims, wanted = dims_of(item), vector(argument(node, 1))
    if dims is None or wanted is None:
        return node.unknown("the rank of the input or of the result is not known", dtype=item.dtype)
    rank = max(len(dims), len(wanted))
    padded = (ONE,) * (rank - len(dims)) + dims
    sizes: tuple[Element, ...] = (ONE,) * (rank - len(wanted)) + tuple(wanted)
    result = [
        _expand_dim(node, axis, size, target)
        for axis, (size, target) in enumerate(zip(padded, sizes, strict=True))
    ]
    numbers = known_ints(result)
    if numbers is not None and math.prod(numbers) <= MAX_ELEMENTS:
        folded = fold(item.dtype, lambda array: np.broadcast_to(array, numbers), item)
        if folded is not None:
            return folded
    return tensor(item.dtype, result)


@register("Tile", since=6)
def tile(node: NodeView) -> OptimTensor:
    """Each size times its repeat count."""
    item = node.tensor(0)
    dims = dims_of(item)
    repeats = vector(argument(node, 1))
    if dims is None:
        if repeats is None:
            return node.unknown("the input's rank is not known", dtype=item.dtype)
        fresh = [node.fresh(axis, "the input's rank is not known") for axis in range(len(repeats))]
        return tensor(item.dtype, fresh)
    if repeats is None:
        repeats = (None,) * len(dims)
    if len(repeats) != len(dims):
        node.fail(f"{len(repeats)} repeats for rank {len(dims)}")
    result = [
        ZERO
        if size == ZERO
        else node.fresh(axis, "a repeat count is not known")
        if count is None
        else size * count
        for axis, (size, count) in enumerate(zip(dims, repeats, strict=True))
    ]
    counts, sizes = known_ints(elements(argument(node, 1))), known_ints(result)
    if counts is not None and sizes is not None and math.prod(sizes) <= MAX_ELEMENTS:
        folded = fold(item.dtype, lambda array: np.tile(array, counts), item)
        if folded is not None:
            return folded
    return tensor(item.dtype, result)
