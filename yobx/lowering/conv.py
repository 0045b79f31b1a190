"""Convolutions: one ONNX node where a kernel exists, sums of matrix products otherwise.

Layouts here are ONNX's: `(n, c, *spatial)` for data and `(out, in / group, *kernel)` for weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from yobx.xbuilder import GraphBuilder

from .dtypes import DTYPES
from .kernels import has_kernel
from .legalise import legal
from .padding import Window, explicit_pads, pad_spatial
from .shapes import Dim, axis_size, join_dims, rank, reshape

__all__ = ["conv", "conv_transpose"]

Pairs = Sequence[tuple[Dim, Dim]]


def _static(pairs: Pairs) -> list[tuple[int, int]] | None:
    fixed = [(b, e) for b, e in pairs if isinstance(b, int) and isinstance(e, int)]
    return fixed if len(fixed) == len(pairs) else None


def _needs_taps(g: GraphBuilder, x: str) -> bool:
    """Tell whether no convolution kernel can hold the values of ``x``."""
    dtype = int(g.get_type(x))
    halves = (DTYPES["float16"], DTYPES["bfloat16"])
    return dtype not in halves and not has_kernel("Conv", g.opset(""), dtype)


def conv(
    g: GraphBuilder,
    x: str,
    w: str,
    window: Window,
    pairs: Pairs,
    *,
    group: int = 1,
    outputs: list[str] | None = None,
    name: str | None = None,
) -> str:
    """Emit a convolution of `(n, c, *s)` with `(o, c / group, *k)`.

    Args:
        g: The graph.
        x: Data.
        w: Weights.
        window: Kernel size, strides and dilations.
        pairs: Padding (begin, end) for each spatial axis, static or named.
        group: Number of groups.
        outputs: Names to give.
        name: Node name.

    Returns:
        Name of the result.
    """
    spatial = list(range(2, 2 + len(window.kernel)))
    fixed = _static(pairs)
    if fixed is None or _needs_taps(g, x):
        x = pad_spatial(g, x, spatial, pairs)
        fixed = [(0, 0)] * len(spatial)
    if _needs_taps(g, x):
        return _by_taps(g, x, w, window, group=group, outputs=outputs)
    return str(
        legal(g).Conv(
            x,
            w,
            kernel_shape=list(window.kernel),
            strides=list(window.strides),
            dilations=list(window.dilations),
            pads=explicit_pads(fixed),
            group=group,
            outputs=outputs,
            name=name,
        )
    )


def _by_taps(
    g: GraphBuilder, x: str, w: str, window: Window, *, group: int, outputs: list[str] | None
) -> str:
    """Sum one matrix product per kernel element; for dtypes without a convolution kernel."""
    n = len(window.kernel)
    axes = np.arange(2, 2 + n, dtype=np.int64)
    last = np.iinfo(np.int64).max
    channels = axis_size(g, w, 0)
    total = ""
    for tap in np.ndindex(*window.kernel):
        starts = [t * d for t, d in zip(tap, window.dilations, strict=True)]
        tails = [r - 1 - s for r, s in zip(window.reach, starts, strict=True)]
        ends = np.array([last if t == 0 else -t for t in tails], np.int64)
        steps = np.array(window.strides, np.int64)
        part = g.op.Slice(x, np.array(starts, np.int64), ends, axes, steps)
        weights = g.op.Slice(w, np.array(tap), np.array(tap) + 1, axes)
        product = _grouped_product(g, part, weights, group, channels)
        total = product if not total else g.op.Add(total, product)
    return str(g.op.Identity(total, outputs=outputs)) if outputs else total


def _grouped_product(g: GraphBuilder, part: str, weights: str, group: int, channels: Dim) -> str:
    """Contract the channels of `(n, c, *s)` with `(o, c / group, 1, ...)` to `(n, o, *s)`."""
    n = rank(g, part) - 2
    letters = "wxyz"[:n]
    flat = g.op.Squeeze(weights, np.arange(2, 2 + n, dtype=np.int64))
    if group == 1:
        return str(g.op.Einsum(part, flat, equation=f"nc{letters},oc->no{letters}"))
    inner = axis_size(g, weights, 1)
    sizes = [axis_size(g, part, 2 + i) for i in range(n)]
    batch = axis_size(g, part, 0)
    split = reshape(g, part, [batch, group, inner, *sizes])
    per_group: Dim = channels // group if isinstance(channels, int) else -1
    grouped = reshape(g, flat, [group, per_group, inner])
    product = g.op.Einsum(split, grouped, equation=f"ngc{letters},goc->ngo{letters}")
    return str(reshape(g, product, [batch, channels, *sizes]))


def conv_transpose(
    g: GraphBuilder,
    x: str,
    w: str,
    window: Window,
    sizes: Sequence[Dim],
    *,
    begins: Sequence[Dim],
    group: int = 1,
    outputs: list[str] | None = None,
    name: str | None = None,
) -> str:
    """Emit the adjoint of a convolution whose input had ``sizes`` and was padded by ``begins``.

    Args:
        g: The graph.
        x: Data `(n, c, *s)`.
        w: Weights `(c, o / group, *k)`.
        window: Kernel size, strides and dilations.
        sizes: Wanted spatial sizes of the result, static or named.
        begins: Padding that the forward convolution had in front of each axis.
        group: Number of groups.
        outputs: Names to give.
        name: Node name.

    Returns:
        Name of the result, `(n, o, *sizes)`.
    """
    known = [axis_size(g, x, 2 + i) for i in range(len(sizes))]
    static = [*sizes, *begins, *known]
    common = {
        "kernel_shape": list(window.kernel),
        "strides": list(window.strides),
        "dilations": list(window.dilations),
        "group": group,
    }
    if all(isinstance(v, int) for v in static) and not _needs_taps(g, x):
        pads, extra = _transpose_pads(window, known, sizes, begins)
        if all(0 <= e < s for e, s in zip(extra, window.strides, strict=True)):
            return str(
                legal(g).ConvTranspose(
                    x, w, pads=pads, output_padding=extra, outputs=outputs, name=name, **common
                )
            )
    grown = _full_transpose(g, x, w, window, common)
    axes = np.arange(2, 2 + len(sizes), dtype=np.int64)
    start = join_dims(g, begins)
    end = g.op.Add(start, join_dims(g, sizes))
    return str(g.op.Slice(grown, start, end, axes, outputs=outputs, name=name))


def _transpose_pads(
    window: Window, known: Sequence[Dim], sizes: Sequence[Dim], begins: Sequence[Dim]
) -> tuple[list[int], list[int]]:
    """Return ``pads`` and ``output_padding`` for which ConvTranspose gives ``sizes``."""
    heads, tails, extra = [], [], []
    rows = zip(known, sizes, begins, window.strides, window.reach, strict=True)
    for n, size, begin, stride, reach in rows:
        surplus = (int(n) - 1) * stride + reach - int(begin) - int(size)
        heads.append(int(begin))
        tails.append(max(surplus, 0))
        extra.append(max(-surplus, 0))
    return heads + tails, extra


def _full_transpose(
    g: GraphBuilder, x: str, w: str, window: Window, common: dict[str, object]
) -> str:
    """Emit the uncropped adjoint with ``stride - 1`` spare elements at the end of each axis."""
    if not _needs_taps(g, x):
        extra = [s - 1 for s in window.strides]
        return str(legal(g).ConvTranspose(x, w, output_padding=extra, **common))
    spread = _spread(g, x, window)
    n = len(window.kernel)
    spatial = list(range(2, 2 + n))
    edges: list[tuple[Dim, Dim]] = [(r - 1, r - 1) for r in window.reach]
    group = int(str(common["group"]))
    flipped = _flip_weights(g, w, n, group)
    ones = Window(window.kernel, (1,) * n, window.dilations)
    return _by_taps(
        g, pad_spatial(g, spread, spatial, edges), flipped, ones, group=group, outputs=None
    )


def _spread(g: GraphBuilder, x: str, window: Window) -> str:
    """Insert ``stride - 1`` zeros after each element of the spatial axes."""
    for i, stride in enumerate(window.strides):
        if stride == 1:
            continue
        axis = 2 + i
        rank = 2 + len(window.strides)
        sizes = [axis_size(g, x, a) for a in range(rank)]
        wide = g.op.Unsqueeze(x, np.array([axis + 1], np.int64))
        pads = [0] * (2 * (rank + 1))
        pads[rank + 1 + axis + 1] = stride - 1
        padded = legal(g).Pad(wide, np.array(pads, np.int64))
        sizes[axis] = -1
        x = reshape(g, padded, sizes)
    return x


def _flip_weights(g: GraphBuilder, w: str, n: int, group: int) -> str:
    """Turn `(c, o / group, *k)` into the weights `(o, c / group, *k)` of the equivalent conv."""
    axes = np.arange(2, 2 + n, dtype=np.int64)
    low = np.full(n, np.iinfo(np.int64).min + 1, np.int64)
    flipped = g.op.Slice(w, np.full(n, -1, np.int64), low, axes, np.full(n, -1, np.int64))
    swap = [1, 0, *range(2, 2 + n)]
    if group == 1:
        return str(g.op.Transpose(flipped, perm=swap))
    kernel = [axis_size(g, w, 2 + i) for i in range(n)]
    outs = axis_size(g, w, 1)
    grouped = reshape(g, flipped, [group, -1, outs, *kernel])
    turned = g.op.Transpose(grouped, perm=[0, 2, 1, *range(3, 3 + n)])
    inner = axis_size(g, turned, 2)
    return str(reshape(g, turned, [-1, inner, *kernel]))
