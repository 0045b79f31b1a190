"""Inference of the graphs inside attributes, and the fixed point that loops need."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import onnx

from yobx.onnx_optim.assumptions import Fact, assume
from yobx.onnx_optim.context import ShapesContext
from yobx.onnx_optim.driver import body_steps
from yobx.onnx_optim.merging import merge
from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_sequence import (
    Descriptor,
    OptimOptional,
    OptimSequence,
    without_symbols,
)
from yobx.onnx_optim.optim_shape import UNKNOWN_SHAPE
from yobx.onnx_optim.optim_tensor import UNKNOWN_TENSOR, OptimTensor
from yobx.onnx_optim.tensor_type import TensorType
from yobx.onnx_optim.type_protos import descriptor_of_type

__all__ = ["FixedPoint", "fixed_point_steps", "infer_body_steps", "subgraph_of"]

MAX_PASSES = 6
MAX_LOOP_DEPTH = 3

BodySteps: TypeAlias = Generator[Any, Any, "list[Descriptor]"]


def subgraph_of(view: NodeView, attribute: str) -> onnx.GraphProto:
    """Graph attribute of a node.

    Raises:
        ShapeError: The node has no such graph.
    """
    graph = view.attr(attribute)
    if not isinstance(graph, onnx.GraphProto):
        view.fail(f"{view.op_type} needs the graph attribute {attribute!r}")
    return graph


def infer_body_steps(
    view: NodeView,
    attribute: str,
    graph: onnx.GraphProto,
    inputs: Sequence[Descriptor],
    facts: Sequence[Fact] = (),
) -> Generator[Any, Any, tuple[ShapesContext, list[Descriptor]]]:
    """Infer a subgraph with these inputs in a child context that the parent keeps.

    Raises:
        ShapeContradictionError: The facts to assume cannot hold.
    """
    child = ShapesContext(parent=view.context)
    child.set_current_subgraph(view.index, attribute)
    for value, descriptor in zip(graph.input, inputs, strict=False):
        child.set_value(value.name, typed_as_declared(descriptor, value))
    view.context.register_subgraph_context(view.index, attribute, child)
    assume(child, facts)
    outputs: list[Descriptor] = yield body_steps(child, graph)
    return child, outputs


def typed_as_declared(descriptor: Descriptor, value: onnx.ValueInfoProto) -> Descriptor:
    """An unknown input with the kind and element type that its subgraph declares.

    A runtime refuses other types when it loads the model; sizes it does not check.
    """
    if not isinstance(descriptor, OptimTensor) or descriptor.dtype != TensorType.kUndefined:
        return descriptor
    declared = only_kind(descriptor_of_type(value.type, lambda _: OptimDim(0)))
    if isinstance(declared, OptimTensor):
        return OptimTensor(declared.dtype, descriptor.shape)
    return declared


@dataclass
class FixedPoint:
    """A loop body inferred with states that hold in every iteration.

    Attributes:
        child: Context of the last pass.
        states: Descriptors of the states at the start of any iteration.
        outputs: All outputs of the body.
        symbols: Symbol per ``(state, axis)`` whose size changes from iteration to iteration.
        local: Symbols that only mean something inside one iteration.
    """

    child: ShapesContext
    states: list[Descriptor]
    outputs: list[Descriptor]
    symbols: dict[tuple[int, int], OptimDim] = field(default_factory=dict)
    local: frozenset[str] = frozenset()

    def is_local(self, dim: OptimDim) -> bool:
        """True when the size may differ between iterations."""
        return not self.local.isdisjoint(dim.symbols())


class _Widening:
    """Makes one symbol per state and axis that does not stay the same."""

    def __init__(self, view: NodeView, names: Sequence[str]) -> None:
        self.view = view
        self.names = names
        self.symbols: dict[tuple[int, int], OptimDim] = {}

    def dim_for(self, state: int) -> Callable[[OptimDim, OptimDim, int], OptimDim]:
        def widened(before: OptimDim, after: OptimDim, axis: int) -> OptimDim:
            key = (state, axis)
            found = self.symbols.get(key)
            if found is None:
                what = f"d{axis}" if axis >= 0 else "length"
                found = self.view.context.fresh_symbol(
                    f"{self.view.op_type}_{self.names[state]}_{what}_in",
                    reason="the size changes from one iteration to the next",
                    node=self.view,
                    value=self.names[state],
                    axis=axis,
                )
                self.symbols[key] = found
            return found

        return widened


def fixed_point_steps(
    view: NodeView,
    graph: onnx.GraphProto,
    initial: Sequence[Descriptor],
    inputs_for: Callable[[Sequence[Descriptor]], list[Descriptor]],
    first_output: int,
) -> Generator[Any, Any, FixedPoint]:
    """Infer a loop body until the states at its start hold in every iteration.

    Args:
        view: The loop node.
        graph: Its body.
        initial: States before the first iteration.
        inputs_for: All inputs of the body for given states.
        first_output: Position of the first state among the outputs of the body.
    """
    session = view.context.session
    before = session.checkpoint()
    depth = view.context.loop_depth
    names = [v.name for v in inputs_placed(graph, initial, inputs_for)]
    widening = _Widening(view, names)
    states = list(initial) if depth < MAX_LOOP_DEPTH else [only_kind(s) for s in initial]
    for attempt in range(MAX_PASSES):
        mark = session.checkpoint()
        child, outputs = yield infer_body_steps(view, "body", graph, inputs_for(states))
        after = outputs[first_output : first_output + len(states)]
        after += [UNKNOWN_TENSOR] * (len(states) - len(after))
        known = dict(widening.symbols)
        passing = session.local_symbols(before)
        joined = [
            merge(old, outlasting(new, passing), widening.dim_for(i))
            for i, (old, new) in enumerate(zip(states, after, strict=True))
        ]
        if joined != states and attempt == MAX_PASSES - 2:
            joined = [only_kind(old) for old in states]  # holds for anything of that type
        if joined == states:
            break
        states = joined
        session.rollback(
            mark,
            keep={str(d) for d in widening.symbols.values()} - {str(d) for d in known.values()},
        )
    local = session.local_symbols(before)
    return FixedPoint(child, states, outputs, dict(widening.symbols), local)


def outlasting(descriptor: Descriptor, passing: frozenset[str]) -> Descriptor:
    """A state at the end of an iteration, for the next one.

    A sequence keeps the elements of earlier iterations, in which symbols had other values.
    """
    if isinstance(descriptor, OptimOptional):
        inner = outlasting(descriptor.element, passing)
        kept = descriptor.element if isinstance(inner, OptimOptional) else inner
        return OptimOptional(kept, descriptor.present)
    if not isinstance(descriptor, OptimSequence) or descriptor.elem_dims is None:
        return descriptor
    dims = without_symbols(descriptor.elem_dims, passing)
    shapes = descriptor.elem_shapes or ()
    if dims == descriptor.elem_dims and passing.isdisjoint(descriptor.symbols()):
        return descriptor
    if shapes and all(passing.isdisjoint(shape.symbols()) for shape in shapes):
        return descriptor
    return OptimSequence(descriptor.elem_dtype, length=descriptor.length, elem_dims=dims)


def inputs_placed(
    graph: onnx.GraphProto,
    initial: Sequence[Descriptor],
    inputs_for: Callable[[Sequence[Descriptor]], list[Descriptor]],
) -> list[onnx.ValueInfoProto]:
    """The formal inputs of the body that are states."""
    marks: list[Descriptor] = [OptimOptional(OptimTensor(0)) for _ in initial]
    placed = inputs_for(marks)
    ids = {id(m): i for i, m in enumerate(marks)}
    found = {
        ids[id(d)]: value for d, value in zip(placed, graph.input, strict=False) if id(d) in ids
    }
    return [found.get(i, onnx.ValueInfoProto()) for i in range(len(initial))]


def only_kind(descriptor: Descriptor) -> Descriptor:
    """The descriptor with nothing left but its kind and element type."""
    if isinstance(descriptor, OptimTensor):
        return OptimTensor(descriptor.dtype, UNKNOWN_SHAPE)
    if isinstance(descriptor, OptimSequence):
        return OptimSequence(descriptor.elem_dtype)
    inner = only_kind(descriptor.element)
    return OptimOptional(inner if not isinstance(inner, OptimOptional) else inner.element)
