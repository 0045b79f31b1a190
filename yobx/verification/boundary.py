"""The boundary to code that may raise anything: the user's model, and the run time.

What such code raises is a finding, so it is kept and reported; keyboard interrupts and exits pass.
"""

from __future__ import annotations

import re
import traceback
from types import TracebackType

from yobx.advice import hint_of, without_colours
from yobx.errors import YobxError
from yobx.places import line_that_raised
from yobx.words import HINT, laid_out

__all__ = ["Attempt", "one_line", "told", "with_place"]

# A line of the call stack that TensorFlow writes into its messages, before what went wrong.
_FRAME = re.compile(r'^\s*File ".*", line \d+, in .*$', re.MULTILINE)
# The kernel that raised, as TensorFlow labels it: a device path, nothing of the user's.
_KERNEL = re.compile(r"\{\{function_node __wrapped__[^{}]*\}\} ?")


class Attempt:
    """Runs foreign code in a ``with`` block and keeps the exception that ends it.

    Attributes:
        error: What the block raised, or ``None``.
    """

    def __init__(self, *passing: type[Exception]) -> None:
        self.error: Exception | None = None
        self._passing = passing

    def __enter__(self) -> Attempt:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if not isinstance(error, Exception) or isinstance(error, self._passing):
            return False
        self.error = error
        return True


def one_line(error: BaseException, limit: int = 600) -> str:
    """The message of an exception on one line, with its class where that says more."""
    text = " ".join(_FRAME.sub("", _KERNEL.sub("", without_colours(str(error)))).split())
    name = type(error).__name__
    if not text or type(error).__module__ == "builtins":  # "KeyError: 'x'", not "'x'"
        text = f"{name}: {text}" if text else name
    return text if len(text) <= limit else f"{text[:limit]}…"


def told(error: BaseException) -> str:
    """The message of an exception, with what it says to try in a line of its own."""
    return laid_out(error.said, error.hint) if isinstance(error, YobxError) else str(error)


def with_place(error: BaseException) -> str:
    """An exception with its class, its notes, its line and yours, and what to try."""
    message = without_colours(error.said if isinstance(error, YobxError) else str(error))
    lines = [f"{type(error).__name__}: {message}", *getattr(error, "__notes__", ())]
    lines += [
        f"Raised in {frame.name} ({frame.filename}:{frame.lineno})."
        for frame in traceback.extract_tb(error.__traceback__)[-1:]
    ]
    yours, last = line_that_raised(error), traceback.extract_tb(error.__traceback__)[-1:]
    if yours and not any(yours.endswith(f":{f.lineno}, in {f.name}") for f in last):
        lines.append(f"Reached from {yours}.")
    hint = error.hint if isinstance(error, YobxError) else hint_of(error)
    lines += [f"{HINT}{hint}"] if hint else []
    return "\n".join(lines)
