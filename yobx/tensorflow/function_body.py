"""Bodies of functions: the outermost graph, called functions, branches and loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from yobx.errors import InternalError
from yobx.tensorflow.constants import computed_constants
from yobx.tensorflow.conversion import Conversion, current_conversion
from yobx.tensorflow.graph_walk import (
    PLACEHOLDERS,
    called_function,
    function_graph,
    needed_operations,
)
from yobx.xbuilder import GraphBuilder

__all__ = ["convert_function_body", "convert_operations"]


_WITHOUT_NODES = PLACEHOLDERS | {"NoOp"}


def convert_function_body(
    g: GraphBuilder,
    func_graph_or_name: Any,
    inputs: Sequence[str],
    *,
    prefix: str = "",
) -> list[str]:
    """Writes the body of a function into a builder.

    Made for the converters of control flow: call it with the builder of a subgraph to make a
    branch or a loop body, or with ``g`` itself to inline a call.

    Args:
        g: Builder to write to.
        func_graph_or_name: A ``FuncGraph``, or the name of a function of the current graph, as in
            ``op.get_attr("body").name``.
        inputs: One value name per input of the function, known to ``g``. For a resource it is the
            name of the resource tensor outside, for example ``op.inputs[3].name``.
        prefix: Put before the names of nodes and values, usually ``op.name``.

    Returns:
        The value names of the outputs; they stay valid. For an output that is a resource it is the
        name of the input it comes from.

    Raises:
        InternalError: If the number of inputs is wrong.
        ConversionError: If the function calls itself, or holds something that has no ONNX form.
    """
    conversion = current_conversion()
    graph = func_graph_or_name
    if isinstance(graph, str):
        graph = function_graph(conversion.graph, graph)
    if len(graph.inputs) != len(inputs):
        raise InternalError(
            f"A function body takes one value per input. Received: {len(inputs)} values for "
            f"{len(graph.inputs)} inputs of {graph.name!r}."
        )
    outer = list(inputs)
    handles = {
        tensor.name: conversion.resource(name)
        for tensor, name in zip(graph.inputs, outer, strict=True)
        if not g.has_name(name)
    }
    with g.scope(prefix), conversion.inside(graph, prefix, handles):
        for tensor, name in zip(graph.inputs, outer, strict=True):
            if tensor.name not in handles:
                g.alias(tensor.name, name)
        convert_operations(g, graph.outputs, conversion, local=True)
        passed = {tensor.name: name for tensor, name in zip(graph.inputs, outer, strict=True)}
        # An alias ends with its scope, so the results are named by what they stand for.
        return [
            g.alias(tensor.name, tensor.name)
            if g.has_name(tensor.name)
            else passed.get(tensor.name, tensor.name)
            for tensor in graph.outputs
        ]


def convert_operations(
    g: GraphBuilder,
    results: Sequence[Any],
    conversion: Conversion,
    *,
    local: bool,
) -> None:
    """Converts every operation that results depend on, in execution order.

    Args:
        g: Builder to write to.
        results: Tensors of one graph.
        conversion: The conversion under way.
        local: Whether the names of the graph may be in use outside, so that values get fresh ones.
    """
    operations = needed_operations(results)
    constants = computed_constants(operations, results, conversion.extra_converters)
    if constants:
        operations = needed_operations(results, known=constants)
        _declare(g, conversion, constants)
    used = {tensor.name for op in operations for tensor in op.inputs}
    used.update(tensor.name for tensor in results)
    # A captured number is an input of its graph and a Const at the same time.
    given = {tensor.op.name for tensor in results[0].graph.inputs} if results else set()
    for op in operations:
        if op.type in _WITHOUT_NODES or op.name in given or op in constants:
            continue
        if op.type == "PlaceholderWithDefault":
            g.alias(op.outputs[0].name, op.inputs[0].name)
        elif op.type == "Identity" and op.inputs[0].dtype.name == "resource":
            _bind(g, conversion, op.outputs[0].name, op.inputs[0].name)
        elif op.type not in conversion.extra_converters and (name := called_function(op)):
            _inline(g, op, name, conversion)
        else:
            outputs = [tensor.name for tensor in op.outputs]
            if local:
                outputs = [g.unique_name(conversion.place(name)) for name in outputs]
            conversion.convert(g, op, outputs, used)
            if local:
                for tensor, output in zip(op.outputs, outputs, strict=True):
                    if g.has_name(output):
                        g.alias(tensor.name, output)
        if not local:
            conversion.on_op(op)


def _declare(
    g: GraphBuilder, conversion: Conversion, constants: Mapping[Any, Sequence[NDArray[Any]]]
) -> None:
    """Makes initializers of the outputs of operations that are known."""
    for op, values in constants.items():
        for tensor, value in zip(op.outputs, values, strict=True):
            name = g.unique_name(conversion.place(tensor.name))
            g.alias(tensor.name, g.make_initializer(name, value))


def _inline(g: GraphBuilder, op: Any, function: str, conversion: Conversion) -> None:
    name = conversion.place(op.name)
    body = function_graph(op.graph, function)
    with g.provenance(op=op.type, name=name, layer=conversion.layers.path(name)):
        values = convert_function_body(
            g, body, [tensor.name for tensor in op.inputs], prefix=op.name
        )
    for tensor, value in zip(op.outputs, values, strict=True):
        _bind(g, conversion, tensor.name, value)


def _bind(g: GraphBuilder, conversion: Conversion, name: str, value: str) -> None:
    """Makes ``name`` mean what ``value`` means: a value, or a captured resource."""
    if g.has_name(value):
        g.alias(name, value)
    else:
        conversion.bind_resource(name, conversion.resource(value))
