"""Parts of strings replaced, from ``StringSplit`` and ``StringConcat``: ONNX has nothing closer.

Strings are vectors `(n,)`. A separator that no piece contains is exact, so are its replacements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .casts import cast
from .looping import counted, repeated
from .shapes import scalar

__all__ = [
    "MICROSOFT",
    "WHITESPACE",
    "byte_sizes",
    "characters",
    "joined_columns",
    "replace",
    "replace_runs",
    "split",
    "strip",
    "unify",
]

#: What C's ``isspace`` says of ASCII.
WHITESPACE = " \t\n\v\f\r"

_ZERO = np.array([0], np.int64)
_ONE = np.array([1], np.int64)
_TURNS = 2**62
#: The domain of onnxruntime's own operators, which callers must allow.
MICROSOFT = "com.microsoft"


def _text(value: str) -> np.ndarray[Any, Any]:
    return np.array(value, object)


def split(g: GraphBuilder, x: str, separator: str, most: int = -1) -> tuple[str, str]:
    """Split at every separator, as Python's ``str.split(separator, most)`` does.

    Args:
        g: Builder.
        x: Strings `(n,)`.
        separator: The separator, not empty.
        most: Greatest number of cuts, -1 for any.

    Returns:
        The pieces `(n, w)` with empty strings behind them, `w` at least 1, and their counts `(n,)`.
    """
    keywords: dict[str, Any] = {} if most < 0 else {"maxsplit": most}
    pieces, counts = g.op.StringSplit(x, delimiter=separator, outputs=2, **keywords)
    # An empty string is one empty piece; ONNX says it has none.
    column = g.op.Expand(_text(""), g.op.Concat(g.op.Shape(x), _ONE, axis=0))
    return (
        str(g.op.Concat(pieces, column, axis=1)),
        str(g.op.Max(counts, np.array(1, np.int64))),
    )


def joined_columns(g: GraphBuilder, parts: str, first: str | None = None) -> str:
    """Put the strings of each row `(n, w)` together.

    Args:
        g: Builder.
        parts: The strings.
        first: What comes before them, `(n,)`.

    Returns:
        The strings `(n,)`.
    """
    start = first or g.op.Expand(_text(""), g.op.Shape(parts, start=0, end=1))

    def turn(body: GraphBuilder, number: str, states: list[str]) -> tuple[Sequence[str], list[str]]:
        column = body.op.Gather(parts, number, axis=1)
        return [body.op.StringConcat(states[0], column)], []

    width = scalar(g, g.op.Shape(parts, start=1, end=2))
    return counted(g, width, [start], turn)[0]


def characters(g: GraphBuilder, x: str) -> tuple[str, str]:
    """Cut strings into characters, with an operator of onnxruntime's own domain.

    Args:
        g: Builder.
        x: Strings `(n,)`.

    Returns:
        The characters `(n, w)`, and which of them are there, behind which there is anything.
    """
    # No strings are no matrix, so that one is added and taken away again.
    every = g.op.Concat(x, np.array([""], object), axis=0)
    cut = g.op.Tokenizer(
        every, mark=0, mincharnum=1, pad_value="none", separators=[""], domain=MICROSOFT
    )
    kept = g.op.Slice(cut, _ZERO, np.array([-1], np.int64), _ZERO)
    return str(kept), str(g.op.RegexFullMatch(kept, pattern="(?s)."))


def byte_sizes(g: GraphBuilder, letters: str, there: str) -> str:
    """Return how many bytes of UTF-8 each character takes, int64; none where there is none.

    Args:
        g: The builder.
        letters: Characters, strings of length 1 or 0.
        there: Where there is one, booleans of the same shape.
    """
    total = cast(g, there, np.int64)
    for first in ("80", "800", "10000"):
        pattern = rf"[\x{{{first}}}-\x{{10FFFF}}]"
        wider = cast(g, g.op.RegexFullMatch(letters, pattern=pattern), np.int64)
        total = str(g.op.Add(total, wider))
    return total


def _numbers(g: GraphBuilder, pieces: str) -> str:
    """Return the number of each piece, int64 of shape `(1, w)`."""
    width = scalar(g, g.op.Shape(pieces, start=1, end=2))
    numbers = g.op.Range(np.array(0, np.int64), width, np.array(1, np.int64))
    return str(g.op.Unsqueeze(numbers, _ZERO))


def _follows(g: GraphBuilder, pieces: str, counts: str) -> str:
    """Tell which pieces have a separator before them, `(n, w)`."""
    numbers = _numbers(g, pieces)
    there = g.op.Less(numbers, g.op.Unsqueeze(counts, _ONE))
    return str(g.op.And(there, g.op.Greater(numbers, np.array(0, np.int64))))


def _is_empty(g: GraphBuilder, pieces: str) -> str:
    return str(g.op.Equal(pieces, _text("")))


def _with_prefix(g: GraphBuilder, pieces: str, prefix: str, where: str) -> str:
    if not prefix:
        return pieces
    return str(g.op.StringConcat(g.op.Where(where, _text(prefix), _text("")), pieces))


def replace(g: GraphBuilder, x: str, old: str, new: str, *, once: bool = False) -> str:
    """Replace every occurrence of a text, or the first one.

    Args:
        g: Builder.
        x: Strings `(n,)`.
        old: The text, not empty.
        new: What stands for it.
        once: Whether only the first occurrence is meant.
    """
    if old == new:
        return x
    pieces, counts = split(g, x, old, 1 if once else -1)
    return joined_columns(g, _with_prefix(g, pieces, new, _follows(g, pieces, counts)))


def unify(g: GraphBuilder, x: str, members: str) -> str:
    """Replace every character of ``members`` by the first one.

    Args:
        g: The builder.
        x: Strings of any shape.
        members: The characters.

    Returns:
        Strings of the shape of `x`.
    """
    for other in members[1:]:
        x = replace(g, x, other, members[0])
    return x


def replace_runs(g: GraphBuilder, x: str, old: str, new: str) -> str:
    """Replace every longest run of a text, which does not overlap itself, by another.

    Args:
        g: The builder.
        x: Strings of any shape.
        old: The text.
        new: What stands in the place of a run.

    Returns:
        Strings of the shape of `x`.
    """
    pieces, counts = split(g, x, old)
    last = np.array([np.iinfo(np.int64).max], np.int64)
    before = g.op.Slice(_is_empty(g, pieces), _ZERO, np.array([-1], np.int64), _ONE)
    # The first piece may be empty and yet end no run: nothing is before it.
    width = scalar(g, g.op.Shape(pieces, start=1, end=2))
    later = g.op.Range(np.array(0, np.int64), g.op.Sub(width, _ONE[0]), np.array(1, np.int64))
    goes_on = g.op.And(before, g.op.Greater(later, np.array(0, np.int64)))
    starts = g.op.And(g.op.Slice(_follows(g, pieces, counts), _ONE, last, _ONE), g.op.Not(goes_on))
    rest = _with_prefix(g, g.op.Slice(pieces, _ONE, last, _ONE), new, starts)
    return joined_columns(g, rest, g.op.Gather(pieces, np.array(0, np.int64), axis=1))


def _strip_one(g: GraphBuilder, x: str, character: str) -> str:
    """Take one character away from both ends."""
    pieces, _ = split(g, x, character)
    filled = cast(g, g.op.Not(_is_empty(g, pieces)), np.int64)
    axis = np.array(1, np.int64)
    begun = g.op.Greater(g.op.CumSum(filled, axis), np.array(0, np.int64))
    to_come = g.op.Greater(g.op.CumSum(filled, axis, reverse=1), np.array(0, np.int64))
    earlier = g.op.Greater(g.op.CumSum(filled, axis, exclusive=1), np.array(0, np.int64))
    inner = g.op.And(g.op.And(begun, earlier), to_come)
    return joined_columns(g, _with_prefix(g, pieces, character, inner))


def strip(g: GraphBuilder, x: str, members: str = WHITESPACE) -> str:
    """Take all of some characters away from both ends.

    Args:
        g: Builder.
        x: Strings `(n,)`.
        members: The characters, none of them special within brackets.
    """
    pattern = f"(?s)[{members}].*|.*[{members}]"

    def turn(body: GraphBuilder, number: str, states: list[str]) -> tuple[Sequence[str], str]:
        value = states[0]
        for character in members:
            value = _strip_one(body, value, character)
        again = cast(body, body.op.RegexFullMatch(value, pattern=pattern), np.int64)
        some = body.op.Greater(body.op.ReduceSum(again, keepdims=0), np.array(0, np.int64))
        return [value], some

    return repeated(g, _TURNS, [x], turn)[0]
