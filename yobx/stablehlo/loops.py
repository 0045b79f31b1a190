"""Recognise loops that count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import ir

__all__ = ["Counter", "adds_one", "counted_loop", "scalar_constant"]


@dataclass(frozen=True)
class Counter:
    """A loop ``while i < bound: ...; i += 1``.

    Attributes:
        index: Which carried value is ``i``.
        bound: The limit: an argument of the condition, a constant in it, or a value outside.
    """

    index: int
    bound: ir.Value


def counted_loop(operation: ir.Operation) -> Counter | None:
    """The counter of a ``while``, or ``None`` if the number of turns is not known beforehand."""
    condition, body = operation.regions
    test = condition.outputs[0].owner
    if test is None or test.name != "stablehlo.compare":
        return None
    if test.attributes["comparison_direction"] != "LT":
        return None
    counter, bound = test.operands
    if counter not in condition.arguments or counter.tensor.rank:
        return None
    index = condition.arguments.index(counter)
    if not _is_fixed(bound, condition, body) or not adds_one(body, index):
        return None
    return Counter(index, bound)


def _is_fixed(bound: ir.Value, condition: ir.Block, body: ir.Block) -> bool:
    """Whether a value does not change from turn to turn and can be read before the loop."""
    if bound in condition.arguments:
        place = condition.arguments.index(bound)
        return body.outputs[place] is body.arguments[place]
    inside = {r for op in condition.operations for r in op.results}
    return bound not in inside or (
        bound.owner is not None and bound.owner.name == "stablehlo.constant"
    )


def adds_one(body: ir.Block, index: int) -> bool:
    """Whether a carried value is one more in each turn."""
    step = body.outputs[index].owner
    if step is None or step.name != "stablehlo.add":
        return False
    counter = body.arguments[index]
    for value, other in (step.operands, step.operands[::-1]):
        constant = scalar_constant(other)
        if value is counter and constant is not None and int(constant) == 1:
            return True
    return False


def scalar_constant(value: ir.Value) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]] | None:
    """The array of a constant of one element, or ``None``."""
    owner = value.owner
    if owner is None or owner.name != "stablehlo.constant":
        return None
    array = np.asarray(owner.attributes["value"])
    return array if array.size == 1 else None
