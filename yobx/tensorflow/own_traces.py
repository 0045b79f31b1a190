"""Traces that stay out of the functions of the user.

TensorFlow keeps what it traced of a ``tf.function``, and takes a trace with an open size for every
size from then on. Where such a function looks at a size in Python, a conversion that traced it
would change what it gives its owner, and a check would compare the converted trace with itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["own_traces"]


@contextmanager
def own_traces() -> Iterator[None]:
    """Lets every ``tf.function`` that is called inside the block be traced in a copy of it."""
    import tensorflow as tf

    kind = type(tf.function(lambda: None))
    original = kind.__call__
    copies: dict[Any, Any] = {}

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if type(self) is not kind:  # of a SavedModel: its traces are all that there is
            return original(self, *args, **kwargs)
        if self not in copies:
            copies[self] = self._clone(None)
        return original(copies[self], *args, **kwargs)

    kind.__call__ = call
    try:
        yield
    finally:
        kind.__call__ = original
