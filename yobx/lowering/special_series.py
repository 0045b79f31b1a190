"""Special functions of one or two arguments as series, fractions and quadratures, in float64.

Series whose length depends on the argument are loops that end when nothing changes any more; the
others sum over a new last axis.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .casts import cast
from .looping import repeated
from .special import digamma, lgamma
from .transcendental import log1p

__all__ = [
    "bessel_j",
    "bessel_ke",
    "betainc",
    "dawson",
    "expint",
    "fresnel",
    "igamma",
    "polygamma",
    "spence",
    "zeta",
]

_LAST = np.array([-1], np.int64)
_EPSILON = 2.0**-53
_TINY = 1e-300
_MOST = 2000
Array = np.ndarray[Any, Any]


def _number(value: float) -> Array:
    return np.array(value, np.float64)


_ZERO, _ONE = _number(0), _number(1)


def _double(g: GraphBuilder, x: str) -> str:
    return cast(g, x, np.float64)


def _together(g: GraphBuilder, *values: str) -> list[str]:
    """Return the values in float64, of one shape."""
    wide = [_double(g, v) for v in values]
    shape = g.op.Shape(wide[0])
    for value in wide[1:]:
        shape = g.op.Shape(g.op.Expand(value, shape))
    return [str(g.op.Expand(v, shape)) for v in wide]


def _some(g: GraphBuilder, mask: str) -> str:
    """Return whether an element is true; of none, false."""
    count = g.op.ReduceSum(g.op.Cast(mask, to=6), keepdims=0)
    return str(g.op.Greater(count, np.array(0, np.int32)))


def _sum_over(g: GraphBuilder, terms: str) -> str:
    return str(g.op.ReduceSum(terms, _LAST, keepdims=0))


def _spread(g: GraphBuilder, x: str) -> str:
    """Return ``x`` with a last axis to sum over."""
    return str(g.op.Unsqueeze(x, _LAST))


def _gauss(count: int) -> tuple[Array, Array]:
    """Return nodes and weights of Gauss' quadrature on `[0, 1]`.

    By Newton's method in the longest type: of 96 weights of NumPy some are off by 1e-12.
    """
    nodes: Array = np.polynomial.legendre.leggauss(count)[0].astype(np.longdouble)
    for _ in range(3):
        before: Array = np.ones_like(nodes)
        value = nodes
        for k in range(2, count + 1):
            before, value = value, ((2 * k - 1) * nodes * value - (k - 1) * before) / k
        slope = count * (nodes * value - before) / (nodes * nodes - 1)
        weights = 1 / ((1 - nodes * nodes) * slope * slope)
        nodes = nodes - value / slope
    return ((nodes + 1) / 2).astype(np.float64), weights.astype(np.float64)


def igamma(g: GraphBuilder, a: str, x: str, *, upper: bool) -> str:
    """Emit a regularised incomplete gamma function, lower (P) or upper (Q), in float64.

    Args:
        g: The builder.
        a: Parameter, floats.
        x: Argument, floats; the two broadcast.
        upper: Whether Q is meant.

    Returns:
        The values, float64: the power series where ``x < a + 1``, else the continued fraction by
        Lentz' method (Numerical Recipes, 6.2), each one minus the other function where that is
        asked for. NaN unless ``a > 0`` and ``x >= 0``.
    """
    a, x = _together(g, a, x)
    valid = g.op.And(g.op.Greater(a, _ZERO), g.op.GreaterOrEqual(x, _ZERO))
    usable = g.op.And(valid, g.op.Less(x, _number(np.inf)))
    a1, x1 = g.op.Where(usable, a, _ONE), g.op.Where(usable, x, _ONE)
    edge = g.op.Add(a1, _ONE)
    factor = g.op.Exp(g.op.Sub(g.op.Sub(g.op.Mul(a1, g.op.Log(x1)), x1), lgamma(g, a1)))
    low = g.op.Mul(factor, _gamma_series(g, a1, g.op.Min(x1, edge)))
    high = g.op.Mul(factor, _gamma_fraction(g, a1, g.op.Max(x1, edge)))
    first, other = (high, low) if upper else (low, high)
    near = g.op.GreaterOrEqual(x1, edge) if upper else g.op.Less(x1, edge)
    value = g.op.Where(near, first, g.op.Sub(_ONE, other))
    endless = g.op.And(valid, g.op.IsInf(x))
    value = g.op.Where(endless, _number(0 if upper else 1), value)
    heavy = g.op.And(valid, g.op.IsInf(a))  # neither is 1 where both are infinite
    if upper:
        heavy = g.op.And(heavy, g.op.Less(x, _number(np.inf)))
    value = g.op.Where(heavy, _number(1 if upper else 0), value)
    value = g.op.Where(valid, value, _number(np.nan))
    if upper:
        return str(value)
    return str(g.op.Where(g.op.Equal(x, _ZERO), _ZERO, value))


def _gamma_series(g: GraphBuilder, a: str, x: str) -> str:
    """Emit ``sum(x**k / (a (a + 1) .. (a + k)))``."""
    start = g.op.Reciprocal(a)

    def step(b: GraphBuilder, turn: str, states: list[str]) -> tuple[list[str], str]:
        term, total, divisor = states
        divisor = b.op.Add(divisor, _ONE)
        term = b.op.Mul(term, b.op.Div(x, divisor))
        total = b.op.Add(total, term)
        moving = b.op.Greater(term, b.op.Mul(total, _number(_EPSILON)))
        return [term, total, divisor], _some(b, moving)

    return repeated(g, _MOST, [start, start, a], step)[1]


def _gamma_fraction(g: GraphBuilder, a: str, x: str) -> str:
    """Emit the continued fraction of the upper function by Lentz' method."""
    b0 = g.op.Sub(g.op.Add(x, _ONE), a)
    d0 = g.op.Reciprocal(b0)
    c0 = g.op.Expand(_number(1 / _TINY), g.op.Shape(x))

    def step(b: GraphBuilder, turn: str, states: list[str]) -> tuple[list[str], str]:
        base, c, d, total = states
        i = b.op.Add(b.op.Cast(turn, to=11), _ONE)
        numerator = b.op.Mul(b.op.Neg(i), b.op.Sub(i, a))
        base = b.op.Add(base, _number(2))
        c, d, total, moving = _lentz(b, numerator, base, (c, d, total))
        return [base, c, d, total], moving

    return repeated(g, _MOST, [b0, c0, d0, d0], step)[3]


