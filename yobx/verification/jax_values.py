"""Intermediate values of a JAX function, and which ONNX value each of them became.

Compiled JAX has no names for values, but every equation of a traced function has a name stack, and
the nodes of the converted model carry the stack of the operation they come from. The function is
run equation by equation. A stack says one value when both sides went through it equally often;
where an operation was fused or folded away the counts differ, and nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from yobx.places import innermost_user_line
from yobx.verification.jax_equations import Step, run_equations
from yobx.verification.provenance import facts_of

__all__ = ["JaxValue", "jax_values"]


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

    found: list[JaxValue] = []

    def watch(step: Step) -> list[Any]:
        if len(step.outputs) == 1:
            array = np.asarray(step.outputs[0])
            found.append(JaxValue(step.stack, array, _line(step.equation)))
        return step.outputs

    run_equations(jax.make_jaxpr(function)(*arrays), arrays, watch)
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
    return facts_of(node).get("layer", "").partition("/")[2]


def _line(equation: Any) -> str:
    trace = equation.source_info.traceback
    frames = [] if trace is None else list(trace.frames)
    return innermost_user_line((frame.file_name, frame.line_num) for frame in reversed(frames))
