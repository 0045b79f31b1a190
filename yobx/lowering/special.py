"""Special functions as series and rational fits, float32 or float64 throughout."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from yobx.xbuilder import GraphBuilder

from .casts import cast
from .transcendental import const, in_float32, log1p

__all__ = ["digamma", "erfinv", "i0e", "i1e", "lgamma", "ndtri", "polynomial"]


def polynomial(g: GraphBuilder, x: str, coefficients: Sequence[float]) -> str:
    """Emit a polynomial, highest power first, by Horner's rule.

    Args:
        g: The builder.
        x: Floats of any shape.
        coefficients: At least two, that of the highest power first.

    Returns:
        The values, of the shape and dtype of `x`.
    """
    value = g.op.Add(g.op.Mul(x, const(g, x, coefficients[0])), const(g, x, coefficients[1]))
    for coefficient in coefficients[2:]:
        value = g.op.Add(g.op.Mul(value, x), const(g, x, coefficient))
    return str(value)


# Giles' approximation of erfinv in w = -log((1 - x) (1 + x)), central and outer part.
_INNER = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
          -0.00125372503, -0.00417768164, 0.246640727, 1.50140941)  # fmt: skip
_OUTER = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
          -0.0076224613, 0.00943887047, 1.00167406, 2.83297682)  # fmt: skip


def erfinv(g: GraphBuilder, x: str) -> str:
    """Emit the inverse of ``erf``; infinite at -1 and 1, NaN outside.

    Args:
        g: The builder.
        x: Floats of any shape; 16 bits are computed in float32.

    Returns:
        The values, of the shape and dtype of `x`: two polynomials in ``-log((1 - x) (1 + x))``
        after Giles (Approximating the erfinv function, 2010), which are those of float32 in float64
        too.
    """
    value = in_float32(g, x)
    one, zero = const(g, value, 1), const(g, value, 0)
    w = g.op.Neg(log1p(g, g.op.Neg(g.op.Mul(value, value))))
    near = g.op.Less(w, const(g, value, 5))
    inner = polynomial(g, g.op.Sub(g.op.Where(near, w, zero), const(g, value, 2.5)), _INNER)
    far = g.op.Where(near, const(g, value, 9), w)
    outer = polynomial(g, g.op.Sub(g.op.Sqrt(far), const(g, value, 3)), _OUTER)
    result = g.op.Mul(g.op.Where(near, inner, outer), value)
    edge = g.op.Equal(g.op.Abs(value), one)
    endless = g.op.Mul(value, const(g, value, np.inf))
    return cast(g, g.op.Where(edge, endless, result), g.get_type(x))


def ndtri(g: GraphBuilder, x: str) -> str:
    """Emit the quantile of the normal distribution, ``sqrt(2) * erfinv(2 x - 1)``.

    Args:
        g: The builder.
        x: Probabilities, floats of any shape; 16 bits are computed in float32.

    Returns:
        The quantiles, of the shape and dtype of `x`; infinite at 0 and 1, NaN outside.
    """
    value = in_float32(g, x)
    one = const(g, value, 1)
    centred = g.op.Sub(g.op.Add(value, value), one)
    scaled = g.op.Mul(erfinv(g, centred), const(g, value, math.sqrt(2)))
    return cast(g, scaled, g.get_type(x))


# Lanczos' coefficients for g = 7.
_LANCZOS = (0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
            -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
            1.5056327351493116e-7)  # fmt: skip


def lgamma(g: GraphBuilder, x: str) -> str:
    """Emit ``log(abs(gamma(x)))``, computed in float64.

    Args:
        g: The builder.
        x: Floats of any shape.

    Returns:
        The values, of the shape and dtype of `x`: Lanczos' approximation (g = 7, nine terms),
        reflected below 1/2; infinite at 0 and at negative whole numbers.
    """
    value = cast(g, x, np.float64)
    half = const(g, value, 0.5)
    low = g.op.Less(value, half)
    reflected = g.op.Where(low, g.op.Neg(value), g.op.Sub(value, const(g, value, 1)))
    series: str = g.make_initializer(None, const(g, value, _LANCZOS[0]))
    for i, coefficient in enumerate(_LANCZOS[1:], 1):
        shifted = g.op.Add(reflected, const(g, value, float(i)))
        series = g.op.Add(series, g.op.Div(const(g, value, coefficient), shifted))
    t = g.op.Add(reflected, const(g, value, 7.5))
    main = g.op.Mul(g.op.Add(reflected, half), g.op.Log(t))
    log_gamma = g.op.Add(
        g.op.Add(g.op.Sub(main, t), g.op.Log(series)), const(g, value, 0.5 * math.log(2 * math.pi))
    )
    fraction = g.op.Sub(value, g.op.Round(value))
    sine = g.op.Abs(g.op.Sin(g.op.Mul(fraction, const(g, value, math.pi))))
    flipped = g.op.Sub(g.op.Sub(const(g, value, math.log(math.pi)), g.op.Log(sine)), log_gamma)
    result = g.op.Where(low, flipped, log_gamma)
    endless = const(g, value, np.inf)
    result = g.op.Where(g.op.IsInf(value), endless, result)
    pole = g.op.And(
        g.op.LessOrEqual(value, const(g, value, 0)), g.op.Equal(fraction, const(g, value, 0))
    )
    return cast(g, g.op.Where(pole, endless, result), g.get_type(x))


_BERNOULLI = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 5 / 660, -691 / 32760, 1 / 12)


def digamma(g: GraphBuilder, x: str) -> str:
    """Emit the derivative of ``lgamma``, computed in float64; NaN at its poles.

    Args:
        g: The builder.
        x: Floats of any shape.

    Returns:
        The values, of the shape and dtype of `x`: ten steps of the recurrence, then the asymptotic
        series (Abramowitz and Stegun, 6.3.18), reflected for negative numbers.
    """
    value = cast(g, x, np.float64)
    one = const(g, value, 1)
    low = g.op.LessOrEqual(value, const(g, value, 0))
    shifted = g.op.Where(low, g.op.Sub(one, value), value)
    total = g.make_initializer(None, const(g, value, 0))
    for i in range(10):
        total = g.op.Sub(total, g.op.Reciprocal(g.op.Add(shifted, const(g, value, float(i)))))
    big = g.op.Add(shifted, const(g, value, 10))
    inverse = g.op.Reciprocal(g.op.Mul(big, big))
    tail = g.op.Mul(polynomial(g, inverse, tuple(reversed(_BERNOULLI))), inverse)
    half = g.op.Div(const(g, value, 0.5), big)
    result = g.op.Add(total, g.op.Sub(g.op.Sub(g.op.Log(big), half), tail))
    fraction = g.op.Sub(value, g.op.Round(value))
    angle = g.op.Mul(fraction, const(g, value, math.pi))
    cotangent = g.op.Div(g.op.Cos(angle), g.op.Sin(angle))
    flipped = g.op.Sub(result, g.op.Mul(cotangent, const(g, value, math.pi)))
    pole = g.op.And(low, g.op.Equal(fraction, const(g, value, 0)))
    result = g.op.Where(low, flipped, result)
    return cast(g, g.op.Where(pole, const(g, value, np.nan), result), g.get_type(x))


def _bessel_series(order: int, terms: int) -> list[float]:
    """Return the power series of ``I_order(x) / (x/2)**order`` in ``(x/16)**2``, highest first.

    In ``(x/2)**2`` the last ones would be below 1e-45, which onnxruntime takes for zeros.
    """
    values = [64.0**k / (math.factorial(k) * math.factorial(k + order)) for k in range(terms)]
    return values[::-1]


def _bessel_tail(order: int, terms: int) -> list[float]:
    """Return the asymptotic series of ``I_order(x) exp(-x) sqrt(2 pi x)`` in ``1/x``."""
    values, term = [1.0], 1.0
    for k in range(1, terms):
        term *= -(4.0 * order * order - (2 * k - 1) ** 2) / (k * 8.0)
        values.append(term)
    return values[::-1]


def _bessel_e(g: GraphBuilder, x: str, order: int) -> str:
    value = cast(g, x, np.float64)
    size = g.op.Abs(value)
    edge = const(g, value, 20.0)
    near = g.op.Less(size, edge)
    small = g.op.Where(near, size, const(g, value, 0))
    half = g.op.Mul(small, const(g, value, 0.5))
    part = g.op.Mul(small, const(g, value, 1 / 16))  # exact: the sum has the error of its square
    series = polynomial(g, g.op.Mul(part, part), _bessel_series(order, 45))
    inner = g.op.Mul(series, g.op.Exp(g.op.Neg(small)))
    if order:
        inner = g.op.Mul(inner, half)
    large = g.op.Where(near, edge, size)
    tail = polynomial(g, g.op.Reciprocal(large), _bessel_tail(order, 28))
    root = g.op.Sqrt(g.op.Mul(large, const(g, value, 2 * math.pi)))
    result = g.op.Where(near, inner, g.op.Div(tail, root))
    return str(g.op.Mul(g.op.Sign(value), result)) if order else str(result)


def i0e(g: GraphBuilder, x: str) -> str:
    """Emit the modified Bessel function of order 0 times ``exp(-abs(x))``, float64.

    Args:
        g: The builder.
        x: Floats of any shape.

    Returns:
        The values, float64, of the shape of `x`: the power series near zero (Abramowitz and Stegun,
        9.6.10), the asymptotic one (9.7.1) beyond.
    """
    return _bessel_e(g, x, 0)


def i1e(g: GraphBuilder, x: str) -> str:
    """Emit the modified Bessel function of order 1 times ``exp(-abs(x))``, float64.

    Args:
        g: The builder.
        x: Floats of any shape.

    Returns:
        The values, float64, of the shape of `x`, by the series of `i0e`; odd in `x`.
    """
    return _bessel_e(g, x, 1)