def _lentz(
    b: GraphBuilder, numerator: str, base: Any, states: tuple[str, str, str]
) -> tuple[str, str, str, str]:
    """Emit one step of Lentz' method; also say whether something still changes."""
    c, d, total = states
    d = _not_zero(b, b.op.Add(b.op.Mul(numerator, d), base))
    c = _not_zero(b, b.op.Add(base, b.op.Div(numerator, c)))
    d = b.op.Reciprocal(d)
    change = b.op.Mul(d, c)
    moving = b.op.Greater(b.op.Abs(b.op.Sub(change, _ONE)), _number(4 * _EPSILON))
    return c, d, str(b.op.Mul(total, change)), _some(b, moving)


def _not_zero(b: GraphBuilder, x: str) -> str:
    return str(b.op.Where(b.op.Less(b.op.Abs(x), _number(_TINY)), _number(_TINY), x))


def betainc(g: GraphBuilder, a: str, b: str, x: str) -> str:
    """Emit the regularised incomplete beta function in float64.

    Args:
        g: The builder.
        a: First parameter, floats.
        b: Second parameter, floats.
        x: Argument between 0 and 1, floats; the three broadcast.

    Returns:
        The values, float64: the continued fraction by Lentz' method, of ``1 - x`` with the
        parameters exchanged where it converges faster (Numerical Recipes, 6.4). NaN for other
        arguments.
    """
    a, b, x = _together(g, a, b, x)
    positive = g.op.And(g.op.Greater(a, _ZERO), g.op.Greater(b, _ZERO))
    inside = g.op.And(g.op.GreaterOrEqual(x, _ZERO), g.op.LessOrEqual(x, _ONE))
    valid = g.op.And(positive, inside)
    a1, b1 = g.op.Where(valid, a, _ONE), g.op.Where(valid, b, _ONE)
    x1 = g.op.Where(valid, x, _number(0.5))
    total = g.op.Add(a1, b1)
    middle = g.op.Div(g.op.Add(a1, _ONE), g.op.Add(total, _number(2)))
    far = g.op.GreaterOrEqual(x1, middle)
    rest = g.op.Sub(_ONE, x1)
    p, q = g.op.Where(far, b1, a1), g.op.Where(far, a1, b1)
    y, z = g.op.Where(far, rest, x1), g.op.Where(far, x1, rest)
    scale = g.op.Sub(g.op.Sub(lgamma(g, total), lgamma(g, p)), lgamma(g, q))
    # The logarithm of what is close to one comes from its small complement.
    log_z = g.op.Where(far, g.op.Log(z), log1p(g, g.op.Neg(y)))
    powers = g.op.Add(g.op.Mul(p, g.op.Log(y)), g.op.Mul(q, log_z))
    powers = g.op.Where(g.op.Equal(y, _ZERO), _number(-np.inf), powers)
    front = g.op.Div(g.op.Exp(g.op.Add(scale, powers)), p)
    value = g.op.Mul(front, _beta_fraction(g, p, q, y))
    value = g.op.Where(far, g.op.Sub(_ONE, value), value)
    value = g.op.Where(valid, value, _number(np.nan))
    wrong = g.op.Or(g.op.LessOrEqual(a, _ZERO), g.op.LessOrEqual(b, _ZERO))
    end = g.op.Or(g.op.Equal(x, _ZERO), g.op.Equal(x, _ONE))
    return str(g.op.Where(g.op.And(end, g.op.Not(wrong)), x, value))


