"""`If`, `Loop`, `Scan` and `SequenceMap`: graphs that run never, once or many times."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import onnx

from yobx.errors import ShapeError
from yobx.onnx_optim.assumptions import facts_of
from yobx.onnx_optim.context import ShapesContext
from yobx.onnx_optim.declared import DeclarationError
from yobx.onnx_optim.local_functions import has_one_call
from yobx.onnx_optim.merging import LENGTH, DimFor, merge
from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_sequence import (
    Descriptor,
    OptimOptional,
    OptimSequence,
    common_dims,
    without_symbols,
)
from yobx.onnx_optim.optim_shape import UNKNOWN_SHAPE, OptimShape
from yobx.onnx_optim.optim_tensor import UNKNOWN_TENSOR, OptimTensor
from yobx.onnx_optim.registry import register_shape_function
from yobx.onnx_optim.subgraphs import (
    FixedPoint,
    fixed_point_steps,
    infer_body_steps,
    only_kind,
    subgraph_of,
)
from yobx.onnx_optim.tensor_type import TensorType, stored_type

Steps: TypeAlias = Generator[Any, Any, tuple[Descriptor, ...]]

ITERATION = OptimTensor(TensorType.kInt64, [], minimum=0)
RUNNING = OptimTensor(TensorType.kBool, [], value=(1,))


def truth(descriptor: Descriptor | None) -> bool | None:
    """Value of a condition, or ``None``."""
    found = descriptor.scalar() if isinstance(descriptor, OptimTensor) else None
    return None if found is None or not found.is_int() else bool(found.as_int())


# ---------------------------------------------------------------------------------------------- If


@register_shape_function("", "If", 1)
def if_(view: NodeView) -> Steps:
    """Both branches are inferred; a known condition picks one, else what they share is kept.

    Each branch may rely on what the condition says of sizes when it is taken.
    """
    condition = truth(view.inputs[0] if view.inputs else None)
    then_graph, else_graph = subgraph_of(view, "then_branch"), subgraph_of(view, "else_branch")
    mark = view.context.session.checkpoint()
    then_child, then_out = yield _branch_steps(view, "then_branch", then_graph, taken_if=True)
    else_child, else_out = yield _branch_steps(view, "else_branch", else_graph, taken_if=False)
    if isinstance(then_out, ShapeError) and isinstance(else_out, ShapeError):
        raise then_out
    if condition is None and isinstance(then_out, ShapeError):
        condition = False
    elif condition is None and isinstance(else_out, ShapeError):
        condition = True
    if condition is not None:
        child, chosen = (then_child, then_out) if condition else (else_child, else_out)
        if isinstance(chosen, ShapeError):
            raise chosen
        view.context.constraints_store.adopt(child.constraints_store)
        return tuple(chosen)
    if len(then_out) != len(else_out):
        view.fail(f"the branches of If have {len(then_out)} and {len(else_out)} outputs")
    local = view.context.session.local_symbols(mark)
    return tuple(
        merge(a, b, _branch_dim(view, i, local, (then_child, else_child)))
        for i, (a, b) in enumerate(zip(then_out, else_out, strict=True))
    )


def _branch_steps(
    view: NodeView, attribute: str, graph: onnx.GraphProto, *, taken_if: bool
) -> Generator[Any, Any, tuple[ShapesContext, list[Descriptor] | ShapeError]]:
    """Infer a branch; one that cannot run (`Squeeze` of a size 5) is never the one taken."""
    name = view.input_names[0] if view.inputs else ""
    facts = facts_of(view.context, view.index, name, holds=taken_if)
    try:
        found: tuple[ShapesContext, list[Descriptor]] = yield infer_body_steps(
            view, attribute, graph, (), facts
        )
    except DeclarationError:
        raise
    except ShapeError as error:
        view.context.reasons[f"{_first_output(view)}/{attribute}"] = f"never taken: {error}"
        child = view.context.subgraph_context(view.index, attribute)
        view.context.drop_subgraph_context(view.index, attribute)
        return child, error
    return found


def _branch_dim(
    view: NodeView,
    output: int,
    local: frozenset[str],
    branches: tuple[ShapesContext, ShapesContext],
) -> DimFor:
    """A size that differs between the branches: a new symbol, at most the greater one.

    The size of one branch stands for both where it is that of the other one, too, given what
    holds there: 1 and `n` are `n` when the first is taken for `n == 1`.
    """
    origins = view.context.session.origins

    def visible(dim: OptimDim) -> OptimDim | None:
        """The size, or a bound of it, in words that the enclosing graph knows."""
        if local.isdisjoint(dim.symbols()):
            return dim
        origin = origins.get(str(dim)) if dim.is_symbol() else None
        return visible(origin.upper) if origin is not None and origin.upper is not None else None

    def chosen(a: OptimDim, b: OptimDim, axis: int) -> OptimDim:
        for child, kept in zip(branches, (b, a), strict=True):
            if local.isdisjoint(kept.symbols()) and child.simplify(a) == child.simplify(b):
                return kept
        left, right = visible(a), visible(b)
        upper = OptimDim.max(left, right) if left is not None and right is not None else None
        reason = f"the branches give different sizes: {a} and {b}"
        return view.fresh(axis, reason, output=output, upper=upper)

    return chosen


# -------------------------------------------------------------------------------------------- Loop


@register_shape_function("", "Loop", 1)
def loop(view: NodeView) -> Steps:
    """The body is inferred for any iteration; growth by a fixed amount keeps a closed form."""
    graph = subgraph_of(view, "body")
    initial = [d or UNKNOWN_TENSOR for d in view.inputs[2:]]
    n_states = len(initial)
    if len(graph.output) <= n_states or len(graph.input) != n_states + 2:
        view.fail(
            f"the body of Loop must have {n_states + 2} inputs and at least {n_states + 1} "
            f"outputs; it has {len(graph.input)} and {len(graph.output)}"
        )

    def inputs_for(states: Sequence[Descriptor]) -> list[Descriptor]:
        return [ITERATION, RUNNING, *states]

    try:
        body: FixedPoint = yield fixed_point_steps(view, graph, initial, inputs_for, 1)
    except DeclarationError:
        raise
    except ShapeError as error:
        return _never_entered(view, graph, initial, error)
    end = _Ending(view, body, initial, _loop_trips(view, truth(body.outputs[0])))
    results = [end.state(i, after) for i, after in enumerate(body.outputs[1 : 1 + n_states])]
    results += [
        end.stacked(i, element, 0, may_not_run=True)
        for i, element in enumerate(body.outputs[1 + n_states :], n_states)
    ]
    return tuple(results)


def _never_entered(
    view: NodeView, graph: onnx.GraphProto, initial: Sequence[Descriptor], error: ShapeError
) -> tuple[Descriptor, ...]:
    """A loop whose body cannot run gives its initial states, if it may be skipped at all."""
    low = _loop_trips(view, goes_on=True).bounds()[0]
    if low is not None and low >= 1:
        raise error
    view.context.drop_subgraph_context(view.index, "body")
    reason = f"the body cannot run, so there is no iteration: {error}"
    stacked = [
        view.unknown(reason, dtype=_declared_dtype(value))
        for value in graph.output[1 + len(initial) :]
    ]
    return (*initial, *stacked)


def _loop_trips(view: NodeView, goes_on: bool | None) -> OptimDim:
    """Number of iterations: exact when only the trip count ends the loop, else a new symbol."""
    start = view.inputs[1] if len(view.inputs) > 1 else None
    first = True if start is None else truth(start)
    if first is False:
        return OptimDim(0)
    limit_input = view.inputs[0] if view.inputs else None
    limit = limit_input.scalar() if isinstance(limit_input, OptimTensor) else None
    at_most = None if limit is None else OptimDim.max(limit, 0)
    if goes_on is False:  # one iteration at most
        at_most = OptimDim(1) if at_most is None else OptimDim.min(at_most, 1)
        exact = first and (limit is not None or limit_input is None)
    else:
        exact = first and goes_on and at_most is not None
    if at_most is not None and (exact or at_most == 0):
        return at_most
    return _new_trips(view, at_most)


def _new_trips(view: NodeView, upper: OptimDim | None) -> OptimDim:
    view.tainted = True
    return view.context.fresh_symbol(
        f"{view.op_type}_{_first_output(view)}_trips",
        reason="the number of iterations depends on the data",
        node=view,
        value=_first_output(view),
        upper=upper,
    )


def _first_output(view: NodeView) -> str:
    return next((name for name in view.outputs if name), "")


@dataclass(frozen=True)
class _Ending:
    """What a loop node gives once its body is understood."""

    view: NodeView
    body: FixedPoint
    initial: Sequence[Descriptor]
    trips: OptimDim

    def certainly_runs(self) -> bool:
        low = self.trips.bounds()[0]
        return low is not None and low >= 1

    def state(self, index: int, after: Descriptor) -> Descriptor:
        """Descriptor of a state after the last iteration.

        Args:
            index: Position of the state.
            after: What an iteration makes of it.
        """
        before = self.initial[index]
        unchanged = self.body.states[index] == before
        if self.trips == 0 or (unchanged and after == before):
            return before
        if self.certainly_runs() and unchanged and not _mentions(after, self.body.local):
            return after

        def dim_for(start: OptimDim, end: OptimDim, axis: int) -> OptimDim:
            return self._final_size(index, axis, start, end)

        return _resolved(self.view, merge(before, after, dim_for), self.body.local, index)

    def _final_size(self, index: int, axis: int, start: OptimDim, end: OptimDim) -> OptimDim:
        symbol = self.body.symbols.get((index, axis))
        if symbol is not None:
            growth = end - symbol
            if not self.body.is_local(growth):
                return start + self.trips * growth
        upper = None
        if not self.body.is_local(end):
            if self.certainly_runs():
                return end
            upper = OptimDim.max(start, end)
        reason = f"the size starts as {start} and changes with each iteration"
        return self.view.fresh(axis, reason, output=index, upper=upper)

    def stacked(
        self, output: int, element: Descriptor, axis: int, *, may_not_run: bool
    ) -> Descriptor:
        """A scan output: one element per iteration along ``axis``, all of one shape.

        Without any iteration a runtime gives 0 for each size it does not know beforehand. Inside a
        function it knows what holds in all calls, which is not known here when there are several.
        """
        view = self.view
        if not isinstance(element, OptimTensor):
            view.fail(f"scan output {output} of the body must be a tensor")
        if not element.shape.has_rank():
            reason = "the body gives a tensor of unknown rank"
            return view.unknown(reason, dtype=element.dtype)
        chain = view.context.function_chain
        once = OptimDim(1)
        if may_not_run and not self.certainly_runs():
            once = OptimDim.min(self.trips, 1)
        dims: list[OptimDim] = []
        for position, dim in enumerate(element.shape):
            # All elements have one shape, so a size that varies has that of the first iteration.
            size = self._at_first_iteration(dim)
            if self.body.is_local(size):
                reason = "the size depends on the data of an iteration"
                size = view.fresh(position + 1, reason, output=output)
            elif size.is_expr():
                size = size * once
            elif chain and once != 1 and size != 0 and not has_one_call(view.context):
                reason = "without iteration this size may be 0"
                size = view.fresh(position + 1, reason, output=output, upper=size)
            dims.append(size)
        place = axis + len(dims) + 1 if axis < 0 else axis
        if not 0 <= place <= len(dims):
            view.fail(f"axis {axis} of scan output {output} is out of range")
        dims.insert(place, self.trips)
        return OptimTensor(element.dtype, OptimShape(dims))

    def _at_first_iteration(self, dim: OptimDim) -> OptimDim:
        start: dict[str, OptimDim] = {}
        for (index, axis), symbol in self.body.symbols.items():
            state = self.initial[index]
            if isinstance(state, OptimTensor) and axis >= 0 and state.shape.has_rank():
                start[str(symbol)] = state.shape[axis]
            elif isinstance(state, OptimSequence) and state.length is not None:
                start[str(symbol)] = state.length
        try:
            return dim.substitute(start)
        except ShapeError:  # such a division by zero ends the run, if there is an iteration
            return dim


def _mentions(descriptor: Descriptor, names: frozenset[str]) -> bool:
    """True when the descriptor depends on one of the symbols."""
    if isinstance(descriptor, OptimOptional):
        return _mentions(descriptor.element, names)
    if isinstance(descriptor, OptimSequence):
        return not names.isdisjoint(descriptor.symbols())
    values = (d for d in descriptor.value or () if d is not None)
    found = descriptor.shape.symbols().union(*(d.symbols() for d in values))
    return not names.isdisjoint(found)


def _resolved(
    view: NodeView, descriptor: Descriptor, local: frozenset[str], output: int
) -> Descriptor:
    """The descriptor without symbols that only mean something inside one iteration."""
    if not _mentions(descriptor, local):
        return descriptor
    reason = "the size changes with each iteration"
    if isinstance(descriptor, OptimOptional):
        inner = _resolved(view, descriptor.element, local, output)
        if isinstance(inner, OptimOptional):
            inner = inner.element
        return OptimOptional(inner, descriptor.present)
    if isinstance(descriptor, OptimSequence):
        length = descriptor.length
        if length is not None and not local.isdisjoint(length.symbols()):
            length = view.fresh(LENGTH, reason, output=output)
        dims = without_symbols(descriptor.elem_dims, local)
        return OptimSequence(descriptor.elem_dtype, length=length, elem_dims=dims)
    value = [
        d if d is not None and local.isdisjoint(d.symbols()) else None
        for d in descriptor.value or ()
    ]
    shape = descriptor.shape
    if shape.has_rank():
        shape = OptimShape(
            d if local.isdisjoint(d.symbols()) else view.fresh(axis, reason, output=output)
            for axis, d in enumerate(shape)
        )
    known = any(d is not None for d in value)
    return OptimTensor(descriptor.dtype, shape, value=value if known else None)


# -------------------------------------------------------------------------------------------- Scan


@register_shape_function("", "Scan", 9)
def scan(view: NodeView) -> Steps:
    """States keep their shape, scan inputs lose an axis, scan outputs gain one."""
    graph = subgraph_of(view, "body")
    n_scan = int(view.attr("num_scan_inputs", 0))
    n_states = len(view.inputs) - n_scan
    if n_states < 0 or len(graph.input) != len(view.inputs):
        view.fail(
            f"the body of Scan must have {len(view.inputs)} inputs, {n_scan} of them scanned; it "
            f"has {len(graph.input)}"
        )
    axes = list(view.attr("scan_input_axes") or [0] * n_scan)
    scanned, trips = _scan_slices(view, n_states, axes, first=0)
    initial = [d or UNKNOWN_TENSOR for d in view.inputs[:n_states]]

    body: FixedPoint = yield _fixed_shape_steps(view, graph, initial, scanned)
    end = _Ending(view, body, initial, trips)
    results = [_kept_shape(end, i, after) for i, after in enumerate(body.outputs[:n_states])]
    elements = body.outputs[n_states:]
    out_axes = list(view.attr("scan_output_axes") or [0] * len(elements))
    if len(out_axes) != len(elements) or len(axes) != n_scan:
        view.fail("Scan needs one axis per scan input and per scan output")
    results += [
        end.stacked(n_states + i, element, axis, may_not_run=False)
        for i, (element, axis) in enumerate(zip(elements, out_axes, strict=True))
    ]
    return tuple(results)


def _fixed_shape_steps(
    view: NodeView,
    graph: onnx.GraphProto,
    initial: Sequence[Descriptor],
    scanned: Sequence[Descriptor],
) -> Generator[Any, Any, FixedPoint]:
    """Infer the body of a Scan: the standard wants its states to keep their shape."""
    mark = view.context.session.checkpoint()
    states = [
        OptimTensor(d.dtype, d.shape) if isinstance(d, OptimTensor) else only_kind(d)
        for d in initial
    ]
    child, outputs = yield infer_body_steps(view, "body", graph, [*states, *scanned])
    local = view.context.session.local_symbols(mark)
    return FixedPoint(child, states, outputs, {}, local)


def _kept_shape(end: _Ending, index: int, after: Descriptor) -> Descriptor:
    """Last state of a Scan: the shape of the first, the type of what an iteration gives."""
    before = end.initial[index]
    if not isinstance(before, OptimTensor) or not isinstance(after, OptimTensor):
        return end.state(index, after)
    dtype = before.dtype or after.dtype
    if before.shape.has_rank():
        return OptimTensor(dtype, before.shape)
    return _resolved(end.view, OptimTensor(dtype, after.shape), end.body.local, index)


def _scan_slices(
    view: NodeView, start: int, axes: Sequence[int], *, first: int
) -> tuple[list[Descriptor], OptimDim]:
    """What one iteration reads of each scan input, and the number of iterations.

    Args:
        view: The node.
        start: Position of the first scan input.
        axes: Scanned axis of each.
        first: Number of leading batch axes that are dropped too.
    """
    trips: OptimDim | None = None
    slices: list[Descriptor] = []
    for offset, axis in enumerate(axes):
        tensor = view.tensor(start + offset)
        if not tensor.shape.has_rank():
            slices.append(OptimTensor(tensor.dtype, UNKNOWN_SHAPE))
            continue
        dims = list(tensor.shape)[first:]
        if not -len(dims) <= axis < len(dims):
            view.fail(f"axis {axis} of scan input {offset} is out of range")
        size = dims.pop(axis)
        if trips is not None:
            view.equal(trips, size)
            size = trips if trips.is_int() else size
        trips = size
        slices.append(OptimTensor(tensor.dtype, OptimShape(dims)))
    return slices, _new_trips(view, None) if trips is None else view.simplify(trips)


@register_shape_function("", "Scan", 8)
def scan_8(view: NodeView) -> Steps:
    """The first form of Scan: a batch axis in front of everything, lengths as first input."""
    graph = subgraph_of(view, "body")
    n_scan = int(view.attr("num_scan_inputs", 0))
    n_states = len(view.inputs) - n_scan - 1
    if n_states < 0:
        view.fail(f"Scan has {len(view.inputs)} inputs and {n_scan} scan inputs")
    scanned, trips = _scan_slices(view, 1 + n_states, [0] * n_scan, first=1)
    batch = OptimDim(1)
    for i in range(1, len(view.inputs)):
        dims = view.tensor(i).shape
        if dims.has_rank() and len(dims):
            batch = dims[0]
            break
    initial = [_without_batch(d) for d in view.inputs[1 : 1 + n_states]]

    body: FixedPoint = yield _fixed_shape_steps(view, graph, initial, scanned)
    end = _Ending(view, body, initial, trips)
    results = [_kept_shape(end, i, after) for i, after in enumerate(body.outputs[:n_states])]
    results += [
        end.stacked(i, element, 0, may_not_run=False)
        for i, element in enumerate(body.outputs[n_states:], n_states)
    ]
    return tuple(_with_batch(d, batch) for d in results)


def _without_batch(descriptor: Descriptor | None) -> Descriptor:
    if isinstance(descriptor, OptimTensor) and descriptor.shape.has_rank():
        return OptimTensor(descriptor.dtype, OptimShape(descriptor.shape[1:]))
    return descriptor or UNKNOWN_TENSOR


def _with_batch(descriptor: Descriptor, batch: OptimDim) -> Descriptor:
    if isinstance(descriptor, OptimTensor) and descriptor.shape.has_rank():
        return OptimTensor(descriptor.dtype, OptimShape([batch, *descriptor.shape]))
    return descriptor


# ------------------------------------------------------------------------------------- SequenceMap

MAX_ELEMENTS = 32


@register_shape_function("", "SequenceMap", 17)
def sequence_map(view: NodeView) -> Steps:
    """The body runs per element: the length stays, the element shape is the body's."""
    graph = subgraph_of(view, "body")
    first = view.inputs[0] if view.inputs else None
    if not isinstance(first, OptimSequence):
        return tuple(OptimSequence(_declared_dtype(value)) for value in graph.output)
    for other in view.inputs[1:]:
        if isinstance(other, OptimSequence) and other.length is not None and first.length:
            view.equal(first.length, other.length)
    positions = _positions(view)
    mark = view.context.session.checkpoint()
    runs: list[list[Descriptor]] = []
    # The last run is for any element: what it finds holds in all of them and is kept.
    for position in [*positions, None]:
        inputs = [_element(view, d, position) for d in view.inputs]
        _, outputs = yield infer_body_steps(view, "body", graph, inputs)
        runs.append(outputs)
    local = view.context.session.local_symbols(mark)
    results: list[Descriptor] = []
    for i in range(len(graph.output)):
        column = [run[i] for run in (runs[:-1] if positions else runs)]
        results.append(_mapped(column, first.length, local, each=bool(positions)))
    return tuple(results)


