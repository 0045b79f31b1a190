"""Operators of `com.microsoft` that generate text, and the decoders and states inside them."""

from __future__ import annotations

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.registry import RuleResult
from yobx.onnx_optim.shapes._common import (
    Dims,
    argument,
    dims_of,
    positive,
    ranked,
    register,
    tensor,
    without_value,
)
from yobx.onnx_optim.shapes._values import scalar
from yobx.onnx_optim.shapes.attention import causal_conv
from yobx.onnx_optim.shapes.microsoft import MICROSOFT
from yobx.onnx_optim.tensor_type import TensorType

__all__: list[str] = []

_RANK = "the rank of an input is not known"
_INT32 = TensorType.kInt32


def _given(node: NodeView, index: int, axis: int, output: int) -> OptimDim:
    """A size that an input holds as its value."""
    found = scalar(argument(node, index))
    return node.fresh(axis, "it depends on an input", output=output) if found is None else found


def _batch(node: NodeView) -> OptimDim:
    dims = dims_of(node.tensor(0))
    return dims[0] if dims else node.fresh(0, _RANK)


@register("GreedySearch Sampling", domain=MICROSOFT)
def greedy_search(node: NodeView) -> tuple[OptimTensor, ...]:
    """`(batch, greatest length)` token numbers, and filtered scores `(batch, vocabulary)`."""
    batch = _batch(node)
    found = [tensor(_INT32, (batch, _given(node, 1, 1, 0)))]
    if node.n_outputs > 1:
        words = int(node.attr("vocab_size", -1))
        size = OptimDim(words) if words > 0 else node.fresh(1, "the decoder decides", output=1)
        found.append(tensor(node.tensor(3).dtype, (batch, size)))
    return tuple(found)


@register("BeamSearch WhisperBeamSearch", domain=MICROSOFT)
def beam_search(node: NodeView) -> tuple[OptimTensor, ...]:
    """`(batch, answers, greatest length)` token numbers, and scores."""
    batch, answers = _batch(node), _given(node, 4, 1, 0)
    floats = node.tensor(5).dtype
    found = [tensor(_INT32, (batch, answers, _given(node, 1, 2, 0)))]
    found.append(tensor(floats, (batch, answers)))
    for output in range(2, node.n_outputs):
        if output == 4:
            found.append(tensor(floats, (batch,)))
        else:
            reason = "the number of steps depends on the data"
            rank = 4 if output == 2 else None
            dtype = floats if output == 2 else TensorType.kUndefined
            found.append(node.unknown(reason, dtype=dtype, rank=rank, output=output))
    return tuple(found[: node.n_outputs])


@register("DecoderMaskedSelfAttention", domain=MICROSOFT)
def decoder_self_attention(node: NodeView) -> tuple[OptimTensor, ...]:
    """`(batch, 1, value width)`, and keys and values in the buffer of the past or one longer."""
    item = node.tensor(0)
    dims, bias = ranked(node, item, 3), ranked(node, argument(node, 2), 1)
    lead: Dims = (node.fresh(0, _RANK), node.fresh(1, _RANK)) if dims is None else dims[:2]
    past = ranked(node, argument(node, 4), 5)
    width = None
    if past is not None:
        width = past[2] * past[4]
    elif bias is not None and bias[0].is_int() and bias[0].as_int() % 3 == 0:
        width = OptimDim(bias[0].as_int() // 3)
    if width is None:
        width = node.fresh(2, "the width of the heads is not known")
    result = tensor(item.dtype, (*lead, width))
    if node.n_outputs == 1:
        return (result,)
    if past is None:
        return (result, node.unknown(_RANK, dtype=item.dtype, rank=5, output=1))
    shared = node.attr("past_present_share_buffer", 0) == 1
    total = past[3] if shared else past[3] + lead[1]
    return (result, tensor(item.dtype, (*past[:3], total, past[4])))


@register("DecoderAttention", domain=MICROSOFT)
def decoder_attention(node: NodeView) -> tuple[OptimTensor, ...]:
    """The query's shape, and two caches `(batch, heads, length, head size)`."""
    query = node.tensor(0)
    dims = ranked(node, query, 3)
    heads = positive(node, "num_heads")
    found = [without_value(query)]
    for output in range(1, node.n_outputs):
        length = node.fresh(2, "flags at run time decide which cache is kept", output=output)
        if dims is None:
            batch, size = node.fresh(0, _RANK, output=output), node.fresh(3, _RANK, output=output)
        else:
            batch, size = dims[1], dims[2].exact_div(heads)
        found.append(tensor(query.dtype, (batch, OptimDim(heads), length, size)))
    return tuple(found[: node.n_outputs])


@register("CausalConvWithState", domain=MICROSOFT)
def causal_conv_with_state(node: NodeView) -> RuleResult:
    """As the standard one for one axis in the default layout, else only the rank is told."""
    simple = not any(
        node.attr(name, 0)
        for name in (
            *("channels_last", "state_channels_last", "state_window", "state_length"),
            *("state_update_capacity", "input_channels"),
        )
    )
    if simple and node.attr("ndim", 1) == 1 and node.attr("dilation", 1) == 1:
        return causal_conv(node)
    item = node.tensor(0)
    rank = item.rank()
    reason = "the layout of the state is not a default one"
    return tuple(
        node.unknown(reason, dtype=item.dtype, rank=None if output else rank, output=output)
        for output in range(node.n_outputs)
    )


@register("LinearAttention", domain=MICROSOFT)
def linear_attention(node: NodeView) -> tuple[OptimTensor, ...]:
    """`(batch, time, heads * value size)` and the state, a window of states when asked for."""
    query = node.tensor(0)
    q_dims, k_dims = ranked(node, query, 3), ranked(node, node.tensor(1), 3)
    v_dims = ranked(node, node.tensor(2), 3)
    q_heads, kv_heads = positive(node, "q_num_heads"), positive(node, "kv_num_heads")
    past = argument(node, 3)
    dtype = query.dtype if past is None or not past.dtype else past.dtype
    window = int(node.attr("state_window", 0))
    if q_dims is None or k_dims is None or v_dims is None:
        last = min(1, node.n_outputs - 1)
        return (
            node.unknown(_RANK, dtype=query.dtype, rank=3),
            node.unknown(_RANK, dtype=dtype, rank=5 if window else 4, output=last),
        )[: node.n_outputs]
    size = v_dims[2].exact_div(kv_heads)
    width = size * max(q_heads, kv_heads)
    slots = (OptimDim(window),) if window else ()
    state = (*slots, q_dims[0], OptimDim(kv_heads), k_dims[2].exact_div(kv_heads), size)
    return (tensor(query.dtype, (*q_dims[:2], width)), tensor(dtype, state))[: node.n_outputs]
