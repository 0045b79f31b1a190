"""The one parser of dimension expressions: text to polynomial, with an explicit stack.

Accepted: integers, names, quoted names, ``+ - * // %``, parentheses, ``max``, ``min``, and for
text that other tools wrote ``Max``, ``Min``, ``Mod``, ``floor``, ``ceil``, ``ceiling``,
``CeilToInt(a, b)``, ``floordiv``, ``ceildiv`` and an exact or rounded ``/``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from yobx.errors import ShapeError
from yobx.onnx_optim import division as dv
from yobx.onnx_optim import polynomial as poly
from yobx.onnx_optim.polynomial import Terms

__all__ = ["ExpressionSyntaxError", "parse"]

MAX_LENGTH = 4000
MAX_NESTING = 80

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.0*)?(?![\w.]))|(?P<name>[^\W\d]\w*(?:\.\w+)*)"
    r"|(?P<quoted>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(?P<op>//|[-+*/%(),]))"
)
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "//": 2, "/": 2, "%": 2, "neg": 3}


class ExpressionSyntaxError(ShapeError):
    """A text is not a dimension expression."""


@dataclass(frozen=True, slots=True)
class _Fraction:
    """An operand: a polynomial over a polynomial divisor (``1`` unless ``/`` was read)."""

    num: Terms
    den: Terms = poly.ONE

    def whole(self) -> Terms:
        """The polynomial, if the division is exact."""
        if self.den == poly.ONE:
            return self.num
        quotient = dv.exact_div(self.num, self.den)
        if poly.multiply(quotient, self.den) != self.num:
            raise ExpressionSyntaxError("a division '/' is neither exact nor inside floor or ceil")
        return quotient


def _floor(args: list[_Fraction]) -> Terms:
    (arg,) = args
    return dv.floordiv(arg.num, arg.den)


def _ceil(args: list[_Fraction]) -> Terms:
    (arg,) = args
    return poly.scale(dv.floordiv(poly.scale(arg.num, -1), arg.den), -1)


def _ceil_div(args: list[_Fraction]) -> Terms:
    num, den = (a.whole() for a in args)
    return poly.scale(dv.floordiv(poly.scale(num, -1), den), -1)


def _floor_div(args: list[_Fraction]) -> Terms:
    num, den = (a.whole() for a in args)
    return dv.floordiv(num, den)


def _mod(args: list[_Fraction]) -> Terms:
    num, den = (a.whole() for a in args)
    return dv.modulo(num, den)


_FUNCTIONS: dict[str, Callable[[list[_Fraction]], Terms]] = {
    "max": lambda args: dv.maximum(a.whole() for a in args),
    "min": lambda args: dv.minimum(a.whole() for a in args),
    "floor": _floor,
    "ceil": _ceil,
    "ceiling": _ceil,
    "int": _floor,
    "CeilToInt": _ceil_div,
    "ceildiv": _ceil_div,
    "floordiv": _floor_div,
    "Mod": _mod,
    "mod": _mod,
}
_FUNCTIONS["Max"] = _FUNCTIONS["max"]
_FUNCTIONS["Min"] = _FUNCTIONS["min"]


@dataclass(slots=True)
class _State:
    """Operand and operator stacks of one parse."""

    text: str
    operands: list[_Fraction] = field(default_factory=list)
    operators: list[str] = field(default_factory=list)
    calls: list[tuple[str, int]] = field(default_factory=list)

    def fail(self, what: str, position: int) -> ExpressionSyntaxError:
        shown = self.text if len(self.text) <= 80 else self.text[:77] + "..."
        return ExpressionSyntaxError(
            f"A dimension is an integer expression such as '2*n + 1' or 'max(n, m)//2'. Received: "
            f"{shown!r}, where {what} at character {position}."
        )

    def apply(self, position: int) -> None:
        """Combine the operands of the operator on top."""
        operator = self.operators.pop()
        right = self.operands.pop()
        if operator == "neg":
            self.operands.append(_Fraction(poly.scale(right.num, -1), right.den))
            return
        left = self.operands.pop()
        try:
            self.operands.append(_combine(operator, left, right))
        except ZeroDivisionError:
            raise self.fail("the divisor is 0", position) from None

    def reduce(self, precedence: int, position: int) -> None:
        """Apply the operators that bind at least as tightly."""
        while self.operators and self.operators[-1] != "(":
            if _PRECEDENCE[self.operators[-1]] < precedence:
                return
            self.apply(position)


def _combine(operator: str, left: _Fraction, right: _Fraction) -> _Fraction:
    if operator == "*":
        return _Fraction(poly.multiply(left.num, right.num), poly.multiply(left.den, right.den))
    if operator == "/":
        if not right.num:
            raise ZeroDivisionError
        return _Fraction(poly.multiply(left.num, right.den), poly.multiply(left.den, right.num))
    if operator in ("+", "-"):
        sign = 1 if operator == "+" else -1
        if left.den == right.den:
            return _Fraction(poly.add(left.num, poly.scale(right.num, sign)), left.den)
        return _Fraction(
            poly.add(
                poly.multiply(left.num, right.den),
                poly.scale(poly.multiply(right.num, left.den), sign),
            ),
            poly.multiply(left.den, right.den),
        )
    if operator == "//":
        return _Fraction(
            dv.floordiv(poly.multiply(left.num, right.den), poly.multiply(left.den, right.num))
        )
    return _Fraction(dv.modulo(left.whole(), right.whole()))


def parse(text: str) -> Terms:
    """Polynomial of an expression.

    Raises:
        ExpressionSyntaxError: The text is not an expression.
        ExpressionTooLargeError: The expression is beyond the limits of the engine.
    """
    state = _State(text)
    if len(text) > MAX_LENGTH:
        raise state.fail(f"it is longer than {MAX_LENGTH}", MAX_LENGTH)
    position, end = 0, len(text.rstrip())
    if not end:
        raise state.fail("there is nothing", 0)
    expects_operand = True
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            raise state.fail(f"{text[position]!r} is not expected", position)
        kind, token = match.lastgroup, match.group(match.lastgroup or 0)
        start, position = match.start(match.lastgroup or 0), match.end()
        if kind == "op":
            expects_operand = _read_operator(state, token, start, expects_operand=expects_operand)
            continue
        if not expects_operand:
            raise state.fail(f"an operator is missing before {token!r}", start)
        expects_operand = False
        if kind == "number":
            state.operands.append(
                _Fraction(poly.constant(int(float(token)) if "." in token else int(token)))
            )
        elif kind == "quoted":
            state.operands.append(_Fraction(poly.symbol(re.sub(r"\\(.)", r"\1", token[1:-1]))))
        elif token in _FUNCTIONS and text[position:].lstrip().startswith("("):
            state.calls.append((token, len(state.operators)))
            expects_operand = True
        else:
            state.operands.append(_Fraction(poly.symbol(token)))
    if expects_operand:
        raise state.fail("an operand is missing", end)
    state.reduce(0, end)
    if state.operators:
        raise state.fail("a parenthesis is not closed", end)
    return state.operands[0].whole()


def _read_operator(state: _State, token: str, at: int, *, expects_operand: bool) -> bool:
    """Handle one operator token; returns whether an operand must follow."""
    if token == "(":
        if not expects_operand:
            raise state.fail("an operator is missing before '('", at)
        if len(state.operators) > MAX_NESTING:
            raise state.fail(f"it nests deeper than {MAX_NESTING}", at)
        if state.calls and state.calls[-1][1] == len(state.operators):
            name, _ = state.calls.pop()
            state.calls.append((name, -1 - len(state.operands)))
        else:
            state.calls.append(("", -1 - len(state.operands)))
        state.operators.append("(")
        return True
    if token in ("+", "-") and expects_operand:
        if len(state.operators) > MAX_NESTING:
            raise state.fail(f"it nests deeper than {MAX_NESTING}", at)
        if token == "-":
            state.operators.append("neg")
        return True
    if expects_operand:
        raise state.fail(f"{token!r} has no left operand", at)
    if token in (")", ","):
        return _close(state, token, at)
    state.reduce(_PRECEDENCE[token], at)
    state.operators.append(token)
    return True


def _close(state: _State, token: str, at: int) -> bool:
    state.reduce(0, at)
    if not state.operators:
        raise state.fail(f"{token!r} has no opening parenthesis", at)
    name, marker = state.calls[-1]
    if token == ",":
        if not name:
            raise state.fail("',' is not inside a function", at)
        return True
    state.operators.pop()
    state.calls.pop()
    if name:
        first = -1 - marker
        args = state.operands[first:]
        del state.operands[first:]
        try:
            state.operands.append(_Fraction(_FUNCTIONS[name](args)))
        except ValueError:
            raise state.fail(f"{name} has {len(args)} arguments", at) from None
        except ZeroDivisionError:
            raise state.fail("the divisor is 0", at) from None
    return False
