"""Integer polynomials over symbols and opaque atoms: the normal form behind ``OptimDim``.

A polynomial is a sorted tuple of ``(monomial, coefficient)``; a monomial is a sorted tuple of
atoms; an atom is a symbol, or one of ``floordiv``, ``mod``, ``max``, ``min`` over polynomials.
Every symbol is an integer ``>= 0``: no rule here needs more than that, and none divides by
something that could be zero.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable, Mapping
from typing import ClassVar

from yobx.errors import ShapeError

__all__ = ["Atom", "ExpressionTooLargeError", "Monomial", "Terms"]

MAX_TERMS = 160
MAX_DEPTH = 40
MAX_TEXT = 4000


class ExpressionTooLargeError(ShapeError):
    """A symbolic expression outgrew what is useful; callers name a new symbol instead."""


class Atom:
    """A symbol, or an opaque function of polynomials.

    Attributes:
        kind: ``"symbol"``, ``"floordiv"``, ``"mod"``, ``"max"`` or ``"min"``.
        name: Name of the symbol, ``""`` for a function.
        args: Arguments of the function.
        key: Text of the atom, which identifies it.
        rank: Place among the factors of a product.
        symbols: Names of the symbols in it.
        depth: Nesting of functions, 0 for a symbol.
    """

    __slots__ = (
        "__weakref__",
        "_bounds",
        "args",
        "depth",
        "key",
        "kind",
        "name",
        "rank",
        "symbols",
    )

    _interned: ClassVar[weakref.WeakValueDictionary[str, Atom]] = weakref.WeakValueDictionary()

    kind: str
    name: str
    args: tuple[Terms, ...]
    key: str
    depth: int
    rank: tuple[bool, str]
    symbols: frozenset[str]
    _bounds: tuple[int | None, int | None] | None

    @classmethod
    def symbol(cls, name: str) -> Atom:
        """The symbol called ``name``."""
        return cls._make("symbol", name, (), name if name.isidentifier() else quoted(name))

    @classmethod
    def function(cls, kind: str, args: tuple[Terms, ...]) -> Atom:
        """The function ``kind`` applied to ``args``, taken as given (not simplified)."""
        if kind == "floordiv":
            key = f"{_numerator(args[0])}//{_operand(args[1])}"
        elif kind == "mod":
            key = f"{_numerator(args[0])}%{_operand(args[1])}"
        else:
            key = f"{kind}({', '.join(map(text, args))})"
        return cls._make(kind, "", args, key)

    @classmethod
    def _make(cls, kind: str, name: str, args: tuple[Terms, ...], key: str) -> Atom:
        found = cls._interned.get(key)
        if found is not None:
            return found
        depth = 1 + max((depth_of(a) for a in args), default=-1)
        if depth > MAX_DEPTH or (args and len(key) > MAX_TEXT):
            raise ExpressionTooLargeError(
                f"A symbolic expression may nest {MAX_DEPTH} functions and have {MAX_TEXT} "
                f"characters. Received: {key[:80]}...",
                hint="Try naming a part of it with its own symbol.",
            )
        self = object.__new__(cls)
        self.kind, self.name, self.args, self.key, self.depth = kind, name, args, key, depth
        self.symbols = (
            frozenset((name,)) if kind == "symbol" else frozenset().union(*map(symbols_of, args))
        )
        # Symbols come before functions.
        self.rank = (depth > 0, key)
        self._bounds = None
        cls._interned[key] = self
        return self

    def bounds(self) -> tuple[int | None, int | None]:
        """Inclusive bounds of the value; ``None`` is infinite."""
        if self._bounds is None:
            self._bounds = _atom_bounds(self)
        return self._bounds

    def __repr__(self) -> str:
        return f"Atom({self.key})"


Monomial = tuple[Atom, ...]
Terms = tuple[tuple[Monomial, int], ...]

ZERO: Terms = ()
ONE: Terms = (((), 1),)


def quoted(name: str) -> str:
    """A name that is not an identifier, quoted so that the parser reads it back."""
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"


def constant(value: int) -> Terms:
    """The polynomial of one integer."""
    return (((), value),) if value else ()


def symbol(name: str) -> Terms:
    """The polynomial of one symbol."""
    return (((Atom.symbol(name),), 1),)


def as_constant(a: Terms) -> int | None:
    """The integer this polynomial is, or ``None``."""
    if not a:
        return 0
    return a[0][1] if len(a) == 1 and not a[0][0] else None


def single_atom(a: Terms) -> Atom | None:
    """The atom this polynomial is, or ``None``."""
    if len(a) == 1 and a[0][1] == 1 and len(a[0][0]) == 1:
        return a[0][0][0]
    return None


def constant_part(a: Terms) -> int:
    """The integer added to the monomials."""
    return a[-1][1] if a and not a[-1][0] else 0


def depth_of(a: Terms) -> int:
    """Deepest nesting of functions."""
    return max((atom.depth for mono, _ in a for atom in mono), default=0)


def symbols_of(a: Terms) -> frozenset[str]:
    """Names of all symbols in the polynomial."""
    found: frozenset[str] = frozenset()
    for mono, _ in a:
        for atom in mono:
            found |= atom.symbols
    return found


def _order(term: tuple[Monomial, int]) -> tuple[bool, list[tuple[bool, str]]]:
    return (not term[0], [atom.rank for atom in term[0]])


def _by_rank(atom: Atom) -> tuple[bool, str]:
    return atom.rank


def normal(collected: Mapping[Monomial, int]) -> Terms:
    """Terms in their order, without zeros.

    Raises:
        ExpressionTooLargeError: There are more terms than anybody can use.
    """
    terms = [item for item in collected.items() if item[1]]
    if len(terms) > 1:
        if len(terms) > MAX_TERMS:
            raise ExpressionTooLargeError(
                f"A symbolic expression may have {MAX_TERMS} terms. Received: {len(terms)}."
            )
        terms.sort(key=_order)
    return tuple(terms)


def add(a: Terms, b: Terms) -> Terms:
    """Sum."""
    if not a:
        return b
    if not b:
        return a
    out = dict(a)
    for mono, coef in b:
        out[mono] = out.get(mono, 0) + coef
    return normal(out)


def scale(a: Terms, factor: int) -> Terms:
    """Product with an integer."""
    if factor == 1:
        return a
    return tuple((mono, coef * factor) for mono, coef in a) if factor else ()


def subtract(a: Terms, b: Terms) -> Terms:
    """Difference."""
    return add(a, scale(b, -1))


def multiply(a: Terms, b: Terms) -> Terms:
    """Product."""
    ca, cb = as_constant(a), as_constant(b)
    if ca is not None:
        return scale(b, ca)
    if cb is not None:
        return scale(a, cb)
    out: dict[Monomial, int] = {}
    for mono_a, coef_a in a:
        for mono_b, coef_b in b:
            mono = (
                _absorbed(tuple(sorted(mono_a + mono_b, key=_by_rank)))
                if mono_a and mono_b
                else (mono_a or mono_b)
            )
            out[mono] = out.get(mono, 0) + coef_a * coef_b
    return normal(out)


def _absorbed(mono: Monomial) -> Monomial:
    """A product without ``min(x, 1)`` where ``x`` is a factor too: it is 1, or the product is 0."""
    for place, atom in enumerate(mono):
        if atom.kind == "min" and len(atom.args) == 2 and atom.args[1] == ONE:
            rest = mono[:place] + mono[place + 1 :]
            if _is_implied(atom, rest):
                return _absorbed(rest)
    return mono


def _is_implied(atom: Atom, rest: Monomial) -> bool:
    """Whether ``min(x, 1)`` is 1 wherever the other factors of its product are not 0."""
    factors: Monomial = (atom,)
    if atom not in rest and len(atom.args[0]) == 1 and atom.args[0][0][1] > 0:
        factors = atom.args[0][0][0]
    lows = [factor.bounds()[0] for factor in factors]
    return all(low is not None and low >= 0 for low in lows) and all(
        factor in rest or any(_is_zero_with(other, factor) for other in rest) for factor in factors
    )


def _is_zero_with(other: Atom, factor: Atom) -> bool:
    """Whether ``other`` is 0 where a symbol is, as ``(h + 1)//2`` where ``h`` is."""
    if factor.kind != "symbol" or other.symbols != {factor.name}:
        return False
    try:
        return _evaluate_atom(other, {factor.name: 0}) == 0
    except ZeroDivisionError:
        return False


