"""Calls of functions: model-local ones, and the bodies that operator schemas define."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping
from typing import Any

import onnx

from yobx.errors import InvalidModelError
from yobx.onnx_optim.context import ShapesContext
from yobx.onnx_optim.model_io import subgraphs
from yobx.onnx_optim.node_signature import attribute_key
from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_sequence import Descriptor
from yobx.onnx_optim.optim_tensor import UNKNOWN_TENSOR
from yobx.onnx_optim.registry import normal_domain
from yobx.onnx_optim.steps import Body

__all__ = ["FUNCTION", "MAX_NESTED_CALLS", "call_steps", "has_one_call"]

FUNCTION = "function"
"""Attribute name under which the context of a function body is kept."""

MAX_NESTED_CALLS = 10_000
"""So many calls in function bodies are inferred; their number may grow exponentially."""

Calls = Generator[Any, Any, "tuple[Descriptor, ...]"]


def call_steps(view: NodeView, function: onnx.FunctionProto) -> Calls:
    """Infer the body of a function for the inputs and attributes of one call."""
    key = (normal_domain(function.domain), function.name, function.overload)
    chain = view.context.function_chain
    if key in chain:
        names = " -> ".join(f"{d}:{n}" for d, n, _ in (*chain, key))
        raise InvalidModelError(
            f"A function must not call itself. Received: {names}. Where: {view.describe()}."
        )
    if len(view.inputs) > len(function.input) or view.n_outputs > len(function.output):
        view.fail(
            f"function {function.name} takes {len(function.input)} inputs and gives "
            f"{len(function.output)} outputs; the call has {len(view.inputs)} and {view.n_outputs}"
        )
    attributes = call_attributes(view, function)
    memo_key = _memo_key(view, key, attributes)
    if memo_key is not None:
        cached = view.context.memo.get(memo_key)
        if cached is not None:
            child: ShapesContext = cached[0]
            outputs: tuple[Descriptor, ...] = cached[1]
            view.context.register_subgraph_context(view.index, FUNCTION, child)
            return outputs
    session = view.context.session
    session.nested_calls += bool(chain)
    if session.nested_calls > MAX_NESTED_CALLS:
        reason = f"the functions of the model call each other more than {MAX_NESTED_CALLS} times"
        return unknown_outputs(view, reason)
    child = ShapesContext(
        {o.domain: o.version for o in function.opset_import}, parent=view.context, isolated=True
    )
    child.set_current_subgraph(view.index, FUNCTION)
    child.function_chain = (*chain, key)
    child.attribute_values = attributes
    for position, name in enumerate(function.input):
        descriptor = view.inputs[position] if position < len(view.inputs) else None
        if descriptor is None:
            child.omitted.add(name)
        else:
            child.set_value(name, descriptor)
    view.context.register_subgraph_context(view.index, FUNCTION, child)
    mark = session.checkpoint()
    found: list[Descriptor] = yield Body(child, function)
    result = tuple(found)
    # The body runs whenever the call does, so its facts are facts of the caller.
    view.context.constraints_store.adopt(child.constraints_store)
    pure = session.checkpoint() == mark and not child.reasons and not child.constraints_store.token
    if memo_key is not None and pure and not session.logging:
        view.context.memo[memo_key] = (child, result)
    return result


def call_attributes(
    view: NodeView, function: onnx.FunctionProto
) -> Mapping[str, onnx.AttributeProto]:
    """Attributes of the function at this call: the caller's, else the function's defaults."""
    given = view.context.resolve_attributes(view.proto)
    defaults = {a.name: a for a in function.attribute_proto}
    return defaults | given


def _memo_key(
    view: NodeView, key: tuple[str, str, str], attributes: Mapping[str, onnx.AttributeProto]
) -> Any:
    parts = attribute_key(list(attributes.values()))
    return None if parts is None else (FUNCTION, key, view.n_outputs, parts, *view.inputs)


def has_one_call(context: ShapesContext) -> bool:
    """Whether each function around a graph is called from one place, and by the model itself.

    Only then does what is written into the function hold for this call alone.
    """
    session = context.session
    root = context
    while root.parent is not None:
        root = root.parent
    if root.graph is None:
        return False
    if session.calls is None:
        session.calls = Counter(
            (normal_domain(node.domain), node.op_type, node.overload)
            for graph in subgraphs([root.graph, *session.functions.values()])
            for node in graph.node
        )
    calls = session.calls
    return all(key in session.functions and calls[key] == 1 for key in context.function_chain)


def unknown_outputs(view: NodeView, reason: str) -> tuple[Descriptor, ...]:
    """Unknown descriptors for all outputs, with the reason."""
    return tuple(view.unknown(reason) for _ in range(view.n_outputs)) or (UNKNOWN_TENSOR,)
