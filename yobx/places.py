"""Lines of the user's own files, among those of frameworks and of yobx."""

from __future__ import annotations

import os
import sysconfig
import traceback
from collections.abc import Iterable
from pathlib import Path

__all__ = ["ended", "innermost_user_line", "line_that_raised"]

# Frameworks are no place a user can change.
_LIBRARIES = frozenset({"tensorflow", "keras", "tf_keras", "jax", "jaxlib", "numpy"})
_OWN = (Path(__file__).resolve().parent, Path(__file__).resolve().parents[1] / "pytest_yobx")
_STANDARD = Path(sysconfig.get_paths()["stdlib"])
_INSTALLED = "site-packages"


def innermost_user_line(frames: Iterable[tuple[str, int]]) -> str:
    """The last line of the user's code, outermost frame first.

    Args:
        frames: File and line of every call.

    Returns:
        File and line, or ``""`` when only frameworks are between the trace and the operation:
        what lies before the trace is whoever asked for it.
    """
    for filename, line in reversed(list(frames)):
        path = Path(filename)
        if _is_own(path):
            return ""
        if not _is_library(path):
            return f"{_shown(path)}:{line}"
    return ""


def line_that_raised(error: BaseException) -> str:
    """The innermost line outside yobx and libraries that an exception went through, or ``""``.

    Args:
        error: What was raised by code of the user that yobx called, such as a converter.
    """
    # Where TensorFlow translated the code of the user, it says which lines those were.
    translated = getattr(error, "ag_error_metadata", None)
    for line in translated.translated_stack if translated is not None else ():
        path = Path(line.filename)
        if line.is_converted and not _is_library(path):
            return f"{_shown(path)}:{line.lineno}, in {line.function_name}"
    foreign = []
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if not _is_own(path) and not _is_library(path):
            foreign.append((path, frame))
    # The user's own files, before packages that are built on the frameworks.
    for path, frame in sorted(foreign, key=lambda found: _INSTALLED in found[0].parts):
        return f"{_shown(path)}:{frame.lineno}, in {frame.name}"
    # What fails while JAX lowers an operation is caused by where the operation was made.
    cause = error.__cause__
    made = cause is not None and type(cause).__name__ == "JaxStackTraceBeforeTransformation"
    return line_that_raised(cause) if cause is not None and made else ""


def ended(error: SystemExit) -> str:
    """``SystemExit: no weights (at models.py:3, in build)``: how code of the user ended a process.

    Args:
        error: What it raised.
    """
    line = line_that_raised(error)
    return f"SystemExit: {error.code}{f' (at {line})' if line else ''}"


def _is_own(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in _OWN)


def _is_library(path: Path) -> bool:
    if _INSTALLED in path.parts:
        package = path.parts[path.parts.index(_INSTALLED) + 1]
        return package in _LIBRARIES
    return path.is_relative_to(_STANDARD) or str(path).startswith("<")


def _shown(path: Path) -> str:
    relative = os.path.relpath(path)
    return path.as_posix() if relative.startswith("..") else Path(relative).as_posix()
