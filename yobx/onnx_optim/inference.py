"""The public functions: ``compute_shapes`` and ``infer_shapes``."""

from __future__ import annotations

import os
from pathlib import Path

import onnx

from yobx.errors import ArgumentError
from yobx.onnx_optim import driver
from yobx.onnx_optim.context import ShapesContext
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.type_protos import descriptor_of_type
from yobx.onnx_optim.write_back import TypeWriter

__all__ = ["compute_shapes", "infer_shapes"]


def compute_shapes(
    context: ShapesContext, target: onnx.NodeProto | onnx.GraphProto | onnx.ModelProto
) -> None:
    """Infer a node, a graph or a model, and set what is found in the context.

    Args:
        context: Holds the inputs of the node; for a graph or model it receives them too.
        target: What to infer.

    Raises:
        ShapeError: A node is malformed or contradicts what is known.
        InvalidModelError: The graph is malformed.
    """
    if isinstance(target, onnx.NodeProto):
        driver.compute_node(context, target)
    elif isinstance(target, onnx.GraphProto):
        compute_graph(context, target)
    elif isinstance(target, onnx.ModelProto):
        context.set_opsets({o.domain: o.version for o in target.opset_import})
        for function in target.functions:
            context.set_local_function(function)
        compute_graph(context, target.graph)
    else:
        raise ArgumentError(
            "Shapes are computed for a NodeProto, GraphProto or ModelProto. Received: "
            f"{type(target).__name__}.",
            argument="target",
        )


def compute_graph(context: ShapesContext, graph: onnx.GraphProto) -> None:
    """Seed a main graph's initializers and inputs, then infer its nodes."""
    context.graph = graph
    driver.seed_initializers(context, graph)
    for value in graph.input:
        if value.name not in context.values:

            def new_dim(axis: int, name: str = value.name) -> OptimDim:
                return context.fresh_symbol(
                    f"{name}_d{axis}",
                    reason="the model does not name this size",
                    value=name,
                    axis=axis,
                )

            context.values[value.name] = descriptor_of_type(value.type, new_dim)
    driver.run(driver.graph_steps(context, graph.node))


def infer_shapes(
    model: onnx.ModelProto | str | os.PathLike[str], *, inplace: bool = False
) -> onnx.ModelProto:
    """The model with the types and shapes of all its values written in."""
    if isinstance(model, onnx.ModelProto):
        target = model
        if not inplace:
            target = onnx.ModelProto()
            target.CopyFrom(model)
    else:
        target = onnx.load(Path(model), load_external_data=False)
    context = ShapesContext()
    compute_shapes(context, target)
    TypeWriter().graph(target.graph, context)
    return target
