"""Sizes that are written as symbols, or as expressions of them such as ``2*n + 1``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from yobx.errors import ArgumentError, ShapeError
from yobx.onnx_optim.optim_dim import OptimDim

__all__ = [
    "as_written",
    "contradicted",
    "named_size",
    "refuse_contradicted",
    "size_of",
    "solve",
    "solved",
    "symbols_of",
]

_NAME = re.compile(r"[A-Za-z_]\w*")
# Where a size that does not grow for ever, as `n % 7`, has fallen back.
_FAR = (10_007, 1_000_003)


def as_written(shape: Iterable[Any]) -> tuple[int | str | None, ...]:
    """A shape whose symbolic sizes are texts: those of JAX are objects that read like that."""
    return tuple(dim if dim is None or isinstance(dim, int) else str(dim) for dim in shape)


def symbols_of(dim: str) -> list[str]:
    """The symbols of a size, sorted."""
    return sorted(OptimDim(dim).symbols())


def named_size(text: object) -> str | None:
    """A size as a user may name it: an identifier, or an expression of identifiers.

    Args:
        text: What was given.

    Returns:
        Its normal form; ``None`` if it is neither.
    """
    if not isinstance(text, str):
        return None
    try:
        dim = OptimDim(text)
    except ShapeError:
        return None
    names = dim.symbols()
    return str(dim) if names and all(map(_NAME.fullmatch, names)) else None


def size_of(dim: str, sizes: Mapping[str, int]) -> int | None:
    """The value of a size; ``None`` while a symbol has none, or where a divisor is zero."""
    expression = OptimDim(dim)
    if not expression.symbols() <= sizes.keys():
        return None
    try:
        return int(expression.evaluate(sizes))
    except ShapeError:
        return None


def solved(dim: str, actual: int, sizes: Mapping[str, int]) -> tuple[str, int] | None:
    """The only symbol of a size that has no value, with the one value that fits.

    Sizes such as ``n//2`` fit several values and ``n % 7`` endlessly many, so only those that grow
    with the symbol, such as ``3*n - 2``, are solved.

    Args:
        dim: The size as it is written.
        actual: What it is.
        sizes: Values of symbols.

    Returns:
        Symbol and value; ``None`` when several symbols have no value, or when it is not known
        that exactly one value fits.
    """
    unbound = [symbol for symbol in symbols_of(dim) if symbol not in sizes]
    if len(unbound) != 1:
        return None
    symbol = unbound[0]
    if dim == symbol:
        return symbol, actual
    found = _growing(dim, actual, sizes, symbol) or []
    return (symbol, found.index(actual)) if actual in found else None


def _growing(
    dim: str, actual: int, sizes: Mapping[str, int], symbol: str
) -> list[int | None] | None:
    """A size for the values 0, 1, ... of a symbol, ``None`` if it does not grow with each.

    There are as many as a size with a subtraction needs to be what it is.
    """
    tried = range(2 * actual + abs(size_of(dim, {**sizes, symbol: 0}) or 0) + 2)
    found = [size_of(dim, {**sizes, symbol: at}) for at in (*tried, *_FAR)]
    if any(a is None or b is None or a >= b for a, b in pairwise(found)):
        return None
    return found[: len(tried)]


def solve(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Values of the symbols of sizes that are known.

    Args:
        pairs: Sizes as they are written, with what they are; of contradictory ones the first one
            counts, and one that is a symbol counts before expressions.

    Returns:
        The values that can be told, in the order in which they were.
    """
    found: dict[str, int] = {}
    waiting = sorted(dict.fromkeys(pairs), key=lambda pair: symbols_of(pair[0]) != [pair[0]])
    while True:
        answers = [solved(dim, actual, found) for dim, actual in waiting]
        fresh = next((answer for answer in answers if answer is not None), None)
        if fresh is None:
            return found
        found[fresh[0]] = fresh[1]


def contradicted(pairs: Iterable[tuple[str, int]]) -> tuple[str, int] | None:
    """The first size that cannot be what it is.

    Args:
        pairs: Sizes as they are written, with what they are.

    Returns:
        A size and what it is: its symbols have other values elsewhere, or no value gives it, as an
        odd ``2*n``. ``None`` if there is none, or it cannot be told.
    """
    known = list(pairs)
    values = solve(known)
    for dim, actual in known:
        missing = [symbol for symbol in symbols_of(dim) if symbol not in values]
        if not missing and size_of(dim, values) != actual:
            return dim, actual
        low, high = OptimDim(dim).bounds()
        if (low is not None and actual < low) or (high is not None and actual > high):
            return dim, actual
        found = _growing(dim, actual, values, missing[0]) if len(missing) == 1 else None
        if found is not None and actual not in found:
            return dim, actual
    return None


def refuse_contradicted(pairs: Iterable[tuple[str, int]], argument: str) -> None:
    """Refuses sizes that cannot be what they are.

    Args:
        pairs: Sizes as they are written, with what they are.
        argument: The argument in which they are written.

    Raises:
        ArgumentError: If there is such a size.
    """
    wrong = contradicted(pairs)
    if wrong is not None:
        raise ArgumentError(
            "Sizes have values that agree with the arguments. Received: "
            f"{wrong[0]!r} for an axis of size {wrong[1]}, which no value of its symbols gives.",
            argument=argument,
        )
