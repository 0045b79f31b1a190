"""Sliding windows: convolutions and pools, and the size that padding, strides and ceiling leave."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.shapes._common import (
    ONE,
    ZERO,
    Dims,
    argument,
    dims_of,
    int_list,
    known_ints,
    ranked,
    register,
    tensor,
)
from yobx.onnx_optim.shapes._values import elements, vector
from yobx.onnx_optim.tensor_type import TensorType

__all__ = ["Window", "convolution_dims", "read_window", "transposed_dims", "window_sizes"]


class Window(NamedTuple):
    """Attributes that place a window along each spatial axis.

    Attributes:
        kernel: Sizes of the window.
        strides: Steps.
        dilations: Distances between the elements of the window.
        pads: Padding before each axis, then after each axis.
        auto_pad: `NOTSET`, `VALID`, `SAME_UPPER` or `SAME_LOWER`.
        ceiling: Whether a last, partly outside window counts.
    """

    kernel: tuple[OptimDim, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]
    auto_pad: str
    ceiling: bool


def read_window(node: NodeView, rank: int, kernel: Sequence[OptimDim]) -> Window:
    """The window attributes of a node for `rank` spatial axes."""
    strides = int_list(node.attr("strides", None)) or (1,) * rank
    dilations = int_list(node.attr("dilations", None)) or (1,) * rank
    pads = int_list(node.attr("pads", None)) or (0,) * (2 * rank)
    if (
        len(kernel) != rank
        or len(strides) != rank
        or len(dilations) != rank
        or len(pads) != 2 * rank
    ):
        node.fail(
            f"kernel, strides, dilations and pads must fit {rank} spatial axes, their lengths "
            f"are {len(kernel)}, {len(strides)}, {len(dilations)}, {len(pads)}"
        )
    if rank and (min(strides) < 1 or min(dilations) < 1):
        node.fail(f"strides={strides} and dilations={dilations} must be positive")
    auto_pad = node.attr("auto_pad", "NOTSET") or "NOTSET"
    ceiling = node.attr("ceil_mode", 0) == 1
    return Window(tuple(kernel), strides, dilations, pads, str(auto_pad), ceiling)


def _integer_size(size: int, reach: int, window: Window, axis: int, *, lenient: bool) -> int:
    """The same count for integers, which is the common case and need not build expressions."""
    stride, before, after = window.strides[axis], 0, 0
    if window.auto_pad != "VALID":
        before, after = window.pads[axis], window.pads[axis + len(window.strides)]
    room = size + before + after - reach
    if window.ceiling:
        return min(room + stride - 1, size + before - 1) // stride + 1
    return -(-room // stride) + 1 if lenient and room < 0 else room // stride + 1


def _window_size(size: OptimDim, window: Window, axis: int, *, lenient: bool) -> OptimDim:
    stride = window.strides[axis]
    if window.auto_pad.startswith("SAME"):
        return size.ceil_div(stride)
    kernel = window.kernel[axis]
    if size.is_int() and kernel.is_int():
        reach_ = (kernel.as_int() - 1) * window.dilations[axis] + 1
        return OptimDim(_integer_size(size.as_int(), reach_, window, axis, lenient=lenient))
    reach = (kernel - ONE) * window.dilations[axis] + ONE
    before = after = 0
    if window.auto_pad != "VALID":
        before, after = window.pads[axis], window.pads[axis + len(window.strides)]
    room = size + (before + after) - reach
    if window.ceiling:
        # A window may start no later than the last element of the input or of its front padding.
        return OptimDim.min(room + (stride - 1), size + (before - 1)) // stride + ONE
    return _truncated(size, room, stride) if lenient else room // stride + ONE


def _truncated(size: OptimDim, room: OptimDim, stride: int) -> OptimDim:
    """Positions of a pool's window, which may be larger than its input.

    Runtimes divide towards zero, so that a window that lacks less than a stride of room still has
    one position. They refuse an empty input.
    """
    plain = room // stride + ONE
    least = max(size.bounds()[0] or 0, 1)
    slack = room - size
    if stride == 1 or (slack.is_int() and least + slack.as_int() >= 0):
        return plain
    if slack.is_int() and stride + slack.as_int() >= 0 and size % stride == ZERO:
        return plain  # a multiple of the stride that is not 0 is no less than the stride
    if slack.is_int() and least + slack.as_int() + stride >= 1:
        # Without a batch the image may be empty too, and then has no window if none is as large.
        return OptimDim.max(plain, ONE if slack.as_int() + stride >= 1 else OptimDim.min(size, ONE))
    return OptimDim.max(plain, OptimDim.min(room + stride, ONE), ZERO)


def window_sizes(
    node: NodeView, spatial: Sequence[OptimDim], window: Window, *, lenient: bool = False
) -> list[OptimDim]:
    """Number of window positions along each spatial axis.

    Args:
        node: The node, for its errors.
        spatial: Sizes of the spatial axes.
        window: The window.
        lenient: The window may be larger than the padded input, as pools allow.

    Returns:
        One size per spatial axis.
    """
    result = []
    for axis, size in enumerate(spatial):
        found = _window_size(size, window, axis, lenient=lenient)
        if found.is_int() and found.as_int() < 0:
            node.fail(f"the window does not fit into spatial axis {axis} of size {size}")
        result.append(found)
    return result


def _kernel(node: NodeView, weight: Dims | None) -> tuple[OptimDim, ...] | None:
    listed = int_list(node.attr("kernel_shape", None))
    if listed is not None:
        return tuple(OptimDim(size) for size in listed)
    return None if weight is None else weight[2:]


def convolution_dims(
    node: NodeView, data: Dims | None, weight: Dims | None
) -> list[OptimDim] | None:
    """Shape `(n, out channels, ...)` of a convolution, None when no rank is known."""
    if weight is not None and len(weight) < 3:
        node.fail(f"the weight must have at least rank 3, its rank is {len(weight)}")
    if data is not None and len(data) < 3:
        node.fail(f"the input must have at least rank 3, its rank is {len(data)}")
    kernel = _kernel(node, weight)
    if kernel is None and data is not None:
        kernel = tuple(
            node.fresh(axis, "the weight's shape is not known") for axis in range(2, len(data))
        )
        channels = node.fresh(1, "the weight's shape is not known")
        return [data[0], channels, *kernel]
    if kernel is None:
        return None
    rank = len(kernel)
    channels = node.fresh(1, "the weight's rank is not known") if weight is None else weight[0]
    if data is None:
        unknown = [node.fresh(axis + 2, "the input's rank is not known") for axis in range(rank)]
        return [node.fresh(0, "the input's rank is not known"), channels, *unknown]
    if len(data) != rank + 2:
        node.fail(f"input has rank {len(data)} and the window {rank} spatial axes")
    _check_channels(node, data[1], weight)
    return [data[0], channels, *window_sizes(node, data[2:], read_window(node, rank, kernel))]


def _check_channels(node: NodeView, channels: OptimDim, weight: Dims | None) -> None:
    if weight is None:
        return
    wanted = weight[1] * int(node.attr("group", 1))
    if channels == wanted:
        return
    if channels.is_int() and wanted.is_int():
        node.fail(f"input has {channels} channels, the weight takes {wanted}")
    node.equal(channels, wanted)


@register("Conv DeformConv")
def conv(node: NodeView) -> OptimTensor:
    """Convolution of `(n, c, d1, ...)`."""
    item = node.tensor(0)
    dims = convolution_dims(node, dims_of(item), dims_of(node.tensor(1)))
    if dims is None:
        return node.unknown("no rank is known", dtype=item.dtype)
    return tensor(item.dtype, dims)


@register("ConvInteger")
def conv_integer(node: NodeView) -> OptimTensor:
    """Convolution of integers into int32."""
    dims = convolution_dims(node, dims_of(node.tensor(0)), dims_of(node.tensor(1)))
    if dims is None:
        return node.unknown("no rank is known", dtype=TensorType.kInt32)
    return tensor(TensorType.kInt32, dims)


@register("QLinearConv")
def qlinear_conv(node: NodeView) -> OptimTensor:
    """Quantised convolution: input 3 is the weight, input 7 the output's zero point."""
    dtype = node.tensor(7).dtype
    dims = convolution_dims(node, dims_of(node.tensor(0)), dims_of(node.tensor(3)))
    if dims is None:
        return node.unknown("no rank is known", dtype=dtype)
    return tensor(dtype, dims)