def _beta_fraction(g: GraphBuilder, a: str, b: str, x: str) -> str:
    """Emit the continued fraction of the incomplete beta function, two steps a turn."""
    total = g.op.Add(a, b)
    ones = g.op.Expand(_ONE, g.op.Shape(x))
    share = g.op.Div(g.op.Mul(total, x), g.op.Add(a, _ONE))
    start = g.op.Reciprocal(_not_zero(g, g.op.Sub(_ONE, share)))

    def step(h: GraphBuilder, turn: str, states: list[str]) -> tuple[list[str], str]:
        c, d, value = states
        m = h.op.Add(h.op.Cast(turn, to=11), _ONE)
        twice = h.op.Add(a, h.op.Add(m, m))
        below, above = h.op.Sub(twice, _ONE), h.op.Add(twice, _ONE)
        even = h.op.Mul(h.op.Mul(m, h.op.Sub(b, m)), x)
        even = h.op.Div(even, h.op.Mul(below, twice))
        odd = h.op.Mul(h.op.Mul(h.op.Add(a, m), h.op.Add(total, m)), x)
        odd = h.op.Neg(h.op.Div(odd, h.op.Mul(twice, above)))
        c, d, value, _ = _lentz(h, even, _ONE, (c, d, value))
        c, d, value, moving = _lentz(h, odd, _ONE, (c, d, value))
        return [c, d, value], moving

    return repeated(g, _MOST, [ones, str(start), str(start)], step)[2]


# Bernoulli numbers of even index over the factorial of the index.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
_HEAD = 40


