"""Tables of what was found before, which do not grow without end."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["keep"]

K = TypeVar("K")
V = TypeVar("V")

_MOST = 4096


def keep(table: dict[K, V], key: K, value: V, most: int = _MOST) -> V:
    """Add to a table; a full one is emptied first.

    Counting which entries are used least would cost more than what the table spares.

    Args:
        table: The table.
        key: The key.
        value: What is found under it from now on.
        most: Entries that it holds.

    Returns:
        The value.
    """
    if len(table) >= most:
        table.clear()
    table[key] = value
    return value