# ---------------------------------------------------------------------------------------- bounds


def _product(a: int | None, b: int | None) -> int | None:
    if a == 0 or b == 0:
        return 0
    return None if a is None or b is None else a * b


def bounds(a: Terms) -> tuple[int | None, int | None]:
    """Inclusive bounds by interval arithmetic; ``None`` is infinite."""
    low: int | None = 0
    high: int | None = 0
    for mono, coef in a:
        mono_low, mono_high = _monomial_bounds(mono)
        if coef < 0:
            mono_low, mono_high = mono_high, mono_low
        if low is not None:
            low = None if mono_low is None else low + coef * mono_low
        if high is not None:
            high = None if mono_high is None else high + coef * mono_high
        if low is None and high is None:
            break
    return low, high


def _monomial_bounds(mono: Monomial) -> tuple[int | None, int | None]:
    low: int | None = 1
    high: int | None = 1
    for atom in mono:
        atom_low, atom_high = atom.bounds()
        if low is not None and low >= 0 and atom_low is not None and atom_low >= 0:
            low, high = low * atom_low, _product(high, atom_high)
        elif low is None or high is None or atom_low is None or atom_high is None:
            return None, None
        else:
            corners = (low * atom_low, low * atom_high, high * atom_low, high * atom_high)
            low, high = min(corners), max(corners)
    return low, high