def _transposed_size(size: OptimDim, window: Window, axis: int, extra: int) -> OptimDim | None:
    """Size after a transposed convolution, None where runtimes differ."""
    stride = window.strides[axis]
    reach = (window.kernel[axis] - ONE) * window.dilations[axis] + ONE
    if window.auto_pad.startswith("SAME"):
        low = (reach + extra).bounds()[0]
        return size * stride if low is not None and low >= stride else None
    total = 0
    if window.auto_pad != "VALID":
        total = window.pads[axis] + window.pads[axis + len(window.strides)]
    return (size - ONE) * stride + reach + (extra - total)


def transposed_dims(
    node: NodeView, data: Dims | None, weight: Dims | None, pads: tuple[int, ...] | None = None
) -> list[OptimDim] | None:
    """Shape of a transposed convolution, None when no rank is known.

    Args:
        node: The node, whose attributes describe the window.
        data: Shape of the input.
        weight: Shape of the weight.
        pads: Pads to use instead of those in the attribute.
    """
    if weight is not None and len(weight) < 3:
        node.fail(f"the weight must have at least rank 3, its rank is {len(weight)}")
    kernel = _kernel(node, weight)
    if data is None or kernel is None:
        return None
    rank = len(kernel)
    if len(data) != rank + 2:
        node.fail(f"input has rank {len(data)} and the window {rank} spatial axes")
    group = int(node.attr("group", 1))
    channels = (
        node.fresh(1, "the weight's rank is not known") if weight is None else weight[1] * group
    )
    explicit = int_list(node.attr("output_shape", None))
    if explicit:
        return [data[0], channels, *(OptimDim(size) for size in explicit[-rank:])]
    window = read_window(node, rank, kernel)
    if pads is not None:
        if len(pads) != 2 * rank:
            node.fail(f"{len(pads)} pads for {rank} spatial axes")
        window = window._replace(pads=pads)
    extra = int_list(node.attr("output_padding", None)) or (0,) * rank
    if len(extra) != rank:
        node.fail(f"output_padding={extra} must fit {rank} spatial axes")
    spatial = []
    for axis, size in enumerate(data[2:]):
        found = _transposed_size(size, window, axis, extra[axis])
        if found is None:
            found = node.fresh(axis + 2, "runtimes differ when the window is below the stride")
        spatial.append(found)
    return [data[0], channels, *spatial]


