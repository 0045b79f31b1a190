"""`Scan`: a body that runs once per slice of its inputs."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import onnx

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_sequence import Descriptor
from yobx.onnx_optim.optim_shape import UNKNOWN_SHAPE, OptimShape
from yobx.onnx_optim.optim_tensor import UNKNOWN_TENSOR, OptimTensor
from yobx.onnx_optim.shapes._common import Steps, register
from yobx.onnx_optim.shapes._endings import Ending, new_trips, resolved
from yobx.onnx_optim.subgraphs import FixedPoint, infer_body_steps, only_kind, subgraph_of

__all__: list[str] = []


@register("Scan", since=9)
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
    end = Ending(view, body, initial, trips)
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


def _kept_shape(end: Ending, index: int, after: Descriptor) -> Descriptor:
    """Last state of a Scan: the shape of the first, the type of what an iteration gives."""
    before = end.initial[index]
    if not isinstance(before, OptimTensor) or not isinstance(after, OptimTensor):
        return end.state(index, after)
    dtype = before.dtype or after.dtype
    if before.shape.has_rank():
        return OptimTensor(dtype, before.shape)
    return resolved(end.view, OptimTensor(dtype, after.shape), end.body.local, index)


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
    return slices, new_trips(view, None) if trips is None else view.simplify(trips)


@register("Scan", since=8)
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
    end = Ending(view, body, initial, trips)
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
