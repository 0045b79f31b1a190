"""Loops with a known number of turns that converters write themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

__all__ = ["counted", "repeated"]

#: ``(body's builder, turn, states) -> (next states, what to stack)``
Body = Callable[[GraphBuilder, str, list[str]], tuple[Sequence[str], Sequence[str]]]


#: ``(body's builder, turn, states) -> (next states, whether to go on)``
Step = Callable[[GraphBuilder, str, list[str]], tuple[Sequence[str], str]]


def counted(
    g: GraphBuilder, turns: int | str, states: Sequence[str], body: Body
) -> tuple[str, ...]:
    """Emit a ``Loop``.

    Args:
        g: Builder.
        turns: Number of turns, or the int64 scalar that says it.
        states: Initial values of what is carried.
        body: Writes one turn; the turn is an int64 scalar.

    Returns:
        Final states, then what was stacked along a new first axis.
    """

    def turn(graph: GraphBuilder, again: str, names: list[str]) -> Sequence[str]:
        following, stacked = body(graph, names[0], names[1:])
        return (again, *following, *stacked)

    return _loop(g, turns, states, turn)


def repeated(
    g: GraphBuilder,
    most: int | str,
    states: Sequence[str],
    step: Step,
    *,
    shapes: Sequence[Any] | None = None,
) -> tuple[str, ...]:
    """Emit a ``Loop`` that ends when its body says so.

    Args:
        g: Builder.
        most: Greatest number of turns, or the int64 scalar that says it.
        states: Initial values of what is carried.
        step: Writes one turn, and says whether another one follows.
        shapes: Of what is carried, where turns change it; ``None`` for an open size.

    Returns:
        Final states.
    """

    def turn(graph: GraphBuilder, again: str, names: list[str]) -> Sequence[str]:
        following, go_on = step(graph, names[0], names[1:])
        return (go_on, *following)

    return _loop(g, most, states, turn, shapes)


def _loop(
    g: GraphBuilder,
    turns: int | str,
    states: Sequence[str],
    write: Callable[[GraphBuilder, str, list[str]], Sequence[str]],
    shapes: Sequence[Any] | None = None,
) -> tuple[str, ...]:
    names = [g.unique_name(hint) for hint in ("turn", "go_on", *("carry",) * len(states))]
    heads: list[tuple[str, Any, Any]] = [(names[0], np.int64, ()), (names[1], np.bool_, ())]
    kept = shapes or [g.get_shape(s) for s in states]
    carried = [
        (name, g.get_type(s), shape) for name, s, shape in zip(names[2:], states, kept, strict=True)
    ]
    graph = g.subgraph(g.unique_name("loop_body"), inputs=[*heads, *carried])
    results = write(graph, names[1], [names[0], *names[2:]])
    for value in results:
        graph.make_tensor_output(graph.unique_name("result"), source=value)
    limit = turns if isinstance(turns, str) else np.array(turns)
    made = g.op.Loop(limit, None, *states, body=graph, outputs=len(results) - 1)
    return (made,) if isinstance(made, str) else tuple(made)
