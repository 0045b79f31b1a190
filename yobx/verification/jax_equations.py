"""Runs a traced JAX function equation by equation.

Calls are entered; loops and branches are run as a whole. Whoever watches may put other results in
the place of those of an equation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Entered", "Step", "entered", "has_primitive", "run_equations"]

# Calls that are entered; what they add to the name stack.
_CALLS: dict[str, Callable[[Any], str]] = {
    "jit": lambda params: f"jit({params['name']})",
    "pjit": lambda params: f"jit({params['name']})",
    "remat2": lambda params: "checkpoint",
    "checkpoint": lambda params: "checkpoint",
    "closed_call": lambda params: "closed_call",
    "custom_jvp_call": lambda params: "",
    "custom_vjp_call": lambda params: "",
}


@dataclass(frozen=True)
class Step:
    """One equation with its values.

    Attributes:
        equation: The equation.
        stack: Name stack and primitive, without the outermost function.
        inputs: Arrays that it takes.
        outputs: Arrays that it makes.
    """

    equation: Any
    stack: str
    inputs: list[Any]
    outputs: list[Any]


def has_primitive(jaxpr: Any, names: Collection[str]) -> bool:
    """Whether equations that `run_equations` shows are of one of these primitives."""
    for equation in jaxpr.eqns:
        if equation.primitive.name in names:
            return True
        called = entered(equation, [None] * len(equation.invars))
        if called is not None and has_primitive(called.jaxpr, names):
            return True
    return False


Watcher = Callable[[Step], Sequence[Any]]


def run_equations(closed: Any, arrays: Sequence[Any], watch: Watcher) -> list[Any]:
    """Evaluates equations in order.

    Args:
        closed: What `jax.make_jaxpr` made of a function.
        arrays: Its inputs, one by one.
        watch: Sees every step and returns the outputs to go on with.

    Returns:
        The outputs of the function.
    """
    return _run(closed.jaxpr, closed.consts, arrays, "", watch)


def _run(
    jaxpr: Any, constants: Sequence[Any], arrays: Sequence[Any], prefix: str, watch: Watcher
) -> list[Any]:
    known: dict[Any, Any] = dict(zip(jaxpr.constvars, constants, strict=True))
    known.update(zip(jaxpr.invars, arrays, strict=True))

    def read(variable: Any) -> Any:
        return variable.val if hasattr(variable, "val") else known[variable]

    for equation in jaxpr.eqns:
        inputs = [read(variable) for variable in equation.invars]
        own = str(equation.source_info.name_stack)
        scope = "/".join(part for part in (prefix, own) if part)
        inner = entered(equation, inputs)
        if inner is not None:
            added = _CALLS.get(equation.primitive.name, _nothing)(equation.params)
            scope = "/".join(part for part in (scope, added) if part)
            outputs = _run(inner.jaxpr, inner.constants, inner.inputs, scope, watch)
        else:
            bound = equation.primitive.get_bind_params(equation.params)
            functions, params = bound if isinstance(bound, tuple) else ((), bound)
            with equation.ctx.manager:
                made = equation.primitive.bind(*functions, *inputs, **params)
            outputs = list(made) if equation.primitive.multiple_results else [made]
            stack = "/".join(part for part in (scope, equation.primitive.name) if part)
            outputs = list(watch(Step(equation, stack, inputs, outputs)))
        known.update(zip(equation.outvars, outputs, strict=True))
    return [read(variable) for variable in jaxpr.outvars]


def _nothing(params: Any) -> str:
    return ""


@dataclass(frozen=True)
class Entered:
    """Equations of a call and what they are given."""

    jaxpr: Any
    constants: Sequence[Any]
    inputs: Sequence[Any]


def entered(equation: Any, inputs: list[Any]) -> Entered | None:
    """The equations of a call that is entered.

    Args:
        equation: An equation of a jaxpr.
        inputs: What it is given.

    Returns:
        The equations and what they are given, or ``None`` where the call is one step.
    """
    if equation.primitive.name == "custom_linear_solve":
        return _solver(equation.params, inputs)
    if equation.primitive.name not in _CALLS:
        return None
    for name in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        found = equation.params.get(name)
        if found is not None:
            closed = hasattr(found, "jaxpr")
            constants = found.consts if closed else ()
            return Entered(found.jaxpr if closed else found, constants, inputs)
    return None


def _solver(params: Any, inputs: list[Any]) -> Entered:
    """Of a linear solve what solves it; its inputs are constants of four functions, then `b`."""
    counts = params["const_lengths"]
    before, own = counts.matvec + counts.vecmat, counts.solve
    found = params["jaxprs"].solve
    right = inputs[sum(counts) :]
    return Entered(found.jaxpr, found.consts, [*inputs[before : before + own], *right])