def zeta(g: GraphBuilder, s: str, q: str) -> str:
    """Emit Hurwitz' zeta function for ``q > -30`` by Euler and Maclaurin's sum, in float64.

    Args:
        g: The builder.
        s: Exponent, floats.
        q: Shift, floats; the two broadcast.

    Returns:
        The values, float64: 40 terms and eight corrections with Bernoulli numbers (Abramowitz and
        Stegun, 23.2). Infinite for ``s == 1``; NaN below, and for ``q <= -30`` that is no whole
        number.
    """
    s, q = _together(g, s, q)
    steps = np.arange(_HEAD, dtype=np.float64)
    shifted = g.op.Add(_spread(g, q), steps)
    head = _sum_over(g, g.op.Pow(shifted, g.op.Neg(_spread(g, s))))
    end = g.op.Add(q, _number(_HEAD))
    power = g.op.Pow(end, g.op.Neg(s))
    value = g.op.Add(head, g.op.Div(g.op.Mul(power, end), g.op.Sub(s, _ONE)))
    value = g.op.Add(value, g.op.Mul(power, _number(0.5)))
    factor = g.op.Div(g.op.Mul(s, power), end)
    for j, number in enumerate(_BERNOULLI, 1):
        part = g.op.Mul(factor, _number(number / math.factorial(2 * j)))
        value = g.op.Add(value, part)
        rising = g.op.Mul(g.op.Add(s, _number(2 * j - 1)), g.op.Add(s, _number(2 * j)))
        factor = g.op.Div(g.op.Div(g.op.Mul(factor, rising), end), end)
    whole = g.op.Equal(q, g.op.Floor(q))
    pole = g.op.And(g.op.LessOrEqual(q, _ZERO), whole)
    even = g.op.Equal(g.op.Mod(s, _number(2), fmod=1), _ZERO)
    value = g.op.Where(pole, g.op.Where(even, _number(np.inf), _number(np.nan)), value)
    nothing = g.op.And(g.op.IsInf(q, detect_negative=0), g.op.Not(g.op.IsNaN(s)))
    value = g.op.Where(nothing, _ZERO, value)
    endless = g.op.And(g.op.IsInf(s), g.op.Not(pole))
    value = g.op.Where(endless, g.op.Pow(g.op.Abs(q), g.op.Neg(s)), value)
    value = g.op.Where(g.op.Less(s, _ONE), _number(np.nan), value)
    far = g.op.LessOrEqual(q, _number(-30))
    value = g.op.Where(g.op.And(far, g.op.Not(whole)), _number(np.nan), value)
    return str(g.op.Where(g.op.Equal(s, _ONE), _number(np.inf), value))


def polygamma(g: GraphBuilder, n: str, x: str) -> str:
    """Emit the derivatives of ``digamma`` in float64, by the zeta function.

    Args:
        g: The builder.
        n: Order, whole numbers as floats.
        x: Argument, floats; the two broadcast.

    Returns:
        The values, float64: ``(-1)**(n + 1) n! zeta(n + 1, x)`` (Abramowitz and Stegun, 6.4.10).
        NaN for orders that are negative or no whole numbers.
    """
    n, x = _together(g, n, x)
    following = g.op.Add(n, _ONE)
    parity = g.op.Mod(following, _number(2), fmod=1)
    sign = g.op.Where(g.op.Equal(parity, _ZERO), _ONE, _number(-1))
    size = g.op.Mul(g.op.Exp(lgamma(g, following)), zeta(g, following, x))
    value = g.op.Where(g.op.Equal(n, _ZERO), digamma(g, x), g.op.Mul(sign, size))
    wrong = g.op.Or(g.op.Less(n, _ZERO), g.op.Not(g.op.Equal(n, g.op.Floor(n))))
    return str(g.op.Where(wrong, _number(np.nan), value))


