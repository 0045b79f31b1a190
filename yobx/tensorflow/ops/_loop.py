"""What a ``While`` does to each of its variables, read from its condition and body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

__all__ = [
    "BodyView",
    "Bound",
    "LoopPlan",
    "constant_of",
    "input_index",
    "origin",
    "plan_loop",
    "readers",
]

Starts: TypeAlias = Callable[[int], "np.ndarray[Any, Any] | None"]
"""The value that a loop variable starts with, if it is known."""

_TRANSPARENT = ("Identity", "StopGradient", "PreventGradient", "Snapshot")


@dataclass(frozen=True)
class Bound:
    """One half of a loop condition: ``counter < limit``.

    Attributes:
        counter: Index of the counter among the loop variables.
        limit: Index of an unchanged loop variable, or a constant.
        inclusive: Whether it is ``<=``.
    """

    counter: int
    limit: int | np.ndarray[Any, Any]
    inclusive: bool

    @property
    def is_constant(self) -> bool:
        """Whether the limit is a number in the condition itself."""
        return isinstance(self.limit, np.ndarray)


@dataclass
class LoopPlan:
    """Roles of the loop variables.

    Attributes:
        fixed: Variables that never change.
        counters: Variables that grow by one each time.
        written: List variable -> (counter, item): one element written at the counter's position.
        replaced: List variable -> (index, carried variable): the same element is written again and
            again, with the value that the carried variable gets.
        carried: All others.
        bounds: The whole condition as bounds, or ``None`` if it is more than that.
    """

    fixed: set[int] = field(default_factory=set)
    counters: set[int] = field(default_factory=set)
    written: dict[int, tuple[int, Any]] = field(default_factory=dict)
    replaced: dict[int, tuple[int, int]] = field(default_factory=dict)
    carried: list[int] = field(default_factory=list)
    bounds: list[Bound] | None = None


class BodyView:
    """The graph of a function with other outputs than its own."""

    def __init__(self, graph: Any, outputs: list[Any]) -> None:
        self._graph = graph
        self.outputs = outputs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._graph, name)


def origin(tensor: Any) -> Any:
    """Return where a value comes from, through operations that pass it on."""
    while tensor.op.type in _TRANSPARENT:
        tensor = tensor.op.inputs[0]
    return tensor


def input_index(graph: Any, tensor: Any) -> int | None:
    """Return which input of ``graph`` a tensor is."""
    source = origin(tensor)
    return next((i for i, t in enumerate(graph.inputs) if t is source), None)


def constant_of(tensor: Any) -> np.ndarray[Any, Any] | None:
    import tensorflow as tf

    op = origin(tensor).op
    return tf.make_ndarray(op.get_attr("value")) if op.type == "Const" else None


def _is_counter(body: Any, k: int, starts: Starts, fixed: set[int]) -> bool:
    """Tell whether variable ``k`` grows by one; a loop over ``tf.range`` captures its step."""
    op = origin(body.outputs[k]).op
    if op.type not in ("Add", "AddV2") or body.inputs[k].dtype.name not in ("int32", "int64"):
        return False
    for value, step in (op.inputs, reversed(op.inputs)):
        one, index = constant_of(step), input_index(body, step)
        if index in fixed and index is not None:
            one = starts(index)
        if input_index(body, value) == k and one is not None and one.ndim == 0 and one == 1:
            return True
    return False


def readers(tensor: Any) -> list[Any]:
    """Return the operations that read a value, through those that pass it on."""
    found: list[Any] = []
    for op in tensor.consumers():
        if op.type in _TRANSPARENT:
            found.extend(readers(op.outputs[0]))
        else:
            found.append(op)
    return found


def _sole_write(body: Any, k: int) -> Any:
    """Return the operation that writes to list ``k``, if that is all that happens to the list."""
    op = origin(body.outputs[k]).op
    if body.inputs[k].dtype.name != "variant" or op.type != "TensorListSetItem":
        return None
    alone = readers(body.inputs[k]) == [op] and not readers(op.outputs[0])
    return op if alone and input_index(body, op.inputs[0]) == k else None


def _sort_list(body: Any, k: int, plan: LoopPlan) -> None:
    """Find the role of list ``k``, if it has one."""
    op = _sole_write(body, k)
    if op is None:
        return
    counter = input_index(body, op.inputs[1])
    if counter is not None and counter in plan.counters:
        plan.written[k] = (counter, op.inputs[2])
        return
    index, item = constant_of(op.inputs[1]), origin(op.inputs[2])
    same = [j for j, t in enumerate(body.outputs) if j != k and origin(t) is item]
    same = [j for j in same if j not in plan.fixed | plan.counters]
    if index is not None and index >= 0 and same:
        plan.replaced[k] = (int(index), same[0])


_COMPARISONS = {
    "Less": (0, 1, False),
    "LessEqual": (0, 1, True),
    "Greater": (1, 0, False),
    "GreaterEqual": (1, 0, True),
}


def _bounds(cond: Any, plan: LoopPlan, tensor: Any) -> list[Bound] | None:
    """Return the conjunction below ``tensor`` as bounds, or ``None`` if it holds anything else."""
    op = origin(tensor).op
    if op.type == "LogicalAnd":
        halves = [_bounds(cond, plan, t) for t in op.inputs]
        return None if None in halves else [b for half in halves for b in half or []]
    if op.type not in _COMPARISONS:
        return None
    small, large, inclusive = _COMPARISONS[op.type]
    counter, limit = input_index(cond, op.inputs[small]), input_index(cond, op.inputs[large])
    if counter not in plan.counters or counter is None:
        return None
    if limit is not None and limit in plan.fixed:
        return [Bound(counter, limit, inclusive)]
    value = constant_of(op.inputs[large])
    return None if value is None else [Bound(counter, value, inclusive)]


def plan_loop(cond: Any, body: Any, starts: Starts) -> LoopPlan:
    """Sort the variables of a loop by what happens to them.

    Args:
        cond: Graph of the condition.
        body: Graph of the body.
        starts: Gives the known first value of an integer variable.

    Returns:
        The plan.
    """
    plan = LoopPlan()
    count = len(body.inputs)
    for k in range(count):
        if body.inputs[k].dtype.name == "resource" or input_index(body, body.outputs[k]) == k:
            plan.fixed.add(k)
    for k in set(range(count)) - plan.fixed:
        if _is_counter(body, k, starts, plan.fixed):
            plan.counters.add(k)
    for k in sorted(set(range(count)) - plan.fixed - plan.counters):
        _sort_list(body, k, plan)
    plan.bounds = _bounds(cond, plan, cond.outputs[0])
    if plan.bounds is None:
        plan.carried.extend(sorted(plan.counters))
    special = set(plan.written) | set(plan.replaced)
    rest = set(range(count)) - plan.fixed - plan.counters - special
    plan.carried.extend(sorted(rest))
    return plan
