"""Arithmetic on propagated values: what an operator does to one pair of elements.

Each function takes elements that are known and returns a known element or None. NumPy computes
when everything is constant; the symbolic half answers when at least one element is an expression.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.shapes._values import Array, Element

__all__ = [
    "ABSORBING",
    "BINARY",
    "COMPARE",
    "UNARY",
    "Binary",
    "Unary",
    "binary",
    "order",
    "truncated_division",
    "truth_of",
]

Binary = Callable[[OptimDim, OptimDim], Element]
Unary = Callable[[OptimDim], Element]

TRUE = OptimDim(1)
FALSE = OptimDim(0)


def _truth(value: bool) -> OptimDim:
    return TRUE if value else FALSE


def order(left: OptimDim, right: OptimDim) -> tuple[int | None, int | None]:
    """Bounds of `left - right`; None where there is none."""
    difference = left - right
    if difference.is_int():
        number = difference.as_int()
        return number, number
    return difference.bounds()


def _equal(left: OptimDim, right: OptimDim) -> Element:
    if left == right:
        return TRUE
    low, high = order(left, right)
    if low == 0 and high == 0:
        return TRUE
    if (low is not None and low > 0) or (high is not None and high < 0):
        return FALSE
    return None


def _less(left: OptimDim, right: OptimDim) -> Element:
    low, high = order(left, right)
    if high is not None and high < 0:
        return TRUE
    return FALSE if low is not None and low >= 0 else None


def _less_or_equal(left: OptimDim, right: OptimDim) -> Element:
    low, high = order(left, right)
    if high is not None and high <= 0:
        return TRUE
    return FALSE if low is not None and low > 0 else None


def truth_of(value: OptimDim) -> bool | None:
    """Whether an element counts as true, None when that is not decided."""
    if value.is_int():
        return value.as_int() != 0
    low, high = value.bounds()
    return True if (low is not None and low > 0) or (high is not None and high < 0) else None


def _and(left: OptimDim, right: OptimDim) -> Element:
    a, b = truth_of(left), truth_of(right)
    if a is False or b is False:
        return FALSE
    return TRUE if a and b else None


def _or(left: OptimDim, right: OptimDim) -> Element:
    a, b = truth_of(left), truth_of(right)
    if a or b:
        return TRUE
    return FALSE if a is False and b is False else None


def _xor(left: OptimDim, right: OptimDim) -> Element:
    a, b = truth_of(left), truth_of(right)
    return None if a is None or b is None else _truth(a != b)


def _sign_known(value: OptimDim) -> int | None:
    """1 when never negative, -1 when never positive, None when either can happen."""
    low, high = value.bounds()
    if low is not None and low >= 0:
        return 1
    return -1 if high is not None and high <= 0 else None


def _multiple(left: OptimDim, right: OptimDim) -> OptimDim | None:
    """The quotient when the division leaves no rest, whatever the signs."""
    if right.is_int():
        return None
    quotient = left.exact_div(right)
    return quotient if quotient * right == left else None


def truncated_division(left: OptimDim, right: OptimDim) -> Element:
    """Integer division towards zero, as `Div` does; in a run the divisor is never zero."""
    if right.is_int() and right.as_int() == 0:
        return None
    multiple = _multiple(left, right)
    if multiple is not None:
        return multiple
    divisor_sign = _sign_known(right)
    if divisor_sign is None:
        return None
    if divisor_sign < 0:
        left, right = -left, -right
    sign = _sign_known(left)
    if sign == 1:
        return left // right
    if sign == -1:
        return -(-left // right)
    # Both halves of the number line: one of the two terms is always zero.
    positive, negative = OptimDim.max(left, FALSE), OptimDim.max(-left, FALSE)
    return positive // right - negative // right


def _floor_modulo(left: OptimDim, right: OptimDim) -> Element:
    if _multiple(left, right) is not None:
        return FALSE
    sign = _sign_known(right)
    if sign != 1 or (right.is_int() and right.as_int() == 0):
        return None
    return left % right


def _power(left: OptimDim, right: OptimDim) -> Element:
    if not right.is_int() or not 0 <= right.as_int() <= 4:
        return None
    result = TRUE
    for _ in range(right.as_int()):
        result = result * left
    return result


def _larger(left: OptimDim, right: OptimDim) -> Element:
    return OptimDim.max(left, right)


def _smaller(left: OptimDim, right: OptimDim) -> Element:
    return OptimDim.min(left, right)


def _numpy_divide(left: Array, right: Array) -> Array | None:
    if left.dtype.kind not in "iu":
        return np.asarray(np.divide(left, right))
    if not np.all(right):
        return None
    quotient = np.floor_divide(left, right)
    inexact = (left % right != 0) & ((left < 0) != (right < 0))
    return np.asarray(quotient + inexact.astype(quotient.dtype))


def _numpy_power(left: Array, right: Array) -> Array | None:
    if left.dtype.kind in "iu" and (right.dtype.kind not in "iu" or np.any(right < 0)):
        return None
    return np.asarray(np.power(left, right))


def _numpy_modulo(left: Array, right: Array) -> Array | None:
    if left.dtype.kind in "iu" and not np.all(right):
        return None
    return np.asarray(np.mod(left, right))


NumpyBinary = Callable[[Array, Array], Any]

BINARY: dict[str, tuple[NumpyBinary, Binary | None]] = {
    "Add": (np.add, lambda a, b: a + b),
    "Sub": (np.subtract, lambda a, b: a - b),
    "Mul": (np.multiply, lambda a, b: a * b),
    "Div": (_numpy_divide, truncated_division),
    "Mod": (_numpy_modulo, _floor_modulo),
    "Pow": (_numpy_power, _power),
    "Max": (np.maximum, _larger),
    "Min": (np.minimum, _smaller),
    "Sum": (np.add, lambda a, b: a + b),
    "BitwiseAnd": (np.bitwise_and, None),
    "BitwiseOr": (np.bitwise_or, None),
    "BitwiseXor": (np.bitwise_xor, None),
}

COMPARE: dict[str, tuple[NumpyBinary, Binary]] = {
    "Equal": (np.equal, _equal),
    "Less": (np.less, _less),
    "LessOrEqual": (np.less_equal, _less_or_equal),
    "Greater": (np.greater, lambda a, b: _less(b, a)),
    "GreaterOrEqual": (np.greater_equal, lambda a, b: _less_or_equal(b, a)),
    "And": (np.logical_and, _and),
    "Or": (np.logical_or, _or),
    "Xor": (np.logical_xor, _xor),
}


def _absolute(value: OptimDim) -> Element:
    sign = _sign_known(value)
    if sign == 1:
        return value
    return -value if sign == -1 else OptimDim.max(value, -value)


def _sign(value: OptimDim) -> Element:
    if value.is_int():
        number = value.as_int()
        return OptimDim((number > 0) - (number < 0))
    low, high = value.bounds()
    if low is not None and low > 0:
        return TRUE
    if high is not None and high < 0:
        return OptimDim(-1)
    if low is not None and low >= 0:
        return OptimDim.min(value, TRUE)
    return None


def _not(value: OptimDim) -> Element:
    truth = truth_of(value)
    return None if truth is None else _truth(not truth)


UNARY: dict[str, tuple[Callable[[Array], Any], Unary | None]] = {
    "Abs": (np.abs, _absolute),
    "Neg": (np.negative, lambda a: -a),
    "Sign": (np.sign, _sign),
    "Not": (np.logical_not, _not),
    "Relu": (lambda a: np.maximum(a, 0), lambda a: OptimDim.max(a, FALSE)),
    "BitwiseNot": (np.invert, None),
    "Ceil": (np.ceil, None),
    "Floor": (np.floor, None),
    "Round": (np.rint, None),
    "Sqrt": (np.sqrt, None),
    "Exp": (np.exp, None),
    "Log": (np.log, None),
    "Reciprocal": (np.reciprocal, None),
}


ABSORBING: dict[str, OptimDim] = {"And": FALSE, "Or": TRUE, "Mul": FALSE}
"""Elements that decide a result whatever the other operand is."""


def binary(function: Binary, left: Element, right: Element, absorbing: OptimDim | None) -> Element:
    """Applies a symbolic function to elements of which either may be unknown."""
    if left is not None and right is not None:
        return function(left, right)
    known = left if right is None else right
    return absorbing if known is not None and known == absorbing else None
