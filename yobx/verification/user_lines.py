"""Where in the user's files an operation of a traced graph was made."""

from __future__ import annotations

from typing import Any

from yobx.places import innermost_user_line

__all__ = ["line_of_operation"]


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
