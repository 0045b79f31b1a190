"""Words of messages. Nothing is loaded with them, so that a plugin can use them for free."""

from __future__ import annotations

from collections.abc import Callable, Iterable

__all__ = [
    "HINT",
    "counted",
    "did_you_mean",
    "laid_out",
    "nearest",
    "printable",
    "similar",
]

#: How a line begins that says what to try.
HINT = "hint: "


def counted(count: int, noun: str, plural: str = "") -> str:
    """``1 check``, ``2 checks``.

    Args:
        count: How many.
        noun: The word for one.
        plural: The word for several, if it is not the noun with an s.
    """
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def printable(line: str) -> str:
    """A line whose names cannot move the cursor, break it or turn it round."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)


def similar(name: str, known: Iterable[str], *, n: int = 1, cutoff: float = 0.6) -> list[str]:
    """Names that one which does not exist may have been meant for, the closest first.

    Args:
        name: What was asked for.
        known: What exists.
        n: How many to give at most.
        cutoff: How alike they must be, from 0 to 1; capitals make no difference.
    """
    import difflib

    spelt: dict[str, list[str]] = {}
    for word in sorted(set(known)):
        spelt.setdefault(word.lower(), []).append(word)
    keys = difflib.get_close_matches(name.lower(), spelt, n=n, cutoff=cutoff)
    return [word for key in keys for word in spelt[key]][:n]


def did_you_mean(
    name: str,
    known: Iterable[str],
    *,
    n: int = 1,
    cutoff: float = 0.6,
    shown: Callable[[str], str] = repr,
) -> str:
    """``Did you mean 'a' or 'b'?``, or ``""`` when nothing is close.

    Args:
        name: What was asked for.
        known: What exists.
        n: How many to name at most.
        cutoff: How alike they must be, from 0 to 1.
        shown: How a name is written.
    """
    found = " or ".join(map(shown, similar(name, known, n=n, cutoff=cutoff)))
    return f"Did you mean {found}?" if found else ""


def nearest(name: str, known: Iterable[str], *, n: int = 3, cutoff: float = 0.5) -> str:
    """``did you mean 'a' or 'b'?``, inside a sentence, or ``""`` when nothing is close.

    Args:
        name: What was asked for.
        known: What exists.
        n: How many to name at most.
        cutoff: How alike they must be, from 0 to 1.
    """
    asked = did_you_mean(name, known, n=n, cutoff=cutoff)
    return asked[:1].lower() + asked[1:]


def laid_out(said: str, hint: str) -> str:
    """A message with what to try, if anything, in a line of its own.

    Args:
        said: What is wrong.
        hint: What to try, or ``""``.
    """
    return f"{said}\n{HINT}{hint}" if hint else said
