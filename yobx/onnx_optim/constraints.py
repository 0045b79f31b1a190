"""Equalities and upper bounds between dimensions, and what follows from them."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Mapping

from yobx.errors import ShapeContradictionError, ShapeError
from yobx.onnx_optim import polynomial as poly
from yobx.onnx_optim.optim_dim import DimLike, OptimDim, of_terms

__all__ = ["Constraints"]

_TOKENS = itertools.count(1)


class Constraints:
    """Facts about dimensions that hold in every run that reaches the node which needs them.

    Args:
        parent: Facts of the enclosing context, which hold here too.
        generated: Tells whether a symbol was made by the engine; those are eliminated first.
    """

    def __init__(
        self, parent: Constraints | None = None, generated: Callable[[str], bool] | None = None
    ) -> None:
        # Deep nesting: a context that holds no fact of its own is passed over.
        bare = parent is not None and not (parent._equal or parent._at_most)
        self._parent: Constraints | None = parent._parent if parent and bare else parent
        self._generated = generated or (lambda _: False)
        self._equal: dict[tuple[OptimDim, OptimDim], None] = {}
        self._at_most: dict[tuple[OptimDim, OptimDim], None] = {}
        # Shared with the parent until the first equality of this context.
        self._solved: dict[str, OptimDim] = parent._solved if parent else {}
        self.token: int = parent.token if parent else 0

    # -- equalities

    def add(self, a: DimLike, b: DimLike) -> bool:
        """Record ``a == b``; returns whether that is news.

        Raises:
            ShapeContradictionError: No value of the symbols makes them equal.
        """
        left, right = OptimDim(a), OptimDim(b)
        if left == right or self.has(left, right):
            return False
        low, high = (self.simplify(left) - self.simplify(right)).bounds()
        if (low is not None and low > 0) or (high is not None and high < 0):
            raise ShapeContradictionError(
                f"Two dimensions that must be equal never are. Received: {left} and {right}."
            )
        self._equal[_ordered(left, right)] = None
        self.token = next(_TOKENS)
        with contextlib.suppress(ShapeError):  # the equality itself stays recorded
            self._solve(left, right)
        return True

    def has(self, a: DimLike, b: DimLike) -> bool:
        """True when exactly this equality was recorded, here or in an enclosing context."""
        key = _ordered(OptimDim(a), OptimDim(b))
        scope: Constraints | None = self
        while scope is not None:
            if key in scope._equal:
                return True
            scope = scope._parent
        return False

    def equalities(self) -> list[tuple[OptimDim, OptimDim]]:
        """The equalities recorded here, smaller text first in each."""
        return list(self._equal)

    def known_equalities(self) -> list[tuple[OptimDim, OptimDim]]:
        """The equalities recorded here and in the enclosing contexts."""
        outer = self._parent.known_equalities() if self._parent is not None else []
        return [*outer, *self._equal]

    def _solve(self, a: OptimDim, b: OptimDim) -> None:
        """Turn an equality into a substitution, when one symbol stands alone in it."""
        terms = poly.subtract(self.simplify(a).terms, self.simplify(b).terms)
        common = poly.factor_of(terms)
        if not terms or common == 0:
            return
        counts: dict[str, int] = {}
        for mono, _ in terms:
            for name in poly.symbols_of(((mono, 1),)):
                counts[name] = counts.get(name, 0) + 1
        best: tuple[tuple[bool, bool, int, str], str, OptimDim] | None = None
        for mono, coef in terms:
            if len(mono) != 1 or mono[0].kind != "symbol" or abs(coef) != common:
                continue
            name = mono[0].name
            if counts[name] != 1:
                continue
            rest = tuple(t for t in terms if t[0] != mono)
            sign = -1 if coef > 0 else 1
            value = of_terms(tuple((m, sign * c // common) for m, c in rest))
            low, high = value.bounds()
            if high is not None and high < 0:
                continue
            may_be_negative = low is None or low < 0
            rank = (not self._generated(name), may_be_negative, -len(name), name)
            if best is None or rank < best[0]:
                best = (rank, name, value)
        if best is None:
            return
        _, name, value = best
        step = {name: value}
        self._solved = {k: _replaced(v, step) for k, v in self._solved.items()} | {name: value}

    def simplify(self, dim: DimLike) -> OptimDim:
        """``dim`` rewritten with the equalities known."""
        whole = OptimDim(dim)
        if not self._solved or whole.is_int():
            return whole
        if self._solved.keys().isdisjoint(whole.symbols()):
            return whole
        return _replaced(whole, self._solved)

    def solutions(self) -> dict[str, OptimDim]:
        """Symbols that an equality expresses by others."""
        return dict(self._solved)

    def has_solutions(self) -> bool:
        """True when :meth:`simplify` may change something."""
        return bool(self._solved)

    # -- upper bounds

    def add_at_most(self, a: DimLike, b: DimLike) -> bool:
        """Record ``a <= b``; returns whether that is news.

        Raises:
            ShapeContradictionError: No value of the symbols satisfies it.
        """
        left, right = OptimDim(a), OptimDim(b)
        if left == right or self.has_at_most(left, right):
            return False
        low, high = (left - right).bounds()
        if high is not None and high <= 0:
            return False
        if low is not None and low > 0:
            raise ShapeContradictionError(
                f"A dimension exceeds its upper bound. Received: {left}, at most {right}."
            )
        self._at_most[(left, right)] = None
        self.token = next(_TOKENS)
        return True

    def has_at_most(self, a: DimLike, b: DimLike) -> bool:
        """True when exactly this upper bound was recorded, here or in an enclosing context."""
        key = (OptimDim(a), OptimDim(b))
        scope: Constraints | None = self
        while scope is not None:
            if key in scope._at_most:
                return True
            scope = scope._parent
        return False

    def upper_bounds(self) -> list[tuple[OptimDim, OptimDim]]:
        """The upper bounds recorded here as ``(dimension, bound)``."""
        return list(self._at_most)

    def upper_bound_of(self, dim: DimLike) -> OptimDim | None:
        """A recorded upper bound of exactly this dimension, or ``None``."""
        wanted = OptimDim(dim)
        scope: Constraints | None = self
        while scope is not None:
            for left, right in scope._at_most:
                if left == wanted:
                    return right
            scope = scope._parent
        return None

    def adopt(self, other: Constraints) -> None:
        """Take over the facts of a context that certainly runs."""
        for a, b in other._equal:
            self.add(a, b)
        news = other._at_most.keys() - self._at_most.keys()
        if news:  # found possible where they come from
            self._at_most.update(dict.fromkeys(p for p in other._at_most if p in news))
            self.token = next(_TOKENS)

    def clear(self) -> None:
        """Forget what was recorded here."""
        self._equal.clear()
        self._at_most.clear()
        self._solved = self._parent._solved if self._parent else {}
        self.token = next(_TOKENS)


def _replaced(dim: OptimDim, values: Mapping[str, OptimDim]) -> OptimDim:
    """The dimension with symbols replaced, or as it is where that says nothing."""
    try:
        return dim.substitute(values)
    except ShapeError:  # too large, or it divides by a size that must be 0
        return dim


def _ordered(a: OptimDim, b: OptimDim) -> tuple[OptimDim, OptimDim]:
    return (a, b) if str(a) <= str(b) else (b, a)
