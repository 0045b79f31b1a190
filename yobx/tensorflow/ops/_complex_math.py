"""Functions of complex numbers, element by element, with TensorFlow's results at the edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from yobx.lowering import complex as packed
from yobx.lowering import complex_parts as pairs
from yobx.lowering.casts import cast
from yobx.lowering.complex_inverse import INVERSE
from yobx.lowering.complex_parts import Pair
from yobx.lowering.transcendental import const
from yobx.lowering.trigonometric import atan2
from yobx.xbuilder import GraphBuilder

__all__ = ["binary", "equal", "places", "unary"]


def _conjugate(g: GraphBuilder, x: Pair) -> Pair:
    return x[0], str(g.op.Neg(x[1]))


def _is_zero(g: GraphBuilder, x: Pair) -> Any:
    zero = const(g, x[0], 0)
    return g.op.And(*(g.op.Equal(part, zero) for part in x))


def _number(g: GraphBuilder, like: str, value: float) -> Pair:
    """A real constant."""
    real, imaginary = (g.make_initializer(None, const(g, like, v)) for v in (value, 0))
    return real, imaginary


def _less(g: GraphBuilder, x: Pair, y: Pair) -> Pair:
    real, imaginary = (g.op.Sub(a, b) for a, b in zip(x, y, strict=True))
    return str(real), str(imaginary)


def _times(g: GraphBuilder, x: Pair, factor: float) -> Pair:
    real, imaginary = (g.op.Mul(part, const(g, part, factor)) for part in x)
    return str(real), str(imaginary)


def _where_zero(g: GraphBuilder, x: Pair, value: Pair) -> Pair:
    """``value``, but 0 where ``x`` is 0."""
    skipped, zero = _is_zero(g, x), const(g, x[0], 0)
    real, imaginary = (g.op.Where(skipped, zero, part) for part in value)
    return str(real), str(imaginary)


def _logarithm(g: GraphBuilder, x: Pair) -> Pair:
    return pairs.logarithm(g, x, atan2)


def _log_one_plus(g: GraphBuilder, x: Pair) -> Pair:
    return pairs.log_one_plus(g, x, atan2)


def _reciprocal(g: GraphBuilder, x: Pair) -> Pair:
    return pairs.divide(g, _number(g, x[0], 1), x)


def _reciprocal_root(g: GraphBuilder, x: Pair) -> Pair:
    """``1 / sqrt(x)``, by which a negative zero above the cut is not told from zero."""
    a, b = x
    zero, one, half = (const(g, a, value) for value in (0, 1, 0.5))
    length = pairs.absolute(g, x)
    nothing = g.op.Equal(length, zero)
    safe = g.op.Where(nothing, one, length)
    root = g.op.Sqrt(g.op.Add(g.op.Mul(g.op.Abs(a), half), g.op.Mul(safe, half)))
    whole = g.op.Div(root, safe)
    part = g.op.Div(g.op.Mul(g.op.Div(b, safe), half), root)
    is_right = g.op.Greater(a, zero)
    turned = g.op.Where(g.op.Less(b, zero), whole, g.op.Neg(whole))
    real = g.op.Where(is_right, whole, g.op.Abs(part))
    imaginary = g.op.Where(is_right, g.op.Neg(part), turned)
    endless = g.op.Or(g.op.IsInf(a), g.op.IsInf(b))
    real = g.op.Where(nothing, const(g, a, float("inf")), real)
    imaginary = g.op.Where(nothing, const(g, a, float("nan")), imaginary)
    return str(g.op.Where(endless, zero, real)), str(g.op.Where(endless, zero, imaginary))


def _sign(g: GraphBuilder, x: Pair) -> Pair:
    """``x / abs(x)``; of what is infinite, NaN."""
    found = pairs.sign(g, x)
    endless = g.op.Or(g.op.IsInf(x[0]), g.op.IsInf(x[1]))
    nan = const(g, x[0], float("nan"))
    real, imaginary = (g.op.Where(endless, nan, part) for part in found)
    return str(real), str(imaginary)


_UNARY: dict[str, Callable[[GraphBuilder, Pair], Pair]] = {
    "Acos": INVERSE["acos"],
    "Acosh": INVERSE["acosh"],
    "Asin": INVERSE["asin"],
    "Asinh": INVERSE["asinh"],
    "Atan": INVERSE["atan"],
    "Atanh": INVERSE["atanh"],
    "Cos": pairs.cosine,
    "Cosh": pairs.hyperbolic_cosine,
    "Exp": pairs.exponential,
    "Expm1": pairs.exponential_minus_one,
    "Inv": _reciprocal,
    "Log": _logarithm,
    "Log1p": _log_one_plus,
    "Reciprocal": _reciprocal,
    "Rsqrt": _reciprocal_root,
    "Sigmoid": pairs.logistic,
    "Sign": _sign,
    "Sin": pairs.sine,
    "Sinh": pairs.hyperbolic_sine,
    "Sqrt": pairs.square_root,
    "Square": lambda g, x: pairs.multiply(g, x, x),
    "Tan": pairs.tangent,
    "Tanh": pairs.hyperbolic_tangent,
}


def unary(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A function of one tensor."""
    found = _UNARY[op.type](g, packed.parts(g, op.inputs[0].name))
    return packed.pack(g, *found, outputs[:1])


