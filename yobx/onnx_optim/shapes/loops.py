"""`Loop`: a body that runs until a condition or a count ends it."""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from yobx.errors import ShapeError
from yobx.onnx_optim.declared import DeclarationError
from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_sequence import Descriptor
from yobx.onnx_optim.optim_tensor import UNKNOWN_TENSOR, OptimTensor
from yobx.onnx_optim.shapes._common import Steps, register
from yobx.onnx_optim.shapes._endings import Ending, declared_dtype, new_trips
from yobx.onnx_optim.shapes.branches import truth
from yobx.onnx_optim.subgraphs import FixedPoint, fixed_point_steps, subgraph_of
from yobx.onnx_optim.tensor_type import TensorType

__all__: list[str] = []

ITERATION = OptimTensor(TensorType.kInt64, [], minimum=0)
RUNNING = OptimTensor(TensorType.kBool, [], value=(1,))


@register("Loop")
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
    end = Ending(view, body, initial, _loop_trips(view, truth(body.outputs[0])))
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
        view.unknown(reason, dtype=declared_dtype(value))
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
    return new_trips(view, at_most)
