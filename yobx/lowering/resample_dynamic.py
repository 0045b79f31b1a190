"""Interpolation weights of axes whose sizes are known at run time only.

The formulas are those of :mod:`yobx.lowering.resample`, in float32 and in the graph. Sizes are
int64 tensors of shape `()`; every function returns a matrix `(out, in)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .casts import cast
from .resample import KERNEL_RADIUS, TINY_TOTAL, cubic_table

__all__ = ["OpenAxis", "area_weights", "cubic_weights", "kernel_weights"]

F = np.float32
_ZERO, _ONE = np.array(0, np.int64), np.array(1, np.int64)
_LAST = np.array([-1], np.int64)


@dataclass(frozen=True)
class OpenAxis:
    """One spatial axis to resize.

    Attributes:
        g: Builder to write to.
        size: Elements it has, int64 of shape `()`.
        wanted: Elements it gets, int64 of shape `()`.
        align_corners: Whether the first and last elements coincide.
        half_pixel: Whether elements are centred at ``i + 0.5``.
    """

    g: GraphBuilder
    size: str
    wanted: str
    align_corners: bool = False
    half_pixel: bool = False

    def scale(self) -> str:
        """Emit the step in the input for one step in the output, float32 of shape `()`."""
        g = self.g
        wanted = cast(g, self.wanted, F)
        scale = g.op.Div(cast(g, self.size, F), wanted)
        if not self.align_corners:
            return str(scale)
        corners = g.op.Div(
            cast(g, g.op.Sub(self.size, _ONE), F),
            cast(g, g.op.Max(g.op.Sub(self.wanted, _ONE), _ONE), F),
        )
        return str(g.op.Where(g.op.Greater(self.wanted, _ONE), corners, scale))

    def rows(self) -> str:
        """Emit the number of every output element, float32 of shape `(out, 1)`."""
        return str(self.g.op.Unsqueeze(_count(self.g, self.wanted), _LAST))

    def columns(self) -> str:
        """Emit the number of every input element, float32 of shape `(in,)`."""
        return _count(self.g, self.size)


def _count(g: GraphBuilder, size: str) -> str:
    return cast(g, g.op.Range(_ZERO, size, _ONE), F)


def area_weights(axis: OpenAxis) -> str:
    """Emit the weights of an average over the area that each output element covers.

    Args:
        axis: Sizes of the axis, known at run time.

    Returns:
        Weights `(out, in)`, float32.
    """
    g, scale, rows, columns = axis.g, axis.scale(), axis.rows(), axis.columns()
    low = g.op.Mul(rows, scale)
    high = g.op.Mul(g.op.Add(rows, F(1)), scale)
    # What lies beyond the last element counts as the last element.
    is_last = g.op.Equal(columns, cast(g, g.op.Sub(axis.size, _ONE), F))
    end = g.op.Where(is_last, F(np.inf), g.op.Add(columns, F(1)))
    covered = g.op.Sub(g.op.Min(end, high), g.op.Max(columns, low))
    return str(g.op.Div(g.op.Max(covered, F(0)), scale))


def cubic_weights(axis: OpenAxis) -> str:
    """Emit bicubic weights: ``a`` is -0.5 with half-pixel centres, else -0.75.

    Args:
        axis: Sizes of the axis, known at run time, and how its pixels are counted.

    Returns:
        Weights `(out, in)`, float32.
    """
    g, scale, rows = axis.g, axis.scale(), axis.rows()
    half = F(0.5)
    if axis.half_pixel:
        place = g.op.Sub(g.op.Mul(g.op.Add(rows, half), scale), half)
    else:
        place = g.op.Mul(rows, scale)
    base = g.op.Floor(place)
    table = cubic_table(-0.5 if axis.half_pixel else -0.75)
    steps = len(table) - 1
    offset = cast(g, g.op.Round(g.op.Mul(g.op.Sub(place, base), F(steps))), np.int64)
    back = g.op.Sub(np.array(steps, np.int64), offset)
    near, far = np.ascontiguousarray(table[:, 0]), np.ascontiguousarray(table[:, 1])
    # four taps for every output element, `(out, 4)`
    taps = g.op.Concat(
        g.op.Gather(far, offset),
        g.op.Gather(near, offset),
        g.op.Gather(near, back),
        g.op.Gather(far, back),
        axis=1,
    )
    places = g.op.Add(base, np.array([-1, 0, 1, 2], F))
    last = cast(g, g.op.Sub(axis.size, _ONE), F)
    if axis.half_pixel:
        inside = g.op.And(g.op.GreaterOrEqual(places, F(0)), g.op.LessOrEqual(places, last))
        taps = _normalised(g, g.op.Where(inside, taps, F(0)))
    places = g.op.Min(g.op.Max(places, F(0)), last)
    there = g.op.Equal(g.op.Unsqueeze(places, _LAST), axis.columns())
    spread = g.op.Where(there, g.op.Unsqueeze(taps, _LAST), F(0))
    return str(g.op.ReduceSum(spread, np.array([1], np.int64), keepdims=0))


def _normalised(g: GraphBuilder, taps: str) -> str:
    """Emit rows divided by their sums, those with a vanishing sum as they are.

    TensorFlow multiplies by the reciprocal: that of a single element is off as much there.
    """
    total = g.op.ReduceSum(taps, _LAST, keepdims=1)
    enough = g.op.GreaterOrEqual(g.op.Abs(total), TINY_TOTAL)
    return str(g.op.Mul(taps, g.op.Reciprocal(g.op.Where(enough, total, F(1)))))


def kernel_weights(
    axis: OpenAxis, scale: str, translation: str, *, kernel: str, antialias: bool
) -> str:
    """Emit the weights of TensorFlow's ``ScaleAndTranslate`` for one axis.

    Args:
        axis: The sizes.
        scale: Scale, float32 of shape `()`.
        translation: Translation, float32 of shape `()`.
        kernel: Name of the filter.
        antialias: Whether the filter is widened when the image gets smaller.
    """
    g, columns = axis.g, axis.columns()
    inverse = g.op.Reciprocal(scale)
    stretch: Any = g.op.Max(inverse, F(1)) if antialias else F(1)
    sample = g.op.Sub(
        g.op.Mul(g.op.Add(axis.rows(), F(0.5)), inverse), g.op.Mul(translation, inverse)
    )
    reach = g.op.Mul(stretch, F(KERNEL_RADIUS[kernel]))
    first = g.op.Ceil(g.op.Sub(g.op.Sub(sample, reach), F(0.5)))
    last = g.op.Floor(g.op.Sub(g.op.Add(sample, reach), F(0.5)))
    spanned = g.op.And(g.op.GreaterOrEqual(columns, first), g.op.LessOrEqual(columns, last))
    outside = g.op.Or(g.op.Less(sample, F(0)), g.op.Greater(sample, cast(g, axis.size, F)))
    spanned = g.op.And(spanned, g.op.Not(outside))
    narrow = g.op.Reciprocal(stretch) if antialias else F(1)
    distance = g.op.Abs(g.op.Mul(g.op.Sub(g.op.Add(columns, F(0.5)), sample), narrow))
    return _normalised(g, g.op.Where(spanned, _FILTERS[kernel](g, distance), F(0)))


def _lanczos(radius: float) -> Callable[[GraphBuilder, str], str]:
    def emit(g: GraphBuilder, x: str) -> str:
        near = g.op.LessOrEqual(x, F(1e-3))
        safe = g.op.Where(near, F(1), x)
        angle = g.op.Mul(safe, F(math.pi))
        waves = g.op.Mul(g.op.Sin(angle), g.op.Sin(g.op.Div(angle, F(radius))))
        value = g.op.Div(g.op.Mul(waves, F(radius)), g.op.Mul(angle, angle))
        value = g.op.Where(g.op.Greater(x, F(radius)), F(0), value)
        return str(g.op.Where(near, F(1), value))

    return emit


def _gaussian(g: GraphBuilder, x: str) -> str:
    value = g.op.Exp(g.op.Mul(g.op.Mul(x, x), F(-2.0)))  # of standard deviation a half
    return str(g.op.Where(g.op.GreaterOrEqual(x, F(1.5)), F(0), value))


def _cubic(near: tuple[float, ...], far: tuple[float, ...]) -> Callable[[GraphBuilder, str], str]:
    def polynomial(g: GraphBuilder, x: str, factors: tuple[float, ...]) -> str:
        value: Any = F(factors[0])
        for factor in factors[1:]:
            value = g.op.Add(g.op.Mul(x, value), F(factor))
        return str(value)

    def emit(g: GraphBuilder, x: str) -> str:
        outer = g.op.Where(g.op.GreaterOrEqual(x, F(2)), F(0), polynomial(g, x, far))
        return str(g.op.Where(g.op.GreaterOrEqual(x, F(1)), outer, polynomial(g, x, near)))

    return emit


def _box(g: GraphBuilder, x: str) -> str:
    edge = g.op.Where(g.op.Equal(x, F(0.5)), F(0.5), F(0))
    return str(g.op.Where(g.op.Less(x, F(0.5)), F(1), edge))


def _triangle(g: GraphBuilder, x: str) -> str:
    return str(g.op.Max(g.op.Sub(F(1), x), F(0)))


_FILTERS: dict[str, Callable[[GraphBuilder, str], str]] = {
    "lanczos1": _lanczos(1.0),
    "lanczos3": _lanczos(3.0),
    "lanczos5": _lanczos(5.0),
    "gaussian": _gaussian,
    "box": _box,
    "triangle": _triangle,
    "keyscubic": _cubic((1.5, -2.5, 0.0, 1.0), (-0.5, 2.5, -4.0, 2.0)),
    "mitchellcubic": _cubic(
        (7.0 / 6.0, -2.0, 0.0, 8.0 / 9.0), (-7.0 / 18.0, 2.0, -10.0 / 3.0, 16.0 / 9.0)
    ),
}
