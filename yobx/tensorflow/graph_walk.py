"""Reading TensorFlow graphs: which operations matter, and the functions that they call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from yobx.errors import ConversionError

__all__ = [
    "CALLS",
    "NestedBody",
    "function_graph",
    "needed_operations",
    "nested_bodies",
]

#: Operations that are replaced by the body of the function they call.
CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})


def needed_operations(
    results: Iterable[Any], *, control: Iterable[Any] = (), follow_control: bool = False
) -> list[Any]:
    """Lists the operations that results depend on, in execution order.

    Args:
        results: Tensors.
        control: Operations to start from as well.
        follow_control: Whether control inputs count as dependencies.

    Returns:
        Operations, each after the ones it depends on, in the order of the graph.
    """
    seen: set[Any] = set()
    pending = [tensor.op for tensor in results]
    pending.extend(control)
    while pending:
        op = pending.pop()
        if op in seen:
            continue
        seen.add(op)
        pending.extend(tensor.op for tensor in op.inputs)
        if follow_control:
            pending.extend(op.control_inputs)
    if not seen:
        return []
    graph = next(iter(seen)).graph
    return [op for op in graph.get_operations() if op in seen]


#: Op type -> its attributes that name functions; a property of the type, kept for speed.
_FUNCTION_ATTRIBUTES: dict[str, tuple[str, ...]] = {}


def _function_attributes(op: Any) -> tuple[str, ...]:
    found = _FUNCTION_ATTRIBUTES.get(op.type)
    if found is None:
        attributes = op.op_def.attr
        found = tuple(attr.name for attr in attributes if attr.type in {"func", "list(func)"})
        _FUNCTION_ATTRIBUTES[op.type] = found
    return found


def function_graph(graph: Any, name: str) -> Any:
    """Returns the graph of a function that an operation of ``graph`` refers to.

    Args:
        graph: Graph of the operation.
        name: Name of the function.

    Returns:
        A ``FuncGraph``.

    Raises:
        ConversionError: If the graph does not hold such a function, or it is one of TensorFlow 1.
    """
    holder = graph
    while holder is not None:
        function = holder._get_function(name)
        if function is not None and not hasattr(function, "graph"):
            raise ConversionError(
                "A function that an operation calls is made by tf.function. Received: "
                f"{name!r}, which TensorFlow 1's Defun made, as tf.nn.ctc_loss does inside. "
                "Convert the model without that part."
            )
        if function is not None:
            return function.graph
        holder = getattr(holder, "outer_graph", None)
    raise ConversionError(
        f"A function that an operation calls is part of the graph. Received: {name!r}, which is "
        "not. Save the model again with all its functions."
    )


@dataclass(frozen=True)
class NestedBody:
    """A function that an operation refers to.

    Attributes:
        op: The operation.
        attribute: Attribute that names the function, for example ``"body"``.
        graph: Graph of the function.
    """

    op: Any
    attribute: str
    graph: Any


def nested_bodies(op: Any) -> Iterator[NestedBody]:
    """Yields the functions that an operation calls, branches or loops over.

    Args:
        op: Operation.

    Yields:
        One entry per function.
    """
    for attribute in _function_attributes(op):
        value = op.get_attr(attribute)
        for item in value if isinstance(value, list | tuple) else [value]:
            if item.name:
                yield NestedBody(op, attribute, function_graph(op.graph, item.name))