def _positions(view: NodeView) -> range:
    """The elements for which the body is inferred one by one, because they differ."""
    sequences = [d for d in view.inputs if isinstance(d, OptimSequence)]
    counts = {None if d.elem_shapes is None else len(d.elem_shapes) for d in sequences}
    count = counts.pop() if len(counts) == 1 else None
    alike = all(d.elem_shape.has_rank() for d in sequences)
    if count is None or count > MAX_ELEMENTS or alike or view.context.loop_depth:
        return range(0)
    return range(count)


def _element(view: NodeView, descriptor: Descriptor | None, position: int | None) -> Descriptor:
    """What one run of the body reads: an element of a sequence, or the whole value."""
    if not isinstance(descriptor, OptimSequence):
        return descriptor or UNKNOWN_TENSOR
    dims = descriptor.elem_dims
    if position is not None or dims is None:
        return descriptor.element(position)
    reason = "the elements may differ in this size"
    named = [view.fresh(a, reason) if d is None else d for a, d in enumerate(dims)]
    return OptimTensor(descriptor.elem_dtype, OptimShape(named))


def _declared_dtype(value: onnx.ValueInfoProto) -> TensorType:
    return stored_type(value.type.tensor_type.elem_type)


def _mapped(
    column: Sequence[Descriptor], length: OptimDim | None, local: frozenset[str], *, each: bool
) -> OptimSequence:
    tensors = [d for d in column if isinstance(d, OptimTensor)]
    if len(tensors) != len(column):
        return OptimSequence(length=length)
    dtype = tensors[0].dtype
    if each and all(t.shape.has_rank() for t in tensors):
        return OptimSequence(dtype, [t.shape for t in tensors])
    shared = common_dims(t.shape.dims() if t.shape.has_rank() else None for t in tensors)
    dims = without_symbols(shared, local)
    if dims is not None and None not in dims and length is not None and length.is_int():
        count = length.as_int()
        if 0 <= count <= MAX_ELEMENTS:
            return OptimSequence(dtype, [[d for d in dims if d is not None]] * count)
    return OptimSequence(dtype, length=length, elem_dims=dims)
