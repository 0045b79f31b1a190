"""Exit codes, and how an exception becomes one line and one of them."""

from __future__ import annotations

import enum
import traceback
from types import TracebackType

from yobx.advice import hint_of, without_colours
from yobx.cli.console import Screen
from yobx.errors import (
    ArgumentError,
    InternalError,
    UnreadableModelError,
    VerificationError,
    YobxError,
)
from yobx.places import line_that_raised

__all__ = ["Boundary", "ExitCode"]

_EXTRAS = {"tensorflow": "tensorflow", "keras": "tensorflow", "jax": "jax", "jaxlib": "jax"}

# Arguments of the library, as options of the command line.
_OPTIONS = {
    "allow_unsafe": "--allow-unsafe",
    "args": '--input "x:float32[B,4]", once for each input',
    "bindings": "--bind SYMBOL=SIZE",
    "dynamic_shapes": "--dynamic",
    "input_names": "--input-names",
    "inputs": "--graph-inputs",
    "inputs_as_nchw": "--inputs-as-nchw",
    "outputs": "--graph-outputs",
    "outputs_as_nchw": "--outputs-as-nchw",
    "signature": "--signature",
    "tag": "--tag",
    "target_opset": "--opset",
}
_MORE = "add --traceback to see where it was raised"


class ExitCode(enum.IntEnum):
    """What the command line tells the shell."""

    OK = 0
    DIFFERENCE = 1
    """A check was made and found a difference or a contradiction."""
    USAGE = 2
    """Options or arguments are wrong, or a file that they name cannot be written."""
    MODEL = 3
    """The model could not be loaded, traced, converted or inferred."""
    INTERNAL = 4
    """A fault of yobx itself."""
    INTERRUPTED = 130
    CUT_OFF = 141
    """Whoever read the output stopped, as ``head`` does; said to nobody."""


class Boundary:
    """The one place where an exception, also one of the user's own code, becomes text.

    A model's module may raise anything while it is imported or traced, so every exception is
    described here; ``SystemExit`` passes.

    Args:
        screen: Where the error is written.
        show_traceback: Whether the full traceback is written as well.

    Attributes:
        code: Exit code; ``OK`` when the block ended without an exception.
    """

    def __init__(self, screen: Screen, *, show_traceback: bool = False) -> None:
        self._screen = screen
        self._show_traceback = show_traceback
        self.code = ExitCode.OK

    def __enter__(self) -> Boundary:
        """Start watching."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """Describe the exception of the block, if any, and keep its exit code."""
        if error is None or isinstance(error, (SystemExit, GeneratorExit)):
            return False
        if isinstance(error, BrokenPipeError):
            self.code = ExitCode.CUT_OFF
            return True
        self.code, text, more = _describe(error)
        if self._show_traceback:
            text = "".join(traceback.format_exception(error)) + f"\n{text}"
        self._screen.error(text, error.hint if isinstance(error, YobxError) else "", more)
        return True


# The first class that fits decides the exit code; these messages already say what to try.
_OWN: tuple[tuple[type[YobxError], ExitCode], ...] = (
    (UnreadableModelError, ExitCode.MODEL),
    (ArgumentError, ExitCode.USAGE),
    (VerificationError, ExitCode.DIFFERENCE),
    (InternalError, ExitCode.INTERNAL),
    (YobxError, ExitCode.MODEL),
)


def _describe(error: BaseException) -> tuple[ExitCode, str, str]:
    """Return the exit code, the text and the hint for an exception."""
    for kind, code in _OWN:
        if isinstance(error, kind):
            if code is ExitCode.MODEL:
                return code, *_described(error)
            option = _OPTIONS.get(getattr(error, "argument", ""))
            if option:
                return code, error.said, f"on the command line: {option}"
            is_plain = code is ExitCode.USAGE or error.__cause__ is None
            return code, error.said, "" if is_plain else _MORE
    if isinstance(error, KeyboardInterrupt):
        return ExitCode.INTERRUPTED, "interrupted", ""
    return (ExitCode.MODEL, *_describe_foreign(error))


def _described(error: YobxError) -> tuple[str, str]:
    """Return text and hint for an exception of ours that code of the user may have caused."""
    line = line_that_raised(error)
    known = not line or line.partition(",")[0] in str(error)
    return error.said + ("" if known else f" (at {line})"), _MORE if error.__cause__ else ""


def _describe_foreign(error: BaseException) -> tuple[str, str]:
    """Return text and hint for an exception that is not one of ours."""
    if isinstance(error, ModuleNotFoundError):
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        return str(error), f'in a clone of yobx: pip install ".[{extra}]"' if extra else _MORE
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror, ""
    text = " ".join(without_colours(str(error)).split()) or "no message"
    places = "".join(f" {note}" for note in getattr(error, "__notes__", ()))
    line = line_that_raised(error)
    hint = hint_of(error) or _MORE
    return f"{type(error).__name__}: {text}{places}{f' (at {line})' if line else ''}", hint