def _power(g: GraphBuilder, x: Pair, y: Pair) -> Pair:
    """``exp(y * log(x))``, whatever they are; in float64, for its rounding grows with ``y``."""
    (a, b), (c, d) = ([cast(g, part, np.float64) for part in both] for both in (x, y))
    found = pairs.exponential(g, pairs.multiply(g, (c, d), _logarithm(g, (a, b))))
    real, imaginary = (cast(g, part, g.get_type(x[0])) for part in found)
    return real, imaginary


def _distance(g: GraphBuilder, x: Pair, y: Pair) -> Pair:
    """The square of the absolute value of the difference."""
    difference = _less(g, x, y)
    return pairs.multiply(g, _conjugate(g, difference), difference)


def _slope_of_root(g: GraphBuilder, y: Pair, gradient: Pair) -> Pair:
    return pairs.divide(g, _times(g, gradient, 0.5), _conjugate(g, y))


def _slope_of_reciprocal_root(g: GraphBuilder, y: Pair, gradient: Pair) -> Pair:
    turned = _conjugate(g, y)
    cube = pairs.multiply(g, pairs.multiply(g, turned, turned), turned)
    return pairs.multiply(g, _times(g, gradient, -0.5), cube)


def _slope_of_reciprocal(g: GraphBuilder, y: Pair, gradient: Pair) -> Pair:
    turned = _conjugate(g, y)
    return pairs.multiply(g, _times(g, gradient, -1), pairs.multiply(g, turned, turned))


def _slope_of_sigmoid(g: GraphBuilder, y: Pair, gradient: Pair) -> Pair:
    rest = _less(g, _number(g, y[0], 1), y)
    return pairs.multiply(g, gradient, pairs.multiply(g, y, rest))


def _slope_of_tangent(g: GraphBuilder, y: Pair, gradient: Pair) -> Pair:
    rest = _less(g, _number(g, y[0], 1), pairs.multiply(g, y, y))
    return pairs.multiply(g, gradient, rest)


_BINARY: dict[str, Callable[[GraphBuilder, Pair, Pair], Pair]] = {
    "Div": pairs.divide,
    "DivNoNan": lambda g, x, y: _where_zero(g, y, pairs.divide(g, x, y)),
    "InvGrad": _slope_of_reciprocal,
    "Mul": pairs.multiply,
    "MulNoNan": lambda g, x, y: _where_zero(g, y, pairs.multiply(g, x, y)),
    "Pow": _power,
    "RealDiv": pairs.divide,
    "ReciprocalGrad": _slope_of_reciprocal,
    "RsqrtGrad": _slope_of_reciprocal_root,
    "SigmoidGrad": _slope_of_sigmoid,
    "SqrtGrad": _slope_of_root,
    "SquaredDifference": _distance,
    "TanhGrad": _slope_of_tangent,
    "Xdivy": lambda g, x, y: _where_zero(g, x, pairs.divide(g, x, y)),
    "Xlog1py": lambda g, x, y: _where_zero(g, x, pairs.multiply(g, x, _log_one_plus(g, y))),
    "Xlogy": lambda g, x, y: _where_zero(g, x, pairs.multiply(g, x, _logarithm(g, y))),
}


def binary(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A function of two tensors that broadcast."""
    x, y = (packed.parts(g, i.name) for i in op.inputs)
    return packed.pack(g, *_BINARY[op.type](g, x, y), outputs[:1])


def equal(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Whether both parts are equal, or not."""
    x, y = (packed.parts(g, i.name) for i in op.inputs)
    same = [g.op.Equal(a, b) for a, b in zip(x, y, strict=True)]
    if op.type == "Equal":
        return str(g.op.And(*same, outputs=outputs[:1], name=op.name))
    return str(g.op.Not(g.op.And(*same), outputs=outputs[:1], name=op.name))


def places(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Index tuples of the elements that are not zero."""
    there = g.op.Not(_is_zero(g, packed.parts(g, op.inputs[0].name)))
    return str(g.op.Transpose(g.op.NonZero(there), perm=[1, 0], outputs=outputs[:1], name=op.name))
