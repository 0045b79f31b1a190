"""Where in the user's files an operation of a traced graph was made."""

from __future__ import annotations

import os
import sysconfig
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["innermost_user_line", "line_of_operation", "line_that_raised"]

# Frameworks are no place a user can change.
_LIBRARIES = frozenset({"tensorflow", "keras", "tf_keras", "jax", "jaxlib", "numpy"})
_OWN = Path(__file__).resolve().parents[1]
_STANDARD = Path(sysconfig.get_paths()["stdlib"])
_INSTALLED = "site-packages"


def line_of_operation(graph: Any, name: str) -> str:
    """The user's file and line of an operation.

    Args:
        graph: A ``tf.Graph`` that was traced in this process.
        name: Name of the operation; inside called functions with the calls that lead to it, of
            which the outermost one is then found.

    Returns:
        ``models/gate.py:12``, relative to the current folder where it lies below it, or ``""``.
    """
    from yobx.tensorflow.graph_walk import function_graph

    parts = name.split("/")
    for end in range(len(parts), 0, -1):
        try:
            operation = graph.get_operation_by_name("/".join(parts[:end]))
        except (KeyError, ValueError):
            continue
        body = None
        if end < len(parts) and "f" in operation.node_def.attr:
            body = function_graph(graph, operation.get_attr("f").name)
        inside = line_of_operation(body, "/".join(parts[end:])) if body is not None else ""
        return inside or innermost_user_line(
            (frame.filename, frame.lineno) for frame in operation.traceback or ()
        )
    return ""


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
        if path.is_relative_to(_OWN):
            return ""
        if not _is_library(path):
            return f"{_shown(path)}:{line}"
    return ""


def line_that_raised(error: BaseException) -> str:
    """The innermost line outside yobx and libraries that an exception went through, or ``""``.

    Args:
        error: What was raised by code of the user that yobx called, such as a converter.
    """
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if not path.is_relative_to(_OWN) and not _is_library(path):
            return f"{_shown(path)}:{frame.lineno}, in {frame.name}"
    return ""


def _is_library(path: Path) -> bool:
    if _INSTALLED in path.parts:
        package = path.parts[path.parts.index(_INSTALLED) + 1]
        return package in _LIBRARIES
    return path.is_relative_to(_STANDARD) or str(path).startswith("<")


def _shown(path: Path) -> str:
    relative = os.path.relpath(path)
    return path.as_posix() if relative.startswith("..") else Path(relative).as_posix()
