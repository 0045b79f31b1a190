"""Inverse trigonometric and hyperbolic functions of complex numbers given by their parts.

They are Kahan's formulas ("Branch cuts for complex elementary functions"): the sign of a zero tells
the side of a branch cut, and nothing overflows or cancels on the way.
"""

from __future__ import annotations

from collections.abc import Callable

from yobx.xbuilder import GraphBuilder

from . import transcendental
from .complex_parts import Pair, absolute, square_root
from .transcendental import const
from .trigonometric import atan2

__all__ = ["INVERSE"]

Function = Callable[[GraphBuilder, Pair], Pair]

#: Nearer than this to a pole, the logarithm of one more is that of the number itself.
_NEAR = 1e-9
#: Beyond this ``atanh`` is a quarter of a turn.
_FAR = 1e30


def _negative(g: GraphBuilder, x: str) -> str:
    return str(g.op.Neg(x))


def _of_product(g: GraphBuilder, x: Pair, y: Pair, *, conjugate: bool) -> Pair:
    """``x * y`` or ``conj(x) * y``."""
    (a, b), (c, d) = x, y
    emit_real, emit_imaginary = (g.op.Add, g.op.Sub) if conjugate else (g.op.Sub, g.op.Add)
    real = emit_real(g.op.Mul(a, c), g.op.Mul(b, d))
    return str(real), str(emit_imaginary(g.op.Mul(a, d), g.op.Mul(b, c)))


def _roots(g: GraphBuilder, x: Pair) -> tuple[Pair, Pair]:
    """``sqrt(1 - x)`` and ``sqrt(1 + x)``."""
    a, b = x
    one = const(g, a, 1)
    below = square_root(g, (str(g.op.Sub(one, a)), _negative(g, b)))
    return below, square_root(g, (str(g.op.Add(one, a)), b))


def arc_sine(g: GraphBuilder, x: Pair) -> Pair:
    """``asin(x)``.

    Args:
        g: The builder.
        x: Real and imaginary parts, two floats of one dtype.

    Returns:
        Parts of the results.
    """
    below, above = _roots(g, x)
    leg, _ = _of_product(g, below, above, conjugate=False)
    _, size = _of_product(g, below, above, conjugate=True)
    far = g.op.Or(g.op.IsInf(x[0]), g.op.IsInf(x[1]))
    leg = str(g.op.Where(far, g.op.Abs(x[1]), leg))
    return atan2(g, x[0], leg), transcendental.asinh(g, size)


def arc_cosine(g: GraphBuilder, x: Pair) -> Pair:
    """``acos(x)``.

    Args:
        g: The builder.
        x: Real and imaginary parts, two floats of one dtype.

    Returns:
        Parts of the results.
    """
    below, above = _roots(g, x)
    _, size = _of_product(g, above, below, conjugate=True)
    half = atan2(g, below[0], above[0])
    return str(g.op.Add(half, half)), transcendental.asinh(g, size)


def arc_hyperbolic_cosine(g: GraphBuilder, x: Pair) -> Pair:
    """``acosh(x)``.

    Args:
        g: The builder.
        x: Real and imaginary parts, two floats of one dtype.

    Returns:
        Parts of the results.
    """
    a, b = x
    one = const(g, a, 1)
    below = square_root(g, (str(g.op.Sub(a, one)), b))
    above = square_root(g, (str(g.op.Add(a, one)), b))
    size, _ = _of_product(g, below, above, conjugate=True)
    half = atan2(g, below[1], above[0])
    return transcendental.asinh(g, size), str(g.op.Add(half, half))


def arc_hyperbolic_tangent(g: GraphBuilder, x: Pair) -> Pair:
    """``atanh(x)``, odd: its real part by the size of the real part.

    Args:
        g: The builder.
        x: Real and imaginary parts, two floats of one dtype.

    Returns:
        Parts of the results.
    """
    a, b = x
    zero, one, two = (const(g, a, value) for value in (0, 1, 2))
    size = g.op.Abs(a)
    distance = absolute(g, (str(g.op.Sub(one, size)), b))
    is_near = g.op.Less(distance, const(g, a, _NEAR))
    safe = g.op.Where(is_near, one, distance)
    four = const(g, a, 4)
    growth = transcendental.log1p(g, g.op.Mul(g.op.Div(size, safe), g.op.Div(four, safe)))
    pole = g.op.Sub(g.op.Log(four), g.op.Mul(g.op.Log(distance), two))  # the size is 1 there
    far = g.op.Or(g.op.IsInf(a), g.op.IsInf(b))
    growth = g.op.Where(far, zero, g.op.Where(is_near, pole, growth))
    # 1 / -0 is -inf: the only way to see the sign of a zero
    seen = g.op.Where(g.op.Equal(a, zero), g.op.Reciprocal(a), a)
    grown = g.op.Mul(growth, const(g, a, 0.25))
    real = g.op.Where(g.op.Less(seen, zero), g.op.Neg(grown), grown)
    bounded = g.op.Clip(b, const(g, b, -_FAR), const(g, b, _FAR))
    largest = g.op.Max(g.op.Max(size, g.op.Abs(bounded)), one)
    unit, across, up = (g.op.Div(value, largest) for value in (one, a, bounded))
    near = g.op.Mul(g.op.Sub(unit, across), g.op.Add(unit, across))
    leg = g.op.Where(far, const(g, a, -1), g.op.Sub(near, g.op.Mul(up, up)))
    height = g.op.Mul(g.op.Mul(up, two), unit)
    return str(real), str(g.op.Mul(atan2(g, height, leg), const(g, a, 0.5)))


def _rotated(function: Function) -> Function:
    """``-i f(i x)``."""

    def emit(g: GraphBuilder, x: Pair) -> Pair:
        real, imaginary = function(g, (_negative(g, x[1]), x[0]))
        return imaginary, _negative(g, real)

    return emit


#: Functions by their name in mathematics.
INVERSE: dict[str, Function] = {
    "asin": arc_sine,
    "acos": arc_cosine,
    "atan": _rotated(arc_hyperbolic_tangent),
    "asinh": _rotated(arc_sine),
    "acosh": arc_hyperbolic_cosine,
    "atanh": arc_hyperbolic_tangent,
}
