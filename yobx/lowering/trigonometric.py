"""The tangent and the inverse functions, which onnxruntime has up to float32 only.

In float64 they are written out of the functions it has, to the accuracy of the type.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .dtypes import DTYPES
from .legalise import legal
from .transcendental import Outputs, const, finish, in_float32, native

__all__ = ["acos", "asin", "atan", "atan2", "tan"]

#: A quarter of a turn in pieces of 33 bits, so that a product with a small count is exact.
_QUARTER = (1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
_MOST_QUARTERS = 2.0**20


def _runs(g: GraphBuilder, op_type: str, x: str) -> bool:
    """Tell whether the operator itself does, half precision by way of float32."""
    return g.get_type(x) != DTYPES["float64"] or native(g, op_type, x)


def tan(g: GraphBuilder, x: str, outputs: Outputs = None, name: str | None = None) -> str:
    """Emit ``tan(x)``; in float64 by the angle to the nearest zero or pole.

    Near a pole the cosine of the angle itself has an absolute accuracy only.

    Args:
        g: The builder.
        x: Floats of any shape.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        Floats of the shape and dtype of `x`.
    """
    if _runs(g, "Tan", x):
        return str(legal(g).Tan(x, outputs=outputs, name=name))
    quarters = g.op.Round(g.op.Mul(x, const(g, x, 2 / np.pi)))
    reduced = x
    for piece in _QUARTER:
        reduced = g.op.Sub(reduced, g.op.Mul(quarters, const(g, x, piece)))
    count = g.op.Abs(quarters)
    turned = g.op.And(
        g.op.Greater(count, const(g, x, 0)), g.op.Less(count, const(g, x, _MOST_QUARTERS))
    )
    angle = g.op.Where(turned, reduced, x)
    halves = g.op.Mul(count, const(g, x, 0.5))
    odd = g.op.And(turned, g.op.Not(g.op.Equal(g.op.Floor(halves), halves)))
    sine, cosine = g.op.Sin(angle), g.op.Cos(angle)
    above = g.op.Where(odd, g.op.Neg(cosine), sine)
    return str(g.op.Div(above, g.op.Where(odd, sine, cosine), outputs=outputs, name=name))


def atan(g: GraphBuilder, x: str, outputs: Outputs = None, name: str | None = None) -> str:
    """Emit ``atan(x)``; in float64 by three half-angle steps and the power series.

    Args:
        g: The builder.
        x: Floats of any shape.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        Floats of the shape and dtype of `x`, in radians.
    """
    if _runs(g, "Atan", x):
        return str(legal(g).Atan(x, outputs=outputs, name=name))
    one = const(g, x, 1)
    size = g.op.Abs(x)
    inverted = g.op.Greater(size, one)
    t = g.op.Where(inverted, g.op.Reciprocal(g.op.Where(inverted, size, one)), size)
    for _ in range(3):
        t = g.op.Div(t, g.op.Add(one, g.op.Sqrt(g.op.Add(one, g.op.Mul(t, t)))))
    square = g.op.Mul(t, t)
    series: Any = const(g, x, 1 / 25)
    for k in range(11, -1, -1):
        sign = -1.0 if k % 2 else 1.0
        series = g.op.Add(g.op.Mul(series, square), const(g, x, sign / (2 * k + 1)))
    angle = g.op.Mul(g.op.Mul(series, t), const(g, x, 8))
    angle = g.op.Where(inverted, g.op.Sub(const(g, x, np.pi / 2), angle), angle)
    return str(g.op.Mul(g.op.Sign(x), angle, outputs=outputs, name=name))


def atan2(g: GraphBuilder, y: str, x: str, outputs: Outputs = None, name: str | None = None) -> str:
    """Emit the angle of ``(x, y)`` in `[-pi, pi]`, with signed zeros and infinities as in C.

    Args:
        g: The builder.
        y: Floats of the dtype of `x` that broadcast with it.
        x: Floats of any shape.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        Floats of the broadcast shape and the dtype of `x`, in radians.
    """
    like = y
    y, x = in_float32(g, y), in_float32(g, x)
    zero, one = const(g, x, 0), const(g, x, 1)
    ax, ay = g.op.Abs(x), g.op.Abs(y)
    big, small = g.op.Max(ax, ay), g.op.Min(ax, ay)
    origin = g.op.Equal(big, zero)
    diagonal = g.op.And(g.op.Equal(ax, ay), g.op.Not(origin))  # also of two infinities
    ratio = g.op.Div(small, g.op.Where(origin, one, big))
    angle = atan(g, g.op.Where(diagonal, one, ratio))
    angle = g.op.Where(g.op.Greater(ay, ax), g.op.Sub(const(g, x, np.pi / 2), angle), angle)
    left, down = (g.op.Less(_signed(g, v), zero) for v in (x, y))
    angle = g.op.Where(left, g.op.Sub(const(g, x, np.pi), angle), angle)
    angle = g.op.Where(down, g.op.Neg(angle), angle)
    unknown = g.op.Or(g.op.IsNaN(x), g.op.IsNaN(y))
    return finish(g, g.op.Where(unknown, const(g, x, np.nan), angle, name=name), like, outputs)


def _signed(g: GraphBuilder, x: str) -> str:
    """Return something with the sign of ``x``: the reciprocal shows that of a zero."""
    zero = g.op.Equal(x, const(g, x, 0))
    return str(g.op.Where(zero, g.op.Reciprocal(x), x))


def asin(g: GraphBuilder, x: str, outputs: Outputs = None, name: str | None = None) -> str:
    """Emit ``asin(x)``; in float64 as the angle of ``(sqrt((1 - x)(1 + x)), x)``.

    Args:
        g: The builder.
        x: Floats of any shape.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        Floats of the shape and dtype of `x`, in radians.
    """
    if _runs(g, "Asin", x):
        return str(legal(g).Asin(x, outputs=outputs, name=name))
    return atan2(g, x, _other_leg(g, x), outputs, name)


def acos(g: GraphBuilder, x: str, outputs: Outputs = None, name: str | None = None) -> str:
    """Emit ``acos(x)``; in float64 as the angle of ``(x, sqrt((1 - x)(1 + x)))``.

    Args:
        g: The builder.
        x: Floats of any shape.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        Floats of the shape and dtype of `x`, in radians.
    """
    if _runs(g, "Acos", x):
        return str(legal(g).Acos(x, outputs=outputs, name=name))
    return atan2(g, _other_leg(g, x), x, outputs, name)


def _other_leg(g: GraphBuilder, x: str) -> str:
    """Return ``sqrt(1 - x * x)`` without cancellation."""
    one = const(g, x, 1)
    return str(g.op.Sqrt(g.op.Mul(g.op.Sub(one, x), g.op.Add(one, x))))
