"""Recurrent layers: `RNN`, `GRU`, `LSTM`."""

from __future__ import annotations

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.shapes._common import argument, dims_of, register, tensor

__all__ = ["recurrent_outputs"]


def _hidden(node: NodeView) -> OptimDim:
    """Size of the state: the attribute, else the last axis of the recurrent weights."""
    size = node.attr("hidden_size", None)
    if size is not None:
        return OptimDim(int(size))
    weights = dims_of(argument(node, 2))
    if weights is not None and len(weights) == 3:
        return weights[2]
    return node.fresh(2, "hidden_size is not given and the recurrent weights are not known")


def recurrent_outputs(node: NodeView) -> tuple[OptimTensor, ...]:
    """All states over time, then the last hidden state and, for an LSTM, the last cell state."""
    item = node.tensor(0)
    dims = dims_of(item)
    if dims is not None and len(dims) != 3:
        node.fail(f"input must have rank 3, its rank is {len(dims)}")
    directions = OptimDim(2 if node.attr("direction", "forward") == "bidirectional" else 1)
    hidden = _hidden(node)
    batch_first = node.attr("layout", 0) == 1
    if dims is None:
        length = node.fresh(0, "the input's rank is not known")
        batch = node.fresh(1, "the input's rank is not known")
    else:
        length, batch = (dims[1], dims[0]) if batch_first else (dims[0], dims[1])
    if batch_first:
        every, last = (batch, length, directions, hidden), (batch, directions, hidden)
    else:
        every, last = (length, directions, batch, hidden), (directions, batch, hidden)
    state = tensor(item.dtype, last)
    return (tensor(item.dtype, every), state, state)[: node.n_outputs]


@register("RNN GRU LSTM")
def recurrent(node: NodeView) -> tuple[OptimTensor, ...]:
    """Layer over the time axis."""
    return recurrent_outputs(node)
