"""Pooling windows over `(n, c, *spatial)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .casts import cast
from .dtypes import extreme, numpy_dtype
from .kernels import dtype_name, has_kernel
from .layout import channels_first, channels_last
from .legalise import legal, widened
from .padding import Window, explicit_pads, pad_spatial
from .shapes import Dim, axis_size, join_dims

__all__ = [
    "average_pool",
    "max_pool",
    "max_pool_carrying_nan",
    "max_pool_with_indices",
    "sum_of_windows",
    "window_slices",
]

Pairs = Sequence[tuple[Dim, Dim]]
_DILATED_MEANS = 19
"""Opset from which ``AveragePool`` has dilations."""


def _fixed(pairs: Pairs) -> list[tuple[int, int]] | None:
    fixed = [(b, e) for b, e in pairs if isinstance(b, int) and isinstance(e, int)]
    return fixed if len(fixed) == len(pairs) else None


def window_slices(g: GraphBuilder, x: str, window: Window, first_axis: int = 2) -> list[str]:
    """Return one strided slice per window element; spatial axes begin at ``first_axis``.

    Args:
        g: The builder.
        x: A tensor whose spatial axes are padded already.
        window: Sizes, strides and dilations.
        first_axis: The first spatial axis.

    Returns:
        Names of slices of the shape of the result, in row-major order of the window.
    """
    n = len(window.kernel)
    axes = np.arange(first_axis, first_axis + n, dtype=np.int64)
    steps = np.array(window.strides, np.int64)
    last = np.iinfo(np.int64).max
    parts = []
    for tap in np.ndindex(*window.kernel):
        starts = [t * d for t, d in zip(tap, window.dilations, strict=True)]
        tails = [r - 1 - s for r, s in zip(window.reach, starts, strict=True)]
        ends = np.array([last if t == 0 else -t for t in tails], np.int64)
        parts.append(str(g.op.Slice(x, np.array(starts, np.int64), ends, axes, steps)))
    return parts


def max_pool(
    g: GraphBuilder,
    x: str,
    window: Window,
    pairs: Pairs,
    *,
    outputs: list[str] | None = None,
    name: str | None = None,
) -> str:
    """Emit the largest element of each window; padding never wins.

    Args:
        g: The builder.
        x: Tensor `(n, c, *spatial)` of any real dtype.
        window: Sizes, strides and dilations.
        pairs: Padding at the begin and at the end of each spatial axis.
        outputs: Name of the result.
        name: Name of its node.

    Returns:
        The maxima, of the dtype of `x`.
    """
    dtype = g.get_type(x)
    fixed = _fixed(pairs)
    if widened("MaxPool", g.opset(""), "T", dtype_name(dtype)) is None:
        parts = window_slices(g, _padded(g, x, pairs, extreme(dtype, largest=False)), window)
        return str(legal(g).Max(*parts, outputs=outputs, name=name))
    if fixed is None or not _fits(fixed, window):
        x, fixed = _padded(g, x, pairs, extreme(dtype, largest=False)), [(0, 0)] * len(pairs)
    return str(
        legal(g).MaxPool(
            x,
            kernel_shape=list(window.kernel),
            strides=list(window.strides),
            dilations=list(window.dilations),
            pads=explicit_pads(fixed),
            outputs=outputs,
            name=name,
        )
    )


def max_pool_carrying_nan(g: GraphBuilder, x: str, window: Window, pairs: Pairs) -> str:
    """Emit the largest element of each window of floats, NaN if there is one among them.

    The pooling of onnxruntime passes over some NaN. That of means does not: it is asked of a
    tensor that is NaN where ``x`` is, and 0 elsewhere, and what it says is taken off, which also
    leaves a negative zero as it is.

    Args:
        g: The builder.
        x: Floats `(n, c, *spatial)`.
        window: Sizes, strides and dilations.
        pairs: Padding at the begin and at the end of each spatial axis.

    Returns:
        The maxima, of the dtype of `x`.
    """
    pooled = max_pool(g, x, window, pairs)
    opset, dtype = g.opset(""), g.get_type(x)
    dilated = any(d != 1 for d in window.dilations)
    if dtype_name(dtype) not in ("float16", "float32") or (dilated and opset < _DILATED_MEANS):
        marks = max_pool(g, cast(g, legal(g).IsNaN(x), np.float32), window, pairs)
        nan = np.array(np.nan).astype(numpy_dtype(dtype))
        return str(legal(g).Where(g.op.Greater(marks, np.array(0, np.float32)), nan, pooled))
    zero = np.array(0, numpy_dtype(dtype))
    marks, fixed = str(g.op.Clip(x, zero, zero)), _fixed(pairs)
    if fixed is None or not _fits(fixed, window):
        marks, fixed = _padded(g, marks, pairs, None), [(0, 0)] * len(pairs)
    means = g.op.AveragePool(
        marks,
        kernel_shape=list(window.kernel),
        strides=list(window.strides),
        dilations=list(window.dilations) if dilated else None,
        pads=explicit_pads(fixed),
        count_include_pad=1,  # a window of padding alone has a mean too
    )
    return str(g.op.Sub(pooled, means))


def _fits(pairs: Sequence[tuple[int, int]], window: Window) -> bool:
    """Whether pooling takes this padding: it has to be smaller than the window."""
    return all(p < k for pair, k in zip(pairs, window.kernel, strict=True) for p in pair)


def _padded(g: GraphBuilder, x: str, pairs: Pairs, value: Any) -> str:
    return pad_spatial(g, x, range(2, 2 + len(pairs)), pairs, value)


def average_pool(
    g: GraphBuilder,
    x: str,
    window: Window,
    pairs: Pairs,
    *,
    outputs: list[str] | None = None,
    name: str | None = None,
) -> str:
    """Emit the mean of each window over the elements that exist.

    Args:
        g: The builder.
        x: Floats `(n, c, *spatial)`.
        window: Sizes, strides and dilations.
        pairs: Padding at the begin and at the end of each spatial axis, which is not counted.
        outputs: Name of the result.
        name: Name of its node.

    Returns:
        The means, of the dtype of `x`.
    """
    fixed = _fixed(pairs)
    halves = ("float16", "bfloat16")
    dtype = g.get_type(x)
    native = has_kernel("AveragePool", g.opset(""), dtype) or dtype_name(dtype) in halves
    if fixed is not None and native:
        return str(
            legal(g).AveragePool(
                x,
                kernel_shape=list(window.kernel),
                strides=list(window.strides),
                pads=explicit_pads(fixed),
                count_include_pad=0,
                outputs=outputs,
                name=name,
            )
        )
    total = sum_of_windows(g, x, window, pairs)
    if fixed is not None and not any(p for pair in fixed for p in pair):
        count: Any = np.array(np.prod(window.kernel), numpy_dtype(dtype))
    else:
        spatial = [axis_size(g, x, 2 + i) for i in range(len(pairs))]
        one = np.ones(1, numpy_dtype(dtype))
        ones = legal(g).Expand(one, join_dims(g, [1, 1, *spatial]))
        count = sum_of_windows(g, ones, window, pairs)
    return str(legal(g).Div(total, count, outputs=outputs, name=name))


def sum_of_windows(g: GraphBuilder, x: str, window: Window, pairs: Pairs) -> str:
    """Emit the sum of each window; of ones it is how many elements are no padding.

    Args:
        g: The graph.
        x: Numbers `(n, c, *s)`.
        window: Kernel size, strides and dilations.
        pairs: Padding (begin, end) of each axis.

    Returns:
        Name of the sums, `(n, c, *places)`, of the type of ``x``.
    """
    parts = window_slices(g, _padded(g, x, pairs, None), window)
    total = parts[0]
    for part in parts[1:]:
        total = legal(g).Add(total, part)
    return total


def max_pool_with_indices(
    g: GraphBuilder,
    x: str,
    window: Window,
    pairs_of: Callable[[str], Pairs],
    *,
    with_batch: bool,
) -> tuple[str, str]:
    """Emit the maximum of each window of `(n, h, w, c)` and its flat index, int64, same shape.

    Args:
        g: The builder.
        x: Numbers `(n, h, w, c)`.
        window: Sizes, strides and dilations.
        pairs_of: Gives how much the axes of a tensor are padded.
        with_batch: Whether an index counts from the first image, else from its own.
    """
    first = channels_first(g, x, 4)
    pairs = pairs_of(first)
    padded = _padded(g, first, pairs, extreme(g.get_type(x), largest=False))
    sizes = [axis_size(g, x, a) for a in range(4)]
    cells = g.op.Range(np.array(0, np.int64), _product(g, sizes[1:]), np.array(1, np.int64))
    grid = g.op.Reshape(cells, join_dims(g, [1, *sizes[1:]]))
    none, start = np.array(-1, np.int64), np.array(0, np.int64)
    places = _padded(g, channels_first(g, grid, 4), pairs, none)
    is_padded = any(size != 0 for pair in pairs for size in pair)
    values = window_slices(g, padded, window)
    spots = window_slices(g, places, window)
    best, where = values[0], spots[0]
    for value, spot in zip(values[1:], spots[1:], strict=True):
        better = legal(g).Greater(value, best)
        if is_padded:  # the lowest number of the type is no padding
            better = g.op.Or(
                better, g.op.And(g.op.Less(where, start), g.op.GreaterOrEqual(spot, start))
            )
        best = legal(g).Where(better, value, best)
        where = g.op.Where(better, spot, where)
    index = channels_last(g, where, 4)
    maximum = channels_last(g, best, 4)
    index = g.op.Expand(index, g.op.Shape(maximum))
    if with_batch:
        batch = g.op.Range(np.array(0, np.int64), _product(g, sizes[:1]), np.array(1, np.int64))
        offset = g.op.Mul(batch, _product(g, sizes[1:]))
        index = g.op.Add(index, g.op.Reshape(offset, np.array([-1, 1, 1, 1], np.int64)))
    return maximum, index


def _product(g: GraphBuilder, sizes: Sequence[Dim]) -> Any:
    """Return the product of sizes as an int64 scalar."""
    joined = join_dims(g, sizes)
    if isinstance(joined, np.ndarray):
        return np.array(int(np.prod(joined)), np.int64)
    return g.op.ReduceProd(joined, keepdims=0)
