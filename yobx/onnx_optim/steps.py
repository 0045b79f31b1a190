"""What inference is made of: steps on an explicit stack, results that are stored."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeAlias

import onnx

from yobx.onnx_optim.context import ShapesContext
from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_sequence import Descriptor
from yobx.onnx_optim.optim_tensor import UNKNOWN_TENSOR, OptimTensor

__all__ = ["Body", "Step", "infer_inputs", "is_omitted", "store"]

Step: TypeAlias = Generator[Any, Any, Any]


@dataclass(frozen=True, slots=True)
class Body:
    """What a step yields to have a graph inferred whose inputs are set; it receives the outputs."""

    context: ShapesContext
    graph: onnx.GraphProto | onnx.FunctionProto


def is_omitted(context: ShapesContext, name: str) -> bool:
    """True for a formal input of a function that the call leaves out."""
    scope: ShapesContext | None = context
    while scope is not None:
        if name in scope.omitted:
            return True
        scope = scope.outer
    return False


def infer_inputs(context: ShapesContext, node: onnx.NodeProto) -> tuple[Descriptor | None, ...]:
    """Descriptors of the inputs of a node, unknown ones included."""
    return tuple(
        None if not name or is_omitted(context, name) else context.lookup(name) or UNKNOWN_TENSOR
        for name in node.input
    )


def store(view: NodeView, result: Any) -> tuple[Descriptor, ...]:
    """Set the outputs of a node from what its rule returned."""
    names = view.proto.output[:]
    if type(result) is OptimTensor and len(names) == 1:
        found: tuple[Descriptor, ...] = (result,)
    else:
        many = (result,) if not isinstance(result, tuple | list) else tuple(result)
        found = tuple(
            many[i] if i < len(many) and many[i] is not None else UNKNOWN_TENSOR
            for i in range(len(names))
        )
    context = view.context
    if view.reasons:
        text = "; ".join(dict.fromkeys(view.reasons))
        context.reasons.update((name, text) for name in names if name)
    if context.session.logging:
        for name, descriptor in zip(names, found, strict=True):
            if name:
                context.set_value(name, descriptor, node_index=view.index)
        context.log_node(view.proto, view.index)
    else:
        for name, descriptor in zip(names, found, strict=True):
            if name:
                context.values[name] = descriptor
    return found