@register("ConvTranspose")
def conv_transpose(node: NodeView) -> OptimTensor:
    """Transposed convolution."""
    item = node.tensor(0)
    dims = transposed_dims(node, dims_of(item), dims_of(node.tensor(1)))
    if dims is None:
        return node.unknown("no rank is known", dtype=item.dtype)
    return tensor(item.dtype, dims)


def _state_filled(node: NodeView, batch: OptimDim, size: OptimDim) -> None:
    """State that runtimes take no empty image, though a batch of none."""
    least = OptimDim.min(batch, ONE)
    node.at_most(least, size)
    symbols = [*size.symbols()]
    if len(symbols) == 1 and size.substitute({symbols[0]: 0}) == ZERO:
        node.at_most(least, symbols[0])


@register("AveragePool MaxPool LpPool")
def pool(node: NodeView) -> tuple[OptimTensor, ...]:
    """Pooling of `(n, c, d1, ...)`; `MaxPool` may add the indices."""
    item = node.tensor(0)
    dims = dims_of(item)
    kernel = tuple(OptimDim(k) for k in int_list(node.attr("kernel_shape", ())) or ())
    if not kernel:
        node.fail("attribute kernel_shape is missing")
    if dims is None:
        found = [
            node.fresh(axis, "the input's rank is not known") for axis in range(len(kernel) + 2)
        ]
    else:
        if len(dims) != len(kernel) + 2:
            node.fail(f"input has rank {len(dims)} and the window {len(kernel)} spatial axes")
        for size in dims[1:]:
            _state_filled(node, dims[0], size)
        window = read_window(node, len(kernel), kernel)
        found = [*dims[:2], *window_sizes(node, dims[2:], window, lenient=True)]
    result = tensor(item.dtype, found)
    return (result, OptimTensor(TensorType.kInt64, result.shape))[: node.n_outputs]


@register("MaxUnpool")
def max_unpool(node: NodeView) -> OptimTensor:
    """The inverse of a pool, with the size given or computed from the window."""
    item = node.tensor(0)
    dims = dims_of(item)
    kernel = tuple(OptimDim(k) for k in int_list(node.attr("kernel_shape", ())) or ())
    given = argument(node, 2)
    if given is not None:
        wanted = vector(given)
        if wanted is None:
            wanted = (None,) * (len(kernel) + 2)
        return tensor(
            item.dtype,
            [
                node.fresh(axis, "the output's size is not known") if size is None else size
                for axis, size in enumerate(wanted)
            ],
        )
    if dims is None:
        return node.unknown("the input's rank is not known", dtype=item.dtype)
    if len(dims) != len(kernel) + 2:
        node.fail(f"input has rank {len(dims)} and the window {len(kernel)} spatial axes")
    window = read_window(node, len(kernel), kernel)
    spatial = [
        _transposed_size(size, window, axis, 0) or node.fresh(axis + 2, "the window's place")
        for axis, size in enumerate(dims[2:])
    ]
    return tensor(item.dtype, (*dims[:2], *spatial))


@register("Col2Im")
def col2im(node: NodeView) -> OptimTensor:
    """`(n, c·block, blocks)` to `(n, c, *image_shape)`."""
    item = node.tensor(0)
    dims = ranked(node, item, 3, 3)
    image, block = vector(argument(node, 1)), known_ints(elements(argument(node, 2)))
    if image is None:
        return node.unknown("the image's rank is not known", dtype=item.dtype)
    spatial = [
        node.fresh(axis + 2, "the image's shape is not known") if size is None else size
        for axis, size in enumerate(image)
    ]
    if dims is None or block is None:
        reason = "the number of channels is not known"
        batch = node.fresh(0, reason) if dims is None else dims[0]
        return tensor(item.dtype, (batch, node.fresh(1, reason), *spatial))
    area = math.prod(block)
    if area < 1:
        node.fail(f"the block {block} must have positive sizes")
    return tensor(item.dtype, (dims[0], dims[1].exact_div(area), *spatial))