def _atom_bounds(atom: Atom) -> tuple[int | None, int | None]:
    if atom.kind == "symbol":
        return 0, None
    if atom.kind == "floordiv":
        return _floordiv_bounds(bounds(atom.args[0]), bounds(atom.args[1]))
    if atom.kind == "mod":
        return _mod_bounds(bounds(atom.args[0]), bounds(atom.args[1]))
    lows, highs = zip(*map(bounds, atom.args), strict=True)
    if atom.kind == "max":
        known = [v for v in lows if v is not None]
        return max(known, default=None), (None if None in highs else max(highs))
    known = [v for v in highs if v is not None]
    return (None if None in lows else min(lows)), min(known, default=None)


def _floordiv_bounds(
    num: tuple[int | None, int | None], den: tuple[int | None, int | None]
) -> tuple[int | None, int | None]:
    low, high = num
    den_low, den_high = den
    # A zero divisor makes the value undefined, so a divisor >= 0 is as good as one >= 1.
    if den_low is None or den_low < 0:
        return None, None
    den_low = max(den_low, 1)
    if den_high is not None and den_high < den_low:
        return None, None

    def quotient(value: int | None, at_low: int | None, at_high: int | None) -> int | None:
        if value is None:
            return None
        divisor = at_high if value >= 0 else at_low
        if divisor is None:
            return 0 if value >= 0 else -1
        return value // divisor

    lowest = quotient(low, den_low, den_high)
    highest = quotient(high, den_high, den_low)
    return lowest, highest


def _mod_bounds(
    num: tuple[int | None, int | None], den: tuple[int | None, int | None]
) -> tuple[int | None, int | None]:
    den_low, den_high = den
    if den_low is None or den_low < 0:
        return None, None
    high = None if den_high is None else den_high - 1
    if num[0] is not None and num[0] >= 0 and num[1] is not None:
        high = num[1] if high is None else min(high, num[1])
    return 0, high


# ------------------------------------------------------------------------------------- evaluation


def evaluate(a: Terms, values: Mapping[str, int]) -> int:
    """Value when each symbol has the given integer.

    Raises:
        KeyError: A symbol has no value.
        ZeroDivisionError: A divisor is zero.
    """
    total = 0
    for mono, coef in a:
        for atom in mono:
            coef *= _evaluate_atom(atom, values)  # noqa: PLW2901 - the running product
        total += coef
    return total


def _evaluate_atom(atom: Atom, values: Mapping[str, int]) -> int:
    if atom.kind == "symbol":
        return values[atom.name]
    args = [evaluate(arg, values) for arg in atom.args]
    if atom.kind == "floordiv":
        return args[0] // args[1]
    if atom.kind == "mod":
        return args[0] % args[1]
    return max(args) if atom.kind == "max" else min(args)


# ---------------------------------------------------------------------------------------- printing


def _operand(a: Terms) -> str:
    """Text of an operand of ``//`` or ``%`` (parenthesised unless it is one name or number)."""
    atom = single_atom(a)
    if (atom is not None and atom.kind not in ("floordiv", "mod")) or (
        as_constant(a) is not None and (not a or a[0][1] > 0)
    ):
        return text(a)
    return f"({text(a)})"


def _numerator(a: Terms) -> str:
    """Text of a left operand: ``2*a//b`` and ``-a//b`` read back without parentheses."""
    if len(a) == 1 and all(atom.kind not in ("floordiv", "mod") for atom in a[0][0]):
        return text(a)
    return _operand(a)


def _monomial_text(mono: Monomial, coef: int) -> str:
    """Text of ``|coef| * mono``; a ceiling division keeps its outer sign outside."""
    parts = [str(coef)] if coef != 1 else []
    for atom in mono:
        divides = atom.kind in ("floordiv", "mod")
        # A division is only safe unparenthesised as the single leading factor.
        parts.append(f"({atom.key})" if divides and (parts or len(mono) > 1) else atom.key)
    return "*".join(parts)


def text(a: Terms) -> str:
    """Python expression of the polynomial, which the parser reads back to the same one."""
    if not a:
        return "0"
    out: list[str] = []
    for mono, coef in a:
        piece = str(abs(coef)) if not mono else _signed_piece(mono, coef)
        if not out:
            out.append(f"-{piece}" if coef < 0 else piece)
        else:
            out.append((" - " if coef < 0 else " + ") + piece)
    return "".join(out)


def _signed_piece(mono: Monomial, coef: int) -> str:
    if coef == -1 and len(mono) == 1 and mono[0].kind in ("floordiv", "mod"):
        return f"({mono[0].key})"
    return _monomial_text(mono, abs(coef))


def gcd_of(coefs: Iterable[int]) -> int:
    """Greatest common divisor, 0 for no coefficient."""
    return math.gcd(*coefs)


def factor_of(a: Terms) -> int:
    """The greatest number that divides all coefficients, 0 of the polynomial 0."""
    return gcd_of(coef for _, coef in a)


def primitive(a: Terms) -> Terms:
    """``a`` without the common factor of its coefficients: 0 where ``a`` is, of its sign."""
    factor = factor_of(a)
    return a if factor < 2 else tuple((mono, coef // factor) for mono, coef in a)
