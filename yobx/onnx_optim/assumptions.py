"""What the condition of a branch says about sizes, for the branch that it selects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import onnx

from yobx.onnx_optim.context import ShapesContext
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_tensor import OptimTensor

__all__ = ["Fact", "assume", "facts_of"]

# A condition is computed right before it is used; looking further costs time for every branch.
_NODES_BACK = 64
_LEVELS_UP = 16
_MAX_DEPTH = 12
_SAME_VALUE = frozenset(("Identity", "Cast", "Squeeze", "Unsqueeze", "Reshape", "Flatten"))
_OPPOSITE = {
    "Less": "GreaterOrEqual",
    "GreaterOrEqual": "Less",
    "Greater": "LessOrEqual",
    "LessOrEqual": "Greater",
}


@dataclass(frozen=True, slots=True)
class Fact:
    """``left == right`` (``equal``) or ``left <= right``."""

    left: OptimDim
    right: OptimDim
    equal: bool


def assume(context: ShapesContext, facts: Iterable[Fact]) -> None:
    """Add facts to the context of a branch.

    Raises:
        ShapeContradictionError: They cannot hold, so that the branch is never taken.
    """
    for fact in facts:
        if fact.equal:
            context.add_constraint(fact.left, fact.right)
        else:
            context.add_less_equal_constraint(fact.left, fact.right)


def facts_of(
    context: ShapesContext, index: int, name: str, *, holds: bool, depth: int = 0
) -> list[Fact]:
    """What is true of sizes where a condition holds, or where it does not.

    Args:
        context: Context of the node that tests the condition.
        index: Position of that node.
        name: Name of the condition.
        holds: Whether the condition is true.
        depth: Number of nodes passed on the way to it.
    """
    scope, place = context, index
    for _ in range(_LEVELS_UP):
        if name in scope.values or scope.outer is None:
            break
        owner = scope.owners(1)
        scope, place = scope.outer, owner[0][0] if owner else -1
    made = _producer(scope, place, name)
    if made is None or depth > _MAX_DEPTH:
        return []
    position, node = made
    inputs, op_type = node.input[:], node.op_type
    if node.domain not in ("", "ai.onnx") or not inputs:
        return []
    if op_type in _SAME_VALUE or op_type == "Not":
        through = holds if op_type in _SAME_VALUE else not holds
        return facts_of(scope, position, inputs[0], holds=through, depth=depth + 1)
    if (op_type == "And" and holds) or (op_type == "Or" and not holds):
        return [
            fact
            for source in inputs
            for fact in facts_of(scope, position, source, holds=holds, depth=depth + 1)
        ]
    sides = [found for source in inputs if (found := _scalar(scope, source)) is not None]
    relation = op_type if holds else _OPPOSITE.get(op_type, "")
    return _comparison(relation, *sides) if len(sides) == len(inputs) == 2 else []


def _comparison(relation: str, left: OptimDim, right: OptimDim) -> list[Fact]:
    if relation == "Equal":
        return [Fact(left, right, equal=True)]
    if relation == "Less":
        return [Fact(left + 1, right, equal=False)]
    if relation == "LessOrEqual":
        return [Fact(left, right, equal=False)]
    if relation == "Greater":
        return [Fact(right + 1, left, equal=False)]
    return [Fact(right, left, equal=False)] if relation == "GreaterOrEqual" else []


def _scalar(scope: ShapesContext, name: str) -> OptimDim | None:
    found = scope.lookup(name)
    return found.scalar() if isinstance(found, OptimTensor) else None


def _producer(scope: ShapesContext, index: int, name: str) -> tuple[int, onnx.NodeProto] | None:
    """The node that computes a value, if it stands not far before the position."""
    known = scope.producers.get(name)
    if known is not None or scope.graph is None:
        return known
    nodes = scope.graph.node
    for position in range(min(index, len(nodes)) - 1, max(index - 1 - _NODES_BACK, -1), -1):
        if name in nodes[position].output[:]:
            return position, nodes[position]
    return None
