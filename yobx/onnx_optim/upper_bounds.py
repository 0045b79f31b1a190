"""Greatest sizes: what recorded bounds of data-dependent symbols mean for whole expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from yobx.onnx_optim.optim_dim import OptimDim, of_terms
from yobx.onnx_optim.polynomial import Atom, Monomial

if TYPE_CHECKING:
    from yobx.onnx_optim.context import ShapesContext

__all__ = ["Range", "UpperOf", "range_of", "upper_bound"]

UpperOf = Callable[[str], "OptimDim | None"]
"""Gives the upper bound of a symbol: the symbol itself when it stands for itself, ``None`` for an
unbounded one."""

_ZERO, _ONE = OptimDim(0), OptimDim(1)
_MAX_DEPTH = 20


@dataclass(frozen=True)
class Range:
    """Two expressions between which a size lies; ``None`` when there is none on that side."""

    low: OptimDim | None
    high: OptimDim | None

    def is_exact(self) -> bool:
        """True when both ends are one expression."""
        return self.low is not None and self.low == self.high


def range_of(dim: OptimDim, upper_of: UpperOf, depth: int = 0) -> Range:
    """The range of a size, in the symbols that stand for themselves.

    Args:
        dim: The size.
        upper_of: Upper bounds of the symbols.
        depth: Number of bounds followed so far.
    """
    low: OptimDim | None = _ZERO
    high: OptimDim | None = _ZERO
    for mono, factor in dim.terms:
        part = _range_of_product(mono, upper_of, depth)
        ends = (part.low, part.high) if factor > 0 else (part.high, part.low)
        low = None if low is None or ends[0] is None else low + ends[0] * factor
        high = None if high is None or ends[1] is None else high + ends[1] * factor
    # Rounding and minima may be known better without looking at single terms.
    bounds = dim.bounds()
    if low is None and bounds[0] is not None:
        low = OptimDim(bounds[0])
    if high is None and bounds[1] is not None:
        high = OptimDim(bounds[1])
    return Range(low, high)


def _range_of_product(mono: Monomial, upper_of: UpperOf, depth: int) -> Range:
    low: OptimDim | None = _ONE
    high: OptimDim | None = _ONE
    exact = True
    for atom in mono:
        part = _range_of_atom(atom, upper_of, depth)
        exact = exact and part.is_exact()
        low = None if low is None or part.low is None else low * part.low
        high = None if high is None or part.high is None else high * part.high
    if exact or all((atom.bounds()[0] or 0) >= 0 and atom.bounds()[0] is not None for atom in mono):
        return Range(low, high)
    return Range(None, None)


def _range_of_atom(atom: Atom, upper_of: UpperOf, depth: int) -> Range:
    if atom.kind == "symbol":
        return _range_of_symbol(atom, upper_of, depth)
    parts = [range_of(of_terms(arg), upper_of, depth) for arg in atom.args]
    if all(part.is_exact() for part in parts):
        whole = of_terms((((atom,), 1),))
        exact = _substituted(atom, parts)
        return Range(exact, exact) if exact is not None else Range(whole, whole)
    lows, highs = [p.low for p in parts], [p.high for p in parts]
    if atom.kind == "max":
        known = [low for low in lows if low is not None]
        top = [high for high in highs if high is not None]
        return Range(
            OptimDim.max(known) if known else None,
            OptimDim.max(top) if len(top) == len(highs) else None,
        )
    if atom.kind == "min":
        known = [high for high in highs if high is not None]
        bottom = [low for low in lows if low is not None]
        return Range(
            OptimDim.min(bottom) if len(bottom) == len(lows) else None,
            OptimDim.min(known) if known else None,
        )
    return _range_of_division(atom.kind, parts)


def _substituted(atom: Atom, parts: list[Range]) -> OptimDim | None:
    """The function of its exact arguments, which may be written in other symbols."""
    args = [part.low for part in parts if part.low is not None]
    if atom.kind == "max":
        return OptimDim.max(args)
    if atom.kind == "min":
        return OptimDim.min(args)
    divisor = args[1].bounds()[0]
    if divisor is None or divisor < 1:
        return None
    return args[0] // args[1] if atom.kind == "floordiv" else args[0] % args[1]


def _range_of_division(kind: str, parts: list[Range]) -> Range:
    """A quotient or remainder, where the numerator is not negative and the divisor positive."""
    top, bottom = parts
    low_top = None if top.low is None else top.low.bounds()[0]
    low_bottom = None if bottom.low is None else bottom.low.bounds()[0]
    if low_top is None or low_top < 0 or low_bottom is None or low_bottom < 1:
        return Range(None, None)
    if kind == "mod":
        most = None if bottom.high is None else bottom.high - 1
        if top.high is not None:
            most = top.high if most is None else OptimDim.min(most, top.high)
        return Range(_ZERO, most)
    low = _ZERO
    if top.low is not None and bottom.high is not None:
        low = top.low // bottom.high
    high = None if top.high is None or bottom.low is None else top.high // bottom.low
    return Range(low, high)


def _range_of_symbol(atom: Atom, upper_of: UpperOf, depth: int) -> Range:
    bound = upper_of(atom.name)
    own = of_terms((((atom,), 1),))
    if bound is None:
        return Range(_ZERO, None)
    if bound == own:
        return Range(own, own)
    if depth >= _MAX_DEPTH:
        return Range(_ZERO, None)
    return Range(_ZERO, range_of(bound, upper_of, depth + 1).high)


def upper_bound(
    context: ShapesContext, dim: OptimDim, limits: Mapping[str, int]
) -> OptimDim | None:
    """The greatest value of a size as far as the bounds recorded in a context tell.

    Args:
        context: Where the size was inferred.
        dim: The size.
        limits: Greatest values of symbols that the caller knows.
    """
    session, store = context.session, context.constraints_store

    def upper_of(symbol: str) -> OptimDim | None:
        if symbol in limits:
            return OptimDim(limits[symbol])
        origin = session.origin_of(symbol)
        if origin is not None and origin.upper is not None:
            return origin.upper
        itself = OptimDim(symbol) if origin is None or not origin.op_type else None
        return store.upper_bound_of(symbol) or itself

    return range_of(dim, upper_of).high