def spence(g: GraphBuilder, x: str) -> str:
    """Emit Spence's function, the dilogarithm of ``1 - x``, in float64.

    Args:
        g: The builder.
        x: Floats of any shape.

    Returns:
        The values, float64, of the shape of `x`: Gauss' quadrature of ``-log(t) / (t - 1)``, after
        the argument is reflected or inverted to between 1/2 and 3/2. NaN below 0.
    """
    x = _double(g, x)
    large = g.op.Greater(x, _number(1.5))
    y = g.op.Where(large, g.op.Reciprocal(x), x)
    small = g.op.Less(y, _number(0.5))
    z = g.op.Where(small, g.op.Sub(_ONE, y), y)
    nodes, weights = _gauss(24)
    u = g.op.Sub(z, _ONE)
    at = g.op.Mul(_spread(g, u), nodes)
    # u * integral of log(1 + u t) / (u t)
    nothing = g.op.Equal(at, _ZERO)
    ratio = g.op.Div(log1p(g, str(at)), g.op.Where(nothing, _ONE, at))
    kernel = g.op.Where(nothing, _ONE, ratio)
    value = g.op.Neg(g.op.Mul(u, _sum_over(g, g.op.Mul(kernel, weights))))
    product = g.op.Mul(g.op.Log(y), log1p(g, str(g.op.Neg(y))))
    product = g.op.Where(g.op.Equal(y, _ZERO), _ZERO, product)
    turned = g.op.Sub(g.op.Sub(_number(math.pi**2 / 6), product), value)
    value = g.op.Where(small, turned, value)
    log_x = g.op.Log(x)
    inverted = g.op.Sub(g.op.Neg(value), g.op.Mul(g.op.Mul(log_x, log_x), _number(0.5)))
    value = g.op.Where(large, inverted, value)
    return str(g.op.Where(g.op.Less(x, _ZERO), _number(np.nan), value))


def dawson(g: GraphBuilder, x: str) -> str:
    """Emit Dawson's integral in float64, by Rybicki's sum.

    Args:
        g: The builder.
        x: Floats of any shape.

    Returns:
        The values, float64, of the shape of `x`: the exponentially exact sum of Rybicki (Numerical
        Recipes, 6.10) with steps of 0.2, a continued product near zero, ``1 / (2 x)`` for huge
        arguments.
    """
    x = _double(g, x)
    step = 0.2
    huge = g.op.Greater(g.op.Abs(x), _number(1e8))
    safe = g.op.Where(huge, _ONE, x)
    centre = g.op.Mul(g.op.Round(g.op.Div(safe, _number(2 * step))), _number(2))
    rest = g.op.Sub(safe, g.op.Mul(centre, _number(step)))
    odd = np.arange(-35, 36, 2, dtype=np.float64)
    gap = g.op.Sub(_spread(g, rest), odd * step)
    bell = g.op.Exp(g.op.Neg(g.op.Mul(gap, gap)))
    total = _sum_over(g, g.op.Div(bell, g.op.Add(_spread(g, centre), odd)))
    value = g.op.Mul(total, _number(1 / math.sqrt(math.pi)))
    square = g.op.Mul(safe, safe)
    near: str = g.make_initializer(None, _ONE)
    for k in range(25, 1, -2):
        near = g.op.Sub(_ONE, g.op.Mul(g.op.Mul(square, _number(2 / k)), near))
    value = g.op.Where(g.op.Less(g.op.Abs(safe), _number(0.3)), g.op.Mul(safe, near), value)
    return str(g.op.Where(huge, g.op.Div(_number(0.5), x), value))


def expint(g: GraphBuilder, x: str) -> str:
    """Emit the exponential integral Ei for positive arguments in float64; NaN below zero.

    Args:
        g: The builder.
        x: Floats of any shape.

    Returns:
        The values, float64, of the shape of `x`: the power series (Abramowitz and Stegun, 5.1.10)
        up to 40, an asymptotic one beyond.
    """
    x = _double(g, x)
    far = g.op.Greater(x, _number(40))
    near = g.op.Where(far, _ONE, x)
    k = np.arange(1, 160, dtype=np.float64)
    scale = np.array([math.lgamma(v + 1) + math.log(v) for v in k])
    positive = g.op.Max(near, _number(_TINY))
    logarithm = g.op.Log(positive)
    terms = g.op.Exp(g.op.Sub(g.op.Mul(_spread(g, logarithm), k), scale))
    series = g.op.Add(_sum_over(g, terms), g.op.Add(logarithm, _number(np.euler_gamma)))
    large = g.op.Where(far, x, _number(40))
    tail: str = g.make_initializer(None, _ONE)
    for i in range(38, 0, -1):
        tail = g.op.Add(_ONE, g.op.Mul(g.op.Div(_number(i), large), tail))
    asymptotic = g.op.Mul(g.op.Div(g.op.Exp(large), large), tail)
    value = g.op.Where(far, asymptotic, series)
    value = g.op.Where(g.op.Equal(x, _ZERO), _number(-np.inf), value)
    return str(g.op.Where(g.op.Less(x, _ZERO), _number(np.nan), value))


