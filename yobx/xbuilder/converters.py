"""What every registry of converters asks of a converter: that it can be called as one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["misfit_of", "place_of"]


def place_of(function: Callable[..., Any]) -> str:
    """Where a converter is defined, as a reader would look for it: ``module.name (file:line)``."""
    inner = inspect.unwrap(function)
    label = f"{getattr(inner, '__module__', '?')}.{getattr(inner, '__qualname__', repr(inner))}"
    code = getattr(inner, "__code__", None)
    return f"{label} ({code.co_filename}:{code.co_firstlineno})" if code is not None else label


def misfit_of(
    function: object, parameters: Sequence[str], keywords: Sequence[str] = (), *, also: str = ""
) -> str:
    """Tells why a converter cannot be called.

    Args:
        function: The converter.
        parameters: What it is given by position.
        keywords: What it is given by name.
        also: What it may take besides, in words.

    Returns:
        One sentence with its place and what it takes, or ``""`` if it can be called; also if it is
        of C code that does not say what it takes.
    """
    expected = f"A converter takes ({', '.join(parameters)}){also}"
    if not callable(function):
        return f"{expected}. Received: {function!r}, which cannot be called"
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return ""
    try:
        signature.bind(*parameters, **dict.fromkeys(keywords, 0))
    except TypeError as error:
        return f"{expected}. Received: {place_of(function)}, which takes {signature}: {error}"
    return ""
