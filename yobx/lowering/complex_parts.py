"""Elementary functions of complex numbers whose parts are two tensors of one real type.

Each function takes and returns names of parts, real part first; the parts broadcast. Intermediate
results do not overflow where the result does not, up to the square root of the largest number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from yobx.xbuilder import GraphBuilder

from . import transcendental
from .transcendental import const

__all__ = [
    "FUNCTIONS",
    "Pair",
    "absolute",
    "cosine",
    "divide",
    "exponential",
    "exponential_minus_one",
    "hyperbolic_cosine",
    "hyperbolic_sine",
    "hyperbolic_tangent",
    "log_one_plus",
    "logarithm",
    "logistic",
    "multiply",
    "power",
    "sign",
    "sine",
    "square_root",
    "tangent",
]

Pair = tuple[str, str]
Angle = Callable[[GraphBuilder, str, str], str]

#: Beyond this argument ``tanh`` is 1, and ``cosh`` squared does not overflow.
_SATURATED = {1: 40.0, 11: 300.0}
#: Up to this argument ``cosh`` and ``sinh`` do not overflow.
_HUGE = {1: 80.0, 11: 700.0}


def multiply(g: GraphBuilder, x: Pair, y: Pair) -> Pair:
    """``x * y``.

    Args:
        g: The builder.
        x: Real and imaginary parts, two floats of one dtype.
        y: The same, of shapes that broadcast.

    Returns:
        Parts of the results.
    """
    (a, b), (c, d) = x, y
    real = g.op.Sub(g.op.Mul(a, c), g.op.Mul(b, d))
    return str(real), str(g.op.Add(g.op.Mul(a, d), g.op.Mul(b, c)))


def divide(g: GraphBuilder, x: Pair, y: Pair) -> Pair:
    """``x / y``, both scaled by the larger part of ``y``.

    Args:
        g: The builder.
        x: Real and imaginary parts, two floats of one dtype.
        y: The same, of shapes that broadcast.

    Returns:
        Parts of the results.
    """
    scale = g.op.Max(g.op.Abs(y[0]), g.op.Abs(y[1]))
    a, b, c, d = (str(g.op.Div(part, scale)) for part in (*x, *y))
    size = g.op.Add(g.op.Mul(c, c), g.op.Mul(d, d))
    real = g.op.Add(g.op.Mul(a, c), g.op.Mul(b, d))
    imaginary = g.op.Sub(g.op.Mul(b, c), g.op.Mul(a, d))
    return str(g.op.Div(real, size)), str(g.op.Div(imaginary, size))


def absolute(g: GraphBuilder, x: Pair) -> str:
    """Length of the vector ``x``.

    Args:
        g: The builder.
        x: Real and imaginary parts, two floats of one dtype.

    Returns:
        Floats of the dtype of the parts.
    """
    a, b = (g.op.Abs(part) for part in x)
    big, small = g.op.Max(a, b), g.op.Min(a, b)
    is_plain = g.op.And(g.op.Greater(big, const(g, a, 0)), g.op.Not(g.op.IsInf(big)))
    ratio = g.op.Div(small, g.op.Where(is_plain, big, const(g, a, 1)))
    length = g.op.Mul(big, g.op.Sqrt(g.op.Add(g.op.Mul(ratio, ratio), const(g, a, 1))))
    return str(g.op.Where(g.op.Or(is_plain, g.op.IsNaN(big)), length, big))


def sign(g: GraphBuilder, x: Pair) -> Pair:
    """``x / abs(x)``, 0 for 0.

    Args:
        g: The builder.
        x: Real and imaginary parts, two floats of one dtype.

    Returns:
        Parts of the results.
    """
    length = absolute(g, x)
    is_zero = g.op.Equal(length, const(g, length, 0))
    safe = g.op.Where(is_zero, const(g, length, 1), length)
    return str(g.op.Div(x[0], safe)), str(g.op.Div(x[1], safe))


def logarithm(g: GraphBuilder, x: Pair, angle: Angle) -> Pair:
    """``log(x)``; ``angle`` emits ``atan2(y, x)``."""
    return str(g.op.Log(absolute(g, x))), angle(g, x[1], x[0])


def log_one_plus(g: GraphBuilder, x: Pair, angle: Angle) -> Pair:
    """``log(1 + x)``, exact for small ``x``.

    Args:
        g: The builder.
        x: Real and imaginary parts, two floats of one dtype.
        angle: Writes the angle of a vector, from its second part and its first.

    Returns:
        Parts of the results.
    """
    a, b = x
    one = const(g, a, 1)
    shifted = str(g.op.Add(a, one))
    square = g.op.Add(g.op.Mul(a, g.op.Add(a, const(g, a, 2))), g.op.Mul(b, b))
    near = g.op.Mul(transcendental.log1p(g, square), const(g, a, 0.5))
    far = g.op.Log(absolute(g, (shifted, b)))
    is_near = g.op.Less(g.op.Max(g.op.Abs(a), g.op.Abs(b)), const(g, a, 0.5))
    return str(g.op.Where(is_near, near, far)), angle(g, b, shifted)


def exponential(g: GraphBuilder, x: Pair) -> Pair:
    """``exp(x)``; of a real number it is real, and of infinite ones as in C.

    Args:
        g: The builder.
        x: Real and imaginary parts, two floats of one dtype.

    Returns:
        Parts of the results.
    """
    a, b = x
    size, zero = g.op.Exp(a), const(g, a, 0)
    across, up = (g.op.Mul(size, f(b)) for f in (g.op.Cos, g.op.Sin))
    nowhere = g.op.And(g.op.IsInf(a), g.op.Or(g.op.IsNaN(b), g.op.IsInf(b)))
    vanished = g.op.And(nowhere, g.op.Equal(size, zero))
    real = g.op.Where(nowhere, size, across)
    imaginary = g.op.Where(g.op.Equal(b, zero), b, g.op.Where(vanished, zero, up))
    return str(real), str(imaginary)


def exponential_minus_one(g: GraphBuilder, x: Pair) -> Pair:
    """``exp(x) - 1``.

    Args:
        g: The builder.
        x: Real and imaginary parts, two floats of one dtype.

    Returns:
        Parts of the results.
    """
    a, b = x
    half = g.op.Sin(g.op.Mul(b, const(g, b, 0.5)))
    versine = g.op.Mul(g.op.Mul(half, half), const(g, b, 2))  # 1 - cos(b)
    grown = transcendental.expm1(g, a)
    real = g.op.Sub(g.op.Mul(grown, g.op.Cos(b)), versine)
    return str(real), str(g.op.Mul(g.op.Exp(a), g.op.Sin(b)))


def square_root(g: GraphBuilder, x: Pair) -> Pair:
    """``sqrt(x)``, with the cut along the negative real axis.

    Args:
        g: The builder.
        x: Real and imaginary parts, two floats of one dtype.

    Returns:
        Parts of the results.
    """
    a, b = x
    zero = const(g, a, 0)
    half = const(g, a, 0.5)
    halves = (g.op.Mul(size, half) for size in (absolute(g, x), g.op.Abs(a)))
    root = g.op.Sqrt(g.op.Add(*halves))
    is_zero = g.op.Equal(root, zero)
    other = g.op.Div(g.op.Mul(b, half), g.op.Where(is_zero, const(g, a, 1), root))
    is_right = g.op.GreaterOrEqual(a, zero)
    # 1 / -0 is -inf: the only way to see the sign of a zero
    seen = g.op.Where(g.op.Equal(b, zero), g.op.Reciprocal(b), b)
    turned = g.op.Where(g.op.Less(seen, zero), g.op.Neg(root), root)
    real = g.op.Where(is_right, root, g.op.Abs(other))
    endless = g.op.IsInf(b)
    imaginary = g.op.Where(is_right, other, turned)
    return (
        str(g.op.Where(endless, g.op.Abs(b), real)),
        str(g.op.Where(endless, b, imaginary)),
    )


def reciprocal_square_root(g: GraphBuilder, x: Pair) -> Pair:
    """``1 / sqrt(x)``.

    Args:
        g: The builder.
        x: Real and imaginary parts, two floats of one dtype.

    Returns:
        Parts of the results.
    """
    root = square_root(g, x)
    one = g.make_initializer(None, const(g, x[0], 1))
    return divide(g, (one, g.make_initializer(None, const(g, x[0], 0))), root)


def logistic(g: GraphBuilder, x: Pair) -> Pair:
    """``1 / (1 + exp(-x))``, on the left ``exp(x) / (1 + exp(x))``: neither overflows.

    Args:
        g: The builder.
        x: Real and imaginary parts, two floats of one dtype.

    Returns:
        Parts of the results.
    """
    one, zero = const(g, x[0], 1), const(g, x[0], 0)
    is_left = g.op.Less(x[0], zero)
    down = [str(g.op.Where(is_left, part, g.op.Neg(part))) for part in x]
    real, imaginary = exponential(g, (down[0], down[1]))
    above = str(g.op.Where(is_left, real, one)), str(g.op.Where(is_left, imaginary, zero))
    return divide(g, above, (str(g.op.Add(real, one)), imaginary))


def _grown(g: GraphBuilder, x: str) -> tuple[str, str, str]:
    """``cosh(x)``, ``sinh(x)`` and what both are still to be multiplied by, where they are huge."""
    far = g.op.Greater(g.op.Abs(x), const(g, x, _HUGE[int(g.get_type(x))]))
    root = g.op.Exp(g.op.Mul(g.op.Abs(x), const(g, x, 0.5)))
    half = g.op.Mul(root, const(g, x, 0.5))
    cosh = g.op.Where(far, half, transcendental.cosh(g, x))
    sinh = g.op.Where(far, g.op.Mul(g.op.Sign(x), half), transcendental.sinh(g, x))
    return str(cosh), str(sinh), str(g.op.Where(far, root, const(g, x, 1)))


def _turned(g: GraphBuilder, wave: str, size: str, more: str) -> str:
    """``wave * size * more``; 0 times infinity, and NaN times 0, are 0."""
    zero = const(g, wave, 0)
    nothing = g.op.And(g.op.Equal(size, zero), g.op.IsNaN(wave))
    product = g.op.Mul(g.op.Mul(wave, size), more)
    flat = g.op.Mul(wave, g.op.Sign(size))
    product = g.op.Where(g.op.Equal(wave, zero), flat, product)
    return str(g.op.Where(nothing, size, product))


def sine(g: GraphBuilder, x: Pair) -> Pair:
    """``sin(x)``.

    Args:
        g: The builder.
        x: Real and imaginary parts, two floats of one dtype.

    Returns:
        Parts of the results.
    """
    a, b = x
    cosh, sinh, more = _grown(g, b)
    return _turned(g, g.op.Sin(a), cosh, more), _turned(g, g.op.Cos(a), sinh, more)


def cosine(g: GraphBuilder, x: Pair) -> Pair:
    """``cos(x)``.

    Args:
        g: The builder.
        x: Real and imaginary parts, two floats of one dtype.

    Returns:
        Parts of the results.
    """
    a, b = x
    cosh, sinh, more = _grown(g, b)
    imaginary = g.op.Neg(_turned(g, g.op.Sin(a), sinh, more))
    return _turned(g, g.op.Cos(a), cosh, more), str(imaginary)


def hyperbolic_sine(g: GraphBuilder, x: Pair) -> Pair:
    """``sinh(x)``, which is ``-i sin(i x)``."""
    imaginary, real = sine(g, (x[1], x[0]))
    return real, imaginary


def hyperbolic_cosine(g: GraphBuilder, x: Pair) -> Pair:
    """``cosh(x)``, which is ``cos(i x)``.

    Args:
        g: The builder.
        x: Real and imaginary parts, two floats of one dtype.

    Returns:
        Parts of the results.
    """
    a, b = x
    cosh, sinh, more = _grown(g, a)
    return _turned(g, g.op.Cos(b), cosh, more), _turned(g, g.op.Sin(b), sinh, more)


def hyperbolic_tangent(g: GraphBuilder, x: Pair) -> Pair:
    """``tanh(x)``.

    Args:
        g: The builder.
        x: Real and imaginary parts, two floats of one dtype.

    Returns:
        Parts of the results.
    """
    a, b = x
    limit, zero = _SATURATED[int(g.get_type(a))], const(g, a, 0)
    bounded = g.op.Clip(a, const(g, a, -limit), const(g, a, limit))
    bounded = g.op.Where(g.op.IsNaN(a), a, bounded)
    sinh, cosh = transcendental.sinh(g, bounded), transcendental.cosh(g, bounded)
    sin, cos = g.op.Sin(b), g.op.Cos(b)
    divisor = g.op.Add(g.op.Mul(sinh, sinh), g.op.Mul(cos, cos))
    real = g.op.Div(g.op.Mul(sinh, cosh), divisor)
    imaginary = g.op.Div(g.op.Mul(sin, cos), divisor)
    endless = g.op.IsInf(a)
    real = g.op.Where(endless, g.op.Sign(a), g.op.Where(g.op.Equal(a, zero), a, real))
    lost = g.op.And(endless, g.op.IsNaN(imaginary))
    imaginary = g.op.Where(g.op.Equal(b, zero), b, g.op.Where(lost, zero, imaginary))
    return str(real), str(imaginary)


def tangent(g: GraphBuilder, x: Pair) -> Pair:
    """``tan(x)``, which is ``-i tanh(i x)``."""
    real, imaginary = hyperbolic_tangent(g, (str(g.op.Neg(x[1])), x[0]))
    return imaginary, str(g.op.Neg(real))


def power(g: GraphBuilder, x: Pair, y: Pair, angle: Angle) -> Pair:
    """``x ** y``; 0 to the power 0 is 1, and 0 to any other power 0.

    Args:
        g: The builder.
        x: Real and imaginary parts, two floats of one dtype.
        y: The exponents, parts of shapes that broadcast.
        angle: Writes the angle of a vector, from its second part and its first.

    Returns:
        Parts of the results.
    """
    length = absolute(g, x)
    zero, one = const(g, length, 0), const(g, length, 1)
    is_zero = g.op.Equal(length, zero)
    size = g.op.Log(g.op.Where(is_zero, one, length))
    turn = angle(g, x[1], x[0])
    grown = g.op.Exp(g.op.Sub(g.op.Mul(y[0], size), g.op.Mul(y[1], turn)))
    phase = g.op.Add(g.op.Mul(y[1], size), g.op.Mul(y[0], turn))
    real, imaginary = g.op.Mul(grown, g.op.Cos(phase)), g.op.Mul(grown, g.op.Sin(phase))
    is_plain = g.op.And(g.op.Equal(y[0], zero), g.op.Equal(y[1], zero))
    at_zero = g.op.Where(is_plain, one, zero)
    return str(g.op.Where(is_zero, at_zero, real)), str(g.op.Where(is_zero, zero, imaginary))


#: Functions of one argument by the name of their StableHLO operation.
FUNCTIONS: dict[str, Callable[[GraphBuilder, Pair], Any]] = {
    "exponential": exponential,
    "exponential_minus_one": exponential_minus_one,
    "sqrt": square_root,
    "rsqrt": reciprocal_square_root,
    "logistic": logistic,
    "sine": sine,
    "cosine": cosine,
    "tanh": hyperbolic_tangent,
    "tan": tangent,
    "sign": sign,
}
