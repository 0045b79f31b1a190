"""Images: `Resize`, `Upsample`, sampling grids and regions of interest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.shapes._common import (
    Dims,
    argument,
    axis_of,
    dims_of,
    int_list,
    known_ints,
    ranked,
    register,
    tensor,
)
from yobx.onnx_optim.shapes._values import Element, vector
from yobx.onnx_optim.tensor_type import TensorType

__all__ = ["scaled_size"]

_LARGEST_DENOMINATOR = 256


def scaled_size(size: OptimDim, scale: float) -> OptimDim | None:
    """`floor(size * scale)` where every way of rounding agrees, else None.

    Runtimes multiply in float32 or in float64. A scale is taken as the fraction it stands for; one
    that float32 rounds down is not, because a whole result may then come out one too small.
    """
    scale32 = float(np.float32(scale))
    if size.is_int():
        number = size.as_int()
        single = math.floor(float(np.float32(number) * np.float32(scale32)))
        return OptimDim(single) if single == math.floor(number * scale32) else None
    exact = Fraction(scale32)
    simple = exact.limit_denominator(_LARGEST_DENOMINATOR)
    if simple == 0 or not 0 <= float(exact - simple) <= float(simple) * 2.0**-23:
        return None
    return size * simple.numerator // simple.denominator


def _scaled(node: NodeView, dims: Dims, axes: Sequence[int], scales: Sequence[Any] | None) -> Dims:
    if scales is None:
        scales = (None,) * len(axes)
    if len(scales) != len(axes):
        node.fail(f"{len(scales)} scales for {len(axes)} axes")
    result = list(dims)
    for axis, scale in zip(axes, scales, strict=True):
        size = None if scale is None else scaled_size(dims[axis], float(scale))
        if size is None:
            upper = None if scale is None else dims[axis] * max(math.ceil(scale), 1)
            size = node.fresh(axis, "the scale does not decide the size", upper=upper)
        result[axis] = size
    return tuple(result)


def _kept_ratio(
    dims: Sequence[OptimDim], sizes: Sequence[OptimDim], policy: str
) -> list[OptimDim | None]:
    """Sizes when one scale serves all axes, None where it is not decided."""
    smallest = policy == "not_larger"
    if all(dim == dims[0] for dim in dims):
        found = OptimDim.min(*sizes) if smallest else OptimDim.max(*sizes)
        return [found] * len(sizes)
    numbers, wanted = known_ints(dims), known_ints(sizes)
    if numbers is None or wanted is None or 0 in numbers:
        return [None] * len(sizes)
    pairs = list(zip(wanted, numbers, strict=True))
    choose: Any = min if smallest else max
    exact = choose(Fraction(size, number) for size, number in pairs)
    single = choose(np.float32(size) / np.float32(number) for size, number in pairs)
    result: list[OptimDim | None] = []
    for number in numbers:
        found = math.floor(exact * number + Fraction(1, 2))
        rounded = math.floor(float(single * np.float32(number)) + 0.5)
        result.append(OptimDim(found) if found == rounded else None)
    return result


def _sized(node: NodeView, dims: Dims, axes: Sequence[int], sizes: Sequence[Element]) -> Dims:
    if len(sizes) != len(axes):
        node.fail(f"{len(sizes)} sizes for {len(axes)} axes")
    policy = node.attr("keep_aspect_ratio_policy", "stretch")
    found: Sequence[Element] = sizes
    if policy != "stretch":
        known = [size for size in sizes if size is not None]
        found = [None] * len(sizes)
        if len(known) == len(sizes) and sizes:
            found = _kept_ratio([dims[axis] for axis in axes], known, policy)
    result = list(dims)
    for axis, size, limit in zip(axes, found, sizes, strict=True):
        upper = limit if policy == "not_larger" else None
        reason = "the size wanted is not known"
        result[axis] = node.fresh(axis, reason, upper=upper) if size is None else size
    return tuple(result)


def _constant_list(item: OptimTensor | None) -> list[Any] | None:
    if item is None or item.constant is None:
        return None
    return list(item.constant.ravel().tolist())


def _is_empty(item: OptimTensor | None) -> bool:
    dims = dims_of(item)
    return dims is not None and any(dim == 0 for dim in dims)


@register("Resize", since=11)
def resize(node: NodeView) -> OptimTensor:
    """Sizes given, or scaled and rounded down."""
    item = node.tensor(0)
    dims = dims_of(item)
    scales, sizes = argument(node, 2), argument(node, 3)
    if dims is None:
        return node.unknown("the input's rank is not known", dtype=item.dtype)
    listed = int_list(node.attr("axes", None))
    axes: Sequence[int] = range(len(dims))
    if listed is not None:
        axes = [axis_of(node, axis, len(dims)) for axis in listed]
    if sizes is not None and not _is_empty(sizes):
        wanted = vector(sizes)
        return tensor(item.dtype, _sized(node, dims, axes, wanted or (None,) * len(axes)))
    factors = _constant_list(scales)
    if node.attr("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize":
        factors = _cropped(node, factors, len(axes))
    return tensor(item.dtype, _scaled(node, dims, axes, factors))


def _cropped(node: NodeView, factors: list[Any] | None, count: int) -> list[Any] | None:
    """The scales, where the region of interest leaves no doubt on the size."""
    region = _constant_list(argument(node, 1))
    if factors is None or region is None or len(region) != 2 * count:
        return None
    whole = all(low == 0 and high == 1 for low, high in zip(region, region[count:], strict=False))
    return factors if whole else None


@register("Resize", since=10)
def resize_10(node: NodeView) -> OptimTensor:
    """The first version: input and scales only."""
    return _upsampled(node)


@register("Upsample")
def upsample(node: NodeView) -> OptimTensor:
    """Sizes times scales, rounded down; the scales are an attribute before opset 9."""
    return _upsampled(node)


def _upsampled(node: NodeView) -> OptimTensor:
    item = node.tensor(0)
    dims = dims_of(item)
    if dims is None:
        return node.unknown("the input's rank is not known", dtype=item.dtype)
    factors = _constant_list(argument(node, 1)) if node.has(1) else node.attr("scales", None)
    return tensor(item.dtype, _scaled(node, dims, range(len(dims)), factors))


@register("GridSample")
@register("GridSample", domain="com.microsoft")
def grid_sample(node: NodeView) -> OptimTensor:
    """`(n, c)` of the input, then the grid's spatial sizes."""
    item = node.tensor(0)
    dims, grid = dims_of(item), dims_of(node.tensor(1))
    if grid is None:
        if dims is None:
            return node.unknown("no rank is known", dtype=item.dtype)
        spatial = [node.fresh(axis, "the grid's rank is not known") for axis in range(2, len(dims))]
        return tensor(item.dtype, (*dims[:2], *spatial))
    if dims is None:
        channels = node.fresh(1, "the input's rank is not known")
        return tensor(item.dtype, (grid[0], channels, *grid[1:-1]))
    if len(dims) != len(grid):
        node.fail(f"input and grid must have one rank, theirs are {len(dims)} and {len(grid)}")
    return tensor(item.dtype, (*dims[:2], *grid[1:-1]))


