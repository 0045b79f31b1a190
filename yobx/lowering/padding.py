"""How far a window reaches over the border: static where sizes allow it, at run time otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from yobx.xbuilder import GraphBuilder

from .dtypes import numpy_dtype
from .legalise import legal
from .shapes import Dim, axis_size, join_dims

__all__ = ["Window", "explicit_pads", "pad_spatial", "same_pads"]


@dataclass(frozen=True)
class Window:
    """A sliding window over the spatial axes, one entry per axis.

    Attributes:
        kernel: Size of the window.
        strides: Steps between windows.
        dilations: Steps between the elements of a window.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]

    @property
    def reach(self) -> tuple[int, ...]:
        """Extent of the dilated window along each axis."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True))


def explicit_pads(pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Return ONNX ``pads`` (all begins, then all ends) from (begin, end) pairs."""
    return [p for p, _ in pairs] + [p for _, p in pairs]


def _static_same(size: int, stride: int, reach: int) -> tuple[int, int]:
    total = max((-(-size // stride) - 1) * stride + reach - size, 0)
    return total // 2, total - total // 2


def same_pads(
    g: GraphBuilder, x: str, axes: Sequence[int], window: Window
) -> list[tuple[Dim, Dim]]:
    """Return (begin, end) of each axis for "SAME": ``ceil(size / stride)`` windows, odd pad last.

    A stride of 1 needs no size. Otherwise a dynamic size gives names of int64 tensors `(1,)`.

    Args:
        g: The builder.
        x: The tensor that windows move over.
        axes: The axes that they move along.
        window: Sizes, strides and dilations, one of each for an axis.
    """
    pairs: list[tuple[Dim, Dim]] = []
    for axis, stride, reach in zip(axes, window.strides, window.reach, strict=True):
        if stride == 1:
            pairs.append(((reach - 1) // 2, reach - 1 - (reach - 1) // 2))
            continue
        size = axis_size(g, x, axis)
        if isinstance(size, int):
            pairs.append(_static_same(size, stride, reach))
        else:
            pairs.append(_dynamic_same(g, size, stride, reach))
    return pairs


def _dynamic_same(g: GraphBuilder, size: str, stride: int, reach: int) -> tuple[Dim, Dim]:
    if reach <= 1:
        return 0, 0

    def number(value: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array([value], np.int64)

    windows = g.op.Div(g.op.Add(size, number(stride - 1)), number(stride))
    extent = g.op.Add(g.op.Mul(windows, number(stride)), number(reach - stride))
    total = g.op.Max(g.op.Sub(extent, size), number(0))
    begin = g.op.Div(total, number(2))
    return begin, g.op.Sub(total, begin)


def pad_spatial(
    g: GraphBuilder,
    x: str,
    axes: Sequence[int],
    pairs: Sequence[tuple[Dim, Dim]],
    value: npt.ArrayLike | None = None,
) -> str:
    """Emit a ``Pad`` of ``axes`` with ``value`` (zero by default), or nothing if there is none.

    Args:
        g: The builder.
        x: A tensor of any dtype.
        axes: The axes that are padded.
        pairs: How much at the begin and at the end of each: numbers, or names of int64 tensors.
        value: What is put there.

    Returns:
        The tensor, of the dtype of `x`.
    """
    if all(isinstance(p, int) and p == 0 for pair in pairs for p in pair):
        return x
    rank = g.get_rank(x) or 0
    begins: list[Dim] = [0] * rank
    ends: list[Dim] = [0] * rank
    for axis, (begin, end) in zip(axes, pairs, strict=True):
        begins[axis], ends[axis] = begin, end
    pads = join_dims(g, [*begins, *ends])
    fill = None if value is None else np.array(value, numpy_dtype(g.get_type(x)))
    return str(legal(g).Pad(x, pads, fill))
