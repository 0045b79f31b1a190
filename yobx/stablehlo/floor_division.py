"""Floor division and its remainder, which JAX writes out with the signs of both sides.

Sizes are divided with them: of a number that is known not to be negative by a positive constant
they are the plain operations, which the shape engine follows.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from .ir import Function, Module, Operation, Value

__all__ = ["FLOOR_DIVIDE", "REMAINDER", "mark_floor_division"]

FLOOR_DIVIDE, REMAINDER = "yobx.floor_divide", "yobx.remainder"

#: The dividend, the divisor, a constant, or the result of a step before.
_Operand: TypeAlias = str | int
_Step: TypeAlias = tuple[str, tuple[_Operand, ...]]
# What the functions of jax.numpy compute of two integers, without their constants.
_BODIES: dict[str, tuple[_Step, ...]] = {
    FLOOR_DIVIDE: (
        ("divide", ("a", "b")),
        ("sign", ("a",)),
        ("sign", ("b",)),
        ("compare NE", (1, 2)),
        ("remainder", ("a", "b")),
        ("compare NE", (4, "zero")),
        ("and", (3, 5)),
        ("subtract", (0, "one")),
        ("select", (6, 7, 0)),
    ),
    REMAINDER: (
        ("compare EQ", ("b", "zero")),
        ("select", (0, "one", "b")),
        ("remainder", ("a", 1)),
        ("compare NE", (2, "zero")),
        ("compare LT", (2, "zero")),
        ("compare LT", (1, "zero")),
        ("compare NE", (4, 5)),
        ("and", (6, 3)),
        ("add", (2, 1)),
        ("select", (7, 8, 2)),
    ),
}
_CONSTANTS = {"zero": 0, "one": 1}


def mark_floor_division(module: Module) -> None:
    """Give the calls of these functions a name that says what they compute, in place.

    The function that is called stays known, for operands of any sign.
    """
    found = {name: kind for name, f in module.functions.items() if (kind := _kind(module, f))}
    for function in module.functions.values() if found else ():
        for operation in function.body.walk():
            kind = found.get(str(operation.attributes.get("callee")))
            if operation.name == "func.call" and kind is not None:
                operation.name = kind


def _kind(module: Module, function: Function) -> str | None:
    """Which of the two a function is; sizes may precede its two arguments."""
    steps = [o for o in function.body.operations if o.name != "stablehlo.constant"][:-1]
    for kind, body in _BODIES.items():
        if len(steps) != len(body) or function.body.outputs != steps[-1].results:
            continue
        if any(len(step.results) != 1 for step in steps):
            continue
        known: dict[_Operand, Value] = {}
        known.update(zip("ab", function.body.arguments[-2:], strict=False))
        known.update((i, step.results[0]) for i, step in enumerate(steps))
        if all(_fits(module, s, wanted, known) for s, wanted in zip(steps, body, strict=True)):
            return kind
    return None


def _fits(module: Module, step: Operation, wanted: _Step, known: dict[_Operand, Value]) -> bool:
    name, operands = wanted
    given = step.operands[-len(operands) :]
    if _name(module, step) != name or step.results[0].tensor.rank or len(given) != len(operands):
        return False
    return all(
        _is_constant(value, _CONSTANTS[operand])
        if operand in _CONSTANTS
        else known.get(operand) is value
        for value, operand in zip(given, operands, strict=True)
    )


def _name(module: Module, step: Operation) -> str:
    if step.name == "stablehlo.compare":
        return f"compare {step.attributes['comparison_direction']}"
    callee = module.functions.get(str(step.attributes.get("callee")))
    if step.name == "func.call" and callee is not None:
        choice = callee.body.operations[0]
        is_choice = len(callee.body.operations) == 2 and callee.body.outputs == choice.results
        passes_on = choice.operands == callee.body.arguments[-3:]
        return choice.name.removeprefix("stablehlo.") if is_choice and passes_on else ""
    return step.name.removeprefix("stablehlo.")


def _is_constant(value: Value, number: int) -> bool:
    made = value.owner
    if made is None or made.name != "stablehlo.constant":
        return False
    array = np.asarray(made.attributes["value"])
    return array.ndim == 0 and array.dtype.kind == "i" and int(array) == number