@register("AffineGrid")
def affine_grid(node: NodeView) -> OptimTensor:
    """`(n, h, w, 2)` or `(n, d, h, w, 3)` for a size `(n, c, ...)`."""
    theta = node.tensor(0)
    size = vector(argument(node, 1))
    if size is None:
        return node.unknown("the size wanted is not known", dtype=theta.dtype)
    if len(size) not in (4, 5):
        node.fail(f"the size must have 4 or 5 elements, it has {len(size)}")
    dims = ranked(node, theta, 3, 3)
    batch = size[0] if size[0] is not None or dims is None else dims[0]
    picked = (batch, *size[2:])
    found = [
        node.fresh(axis, "the size wanted is not known") if entry is None else entry
        for axis, entry in enumerate(picked)
    ]
    return tensor(theta.dtype, (*found, OptimDim(len(size) - 2)))


def _regions(node: NodeView, height: OptimDim, width: OptimDim) -> OptimTensor:
    item = node.tensor(0)
    dims, rois = ranked(node, item, 4), ranked(node, node.tensor(1), 1)
    count = node.fresh(0, "the number of regions is not known") if rois is None else rois[0]
    channels = node.fresh(1, "the input's rank is not known") if dims is None else dims[1]
    return tensor(item.dtype, (count, channels, height, width))


@register("RoiAlign")
def roi_align(node: NodeView) -> OptimTensor:
    """`(regions, c, output_height, output_width)`."""
    return _regions(
        node,
        OptimDim(int(node.attr("output_height", 1))),
        OptimDim(int(node.attr("output_width", 1))),
    )


@register("MaxRoiPool")
def max_roi_pool(node: NodeView) -> OptimTensor:
    """`(regions, c, *pooled_shape)`."""
    pooled = int_list(node.attr("pooled_shape", None))
    if pooled is None or len(pooled) != 2:
        node.fail(f"attribute pooled_shape must have two elements, it is {pooled}")
    return _regions(node, OptimDim(pooled[0]), OptimDim(pooled[1]))


@register("CropAndResize", domain="com.microsoft")
def crop_and_resize(node: NodeView) -> OptimTensor:
    """`(regions, c, crop height, crop width)`."""
    size = vector(argument(node, 3)) or (None, None)
    if len(size) != 2:
        node.fail(f"the crop size must have two elements, it has {len(size)}")
    height, width = (
        node.fresh(axis + 2, "the crop size is not known") if entry is None else entry
        for axis, entry in enumerate(size)
    )
    return _regions(node, height, width)


@register("ImageDecoder")
def image_decoder(node: NodeView) -> OptimTensor:
    """`(height, width, channels)`; only the number of channels is known."""
    channels = 1 if node.attr("pixel_format", "RGB") == "Grayscale" else 3
    reason = "the encoded stream tells the size"
    return tensor(TensorType.kUInt8, (node.fresh(0, reason), node.fresh(1, reason), channels))
