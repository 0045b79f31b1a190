"""The public functions: ``compute_shapes``, ``infer_shapes`` and what goes with them."""

from __future__ import annotations

import os
from collections.abc import Mapping

import onnx

from yobx.errors import ArgumentError, InvalidModelError
from yobx.onnx_optim import driver
from yobx.onnx_optim.context import ShapesContext
from yobx.onnx_optim.declared import DeclaredPolicy, check_policy, settle_doubts
from yobx.onnx_optim.explain import Blame, blame_of
from yobx.onnx_optim.local_functions import FUNCTION, call_steps
from yobx.onnx_optim.model_io import declared_symbols, load_model, require_graph, subgraphs
from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import DimLike, OptimDim
from yobx.onnx_optim.optim_sequence import Descriptor
from yobx.onnx_optim.optim_shape import OptimShape
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.steps import infer_inputs, store
from yobx.onnx_optim.type_protos import descriptor_of_type
from yobx.onnx_optim.write_back import name_inputs, write_back

__all__ = ["blame", "compute_shapes", "expand_local_function_call", "infer_shapes"]

# Before this version every initializer had to be listed as an input too, and was constant.
_OVERRIDABLE_IR = 4


def compute_shapes(
    context: ShapesContext,
    target: onnx.NodeProto | onnx.GraphProto | onnx.ModelProto,
    *,
    policy: DeclaredPolicy = "ignore",
    node_index: int = -1,
) -> None:
    """Infer a node, a graph or a model, and set what is found in the context.

    Args:
        context: Holds the inputs of the node; for a graph or model it receives them too.
        target: What to infer.
        policy: What declared types of a graph mean: ``"ignore"``, ``"check"`` (contradictions are
            reported, unknown types completed) or ``"strict"`` (contradictions raise).
        node_index: Position of a node, under which the contexts of its subgraphs are kept.

    Raises:
        ShapeError: A node is malformed or contradicts what is known.
        InvalidModelError: The graph is malformed.
    """
    context.session.policy = check_policy(policy)
    if isinstance(target, onnx.NodeProto):
        driver.compute_node(context, target, node_index)
    elif isinstance(target, onnx.GraphProto):
        context.session.reserve_later(lambda: _graph_symbols(target))
        _compute_graph(context, target)
    elif isinstance(target, onnx.ModelProto):
        require_graph(target)
        context.set_opsets({o.domain: o.version for o in target.opset_import})
        for function in target.functions:
            context.set_local_function(function)
        context.session.reserve_later(lambda: declared_symbols(target))
        overridable = target.ir_version >= _OVERRIDABLE_IR
        _compute_graph(context, target.graph, overridable=overridable)
    else:
        raise ArgumentError(
            "Shapes are computed for a NodeProto, GraphProto or ModelProto. Received: "
            f"{type(target).__name__}.",
            argument="target",
        )


def _graph_symbols(graph: onnx.GraphProto) -> set[str]:
    model = onnx.ModelProto()
    found: set[str] = set()
    for inner in subgraphs([graph]):
        shell = model.graph
        shell.Clear()
        shell.value_info.extend(inner.value_info)
        if isinstance(inner, onnx.GraphProto):
            shell.input.extend(inner.input)
            shell.output.extend(inner.output)
        found |= declared_symbols(model)
    return found


def _compute_graph(
    context: ShapesContext, graph: onnx.GraphProto, *, overridable: bool = False
) -> None:
    """Seed the initializers and inputs of a main graph, then infer its nodes."""
    context.graph = graph
    values = context.values
    for descriptor in values.values():
        if isinstance(descriptor, OptimTensor):
            context.session.input_symbols |= descriptor.shape.symbols()
    known = set(values)
    driver.seed_initializers(context, graph)
    seen: set[str] = set()
    for value in graph.input:
        name = value.name
        if name in seen:
            raise InvalidModelError(
                f"Each input of a graph has a name of its own. Received: {name!r} twice. Where: "
                f"graph {graph.name!r}.",
                hint="Try onnx.checker.check_model.",
            )
        seen.add(name)
        if name in values and (name in known or not overridable):
            continue
        # A default that callers may replace fixes the type at most, never the contents.
        values[name] = declared = _input(context, value)
        if isinstance(declared, OptimTensor):
            context.session.input_symbols |= declared.shape.symbols()
    context.seeded = len(values)
    if context.session.logging:
        _log_seeds(context, graph)
    driver.run(driver.graph_steps(context, graph.node))
    settle_doubts(context)
    for value in graph.output:
        if value.name not in context.values:
            raise InvalidModelError(
                "Every output of a graph must be computed by it. Received: "
                f"{value.name!r}, which no node, input or initializer gives. Where: graph "
                f"{graph.name!r}.",
                hint="Try onnx.checker.check_model.",
            )


