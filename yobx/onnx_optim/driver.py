"""Inference of nodes and graphs, without recursion: nested graphs run on an explicit stack."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from functools import partial
from types import GeneratorType
from typing import Any

import onnx

from yobx.errors import InternalError, InvalidModelError, ShapeError
from yobx.onnx_optim.attributes import schema_attributes, tensor_of_proto
from yobx.onnx_optim.context import ShapesContext
from yobx.onnx_optim.declared import Declarations
from yobx.onnx_optim.fallback import fallback
from yobx.onnx_optim.local_functions import call_steps
from yobx.onnx_optim.model_io import MissingInputError, run_order
from yobx.onnx_optim.node_signature import (
    MAX_READ,
    NodeParts,
    attribute_key,
    node_parts,
    parts_read_before,
)
from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_sequence import Descriptor
from yobx.onnx_optim.optim_tensor import UNKNOWN_TENSOR, OptimTensor
from yobx.onnx_optim.polynomial import ExpressionTooLargeError
from yobx.onnx_optim.steps import Body, Step, is_omitted, store
from yobx.onnx_optim.tensor_type import BY_NUMBER, stored_type

__all__ = ["body_steps", "compute_node", "graph_steps", "run"]

_A = onnx.AttributeProto
_TYPE_ATTRIBUTES = frozenset(("to", "dtype", "output_dtype", "output_datatype"))
# What a rule may stumble over when an attribute has the wrong type or an array the wrong shape.
_RULE_FAULTS = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)


def run(task: Step) -> Any:
    """Run a step and all steps it asks for; depth costs memory, not stack."""
    stack = [task]
    answer: Any = None
    error: BaseException | None = None
    while stack:
        try:
            request = stack[-1].send(answer) if error is None else stack[-1].throw(error)
        except StopIteration as done:
            stack.pop()
            answer, error = done.value, None
        except (ShapeError, MissingInputError) as raised:
            stack.pop()
            answer, error = None, raised
        else:
            is_body = type(request) is Body
            stack.append(body_steps(request.context, request.graph) if is_body else request)
            answer = error = None
    if error is not None:
        raise error
    return answer


def graph_steps(context: ShapesContext, nodes: Sequence[onnx.NodeProto]) -> Step:
    """Infer nodes one after the other; yields what must run before the next one.

    Nodes that stand before what they read are put in order first.
    """
    declarations = _declarations(context)
    declared = declarations.types.keys()
    values = context.values
    present = values.keys()
    order: Iterable[tuple[int, onnx.NodeProto]] = enumerate(nodes)
    read = _reader(context, len(nodes))
    known = context.known_results()
    done = 0
    while True:
        try:
            for index, node in order:
                parts = names, outputs, signature = read(node)
                if not present.isdisjoint(outputs):
                    raise duplicate(context, node, index)
                try:  # what most nodes need is here; all else is for infer_node
                    found = known[signature, len(outputs), *[values[name] for name in names]]
                except KeyError:
                    pending = infer_node(context, node, index, parts)
                    if pending is not None:
                        yield pending
                else:
                    set_outputs(values, outputs, found)
                done += 1
                if not declared.isdisjoint(outputs):
                    by = NodeView(context, node, (), index=index)
                    for name in outputs:
                        declarations.apply(context, name, by.describe)
        except MissingInputError:
            if not isinstance(order, enumerate):
                raise
            positions = run_order(nodes, _Known(context))
            order = [(i, nodes[i]) for i in positions if i >= done]
            continue
        return


def _reader(context: ShapesContext, count: int) -> Callable[[onnx.NodeProto], NodeParts]:
    if context.attribute_values is not None:
        return partial(node_parts, in_function=True)
    return node_parts if count > MAX_READ else parts_read_before


class _Known(Collection[str]):
    """The names known in a context or around it."""

    def __init__(self, context: ShapesContext) -> None:
        self._context = context

    def __contains__(self, name: object) -> bool:
        known = self._context.lookup(str(name)) is not None
        return known or is_omitted(self._context, str(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._context.values)

    def __len__(self) -> int:
        return len(self._context.values)


def _declarations(context: ShapesContext) -> Declarations:
    policy = context.session.policy
    graph = context.graph
    if policy == "ignore" or not isinstance(graph, onnx.GraphProto):
        return Declarations(None)
    return Declarations(graph, strict=policy == "strict")


def body_steps(
    context: ShapesContext, graph: onnx.GraphProto | onnx.FunctionProto
) -> Generator[Any, Any, list[Descriptor]]:
    """Infer a subgraph or function body whose inputs are set; returns its outputs."""
    context.graph = graph
    if isinstance(graph, onnx.GraphProto):
        seed_initializers(context, graph)
    context.seeded = len(context.values)
    yield graph_steps(context, graph.node)
    names = [o if isinstance(o, str) else o.name for o in graph.output]
    return [context.lookup(name) or UNKNOWN_TENSOR for name in names]


def compute_node(context: ShapesContext, node: onnx.NodeProto, index: int = -1) -> None:
    """Infer one node and set its outputs in the context."""
    parts = node_parts(node, in_function=context.attribute_values is not None)
    pending = infer_node(context, node, index, parts, lenient=True)
    if pending is not None:
        run(pending)
    context.producers.update((name, (index, node)) for name in parts[1] if name)


def infer_node(
    context: ShapesContext,
    node: onnx.NodeProto,
    index: int,
    parts: NodeParts,
    *,
    lenient: bool = False,
) -> Step | None:
    """Infer one node, or return the step that will.

    Raises:
        InvalidModelError: An input does not exist (unless ``lenient``).
        ShapeError: The node is malformed.
    """
    # Written for speed: this function runs once per node, and mostly finds the answer in the memo.
    names, outputs, signature = parts
    values = context.values
    inputs: list[Descriptor | None]
    try:
        inputs = [values[name] for name in names]
    except KeyError:
        inputs = far_inputs(context, node, index, lenient=lenient)
    key: Any = None
    if signature is not None:
        key = (signature, len(outputs), *inputs)
        found = context.remembered(key)
        if found is not None:
            set_outputs(values, outputs, found)
            return None
    return _infer_new(context, node, index, tuple(inputs), key)


def set_outputs(
    values: dict[str, Descriptor], names: Sequence[str], found: Sequence[Descriptor]
) -> None:
    """Set the outputs of a node; one without a name is left out."""
    if len(names) == 1 and names[0]:
        values[names[0]] = found[0]
    else:
        values.update(pair for pair in zip(names, found, strict=True) if pair[0])


def far_inputs(
    context: ShapesContext, node: onnx.NodeProto, index: int, *, lenient: bool
) -> list[Descriptor | None]:
    """The inputs of a node that are not all computed by its own graph."""
    values = context.values
    inputs: list[Descriptor | None] = []
    for name in node.input:
        found = values.get(name)
        if found is None and name:
            found = far_value(context, node, index, name, lenient=lenient)
        inputs.append(found)
    return inputs


def far_value(
    context: ShapesContext, node: onnx.NodeProto, index: int, name: str, *, lenient: bool
) -> Descriptor | None:
    """An input that this graph does not compute.

    Raises:
        InvalidModelError: It does not exist, unless ``lenient``.
    """
    found = outer_value(context, name)
    if found is None and not is_omitted(context, name):
        if not lenient:
            raise missing_input(context, node, index, name)
        return UNKNOWN_TENSOR
    return found


def outer_value(context: ShapesContext, name: str) -> Descriptor | None:
    """Value of an enclosing graph; the way to it is remembered, for deep nesting."""
    scope, passed = context.outer, [context]
    found = context.captured.get(name)
    while found is None and scope is not None:
        found = scope.values.get(name) or scope.captured.get(name)
        passed.append(scope)
        scope = scope.outer
    if found is not None:
        for inner in passed:
            inner.captured[name] = found
    return found


def duplicate(context: ShapesContext, node: onnx.NodeProto, index: int) -> InvalidModelError:
    """The error for a name that is given twice."""
    name = next(name for name in node.output if name in context.values)
    view = NodeView(context, node, (), index=index)
    return InvalidModelError(
        f"Each value of a graph has one producer. Received: a second one of {name!r}. Where: "
        f"{view.describe()}.",
        hint="Try onnx.checker.check_model.",
    )


def missing_input(
    context: ShapesContext, node: onnx.NodeProto, index: int, name: str
) -> MissingInputError:
    """The error for an input that nothing before the node produces."""
    view = NodeView(context, node, (), index=index)
    return MissingInputError(
        "Every input of a node must be a graph input, an initializer or the output of an earlier "
        f"node. Received: {name!r}. Where: {view.describe()}.",
        hint="Try onnx.checker.check_model.",
    )


def _infer_new(
    context: ShapesContext,
    node: onnx.NodeProto,
    index: int,
    inputs: tuple[Descriptor | None, ...],
    key: Any,
) -> Step | None:
    session = context.session
    function = context.local_function(node)
    view = NodeView(context, node, inputs, index=index)
    custom = session.custom.get((view.domain, view.op_type)) if session.custom else None
    if custom is not None:
        custom(context, node)
        store(view, [context.values.get(name, UNKNOWN_TENSOR) for name in node.output])
        return None
    if function is not None:
        return _finish(view, call_steps(view, function))
    check_attributes(view)
    if key is not None and attribute_key(node.attribute[:]) is None:
        key = None
    rule = session.registry.find(view.domain, view.op_type, view.version)
    if rule is None:
        return _finish(view, fallback(view), key)
    try:
        result = rule.function(view)
    except ExpressionTooLargeError as error:
        result = tuple(view.unknown(str(error)) for _ in node.output)
    except _RULE_FAULTS as error:
        raise diagnosed(view, error) from error
    if type(result) is GeneratorType:
        return _finish(view, result)
    found = store(view, result)
    if key is not None and not view.tainted and not view.reasons:
        context.remember(key, found, facts_used=view.used_constraints)
    return None


def check_attributes(view: NodeView) -> None:
    """Require the attributes to have the types that the schema of the operator says.

    An attribute that names an element type must name one that exists.
    """
    given = view.proto.attribute[:]
    if not given:
        return
    stated = schema_attributes(view.domain, view.op_type, view.version)
    for attribute in given:
        wanted = stated.get(attribute.name)
        if wanted == _A.INT and attribute.name in _TYPE_ATTRIBUTES and attribute.i not in BY_NUMBER:
            view.fail(
                f"attribute {attribute.name!r} of {view.op_type} must be the number of an element "
                f"type, it is {attribute.i}"
            )
        if wanted is None or attribute.type in (wanted, _A.UNDEFINED):
            continue
        names = _A.AttributeType.Name
        view.fail(
            f"attribute {attribute.name!r} of {view.op_type} must be of type "
            f"{names(wanted)}, it is {names(attribute.type)}"
        )


def _finish(view: NodeView, steps: Step, key: Any = None) -> Step:
    """Run a rule that needs other graphs inferred, then set the outputs."""
    context = view.context
    mark = context.session.checkpoint()
    try:
        result = yield steps
    except ExpressionTooLargeError as error:
        result = tuple(view.unknown(str(error)) for _ in view.proto.output)
    found = store(view, result)
    unchanged = context.session.checkpoint() == mark and not context.constraints_store.token
    if key is not None and unchanged and not view.tainted and not view.reasons:
        context.memo[key] = found


def diagnosed(view: NodeView, error: Exception) -> ShapeError | InternalError:
    """The error to raise when a rule stumbled: the model's fault if the checker says so."""
    try:
        checker = onnx.checker.C.CheckerContext()
        checker.ir_version = onnx.IR_VERSION
        checker.opset_imports = {**view.context.opsets, view.domain: view.version}
        onnx.checker.check_node(view.proto, checker)
    except onnx.checker.ValidationError as fault:
        first = str(fault).strip().splitlines()[0]
        return ShapeError(
            f"A node must fit the schema of its operator. Received: {first} "
            f"Where: {view.describe()}.",
            node=view.describe(),
        )
    return InternalError(
        f"The shape rule of {view.op_type} (version {view.version}) failed with "
        f"{type(error).__name__}: {error}. Where: {view.describe()}. Please report this."
    )


def seed_initializers(context: ShapesContext, graph: onnx.GraphProto) -> None:
    """Set the descriptors of the initializers; only small contents are decoded."""
    values = context.values
    for tensor in graph.initializer:
        values[tensor.name] = tensor_of_proto(tensor)
    for sparse in graph.sparse_initializer:
        dtype = stored_type(sparse.values.data_type)
        values[sparse.values.name] = OptimTensor(dtype, list(sparse.dims))
