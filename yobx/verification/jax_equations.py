"""Runs a traced JAX function equation by equation.

Calls are entered; loops and branches are run as a whole, but for those that hold primitives which
somebody wants to see. Whoever watches may put other results in the place of those of an equation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
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
        turn: How often it was run before, for one in a loop or a branch; else ``None``.
    """

    equation: Any
    stack: str
    inputs: list[Any]
    outputs: list[Any]
    turn: int | None = None


def has_primitive(jaxpr: Any, names: Collection[str], *, inside: bool = False) -> bool:
    """Whether equations that `run_equations` shows are of one of these primitives.

    Args:
        jaxpr: The equations.
        names: Names of primitives.
        inside: Whether those in loops and branches count.
    """
    for equation in jaxpr.eqns:
        if equation.primitive.name in names:
            return True
        called = entered(equation, [None] * len(equation.invars))
        bodies = [called.jaxpr] if called is not None else []
        bodies += [body.jaxpr for body in _bodies(equation)] if inside else []
        if any(has_primitive(body, names, inside=inside) for body in bodies):
            return True
    return False


def _bodies(equation: Any) -> list[Any]:
    """Equations of the bodies of a loop or a branch."""
    params = equation.params
    if equation.primitive.name == "while":
        return [params["cond_jaxpr"], params["body_jaxpr"]]
    if equation.primitive.name == "cond":
        return list(params["branches"])
    return [params["jaxpr"]] if equation.primitive.name == "scan" else []


Watcher = Callable[[Step], Sequence[Any]]


def run_equations(
    closed: Any, arrays: Sequence[Any], watch: Watcher, *, inside: Collection[str] = ()
) -> list[Any]:
    """Evaluates equations in order.

    Args:
        closed: What `jax.make_jaxpr` made of a function.
        arrays: Its inputs, one by one.
        watch: Sees every step and returns the outputs to go on with.
        inside: Names of primitives; loops and branches with one of them are run turn by turn.

    Returns:
        The outputs of the function.
    """
    return _Run(watch, inside).equations(closed.jaxpr, closed.consts, arrays, "")


@dataclass
class _Run:
    """A run of equations; `turns` tells how often each equation of a body was run."""

    watch: Watcher
    inside: Collection[str]
    turns: dict[int, int] = field(default_factory=dict)
    depth: int = 0

    def equations(
        self, jaxpr: Any, constants: Sequence[Any], arrays: Sequence[Any], prefix: str
    ) -> list[Any]:
        known: dict[Any, Any] = dict(zip(jaxpr.constvars, constants, strict=True))
        known.update(zip(jaxpr.invars, arrays, strict=True))

        def read(variable: Any) -> Any:
            return variable.val if hasattr(variable, "val") else known[variable]

        for equation in jaxpr.eqns:
            inputs = [read(variable) for variable in equation.invars]
            own = str(equation.source_info.name_stack)
            scope = "/".join(part for part in (prefix, own) if part)
            outputs = self._equation(equation, inputs, scope)
            known.update(zip(equation.outvars, outputs, strict=True))
        return [read(variable) for variable in jaxpr.outvars]

    def _equation(self, equation: Any, inputs: list[Any], scope: str) -> list[Any]:
        inner = entered(equation, inputs)
        if inner is not None:
            added = _CALLS.get(equation.primitive.name, _nothing)(equation.params)
            scope = "/".join(part for part in (scope, added) if part)
            return self.equations(inner.jaxpr, inner.constants, inner.inputs, scope)
        bodies = _bodies(equation)
        if any(has_primitive(body.jaxpr, self.inside, inside=True) for body in bodies):
            run = {"scan": self._scan, "while": self._while, "cond": self._branch}
            self.depth += 1
            outputs = run[equation.primitive.name](equation.params, inputs, scope)
            self.depth -= 1
            # A number that is written in the program is no array yet.
            return list(map(_array, outputs, equation.outvars))
        bound = equation.primitive.get_bind_params(equation.params)
        functions, params = bound if isinstance(bound, tuple) else ((), bound)
        with equation.ctx.manager:
            made = equation.primitive.bind(*functions, *inputs, **params)
        outputs = list(made) if equation.primitive.multiple_results else [made]
        stack = "/".join(part for part in (scope, equation.primitive.name) if part)
        turn = self.turns.get(id(equation), 0)
        self.turns[id(equation)] = turn + 1
        step = Step(equation, stack, inputs, outputs, turn if self.depth else None)
        return list(self.watch(step))

    def _body(self, closed: Any, inputs: Sequence[Any], scope: str) -> list[Any]:
        return self.equations(closed.jaxpr, closed.consts, inputs, scope)

    def _branch(self, params: Any, inputs: list[Any], scope: str) -> list[Any]:
        branches = params["branches"]
        chosen = min(max(int(inputs[0]), 0), len(branches) - 1)
        return self._body(branches[chosen], inputs[1:], scope)

    def _while(self, params: Any, inputs: list[Any], scope: str) -> list[Any]:
        first, second = params["cond_nconsts"], params["body_nconsts"]
        of_condition, of_body = inputs[:first], inputs[first : first + second]
        state = inputs[first + second :]
        while bool(self._body(params["cond_jaxpr"], [*of_condition, *state], scope)[0]):
            state = self._body(params["body_jaxpr"], [*of_body, *state], scope)
        return state

    def _scan(self, params: Any, inputs: list[Any], scope: str) -> list[Any]:
        import jax.numpy as jnp

        fixed, carried = params["num_consts"], params["num_carry"]
        constants, state = inputs[:fixed], inputs[fixed : fixed + carried]
        rows: list[list[Any]] = []
        for place in self._places(params):
            elements = [array[place] for array in inputs[fixed + carried :]]
            made = self._body(params["jaxpr"], [*constants, *state, *elements], scope)
            state = made[:carried]
            rows.append(made[carried:])
        rows = rows[::-1] if params["reverse"] else rows
        kinds = params["jaxpr"].out_avals[carried:]
        stacked = [
            jnp.stack([row[i] for row in rows]) if rows else jnp.zeros((0, *a.shape), a.dtype)
            for i, a in enumerate(kinds)
        ]
        return [*state, *stacked]

    @staticmethod
    def _places(params: Any) -> Iterator[int]:
        count = int(params["length"])
        return iter(range(count - 1, -1, -1) if params["reverse"] else range(count))


def _array(value: Any, variable: Any) -> Any:
    import jax.numpy as jnp

    return value if hasattr(value, "dtype") else jnp.asarray(value, variable.aval.dtype)


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