def _input(context: ShapesContext, value: onnx.ValueInfoProto) -> Descriptor:
    def new_dim(axis: int) -> OptimDim:
        context.unnamed_inputs.add(value.name)
        return context.fresh_symbol(
            f"{value.name}_d{axis}",
            reason="the model does not name this size",
            value=value.name,
            axis=axis,
        )

    return descriptor_of_type(value.type, new_dim)


def _log_seeds(context: ShapesContext, graph: onnx.GraphProto) -> None:
    seeds, context.values = context.values, {}
    stored = {tensor.name for tensor in graph.initializer}
    for name, descriptor in seeds.items():
        context.set_value(name, descriptor, node_index=-2 if name in stored else -1)


def infer_shapes(
    model: onnx.ModelProto | str | os.PathLike[str],
    *,
    inplace: bool = False,
    policy: DeclaredPolicy = "check",
    input_shapes: Mapping[str, list[DimLike]] | None = None,
    context: ShapesContext | None = None,
) -> onnx.ModelProto:
    """The model with the types and shapes of all its values written in.

    Unknown sizes get symbols with readable names; computed ones are written as Python integer
    expressions such as ``2*batch + 1``, ``max(n, m)`` or ``-(-n//b)``.

    Args:
        model: A model or the path of one; external data are not read.
        inplace: Write into ``model`` instead of a copy (for a path it makes no difference).
        policy: What declared types of inner values and outputs mean. ``"ignore"``: nothing;
            ``"check"``: they complete what cannot be inferred, contradictions are logged and kept
            in ``context.contradictions``; ``"strict"``: the first contradiction raises.
        input_shapes: Shapes to use for graph inputs instead of the declared ones.
        context: An empty context to fill, for the one who wants to look into it afterwards.

    Returns:
        The model, outputs and value_info filled at every level.

    Raises:
        ArgumentError: The file is not readable or an option is wrong.
        InvalidModelError: The model is malformed: cut off, cyclic, a name missing or given twice.
        ShapeError: A node does not fit its operator or its inputs.
        ShapeContradictionError: With ``policy="strict"``, a declaration is wrong.
    """
    check_policy(policy)
    source = load_model(model)
    require_graph(source)
    target = source
    if not inplace and source is model:
        target = onnx.ModelProto()
        target.CopyFrom(source)
    scope = ShapesContext() if context is None else context
    for name, shape in (input_shapes or {}).items():
        _set_input(target.graph, name, shape)
    compute_shapes(scope, target, policy=policy)
    name_inputs(target.graph, scope)
    write_back(target, scope)
    return target


def _set_input(graph: onnx.GraphProto, name: str, shape: list[DimLike]) -> None:
    found = next((v for v in graph.input if v.name == name), None)
    if found is None or not found.type.HasField("tensor_type"):
        known = ", ".join(v.name for v in graph.input)
        raise ArgumentError(
            f"A shape is given for a tensor input of the graph. Received: {name!r}; the inputs "
            f"are {known}.",
            argument="input_shapes",
        )
    proto = found.type.tensor_type.shape
    proto.Clear()
    proto.SetInParent()
    for dim in OptimShape(shape):
        if dim.is_int():
            proto.dim.add(dim_value=dim.as_int())
        else:
            proto.dim.add(dim_param=str(dim))


def expand_local_function_call(
    context: ShapesContext,
    node: onnx.NodeProto,
    function: onnx.FunctionProto | None = None,
    *,
    node_index: int = -1,
) -> ShapesContext:
    """Infer a call by inferring the body of the function in an isolated child context.

    The outputs are set in ``context``, which keeps the child under ``(node_index, "function")``.

    Args:
        context: Context of the caller.
        node: The call.
        function: The function; by default the one that the context knows under that name.
        node_index: Position of the node in its graph.

    Returns:
        The child context.

    Raises:
        InvalidModelError: There is no such function, or it calls itself.
        ShapeError: A node of the body is malformed.
    """
    found = function or context.local_function(node)
    if found is None:
        raise InvalidModelError(
            "A function call needs a function of the model. Received: "
            f"{node.domain}:{node.op_type}, which the context does not know.",
            hint="Try set_local_function.",
        )
    view = NodeView(context, node, infer_inputs(context, node), index=node_index)
    store(view, driver.run(call_steps(view, found)))
    return context.subgraph_context(node_index, FUNCTION)


def blame(
    model: onnx.ModelProto | ShapesContext | str | os.PathLike[str], *, limit: int = 10
) -> list[Blame]:
    """The nodes that cost most precision, worst first.

    Args:
        model: A model, the path of one, or a context that was filled before.
        limit: Number of nodes to name.
    """
    if isinstance(model, ShapesContext):
        return blame_of(model, limit)
    root = ShapesContext()
    compute_shapes(root, load_model(model), policy="check")
    return blame_of(root, limit)
