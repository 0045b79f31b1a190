"""Canonical floor division, remainder, maximum, minimum and exact division of polynomials.

Each rewrite holds for all integers that the operands can take when every symbol is ``>= 0``; where
the divisor may be zero the value is undefined, and the rewrite keeps it undefined.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Mapping

from yobx.onnx_optim.polynomial import (
    ONE,
    ZERO,
    Atom,
    ExpressionTooLargeError,
    Terms,
    add,
    as_constant,
    bounds,
    constant,
    constant_part,
    factor_of,
    gcd_of,
    multiply,
    normal,
    primitive,
    scale,
    single_atom,
    subtract,
    symbol,
)

__all__ = ["exact_div", "floordiv", "maximum", "minimum", "modulo", "rejoined", "substitute"]


MAX_ARGS = 24
MAX_RELAXED = 3
MAX_RELAXED_ARGS = 4


def _function(kind: str, *args: Terms) -> Terms:
    return (((Atom.function(kind, args),), 1),)


def _positive(a: Terms) -> bool:
    low = bounds(a)[0]
    return low is not None and low >= 1


def _not_negative(a: Terms) -> bool:
    low = bounds(a)[0]
    return low is not None and low >= 0


def _smaller(a: Terms, b: Terms) -> bool:
    """True when ``0 <= a < b`` for all values of the symbols."""
    low, high = bounds(a)
    least = bounds(b)[0]
    return low is not None and low >= 0 and high is not None and least is not None and high < least


def _content(a: Terms) -> int:
    return gcd_of(coef for mono, coef in a if mono)


def floordiv(a: Terms, b: Terms) -> Terms:
    """``a // b``, rounded towards minus infinity.

    Raises:
        ZeroDivisionError: ``b`` is the integer 0.
    """
    divisor = as_constant(b)
    if divisor is not None:
        return _floordiv_int(a, divisor)
    if _positive(b):
        if not a:
            return ZERO
        quotient, rest = _divide_monomials(a, b)
        if quotient:
            return add(quotient, floordiv(rest, b))
        if _smaller(a, b):
            return ZERO
    elif _not_negative(b):  # undefined where b == 0, before and after
        quotient, rest = _divide_monomials(a, b)
        if quotient and rest:
            return add(quotient, floordiv(rest, b))
    return _function("floordiv", a, b)


def _floordiv_int(a: Terms, divisor: int) -> Terms:
    if divisor == 0:
        raise ZeroDivisionError("integer division by zero")
    if divisor < 0:
        a, divisor = scale(a, -1), -divisor
    if divisor == 1:
        return a
    value = as_constant(a)
    if value is not None:
        return constant(value // divisor)
    whole: dict[tuple[Atom, ...], int] = {}
    rest: dict[tuple[Atom, ...], int] = {}
    for mono, coef in a:
        quotient, remainder = divmod(coef, divisor)
        # Towards zero for a monomial, so that -n//2 is not turned into -n + (n + 1)//2.
        if mono and quotient < 0 and remainder:
            quotient, remainder = quotient + 1, remainder - divisor
        whole[mono] = quotient
        rest[mono] = remainder
    return add(normal(whole), _floordiv_reduced(normal(rest), divisor))


def _floordiv_reduced(a: Terms, divisor: int) -> Terms:
    """Floor division when every coefficient of ``a`` is already below ``divisor``."""
    value = as_constant(a)
    if value is not None:
        return constant(value // divisor)
    common = gcd_of((_content(a), divisor))
    if common > 1:
        a = normal({mono: coef // common for mono, coef in a})
        divisor //= common
        return _floordiv_int(a, divisor)
    low, high = bounds(a)
    if low is not None and high is not None and low // divisor == high // divisor:
        return constant(low // divisor)
    if a[0][1] < 0:  # floor(-x / d) = -floor((x + d - 1) / d): one form for a ceiling
        flipped = add(scale(a, -1), constant(divisor - 1))
        return scale(_floordiv_int(flipped, divisor), -1)
    inner = _inner_division(a)
    if inner is not None:
        num, den, shift = inner
        return floordiv(add(num, scale(den, shift)), scale(den, divisor))
    decided = _decided_extremum(a, divisor)
    return _function("floordiv", a, constant(divisor)) if decided is None else decided


def _decided_extremum(a: Terms, divisor: int) -> Terms | None:
    """``(max(x, y) + c) // d`` where the quotient of one operand is always the greater one.

    Division by a positive integer keeps the order: ``(max(m - 1, 0) + 1) // 2`` is ``m // 2``.
    """
    shift = constant_part(a)
    atom = single_atom(a[:-1] if shift else a)
    if atom is None or atom.kind not in ("max", "min"):
        return None
    moved = [_floordiv_int(add(arg, constant(shift)), divisor) for arg in atom.args]
    result = _extremum(atom.kind, moved)
    left = single_atom(result)
    return None if left is not None and left.kind == atom.kind else result


def _inner_division(a: Terms) -> tuple[Terms, Terms, int] | None:
    """``(x, d, c)`` when ``a`` is ``x // d + c`` with an integer ``d > 0``."""
    shift = constant_part(a)
    atom = single_atom(a[:-1] if shift else a)
    if atom is None or atom.kind != "floordiv":
        return None
    den = as_constant(atom.args[1])
    return (atom.args[0], atom.args[1], shift) if den is not None and den > 0 else None


