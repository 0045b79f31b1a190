"""Intermediate values of a JAX function, and which ONNX value each of them became.

Compiled JAX has no names for values, but every equation of a traced function has a name stack, and
the nodes of the converted model carry the stack of the operation they come from. The function is
run equation by equation. A stack says one value when both sides went through it equally often;
where an operation was fused or folded away the counts differ, and nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from yobx.verification.user_lines import innermost_user_line

__all__ = ["JaxValue", "jax_values"]

# Calls whose equations are run one by one; what they add to the name stack.
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
class JaxValue:
    """One result of one equation.

    Attributes:
        stack: Name stack and primitive, without the outermost function.
        array: The result.
        line: The user's file and line, or ``""``.
    """

    stack: str
    array: NDArray[Any]
    line: str


def jax_values(
    function: Callable[..., Any], arrays: Sequence[Any], model: onnx.ModelProto
) -> dict[str, JaxValue]:
    """Runs a function equation by equation.

    Args:
        function: Takes `arrays` one by one.
        arrays: Its inputs.
        model: What the function was converted to.

    Returns:
        ONNX value name -> the value of JAX that it must equal.
    """
    import jax

    traced = jax.make_jaxpr(function)(*arrays)
    found = list(_run(traced.jaxpr, traced.consts, arrays, "", []))
    theirs: dict[str, list[JaxValue]] = {}
    for stack, equations in groupby(found, key=lambda value: value.stack):
        theirs.setdefault(stack, []).append(list(equations)[-1])
    ours: dict[str, list[str]] = {}
    for stack, nodes in groupby(model.graph.node, key=_stack_of):
        ours.setdefault(stack, []).append(list(nodes)[-1].output[0])
    return {
        name: value
        for stack, names in ours.items()
        if len(names) == len(theirs.get(stack, ()))
        for name, value in zip(names, theirs[stack], strict=True)
    }


def _stack_of(node: onnx.NodeProto) -> str:
    """``encoder/tanh`` for a node of ``jit(f)/encoder/tanh``."""
    full = next((prop.value for prop in node.metadata_props if prop.key == "yobx.layer"), "")
    return full.partition("/")[2]


def _run(
    jaxpr: Any, constants: Sequence[Any], arrays: Sequence[Any], prefix: str, results: list[Any]
) -> Iterator[JaxValue]:
    """Evaluates equations in order; `results` receives the outputs."""
    known: dict[Any, Any] = dict(zip(jaxpr.constvars, constants, strict=True))
    known.update(zip(jaxpr.invars, arrays, strict=True))

    def read(variable: Any) -> Any:
        return variable.val if hasattr(variable, "val") else known[variable]

    for equation in jaxpr.eqns:
        inputs = [read(variable) for variable in equation.invars]
        own = str(equation.source_info.name_stack)
        scope = "/".join(part for part in (prefix, own) if part)
        outputs: list[Any] = []
        inner = _inner(equation)
        if inner is not None:
            added = _CALLS[equation.primitive.name](equation.params)
            scope = "/".join(part for part in (scope, added) if part)
            yield from _run(inner.jaxpr, inner.consts, inputs, scope, outputs)
        else:
            bound = equation.primitive.get_bind_params(equation.params)
            functions, params = bound if isinstance(bound, tuple) else ((), bound)
            with equation.ctx.manager:
                made = equation.primitive.bind(*functions, *inputs, **params)
            outputs = list(made) if equation.primitive.multiple_results else [made]
            if len(outputs) == 1:
                stack = "/".join(part for part in (scope, equation.primitive.name) if part)
                yield JaxValue(stack, np.asarray(outputs[0]), _line(equation))
        known.update(zip(equation.outvars, outputs, strict=True))
    results += [read(variable) for variable in jaxpr.outvars]


def _inner(equation: Any) -> Any | None:
    """The equations of a call that is run one by one; loops and branches are run as a whole."""
    if equation.primitive.name not in _CALLS:
        return None
    for name in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        found = equation.params.get(name)
        if found is not None:
            return found if hasattr(found, "jaxpr") else _Closed(found)
    return None


@dataclass(frozen=True)
class _Closed:
    """Equations without constants, as `jax.core.ClosedJaxpr` has them."""

    jaxpr: Any
    consts: tuple[Any, ...] = ()


def _line(equation: Any) -> str:
    trace = equation.source_info.traceback
    frames = [] if trace is None else list(trace.frames)
    return innermost_user_line((frame.file_name, frame.line_num) for frame in reversed(frames))
