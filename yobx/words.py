"""Words of messages. Nothing is imported, so that a plugin can use them for free."""

__all__ = ["counted"]


def counted(count: int, noun: str, plural: str = "") -> str:
    """``1 check``, ``2 checks``.

    Args:
        count: How many.
        noun: The word for one.
        plural: The word for several, if it is not the noun with an s.
    """
    return f"{count} {noun if count == 1 else plural or noun + 's'}"
