"""Reading TensorFlow graphs: which operations matter, and the functions that they call."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from yobx.errors import ConversionError

__all__ = [
    "PLACEHOLDERS",
    "NestedBody",
    "called_function",
    "function_attributes",
    "function_graph",
    "merged_predicate",
    "needed_operations",
    "nested_bodies",
]

#: Inputs of a graph.
PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2"})
#: Operations that are replaced by the body of the function they call.
_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})


def needed_operations(
    results: Iterable[Any],
    *,
    control: Iterable[Any] = (),
    follow_control: bool = False,
    known: Collection[Any] = (),
) -> list[Any]:
    """Lists the operations that results depend on, in execution order.

    Args:
        results: Tensors.
        control: Operations to start from as well.
        follow_control: Whether control inputs count as dependencies.
        known: Operations whose outputs are known, so that they depend on nothing.

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
        if op in known:
            continue
        pending.extend(tensor.op for tensor in op.inputs)
        if follow_control:
            pending.extend(op.control_inputs)
        elif op.type == "Merge" and (found := merged_predicate(op)) is not None:
            pending.append(found[0].op)  # branches without operands meet it in control inputs only
    if not seen:
        return []
    graph = next(iter(seen)).graph
    return [op for op in graph.get_operations() if op in seen]


#: Name of a predicate -> the side of it that a value belongs to.
_Sides: TypeAlias = dict[str, int]


def merged_predicate(op: Any) -> tuple[Any, int] | None:
    """Returns the tensor that chooses between the two inputs of a ``Merge``.

    Args:
        op: ``Merge``, behind a condition as TensorFlow 1 writes it.

    Returns:
        The predicate and the side of it, 0 or 1, that the first input lies on; ``None`` if the
        inputs are not on two sides of one.
    """
    sides = _sides(list(op.inputs))
    if len(sides) != 2:
        return None
    for name, side in sides[0].items():
        if {side, sides[1].get(name)} == {0, 1}:
            return op.graph.get_tensor_by_name(name), side
    return None


def _sides(tensors: list[Any]) -> list[_Sides]:
    """Returns the sides of the predicates that each tensor lies on."""
    of_op: dict[Any, _Sides] = {}

    def of_tensor(tensor: Any) -> _Sides:
        found = of_op.get(tensor.op, {})  # in a loop, what comes from its last turn has none
        if tensor.op.type != "Switch":
            return found
        return {**found, tensor.op.inputs[1].name: tensor.value_index}

    for op in needed_operations(tensors, follow_control=True):
        given = [of_tensor(t) for t in op.inputs]
        if op.type == "Merge":
            # Behind a condition only what all of its branches agree about still holds.
            first, *others = given
            sides = {p: s for p, s in first.items() if all(o.get(p) == s for o in others)}
        else:
            sides = {p: s for one in given for p, s in one.items()}
        for other in op.control_inputs:
            sides |= {p: s for p, s in of_op.get(other, {}).items() if p not in sides}
            if other.type == "Identity" and other.inputs[0].op.type == "Switch":
                sides |= of_tensor(other.inputs[0])
        of_op[op] = sides
    return [of_tensor(t) for t in tensors]


#: Op type -> its attributes that name functions; a property of the type, kept for speed.
_FUNCTION_ATTRIBUTES: dict[str, tuple[str, ...]] = {}


def function_attributes(op: Any) -> tuple[str, ...]:
    """Names of the attributes of an operation that refer to functions."""
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
        ConversionError: If the graph does not hold such a function.
    """
    found = _find(graph, name)
    if found is None:
        raise ConversionError(
            f"A function that an operation calls is part of the graph. Received: {name!r}, which "
            "is not. Save the model again with all its functions."
        )
    holder, function = found
    return function.graph if hasattr(function, "graph") else _read(holder, name, function)


def called_function(op: Any) -> str | None:
    """Returns the name of the function that an operation calls, ``None`` if it is no call.

    Graphs of TensorFlow 1 call a function by an operation whose type is the function's name.

    Args:
        op: Operation.
    """
    if op.type in _CALLS:
        return str(op.get_attr("f").name)
    return str(op.type) if _find(op.graph, op.type) is not None else None


def _find(graph: Any, name: str) -> tuple[Any, Any] | None:
    """Returns a function, and which of a graph and those around it holds it."""
    holder = graph
    while holder is not None:
        function = holder._get_function(name)
        if function is not None:
            return holder, function
        holder = getattr(holder, "outer_graph", None)
    return None


#: Attribute of a graph that holds the functions that were read for it.
_FUNCTION_GRAPHS = "_yobx_function_graphs"


def _read(holder: Any, name: str, function: Any) -> Any:
    """Returns the graph of a function that is there as a ``FunctionDef`` only, always the same.

    Such are the functions of a ``GraphDef``, and those that TensorFlow 1's ``Defun`` makes.
    """
    from tensorflow.python.framework.function_def_to_graph import function_def_to_graph

    known: dict[str, Any] | None = getattr(holder, _FUNCTION_GRAPHS, None)
    if known is None:
        known = {}
        setattr(holder, _FUNCTION_GRAPHS, known)
    if name not in known:
        definition = function.definition
        with holder.as_default():
            known[name] = function_def_to_graph(
                definition, input_shapes=_argument_shapes(definition)
            )
    return known[name]


def _argument_shapes(definition: Any) -> list[Any]:
    """Returns the shapes of the arguments, as far as the definition states them."""
    import tensorflow as tf

    found = []
    for index in range(len(definition.signature.input_arg)):
        stated = definition.arg_attr[index].attr if index in definition.arg_attr else {}
        shapes = stated["_output_shapes"].list.shape if "_output_shapes" in stated else []
        found.append(tf.TensorShape(shapes[0] if shapes else None))
    return found


@dataclass(frozen=True)
class NestedBody:
    """A function that an operation refers to.

    Attributes:
        op: The operation.
        attribute: Attribute that names the function, for example ``"body"``; ``"f"`` for a call.
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
    called = called_function(op)
    if called is not None:
        yield NestedBody(op, "f", function_graph(op.graph, called))
        return
    for attribute in function_attributes(op):
        value = op.get_attr(attribute)
        for item in value if isinstance(value, list | tuple) else [value]:
            if item.name:
                yield NestedBody(op, attribute, function_graph(op.graph, item.name))
