"""Functions on dimension expressions given as texts, integers or ``OptimDim``."""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from yobx.errors import ShapeContradictionError, ShapeError
from yobx.onnx_optim import polynomial as poly
from yobx.onnx_optim.constraints import Constraints
from yobx.onnx_optim.optim_dim import DimLike, OptimDim, of_terms
from yobx.onnx_optim.parsing import parse

__all__ = [
    "CompareResult",
    "DimRange",
    "ExpressionComparison",
    "compare_expressions",
    "dim_ranges_from_expressions",
    "evaluate_expression",
    "parse_expression",
    "rename_dynamic_dimensions",
    "rename_expression",
    "simplify_expression",
    "simplify_two_expressions",
]

INFINITY = math.inf
_GRID = (0, 1, 2, 3, 5, 8)
_MAX_GRID_SYMBOLS = 4


class CompareResult(enum.Enum):
    """How two expressions compare for all values of their symbols."""

    SMALLER = "smaller"
    EQUAL = "equal"
    GREATER = "greater"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ExpressionComparison:
    """Outcome of :func:`compare_expressions`.

    Attributes:
        result: ``SMALLER`` and ``GREATER`` are strict, for all values of the symbols.
        difference: Left minus right.
        smaller_at: Values of the symbols for which the left side is smaller, if any was found.
        greater_at: Values for which it is greater, if any was found.
    """

    result: CompareResult
    difference: OptimDim
    smaller_at: Mapping[str, int] | None = None
    greater_at: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class DimRange:
    """Inclusive range of a symbol; ``upper`` may be infinite."""

    lower: int
    upper: float


def parse_expression(text: str) -> OptimDim:
    """The expression of a text, refused when it is none (``OptimDim`` takes it as one symbol).

    Raises:
        ShapeError: The text is not an expression.
    """
    return of_terms(parse(text))


def simplify_expression(expression: DimLike) -> str:
    """Text of the normal form."""
    return str(OptimDim(expression))


def simplify_two_expressions(a: DimLike, b: DimLike) -> dict[str, int]:
    """Coefficients of ``a - b`` by monomial text; empty when both are equal."""
    terms = (OptimDim(a) - OptimDim(b)).terms
    return {poly.text(((mono, 1),)): coef for mono, coef in terms}


def evaluate_expression(expression: DimLike, values: Mapping[str, int]) -> int:
    """Value of an expression.

    Raises:
        ShapeError: A symbol has no value, or a divisor is zero.
    """
    return OptimDim(expression).evaluate(values)


def rename_expression(expression: DimLike, names: Mapping[str, DimLike]) -> str:
    """Text of the expression with symbols replaced."""
    return str(OptimDim(expression).substitute(names))


def compare_expressions(a: DimLike, b: DimLike) -> ExpressionComparison:
    """Compare two expressions for all values ``>= 0`` of their symbols.

    ``UNKNOWN`` means that the order depends on the values, which the examples show, or that it
    could not be decided.
    """
    left, right = OptimDim(a), OptimDim(b)
    difference = left - right
    low, high = difference.bounds()
    if difference == 0:
        return ExpressionComparison(CompareResult.EQUAL, difference)
    if high is not None and high < 0:
        return ExpressionComparison(CompareResult.SMALLER, difference)
    if low is not None and low > 0:
        return ExpressionComparison(CompareResult.GREATER, difference)
    smaller, greater = _examples(left, right)
    return ExpressionComparison(CompareResult.UNKNOWN, difference, smaller, greater)


def _examples(
    left: OptimDim, right: OptimDim
) -> tuple[Mapping[str, int] | None, Mapping[str, int] | None]:
    names = sorted(left.symbols() | right.symbols())[:_MAX_GRID_SYMBOLS]
    rest = dict.fromkeys(sorted(left.symbols() | right.symbols())[_MAX_GRID_SYMBOLS:], 1)
    smaller: Mapping[str, int] | None = None
    greater: Mapping[str, int] | None = None
    for point in itertools.product(_GRID, repeat=len(names)):
        values = dict(zip(names, point, strict=True)) | rest
        try:
            sign = left.evaluate(values) - right.evaluate(values)
        except ShapeError:  # a divisor is zero there
            continue
        if sign < 0 and smaller is None:
            smaller = values
        elif sign > 0 and greater is None:
            greater = values
        if smaller is not None and greater is not None:
            break
    return smaller, greater


def dim_ranges_from_expressions(
    equalities: Iterable[tuple[DimLike, DimLike]],
) -> dict[str, DimRange]:
    """Ranges of symbols that follow from equalities with an integer.

    Understood are ``n == 5``, ``n + c == k`` and ``n//d == k`` (``d*k <= n <= d*k + d - 1``).

    Raises:
        ShapeContradictionError: A symbol has no value left.
    """
    ranges: dict[str, DimRange] = {}
    for a, b in equalities:
        terms = (OptimDim(a) - OptimDim(b)).terms
        shift = poly.constant_part(terms)
        rest = terms[:-1] if shift else terms
        for name in OptimDim(a).symbols() | OptimDim(b).symbols():
            ranges.setdefault(name, DimRange(0, INFINITY))
        if len(rest) != 1 or len(rest[0][0]) != 1 or shift % rest[0][1]:
            continue
        atom, value = rest[0][0][0], -shift // rest[0][1]
        found = _range_of(atom, value)
        if found is None:
            continue
        name, low, high = found
        old = ranges[name]
        new = DimRange(max(old.lower, low), min(old.upper, high))
        if new.lower > new.upper:
            raise ShapeContradictionError(
                f"A symbol must have a value. Received: {name} in {old.lower}..{old.upper} and in "
                f"{low}..{high}."
            )
        ranges[name] = new
    return ranges


def _range_of(atom: poly.Atom, value: int) -> tuple[str, int, int] | None:
    if atom.kind == "symbol":
        return atom.name, value, value
    if atom.kind != "floordiv":
        return None
    inner = poly.single_atom(atom.args[0])
    divisor = poly.as_constant(atom.args[1])
    if inner is None or inner.kind != "symbol" or divisor is None:
        return None
    return inner.name, divisor * value, divisor * value + divisor - 1


def rename_dynamic_dimensions(
    equalities: Iterable[tuple[DimLike, DimLike]], preferred: Iterable[str]
) -> dict[str, str]:
    """One name for symbols that are equal: a preferred one where there is one.

    Returns:
        The replacement of each symbol that gets another name or becomes an expression.
    """
    wanted = set(preferred)
    store = Constraints(generated=lambda name: name not in wanted)
    for a, b in equalities:
        store.add(a, b)
    return {name: str(value) for name, value in store.solutions().items()}
