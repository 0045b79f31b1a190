"""Regular expressions (RE2) that mean a text, or one character of a set, perhaps repeated."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Simple", "expand_rewrite", "parse"]

#: A set of more characters than this is not enumerated.
_MOST = 128
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_DIGITS = "0123456789"
_LOWER = "abcdefghijklmnopqrstuvwxyz"
_UPPER = _LOWER.upper()
_SETS = {"d": _DIGITS, "s": "\t\n\f\r ", "w": _DIGITS + _UPPER + "_" + _LOWER}
_POSIX = {
    "alnum": _DIGITS + _UPPER + _LOWER,
    "alpha": _UPPER + _LOWER,
    "blank": "\t ",
    "digit": _DIGITS,
    "lower": _LOWER,
    "punct": "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
    "space": "\t\n\v\f\r ",
    "upper": _UPPER,
    "word": _SETS["w"],
    "xdigit": _DIGITS + "ABCDEFabcdef",
}


@dataclass(frozen=True)
class Simple:
    """What a simple pattern matches.

    Attributes:
        text: A text, or the characters of a set.
        is_set: Whether one character of ``text`` is meant, not all of them.
        repeated: Whether a run of such characters is one match.
    """

    text: str
    is_set: bool = False
    repeated: bool = False


class _NotSimpleError(Exception):
    """The pattern needs a regular expression engine."""


def parse(pattern: str) -> Simple | None:
    """Read a pattern.

    Args:
        pattern: Regular expression of RE2.

    Returns:
        What it matches, or ``None`` if it is not that simple.
    """
    try:
        return _parse(pattern)
    except _NotSimpleError:
        return None


def _parse(pattern: str) -> Simple | None:
    atoms: list[str] = []
    alternatives = 0
    position = 0
    repeated = False
    while position < len(pattern):
        if repeated:
            return None
        character = pattern[position]
        if character == "+" and len(atoms) == 1:
            repeated = True
            position += 1
        elif character == "|" and len(atoms) == alternatives + 1:
            alternatives += 1
            position += 1
        else:
            atom, position = _atom(pattern, position)
            atoms.append(atom)
    return _meaning(atoms, repeated=repeated, alternatives=alternatives)


def _meaning(atoms: list[str], *, repeated: bool, alternatives: int) -> Simple | None:
    if not atoms or not all(atoms):
        return None
    if alternatives:
        complete = not repeated and len(atoms) == alternatives + 1
        return Simple(_distinct("".join(atoms)), is_set=True) if complete else None
    if len(atoms) == 1 and (repeated or len(atoms[0]) > 1):
        return Simple(atoms[0], is_set=True, repeated=repeated)
    return None if any(len(atom) > 1 for atom in atoms) else Simple("".join(atoms))


def _distinct(members: str) -> str:
    return "".join(dict.fromkeys(members))


def _atom(pattern: str, position: int) -> tuple[str, int]:
    character = pattern[position]
    if character == "[":
        return _set(pattern, position + 1)
    if character == "\\":
        return _escape(pattern, position + 1)
    if character in ".^$|()*+?{":
        raise _NotSimpleError
    return character, position + 1


def _escape(pattern: str, position: int) -> tuple[str, int]:
    """Read what follows a backslash: a character, or a set."""
    if position >= len(pattern):
        raise _NotSimpleError
    character = pattern[position]
    if character in _ESCAPES:
        return _ESCAPES[character], position + 1
    if character in _SETS:
        return _SETS[character], position + 1
    if character.isalnum() or ord(character) > 127:
        raise _NotSimpleError
    return character, position + 1


def _set(pattern: str, position: int) -> tuple[str, int]:
    """Read the inside of brackets."""
    start = position
    members = ""
    if pattern[position : position + 1] == "^":
        raise _NotSimpleError
    while position < len(pattern) and (pattern[position] != "]" or position == start):
        if pattern.startswith("[:", position):
            name, closed, _ = pattern[position + 2 :].partition(":]")
            if not closed or name not in _POSIX:
                raise _NotSimpleError
            members += _POSIX[name]
            position += len(name) + 4
            continue
        first, position = _member(pattern, position)
        if pattern[position : position + 1] == "-" and pattern[position + 1 : position + 2] not in (
            "]",
            "",
        ):
            last, position = _member(pattern, position + 1)
            if len(first) > 1 or len(last) > 1 or not 0 <= ord(last) - ord(first) < _MOST:
                raise _NotSimpleError
            first = "".join(map(chr, range(ord(first), ord(last) + 1)))
        members += first
    if position >= len(pattern) or len(members) > _MOST:
        raise _NotSimpleError
    return _distinct(members), position + 1


def _member(pattern: str, position: int) -> tuple[str, int]:
    if pattern[position] == "\\":
        return _escape(pattern, position + 1)
    return pattern[position], position + 1


def expand_rewrite(rewrite: str, matched: str | None) -> str | None:
    r"""Return what a rewrite stands for.

    Args:
        rewrite: Text in which ``\\`` is a backslash and ``\0`` is what was matched.
        matched: What the pattern matches, ``None`` if it matches different texts.

    Returns:
        The text, or ``None`` if it is not the same for every match.
    """
    parts = []
    position = 0
    while position < len(rewrite):
        character = rewrite[position]
        if character == "\\":
            position += 1
            following = rewrite[position : position + 1]
            if following == "\\":
                parts.append("\\")
            elif following == "0" and matched is not None:
                parts.append(matched)
            else:
                return None
        else:
            parts.append(character)
        position += 1
    return "".join(parts)
