"""`SequenceMap`: a body that runs once per element."""

from __future__ import annotations

from collections.abc import Sequence

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_sequence import (
    Descriptor,
    OptimSequence,
    common_dims,
    without_symbols,
)
from yobx.onnx_optim.optim_shape import OptimShape
from yobx.onnx_optim.optim_tensor import UNKNOWN_TENSOR, OptimTensor
from yobx.onnx_optim.shapes._common import Steps, register
from yobx.onnx_optim.shapes._endings import declared_dtype
from yobx.onnx_optim.subgraphs import infer_body_steps, subgraph_of

__all__: list[str] = []


MAX_ELEMENTS = 32


@register("SequenceMap", since=17)
def sequence_map(view: NodeView) -> Steps:
    """The body runs per element: the length stays, the element shape is the body's."""
    graph = subgraph_of(view, "body")
    first = view.inputs[0] if view.inputs else None
    if not isinstance(first, OptimSequence):
        return tuple(OptimSequence(declared_dtype(value)) for value in graph.output)
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