def fresnel(g: GraphBuilder, x: str, *, cosine: bool) -> str:
    """Emit a Fresnel integral, of ``cos(pi t*t / 2)`` or the sine, in float64.

    Args:
        g: The builder.
        x: Floats of any shape.
        cosine: Whether the integral of the cosine is meant.

    Returns:
        The values, float64, of the shape of `x`: Gauss' quadrature up to 6, the asymptotic series
        of the auxiliary functions (Abramowitz and Stegun, 7.3) beyond.
    """
    x = _double(g, x)
    size = g.op.Abs(x)
    edge = 6.0
    far = g.op.Greater(size, _number(edge))
    near = g.op.Where(far, _ONE, size)
    nodes, weights = _gauss(96)
    wave = g.op.Cos if cosine else g.op.Sin
    at = g.op.Mul(_spread(g, near), nodes)
    inner = wave(g.op.Mul(g.op.Mul(at, at), _number(math.pi / 2)))
    value = g.op.Mul(near, _sum_over(g, g.op.Mul(inner, weights)))
    large = g.op.Where(far, size, _number(edge))
    # Angles are reduced before pi comes in: the square of a large number loses its fraction.
    turns = g.op.Mod(g.op.Mul(large, large), _number(4), fmod=1)
    angle = g.op.Mul(turns, _number(math.pi / 2))
    inverse = g.op.Reciprocal(g.op.Mul(g.op.Mul(large, large), _number(math.pi)))
    f, h = _auxiliary(g, inverse, 0), _auxiliary(g, inverse, 1)
    length = g.op.Reciprocal(g.op.Mul(large, _number(math.pi)))
    f, h = g.op.Mul(f, length), g.op.Mul(g.op.Mul(h, length), inverse)
    sine, cosine_of = g.op.Sin(angle), g.op.Cos(angle)
    if cosine:
        tail = g.op.Sub(g.op.Mul(f, sine), g.op.Mul(h, cosine_of))
    else:
        tail = g.op.Neg(g.op.Add(g.op.Mul(f, cosine_of), g.op.Mul(h, sine)))
    value = g.op.Where(far, g.op.Add(_number(0.5), tail), value)
    value = g.op.Where(g.op.IsInf(size), _number(0.5), value)
    return str(g.op.Mul(g.op.Sign(x), value))


def _auxiliary(g: GraphBuilder, inverse: str, first: int) -> str:
    """Emit the asymptotic series of an auxiliary function of the Fresnel integrals."""
    square = g.op.Mul(inverse, inverse)
    total = g.make_initializer(None, _ONE)
    for m in range(8, 0, -1):
        ratio = -(4 * m - 3 + 2 * first) * (4 * m - 1 + 2 * first)
        total = g.op.Add(_ONE, g.op.Mul(g.op.Mul(square, _number(ratio)), total))
    return total


