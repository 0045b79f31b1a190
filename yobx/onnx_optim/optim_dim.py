"""``OptimDim``: one dimension, a canonical integer expression over symbols that are ``>= 0``."""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from yobx.errors import ArgumentError, ShapeError
from yobx.onnx_optim import division as dv
from yobx.onnx_optim import polynomial as poly
from yobx.onnx_optim.parsing import parse
from yobx.onnx_optim.polynomial import Terms

__all__ = ["DimLike", "OptimDim"]

DimLike: TypeAlias = "OptimDim | int | str"

_IDENTIFIER = re.compile(r"[^\W\d]\w*\Z")
_CACHE_LIMIT = 50_000


class OptimDim:
    """A dimension: an integer, or an integer expression over symbols.

    Two dimensions are equal when their normal forms are: ``OptimDim("a + b") == "b+a"``. Every
    symbol stands for an integer ``>= 0``. A text that is no expression is one opaque symbol and is
    printed back as it came.

    Args:
        value: An integer or an expression such as ``"2*N"``, ``"max(n, m)"``, ``"-(-n//b)"``.
    """

    __slots__ = ("__weakref__", "_bounds", "_hash", "_int", "_terms", "_text")

    _int: int | None
    _terms: Terms
    _hash: int
    _text: str | None
    _bounds: tuple[int | None, int | None] | None

    def __new__(cls, value: DimLike = 0) -> OptimDim:
        if type(value) is int:
            found = _SMALL.get(value)
            return _of_int(value) if found is None else found
        if isinstance(value, OptimDim):
            return value
        if isinstance(value, str):
            found = _PARSED.get(value)
            return _of_text(value) if found is None else found
        try:
            return cls(value.__index__())
        except (AttributeError, TypeError):
            raise ArgumentError(
                f"A dimension is an integer or a text. Received: {value!r} of type "
                f"{type(value).__name__}.",
                argument="value",
            ) from None

    # -- what it is

    def is_int(self) -> bool:
        """True for a known integer."""
        return self._int is not None

    def is_expr(self) -> bool:
        """True when it holds at least one symbol."""
        return self._int is None

    def is_symbol(self) -> bool:
        """True for one symbol alone."""
        atom = poly.single_atom(self._terms)
        return atom is not None and atom.kind == "symbol"

    def as_int(self) -> int:
        """The integer.

        Raises:
            ShapeError: It is an expression.
        """
        if self._int is None:
            raise ShapeError(f"The dimension must be a known integer. Received: {self}.")
        return self._int

    def as_expr(self) -> str:
        """The text of the expression.

        Raises:
            ShapeError: It is an integer.
        """
        if self._int is not None:
            raise ShapeError(f"The dimension must be symbolic. Received: {self._int}.")
        return str(self)

    @property
    def value(self) -> int | str:
        """The integer or the text of the expression."""
        return str(self) if self._int is None else self._int

    @property
    def terms(self) -> Terms:
        """The normal form."""
        return self._terms

    def symbols(self) -> frozenset[str]:
        """Names of the symbols it depends on."""
        return poly.symbols_of(self._terms)

    def __str__(self) -> str:
        if self._text is None:
            self._text = _printed(self._terms)
        return self._text

    def __repr__(self) -> str:
        return f"OptimDim({self.value!r})"

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, OptimDim):
            return self._hash == other._hash and self._terms == other._terms
        if isinstance(other, int):
            return self._int == other
        if isinstance(other, str):
            return self._terms == OptimDim(other)._terms
        return NotImplemented

    def __reduce__(self) -> tuple[type[OptimDim], tuple[int | str]]:
        return (OptimDim, (self.value,))

    # -- arithmetic

    def __add__(self, other: DimLike) -> OptimDim:
        b = OptimDim(other)
        if self._int is not None and b._int is not None:
            return OptimDim(self._int + b._int)
        return of_terms(poly.add(self._terms, b._terms))

    __radd__ = __add__

    def __sub__(self, other: DimLike) -> OptimDim:
        b = OptimDim(other)
        if self._int is not None and b._int is not None:
            return OptimDim(self._int - b._int)
        return of_terms(poly.subtract(self._terms, b._terms))

    def __rsub__(self, other: DimLike) -> OptimDim:
        return OptimDim(other) - self

    def __mul__(self, other: DimLike) -> OptimDim:
        b = OptimDim(other)
        if self._int is not None and b._int is not None:
            return OptimDim(self._int * b._int)
        return of_terms(poly.multiply(self._terms, b._terms))

    __rmul__ = __mul__

    def __neg__(self) -> OptimDim:
        return of_terms(poly.scale(self._terms, -1))

    def __pos__(self) -> OptimDim:
        return self

    def __floordiv__(self, other: DimLike) -> OptimDim:
        return of_terms(dv.floordiv(self._terms, OptimDim(other)._terms))

    def __rfloordiv__(self, other: DimLike) -> OptimDim:
        return OptimDim(other) // self

    def __mod__(self, other: DimLike) -> OptimDim:
        return of_terms(dv.modulo(self._terms, OptimDim(other)._terms))

    def __rmod__(self, other: DimLike) -> OptimDim:
        return OptimDim(other) % self

    def ceil_div(self, other: DimLike) -> OptimDim:
        """``-(-self // other)``: the quotient rounded up."""
        return -((-self) // other)

    def exact_div(self, other: DimLike) -> OptimDim:
        """The quotient, where the caller knows that ``other`` is not 0 and divides ``self``."""
        return of_terms(dv.exact_div(self._terms, OptimDim(other)._terms))

    def rejoined(self) -> OptimDim:
        """The same size with ``x`` for ``max(x - y, 0) + min(x, y)``."""
        return of_terms(dv.rejoined(self._terms))

    @staticmethod
    def max(*dims: DimLike | Iterable[DimLike]) -> OptimDim:
        """Greatest of the dimensions, given one by one or as one iterable."""
        return of_terms(dv.maximum(d._terms for d in _spread(dims)))

    @staticmethod
    def min(*dims: DimLike | Iterable[DimLike]) -> OptimDim:
        """Least of the dimensions, given one by one or as one iterable."""
        return of_terms(dv.minimum(d._terms for d in _spread(dims)))

    @staticmethod
    def broadcast(a: DimLike, b: DimLike) -> OptimDim:
        """Size that broadcasting gives: ``a`` and ``b`` are equal, or one of them is 1."""
        left, right = OptimDim(a), OptimDim(b)
        if right in (left, 1):
            return left
        if left == 1:
            return right
        return OptimDim.max(left, right) * OptimDim.min(left, right, 1)

    # -- values

    def evaluate(self, values: Mapping[str, int] | None = None) -> int:
        """Integer value for the given values of the symbols.

        Raises:
            ShapeError: A symbol has no value, or a divisor is zero.
        """
        if self._int is not None:
            return self._int
        try:
            return poly.evaluate(self._terms, values or {})
        except KeyError as error:
            raise ShapeError(
                f"Every symbol needs a value. Received: {self} with {dict(values or {})}, where "
                f"{error.args[0]!r} has none."
            ) from None
        except ZeroDivisionError:
            raise ShapeError(
                f"A divisor must not be zero. Received: {self} with {dict(values or {})}."
            ) from None

    def substitute(self, mapping: Mapping[str, DimLike]) -> OptimDim:
        """The dimension with symbols replaced by dimensions.

        Raises:
            ShapeError: A divisor becomes zero, or the expression too large.
        """
        if self._int is not None or not mapping:
            return self
        terms = {k: OptimDim(v)._terms for k, v in mapping.items()}
        try:
            return of_terms(dv.substitute(self._terms, terms))
        except ZeroDivisionError:
            raise ShapeError(
                f"A divisor must not be zero. Received: {self} with {dict(mapping)}."
            ) from None

    def bounds(self) -> tuple[int | None, int | None]:
        """Inclusive lower and upper bounds that hold for all symbols ``>= 0``."""
        if self._bounds is None:
            self._bounds = dv.tight_bounds(self._terms)
        return self._bounds


def _spread(dims: tuple[DimLike | Iterable[DimLike], ...]) -> list[OptimDim]:
    out: list[OptimDim] = []
    for dim in dims:
        if isinstance(dim, OptimDim | int | str):
            out.append(OptimDim(dim))
        else:
            out.extend(map(OptimDim, dim))
    if not out:
        raise ArgumentError("max and min need at least one dimension. Received: none.")
    return out


def _build(terms: Terms, value: int | None, text: str | None) -> OptimDim:
    self = object.__new__(OptimDim)
    self._terms = terms
    self._int = value
    # Equal to the hash of the integer or of the name, because ``OptimDim(3) == 3``.
    if value is not None:
        self._hash = hash(value)
    else:
        atom = poly.single_atom(terms)
        self._hash = hash(terms) if atom is None or not atom.name else hash(atom.name)
    self._text = text
    self._bounds = None
    return self


def _of_int(value: int) -> OptimDim:
    return _build(poly.constant(value), value, str(value))


def of_terms(terms: Terms) -> OptimDim:
    """The dimension with this normal form."""
    value = poly.as_constant(terms)
    if value is not None:
        return OptimDim(value)
    found = _INTERNED.get(terms)
    if found is None:
        found = _build(terms, None, None)
        _INTERNED[terms] = found
    return found


def _of_text(text: str) -> OptimDim:
    if len(_PARSED) > _CACHE_LIMIT:
        _PARSED.clear()
    if _IDENTIFIER.match(text):
        dim = of_terms(poly.symbol(text))
    else:
        try:
            dim = of_terms(parse(text))
        except ShapeError:
            dim = of_terms(poly.symbol(text))
    _PARSED[text] = dim
    return dim


def _printed(terms: Terms) -> str:
    atom = poly.single_atom(terms)
    if atom is not None and atom.kind == "symbol":
        return atom.name
    return poly.text(terms)


_INTERNED: weakref.WeakValueDictionary[Terms, OptimDim] = weakref.WeakValueDictionary()
_PARSED: dict[str, OptimDim] = {}
_SMALL: dict[int, OptimDim] = {i: _of_int(i) for i in range(-16, 4097)}
