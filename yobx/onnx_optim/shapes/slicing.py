"""`Slice`, `Pad` and `CenterCropPad`: sizes after cutting and padding, exact for symbolic sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_shape import OptimShape
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.shapes._common import (
    ONE,
    ZERO,
    argument,
    axis_of,
    dims_of,
    int_list,
    known_ints,
    register,
    tensor,
)
from yobx.onnx_optim.shapes._values import MAX_ELEMENTS, Element, elements, fold, vector
from yobx.onnx_optim.tensor_type import TensorType

__all__ = ["slice_size"]

# A closed form longer than this explains nothing; a named size with a bound does.
_LONGEST_FORM = 240

# Exporters write "to the end" as the largest int32 or int64, or something close to it.
_END = 2**31 - 1


def _forward(size: OptimDim, start: OptimDim, end: OptimDim) -> OptimDim | None:
    """Length of `[start:end]` with a positive step, before the step is applied."""
    start_low, start_high = start.bounds()
    end_low, end_high = end.bounds()
    whole = end_low is not None and end_low >= _END
    last_but_one = end == size - ONE
    if end_low is not None and end_low >= 0:
        stop = size if whole or end == size else OptimDim.min(end, size)
    elif end_high is not None and end_high < 0:
        stop = size + end
    elif last_but_one:
        # -1 only when the axis is empty, and then it makes no difference.
        stop = end
    else:
        return None
    if start_low is not None and start_low >= 0:
        # A stop before the front or a start beyond the size makes the difference negative, so
        # neither need be clamped.
        return OptimDim.max(stop - start, ZERO)
    if start_high is None or start_high >= 0:
        return None
    if stop == size:
        return OptimDim.min(-start, size)
    return OptimDim.max(OptimDim.max(stop, ZERO) - OptimDim.max(size + start, ZERO), ZERO)


def _clamped(position: OptimDim, size: OptimDim) -> OptimDim:
    """A position whose sign is open, counted from the front and clamped to the axis."""
    negative = OptimDim.min(OptimDim.max(-position, ZERO), ONE)
    return OptimDim.min(OptimDim.max(position, ZERO), size) + negative * OptimDim.max(
        size + position, ZERO
    )


def _open_sign(size: OptimDim, start: OptimDim, end: OptimDim) -> OptimDim | None:
    """Length of `[start:end]` when a sign is open: exact, unless that takes too long to say."""
    end_low = end.bounds()[0]
    stop = size if end_low is not None and end_low >= _END else _clamped(end, size)
    length = OptimDim.max(stop - _clamped(start, size), ZERO)
    return length if len(str(length)) <= _LONGEST_FORM else None


def _backward(size: OptimDim, start: OptimDim, end: OptimDim) -> OptimDim | None:
    """Number of positions from `start` down to `end`, excluded, before the step is applied."""
    if not start.is_int() or not end.is_int():
        return None
    last = size - ONE
    first, stop = start.as_int(), end.as_int()
    if first >= _END or first == -1:
        begin = last
    elif first >= 0:
        begin = OptimDim.min(start, last)
    elif (size.bounds()[0] or 0) + first >= 0:
        begin = size + start
    else:
        return None
    if stop <= -_END:
        return begin + ONE
    bound = OptimDim.min(end, last) if stop >= 0 else OptimDim.max(size + end, -ONE)
    return OptimDim.max(begin - bound, ZERO)


def slice_size(size: OptimDim, start: Element, end: Element, step: int | None) -> OptimDim | None:
    """Size of one axis after slicing, None when the run decides.

    Args:
        size: Size before.
        start: First position, negative from the end.
        end: Position to stop before.
        step: Distance, not 0; None when not known.
    """
    if size == ZERO:
        return ZERO
    if start is None or end is None or step is None or _is_doubtful(size, start, end, step):
        return None
    if size.is_int() and start.is_int() and end.is_int():
        first, last, _ = slice(start.as_int(), end.as_int(), step).indices(size.as_int())
        return OptimDim(len(range(first, last, step)))
    length = _forward(size, start, end) if step > 0 else _backward(size, start, end)
    if length is None and step > 0:
        length = _open_sign(size, start, end)
    return length if length is None or abs(step) == 1 else length.ceil_div(abs(step))


def _is_doubtful(size: OptimDim, start: OptimDim, end: OptimDim, step: int) -> bool:
    """Reversed slices on which runtimes differ."""
    if step > 0:
        return False
    if end.is_int() and end.as_int() >= _END:
        return True  # the last position, or "all the way"
    # From before the front: the first element, or nothing.
    return size.is_int() and start.is_int() and start.as_int() < -size.as_int()


_Limits = tuple[Sequence[Element], Sequence[Element], list[int], Sequence[int | None]]


def _slice_inputs(node: NodeView, rank: int) -> _Limits | None:
    """Starts, ends, axes and steps; None when their number or the axes are not known."""
    if len(node.inputs) < 2:
        starts_, ends_ = int_list(node.attr("starts", ())), int_list(node.attr("ends", ()))
        starts: Sequence[Element] = [OptimDim(value) for value in starts_ or ()]
        ends: Sequence[Element] = [OptimDim(value) for value in ends_ or ()]
        listed = int_list(node.attr("axes", None))
        axes = list(range(len(starts)) if listed is None else listed)
        return starts, ends, [axis_of(node, axis, rank) for axis in axes], [1] * len(starts)
    start_value, end_value = vector(argument(node, 1)), vector(argument(node, 2))
    if start_value is None and end_value is None:
        return None
    if start_value is None or end_value is None:
        count = len(start_value or end_value or ())
        start_value = (None,) * count if start_value is None else start_value
        end_value = (None,) * count if end_value is None else end_value
    count = len(start_value)
    if len(end_value) != count:
        node.fail(f"{count} starts and {len(end_value)} ends")
    given_axes, given_steps = argument(node, 3), argument(node, 4)
    found = [axis_of(node, axis, rank) for axis in range(count)]
    if given_axes is not None:
        values = known_ints(elements(given_axes))
        if values is None:
            return None
        found = [axis_of(node, axis, rank) for axis in values]
    steps: Sequence[int | None] = [1] * count
    if given_steps is not None:
        listed_steps = elements(given_steps) or (None,) * count
        steps = [s.as_int() if s is not None and s.is_int() else None for s in listed_steps]
        if 0 in steps:
            node.fail("a step is 0")
    return start_value, end_value, found, steps


def _slice_values(
    item: OptimTensor,
    starts: Sequence[Element],
    ends: Sequence[Element],
    axes: list[int],
    steps: Sequence[int | None],
) -> OptimTensor | None:
    if item.value is None and item.constant is None:
        return None
    first, last = known_ints(starts), known_ints(ends)
    if first is None or last is None or None in steps:
        return None
    index = [slice(None)] * (item.shape.rank() or 0)
    for axis, begin, end, step in zip(axes, first, last, steps, strict=True):
        index[axis] = slice(begin, end, step)
    return fold(item.dtype, lambda array: array[tuple(index)], item)


@register("Slice")
def slice_(node: NodeView) -> OptimTensor:
    """`Slice` with attributes (before opset 10) or inputs, clamped as NumPy does."""
    item = node.tensor(0)
    dims = dims_of(item)
    if dims is None:
        return node.unknown("the input's rank is not known", dtype=item.dtype)
    found = _slice_inputs(node, len(dims))
    if found is None:
        cut = [
            node.fresh(axis, "the sliced axes are not known", upper=size)
            for axis, size in enumerate(dims)
        ]
        return tensor(item.dtype, cut)
    starts, ends, axes, steps = found
    if len(axes) != len(starts):
        node.fail(f"{len(starts)} starts for {len(axes)} axes")
    result = list(dims)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        size = slice_size(dims[axis], start, end, step)
        if size is None:
            upper = dims[axis] if step is None else dims[axis].ceil_div(abs(step))
            size = node.fresh(axis, "a limit of the slice is not known", upper=upper)
        result[axis] = size
    if known_ints(result) is not None:
        contents = _slice_values(item, starts, ends, axes, steps)
        if contents is not None:
            return contents
    return tensor(item.dtype, result)


def _pad_amounts(node: NodeView) -> Sequence[Element] | None:
    if len(node.inputs) > 1:
        return vector(argument(node, 1))
    listed = int_list(node.attr("pads", None) or node.attr("paddings", None))
    return None if listed is None else [OptimDim(value) for value in listed]


def _padded_values(
    node: NodeView, item: OptimTensor, amounts: Sequence[Element]
) -> OptimTensor | None:
    """Contents of a padded list, as of a shape to which ones are added; None if not known."""
    counts = known_ints(amounts)
    if len(node.inputs) < 2 or node.attr("mode", "constant") != "constant" or counts is None:
        return None
    few = len(counts) == 2 and min(counts) >= 0 and sum(counts) <= MAX_ELEMENTS
    if item.dtype == TensorType.kString or not few:
        return None
    fill = argument(node, 2)
    if fill is None:
        fill = OptimTensor(item.dtype, OptimShape([1]), constant=np.zeros(1, int))

    def padded(array: npt.NDArray[Any], value: npt.NDArray[Any]) -> npt.NDArray[Any]:
        # NumPy joins no bfloat16 and no int4 with another type.
        filler = value if value.dtype == object else value.astype(array.dtype)
        before, after = (np.repeat(filler.reshape(-1)[:1], count) for count in counts)
        result = np.concatenate([before, array, after])
        return result if result.dtype == object else result.astype(array.dtype)

    return fold(item.dtype, padded, item, fill)


@register("Pad")
def pad(node: NodeView) -> OptimTensor:
    """Each size plus what is added before and after it; negative amounts crop."""
    item = node.tensor(0)
    dims = dims_of(item)
    amounts = _pad_amounts(node)
    if dims is None:
        if amounts is None or argument(node, 3) is not None:
            return node.unknown("the input's rank is not known", dtype=item.dtype)
        rank = len(amounts) // 2
        return tensor(
            item.dtype, [node.fresh(axis, "the input's rank is not known") for axis in range(rank)]
        )
    axes: Sequence[int] | None = range(len(dims))
    if argument(node, 3) is not None:
        listed = known_ints(elements(argument(node, 3)))
        axes = None if listed is None else [axis_of(node, axis, len(dims)) for axis in listed]
    if axes is None:
        return tensor(
            item.dtype,
            [node.fresh(axis, "the padded axes are not known") for axis in range(len(dims))],
        )
    if amounts is None:
        amounts = (None,) * (2 * len(axes))
    if len(amounts) != 2 * len(axes):
        node.fail(f"{len(amounts)} amounts for {len(axes)} axes")
    result = list(dims)
    for axis, before, after in zip(axes, amounts, amounts[len(axes) :], strict=False):
        if before is None or after is None:
            result[axis] = node.fresh(axis, "an amount of padding is not known")
        else:
            result[axis] = result[axis] + before + after
    if len(dims) == 1 and known_ints(result) is not None:
        contents = _padded_values(node, item, amounts)
        if contents is not None:
            return contents
    return tensor(item.dtype, result)


@register("CenterCropPad")
def center_crop_pad(node: NodeView) -> OptimTensor:
    """Sizes taken from the second input for the chosen axes."""
    item = node.tensor(0)
    dims = dims_of(item)
    wanted = vector(argument(node, 1))
    listed = int_list(node.attr("axes", None))
    if dims is None:
        return node.unknown("the input's rank is not known", dtype=item.dtype)
    axes = (
        range(len(dims)) if listed is None else [axis_of(node, axis, len(dims)) for axis in listed]
    )
    if wanted is None:
        wanted = (None,) * len(axes)
    if len(wanted) != len(axes):
        node.fail(f"{len(wanted)} sizes for {len(axes)} axes")
    result: list[OptimDim] = list(dims)
    for axis, size in zip(axes, wanted, strict=True):
        if size is None:
            result[axis] = node.fresh(axis, "the size wanted is not known")
        else:
            result[axis] = OptimDim.max(size, ZERO)
    return tensor(item.dtype, result)
