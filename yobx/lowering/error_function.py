"""The error function in float64, which onnxruntime has in float32 only.

Rational functions of Cody (1969), one for each of three ranges; their relative error is below
the rounding of a float64.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from yobx.xbuilder import GraphBuilder

__all__ = ["erf_float64"]

D = np.float64
_NEAR_UP = (1.85777706184603153e-1, 3.16112374387056560e00, 1.13864154151050156e02,
            3.77485237685302021e02, 3.20937758913846947e03)  # fmt: skip
_NEAR_DOWN = (1.0, 2.36012909523441209e01, 2.44024637934444173e02, 1.28261652607737228e03,
              2.84423683343917062e03)  # fmt: skip
_MIDDLE_UP = (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e00,
              6.61191906371416295e01, 2.98635138197400131e02, 8.81952221241769090e02,
              1.71204761263407058e03, 2.05107837782607147e03, 1.23033935479799725e03)  # fmt: skip
_MIDDLE_DOWN = (1.0, 1.57449261107098347e01, 1.17693950891312499e02, 5.37181101862009858e02,
                1.62138957456669019e03, 3.29079923573345963e03, 4.36261909014324716e03,
                3.43936767414372164e03, 1.23033935480374942e03)  # fmt: skip
_FAR_UP = (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1,
           1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4)  # fmt: skip
_FAR_DOWN = (1.0, 2.56852019228982242e00, 1.87295284992346725e00, 5.27905102951428412e-1,
             6.05183413124413191e-2, 2.33520497626869185e-3)  # fmt: skip
_NEAR, _MIDDLE, _LAST = 0.46875, 4.0, 30.0


def erf_float64(
    g: GraphBuilder, x: str, *, complement: bool, outputs: list[str] | None = None
) -> str:
    """Emit ``erf(x)``, or ``1 - erf(x)`` without cancellation.

    Args:
        g: Builder to write to.
        x: float64 of shape `(...)`.
        complement: Whether it is ``1 - erf(x)``.
        outputs: Name to give.

    Returns:
        Name of the result, of the same shape.
    """
    size = g.op.Abs(x)
    small = g.op.Min(g.op.Max(x, D(-_NEAR)), D(_NEAR))
    inner = g.op.Mul(small, _quotient(g, g.op.Mul(small, small), _NEAR_UP, _NEAR_DOWN))
    tail = _tail(g, g.op.Min(size, D(_LAST)))
    near = g.op.LessOrEqual(size, D(_NEAR))
    negative = g.op.Less(x, D(0))
    if complement:
        outer = g.op.Where(negative, g.op.Sub(D(2), tail), tail)
        value = g.op.Where(near, g.op.Sub(D(1), inner), outer)
    else:
        outer = g.op.Where(negative, g.op.Sub(tail, D(1)), g.op.Sub(D(1), tail))
        value = g.op.Where(near, inner, outer)
        x = g.op.Mul(x, D(0))  # TensorFlow's erf is NaN at infinity too, in this type alone
    return str(g.op.Where(g.op.IsNaN(x), x, value, outputs=outputs))


def _tail(g: GraphBuilder, size: str) -> str:
    """``1 - erf`` of what is beyond the nearest range."""
    middle = _quotient(g, g.op.Min(g.op.Max(size, D(_NEAR)), D(_MIDDLE)), _MIDDLE_UP, _MIDDLE_DOWN)
    beyond = g.op.Max(size, D(_MIDDLE))
    inverse = g.op.Div(D(1), g.op.Mul(beyond, beyond))
    rest = g.op.Mul(inverse, _quotient(g, inverse, _FAR_UP, _FAR_DOWN))
    far = g.op.Div(g.op.Sub(D(1 / np.sqrt(np.pi)), rest), beyond)
    factor = g.op.Where(g.op.LessOrEqual(size, D(_MIDDLE)), middle, far)
    # exp(-x * x) in two factors, so that the square is not rounded.
    head = g.op.Div(g.op.Floor(g.op.Mul(size, D(16))), D(16))
    low = g.op.Mul(g.op.Sub(size, head), g.op.Add(size, head))
    scale = g.op.Mul(g.op.Exp(g.op.Neg(g.op.Mul(head, head))), g.op.Exp(g.op.Neg(low)))
    return str(g.op.Mul(factor, scale))


def _quotient(g: GraphBuilder, x: str, up: Sequence[float], down: Sequence[float]) -> str:
    return str(g.op.Div(_polynomial(g, x, up), _polynomial(g, x, down)))


def _polynomial(g: GraphBuilder, x: str, factors: Sequence[float]) -> str:
    value = g.op.Add(g.op.Mul(x, D(factors[0])), D(factors[1]))
    for factor in factors[2:]:
        value = g.op.Add(g.op.Mul(value, x), D(factor))
    return str(value)