def bessel_j(g: GraphBuilder, x: str, order: int) -> str:
    """Emit the Bessel function of the first kind of order 0 or 1, in float64.

    Args:
        g: The builder.
        x: Floats of any shape.
        order: 0 or 1.

    Returns:
        The values, float64, of the shape of `x`: Bessel's integral (Abramowitz and Stegun, 9.1.21)
        by 96 equal steps up to 25, Hankel's asymptotic form (9.2.5) beyond.
    """
    x = _double(g, x)
    size = g.op.Abs(x)
    far = g.op.Greater(size, _number(25))
    near = _spread(g, g.op.Where(far, _ONE, x))
    heights = np.sin((np.arange(96) + 0.5) * (math.pi / 96))
    at = g.op.Mul(near, heights)
    terms = g.op.Mul(g.op.Sin(at), heights) if order else g.op.Cos(at)
    value = g.op.Mul(_sum_over(g, terms), _number(1 / 96))
    large = g.op.Where(far, size, _number(25))
    p, q = _hankel(g, g.op.Reciprocal(large), order)
    angle = g.op.Sub(large, _number((order / 2 + 0.25) * math.pi))
    both = g.op.Sub(g.op.Mul(p, g.op.Cos(angle)), g.op.Mul(q, g.op.Sin(angle)))
    outer = g.op.Mul(both, g.op.Sqrt(g.op.Div(_number(2 / math.pi), large)))
    if order:
        outer = g.op.Mul(outer, g.op.Sign(x))
    return str(g.op.Where(far, outer, value))


def _hankel(g: GraphBuilder, inverse: str, order: int) -> tuple[str, str]:
    """Emit the two series of Hankel's asymptotic form."""
    terms, term = [1.0], 1.0
    for k in range(1, 16):
        term *= (4.0 * order * order - (2 * k - 1) ** 2) / (8.0 * k)
        terms.append(term)
    square = g.op.Neg(g.op.Mul(inverse, inverse))
    sums = []
    for start in (0, 1):
        total = g.make_initializer(None, _number(terms[14 + start]))
        for i in range(12 + start, start - 1, -2):
            total = g.op.Add(_number(terms[i]), g.op.Mul(square, total))
        sums.append(total)
    return sums[0], str(g.op.Mul(sums[1], inverse))


def bessel_ke(g: GraphBuilder, x: str, order: int) -> str:
    """Emit the modified Bessel function of the second kind times ``exp(x)``, in float64.

    Args:
        g: The builder.
        x: Floats of any shape.
        order: 0 or 1.

    Returns:
        The values, float64, of the shape of `x`: quadrature of ``exp(-x (cosh(t) - 1)) cosh(n t)``
        (Abramowitz and Stegun, 9.6.24). Infinite at 0 and below.
    """
    x = _double(g, x)
    usable = g.op.And(g.op.Greater(x, _ZERO), g.op.Less(x, _number(np.inf)))
    positive = g.op.Where(usable, x, _ONE)
    nothing = g.op.Where(g.op.IsNaN(x), x, _ZERO)
    # Beyond this point the integrand exp(-x (cosh t - 1)) cosh(n t) is nothing.
    ratio = g.op.Div(_number(60), positive)
    reach = log1p(g, str(g.op.Add(ratio, g.op.Sqrt(g.op.Mul(ratio, g.op.Add(ratio, _number(2)))))))
    count = 192
    steps = np.arange(count + 1, dtype=np.float64) / count
    weights = np.full(count + 1, 1 / count)
    weights[0] = weights[-1] = 0.5 / count
    t = g.op.Mul(_spread(g, reach), steps)
    half = g.op.Mul(t, _number(0.5))
    growth = g.op.Exp(half)
    sinh = g.op.Mul(g.op.Sub(growth, g.op.Reciprocal(growth)), _number(0.5))
    rise = g.op.Mul(g.op.Mul(sinh, sinh), _number(2))
    bell = g.op.Exp(g.op.Neg(g.op.Mul(_spread(g, positive), rise)))
    if order:
        bell = g.op.Mul(bell, g.op.Add(rise, _ONE))
    value = g.op.Mul(reach, _sum_over(g, g.op.Mul(bell, weights)))
    value = g.op.Where(g.op.IsInf(x), _ZERO, value)
    # Infinite at zero, and below it in TensorFlow too; what is not a number stays so.
    return str(g.op.Where(g.op.LessOrEqual(x, _ZERO), _number(np.inf), g.op.Add(value, nothing)))
