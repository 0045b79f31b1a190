"""What a loop gives once its body is understood: last states and stacked outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import onnx

from yobx.errors import ShapeError
from yobx.onnx_optim.local_functions import has_one_call
from yobx.onnx_optim.merging import LENGTH, merge
from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_sequence import (
    Descriptor,
    OptimOptional,
    OptimSequence,
    without_symbols,
)
from yobx.onnx_optim.optim_shape import OptimShape
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.subgraphs import FixedPoint
from yobx.onnx_optim.tensor_type import TensorType, stored_type

__all__ = ["Ending", "declared_dtype", "first_output", "mentions", "new_trips", "resolved"]


def new_trips(view: NodeView, upper: OptimDim | None) -> OptimDim:
    """A symbol for a number of iterations, at most ``upper``."""
    view.tainted = True
    return view.context.fresh_symbol(
        f"{view.op_type}_{first_output(view)}_trips",
        reason="the number of iterations depends on the data",
        node=view,
        value=first_output(view),
        upper=upper,
    )


def first_output(view: NodeView) -> str:
    """Name of the first output that is not omitted, or ``""``."""
    return next((name for name in view.outputs if name), "")


def declared_dtype(value: onnx.ValueInfoProto) -> TensorType:
    """Element type that an output of a body declares, `kUndefined` without one."""
    return stored_type(value.type.tensor_type.elem_type)


@dataclass(frozen=True)
class Ending:
    """What a loop node gives once its body is understood."""

    view: NodeView
    body: FixedPoint
    initial: Sequence[Descriptor]
    trips: OptimDim

    def certainly_runs(self) -> bool:
        """Whether there is an iteration whatever the symbols are."""
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
        if self.certainly_runs() and unchanged and not mentions(after, self.body.local):
            return after

        def dim_for(start: OptimDim, end: OptimDim, axis: int) -> OptimDim:
            return self._final_size(index, axis, start, end)

        return resolved(self.view, merge(before, after, dim_for), self.body.local, index)

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


def mentions(descriptor: Descriptor, names: frozenset[str]) -> bool:
    """True when the descriptor depends on one of the symbols."""
    if isinstance(descriptor, OptimOptional):
        return mentions(descriptor.element, names)
    if isinstance(descriptor, OptimSequence):
        return not names.isdisjoint(descriptor.symbols())
    values = (d for d in descriptor.value or () if d is not None)
    found = descriptor.shape.symbols().union(*(d.symbols() for d in values))
    return not names.isdisjoint(found)


def resolved(
    view: NodeView, descriptor: Descriptor, local: frozenset[str], output: int
) -> Descriptor:
    """The descriptor without symbols that only mean something inside one iteration."""
    if not mentions(descriptor, local):
        return descriptor
    reason = "the size changes with each iteration"
    if isinstance(descriptor, OptimOptional):
        inner = resolved(view, descriptor.element, local, output)
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
