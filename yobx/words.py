"""Words of messages. Nothing is imported, so that a plugin can use them for free."""

__all__ = ["counted", "printable"]


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