def _divide_monomials(a: Terms, b: Terms) -> tuple[Terms, Terms]:
    """Quotient and rest of the polynomial division by the leading monomial of ``b``."""
    lead_mono, lead_coef = b[0]
    quotient: Terms = ZERO
    rest = a
    for _ in range(len(a)):
        step: Terms = ZERO
        for mono, coef in rest:
            if coef % lead_coef == 0:
                left = _without(mono, lead_mono)
                if left is not None:
                    step = ((left, coef // lead_coef),)
                    break
        if not step:
            break
        reduced = subtract(rest, multiply(step, b))
        if len(reduced) >= len(rest):
            break
        quotient, rest = add(quotient, step), reduced
    return quotient, rest


def _without(mono: tuple[Atom, ...], factor: tuple[Atom, ...]) -> tuple[Atom, ...] | None:
    """``mono`` divided by ``factor``, or ``None``."""
    left = list(mono)
    for atom in factor:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def exact_div(a: Terms, b: Terms) -> Terms:
    """``a / b`` where the caller knows that ``b`` is not 0 and divides ``a``.

    Raises:
        ZeroDivisionError: ``b`` is the integer 0.
    """
    divisor = as_constant(b)
    if divisor is not None:
        return _floordiv_int(a, divisor)
    if a == b:
        return ONE
    quotient, rest = _divide_monomials(a, b)
    if not rest:
        return quotient
    common = _common_factor(a, b)
    if common is not None:
        return exact_div(*common)
    return floordiv(a, b)


def _common_factor(a: Terms, b: Terms) -> tuple[Terms, Terms] | None:
    """Both operands without an atom and an integer that all their terms share."""
    shared = list(a[0][0])
    for mono, _ in a[1:] + b:
        left, kept = list(mono), []
        for atom in shared:
            if atom in left:
                left.remove(atom)
                kept.append(atom)
        shared = kept
    content = gcd_of((factor_of(a), factor_of(b)))
    if not shared and content == 1:
        return None
    factor = tuple(shared)

    def reduced(terms: Terms) -> Terms:
        return normal({_without(m, factor) or (): c // content for m, c in terms})

    return reduced(a), reduced(b)


def modulo(a: Terms, b: Terms) -> Terms:
    """``a % b``, with the sign of ``b`` as in Python.

    Raises:
        ZeroDivisionError: ``b`` is the integer 0.
    """
    divisor = as_constant(b)
    if divisor is not None:
        return _modulo_int(a, divisor)
    if _positive(b):
        if not a:
            return ZERO
        quotient, rest = _divide_monomials(a, b)
        if quotient:
            return modulo(rest, b)
        if _smaller(a, b):
            return a
    return _function("mod", a, b)


def _modulo_int(a: Terms, divisor: int) -> Terms:
    if divisor == 0:
        raise ZeroDivisionError("integer modulo by zero")
    if divisor < 0:
        return scale(_modulo_int(scale(a, -1), -divisor), -1)
    a = normal({mono: coef % divisor for mono, coef in a})
    value = as_constant(a)
    if value is not None:
        return constant(value % divisor)
    common = gcd_of((_content(a), divisor))
    if common > 1:
        shift = constant_part(a)
        reduced = normal({m: c // common for m, c in a})
        return add(scale(_modulo_int(reduced, divisor // common), common), constant(shift % common))
    low, high = bounds(a)
    if low is not None and high is not None and low // divisor == high // divisor:
        return subtract(a, constant(divisor * (low // divisor)))
    return _function("mod", a, constant(divisor))


def difference_bounds(a: Terms, b: Terms) -> tuple[int | None, int | None]:
    """Bounds of ``a - b``, looking through divisions, maxima and minima."""
    return tight_bounds(subtract(a, b))


def tight_bounds(a: Terms) -> tuple[int | None, int | None]:
    """Bounds of ``a``, better than interval arithmetic where atoms depend on each other."""
    low, high = bounds(a)
    with contextlib.suppress(ExpressionTooLargeError):  # the bounds at hand are right too
        if low is None:
            low = _relaxed_low(a, 0)
        if high is None:
            relaxed = _relaxed_low(scale(a, -1), 0)
            high = None if relaxed is None else -relaxed
    return low, high


def _relaxed_low(a: Terms, tries: int) -> int | None:
    """A lower bound found by replacing one function by something linear that bounds it."""
    if tries > MAX_RELAXED:
        return None
    for mono, coef in a:
        if len(mono) != 1 or mono[0].kind == "symbol":
            continue
        atom = mono[0]
        rest = tuple(term for term in a if term[0] != mono)
        best: int | None = None
        for num, den in _linear_bounds(atom, lower=coef > 0):
            # den * a >= den * rest + coef * num
            low = bounds(candidate := add(scale(rest, den), scale(num, coef)))[0]
            if low is None:
                low = _relaxed_low(candidate, tries + 1)
            if low is not None:
                low = -(-low // den)
                best = low if best is None else max(best, low)
        if best is not None:
            return best
    return None


def _linear_bounds(atom: Atom, *, lower: bool) -> list[tuple[Terms, int]]:
    """Pairs ``(p, d)`` with ``atom >= p/d`` (``lower``) or ``atom <= p/d``."""
    if atom.kind == "floordiv":
        divisor = as_constant(atom.args[1])
        if divisor is None or divisor <= 0:
            return []
        num = atom.args[0]
        return [(subtract(num, constant(divisor - 1)) if lower else num, divisor)]
    if (atom.kind == "max" and lower) or (atom.kind == "min" and not lower):
        return [(arg, 1) for arg in atom.args[:MAX_RELAXED_ARGS]]
    return []


def maximum(args: Iterable[Terms]) -> Terms:
    """Greatest of ``args``."""
    return _extremum("max", args)


def minimum(args: Iterable[Terms]) -> Terms:
    """Least of ``args``."""
    return _extremum("min", args)


def rejoined(a: Terms) -> Terms:
    """``a`` with ``x`` for ``max(x - y, 0) + min(x, y)``: what was cut in two is whole again.

    Not a part of the normal form: a sum less one of its parts would not be the other part.
    """
    found = [(mono[0], coef) for mono, coef in a if len(mono) == 1 and len(mono[0].args) == 2]
    for (most, coef), (least, other) in itertools.permutations(found, 2):
        cut = (most.kind, least.kind) == ("max", "min") and coef == other
        if not cut or most.args[1] != ZERO:
            continue
        for x, y in (least.args, reversed(least.args)):
            if most.args[0] == subtract(x, y):
                rest = normal({m: c for m, c in a if m not in ((most,), (least,))})
                return rejoined(add(rest, scale(x, coef)))
    return a


def _extremum(kind: str, args: Iterable[Terms]) -> Terms:
    flat: dict[Terms, None] = {}
    for arg in args:
        atom = single_atom(arg)
        for inner in atom.args if atom is not None and atom.kind == kind else (arg,):
            flat[inner] = None
    if len(flat) > MAX_ARGS:
        raise ExpressionTooLargeError(
            f"A {kind} may have {MAX_ARGS} operands. Received: {len(flat)}."
        )
    kept: list[Terms] = []
    # In one order, because of two operands that are always equal only one is kept.
    for candidate in sorted(flat, key=_operand_order):
        if any(_dominates(kind, other, candidate) for other in kept):
            continue
        kept = [other for other in kept if not _dominates(kind, candidate, other)]
        kept.append(candidate)
    if len(kept) == 1:
        return kept[0]
    kept.sort(key=_operand_order)
    if kind == "min" and len(kept) == 2 and kept[1] == ONE:
        # min(2*x, 1) is min(x, 1) of what is never negative.
        smaller = primitive(kept[0]) if _not_negative(kept[0]) else kept[0]
        if smaller != kept[0]:
            return _extremum(kind, (smaller, ONE))
    return _function(kind, *kept)


def _operand_order(a: Terms) -> tuple[bool, list[tuple[list[tuple[bool, str]], int]]]:
    """Operands by their text, integers last."""
    return (as_constant(a) is not None, [([atom.rank for atom in m], c) for m, c in a])


def _dominates(kind: str, a: Terms, b: Terms) -> bool:
    """True when ``b`` can never be chosen over ``a``.

    ``max(x, min(x, y))`` is ``x``, and so is ``min(x, max(x, y))``.
    """
    low, high = difference_bounds(a, b)
    if (low is not None and low >= 0) if kind == "max" else (high is not None and high <= 0):
        return True
    other = single_atom(b)
    if other is None or other.kind != ("min" if kind == "max" else "max"):
        return False
    return any(_dominates(kind, a, operand) for operand in other.args)


def substitute(a: Terms, mapping: Mapping[str, Terms]) -> Terms:
    """``a`` with symbols replaced, normalised again."""
    total: Terms = ZERO
    for mono, coef in a:
        product = constant(coef)
        for atom in mono:
            product = multiply(product, _substitute_atom(atom, mapping))
        total = add(total, product)
    return total


def _substitute_atom(atom: Atom, mapping: Mapping[str, Terms]) -> Terms:
    if atom.kind == "symbol":
        found = mapping.get(atom.name)
        return symbol(atom.name) if found is None else found
    if not any(name in mapping for name in atom.symbols):
        return (((atom,), 1),)
    args = [substitute(arg, mapping) for arg in atom.args]
    if atom.kind == "floordiv":
        return floordiv(args[0], args[1])
    if atom.kind == "mod":
        return modulo(args[0], args[1])
    return _extremum(atom.kind, args)
