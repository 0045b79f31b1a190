"""Attention, embedding and normalisation operators of `com.microsoft`."""

from __future__ import annotations

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.shapes._common import (
    ONE,
    Dims,
    argument,
    axis_of,
    dims_of,
    int_list,
    positive,
    ranked,
    register,
    tensor,
    without_value,
)
from yobx.onnx_optim.shapes._values import scalar
from yobx.onnx_optim.shapes.microsoft import MICROSOFT
from yobx.onnx_optim.tensor_type import TensorType

__all__: list[str] = []

_RANK = "the rank of an input is not known"


@register("SkipLayerNormalization SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skip_layer_normalization(node: NodeView) -> tuple[OptimTensor, ...]:
    """Result, mean, inverse deviation, and the sum that was normalised."""
    item = without_value(node.tensor(0))
    dims = dims_of(item)
    if node.n_outputs == 1:
        return (item,)
    if dims is None:
        kept = node.unknown(_RANK, dtype=TensorType.kFloat, output=1)
    else:
        kept = tensor(TensorType.kFloat, (*dims[:-1], ONE))
    return (item, kept, kept, item)[: node.n_outputs]


@register("LayerNormalization SimplifiedLayerNormalization", domain=MICROSOFT)
@register("SimplifiedLayerNormalization")
def simplified_layer_normalization(node: NodeView) -> tuple[OptimTensor, ...]:
    """The input's shape, then statistics with the normalised axes of size 1."""
    item = without_value(node.tensor(0))
    dims = dims_of(item)
    if node.n_outputs == 1 or dims is None:
        unknown = [node.unknown(_RANK, output=place) for place in range(1, node.n_outputs)]
        return (item, *unknown)
    axis = axis_of(node, int(node.attr("axis", -1)), len(dims))
    kept = tensor(TensorType.kFloat, (*dims[:axis], *(ONE for _ in dims[axis:])))
    return (item, *(kept for _ in range(1, node.n_outputs)))


@register("SkipGroupNorm", domain=MICROSOFT)
def skip_group_norm(node: NodeView) -> tuple[OptimTensor, ...]:
    """The input's shape, twice."""
    item = without_value(node.tensor(0))
    return (item, item)[: node.n_outputs]


@register("EmbedLayerNormalization QEmbedLayerNormalization", domain=MICROSOFT)
def embed_layer_normalization(node: NodeView) -> tuple[OptimTensor, ...]:
    """`(batch, length, hidden)`, a mask index `(batch)`, and the sum before normalisation."""
    ids, words = ranked(node, node.tensor(0), 2, 2), ranked(node, node.tensor(2), 1)
    quantised = node.op_type.startswith("Q")
    dtype = node.tensor(8 if quantised else 2).dtype
    if ids is None:
        ids = (node.fresh(0, _RANK), node.fresh(1, _RANK))
    hidden = node.fresh(2, _RANK) if words is None else words[-1]
    result = tensor(dtype, (*ids, hidden))
    return (result, tensor(TensorType.kInt32, ids[:1]), result)[: node.n_outputs]


def _value_width(node: NodeView, weights: Dims | None, place: int) -> OptimDim:
    """Width of the values behind merged weights of query, key and value."""
    listed = int_list(node.attr("qkv_hidden_sizes", None))
    if listed:
        return OptimDim(listed[-1])
    if weights is None:
        return node.fresh(place, _RANK)
    return weights[-1].exact_div(3)


@register("Attention QAttention", domain=MICROSOFT)
def attention(node: NodeView) -> tuple[OptimTensor, ...]:
    """`(batch, length, value width)` and the state `(2, batch, heads, total, head size)`."""
    quantised = node.op_type == "QAttention"
    item, weights = ranked(node, node.tensor(0), 3, 3), ranked(node, node.tensor(1), 1)
    dtype = node.tensor(3).dtype if quantised else node.tensor(0).dtype
    if item is None:
        item = tuple(node.fresh(axis, _RANK) for axis in range(3))
    width = _value_width(node, weights, 2)
    result = tensor(dtype, (item[0], item[1], width))
    if node.n_outputs == 1:
        return (result,)
    past = argument(node, 8 if quantised else 4)
    heads = positive(node, "num_heads")
    state = tensor(dtype, _state_dims(node, past, item, width, heads))
    return (result, state)


def _state_dims(
    node: NodeView, past: OptimTensor | None, item: Dims, width: OptimDim, heads: int
) -> Dims:
    dims = dims_of(past)
    if past is None:
        total = item[1]
    elif dims is None or len(dims) != 5:
        total = node.fresh(3, _RANK, output=1)
    elif node.attr("past_present_share_buffer", 0) == 1:
        return dims
    else:
        total = dims[3] + item[1]
    size = dims[4] if dims is not None and len(dims) == 5 else width.exact_div(heads)
    return (OptimDim(2), item[0], OptimDim(heads), total, size)


def _lead(node: NodeView, dims: Dims | None) -> Dims:
    """Batch and length of a query."""
    return (node.fresh(0, _RANK), node.fresh(1, _RANK)) if dims is None else dims[:2]


@register("MultiHeadAttention DecoderMaskedMultiHeadAttention", domain=MICROSOFT)
def multi_head_attention(node: NodeView) -> tuple[OptimTensor, ...]:
    """`(batch, length, value width)`, present key and value, and the scores."""
    query = node.tensor(0)
    dims = ranked(node, query, 3, 5)
    key, value = ranked(node, argument(node, 1), 3, 5), ranked(node, argument(node, 2), 3, 4)
    lead, heads = _lead(node, dims), OptimDim(positive(node, "num_heads"))
    decoder = node.op_type.startswith("Decoder")
    keys_known = key is not None and len(key) == 3 and value is not None and len(value) == 3
    width = _mha_width(node, dims, key, value)
    result = tensor(query.dtype, (*lead, width))
    if node.n_outputs == 1:
        return (result,)
    past = argument(node, 5 if decoder else 6)
    past_dims = dims_of(past)
    reason = "the lengths of past and present are not known"
    shared = node.has(7 if decoder else 8)
    if past is None and keys_known and key is not None:
        total = key[1]
    elif (
        past_dims is not None
        and len(past_dims) == 4
        and keys_known
        and not shared
        and key is not None
    ):
        total = past_dims[2] + key[1]
    else:
        total = node.fresh(2, reason, output=1)
    size = width.exact_div(heads)
    state = (lead[0], heads, total, size)
    key_size = size if dims is None or len(dims) != 3 else dims[2].exact_div(heads)
    key_state = (*state[:3], key_size)
    scores = (lead[0], heads, lead[1], total)
    shapes = ((*lead, width), key_state, state, scores)
    return tuple(tensor(query.dtype, shape) for shape in shapes)[: node.n_outputs]


def _mha_width(
    node: NodeView, query: Dims | None, key: Dims | None, value: Dims | None
) -> OptimDim:
    """Width of the result, for separate and packed operands."""
    if value is not None:
        # `(batch, length, width)`, or a cache `(batch, heads, length, size)`.
        return value[2] if len(value) == 3 else value[1] * value[3]
    if key is not None and len(key) == 5:
        return key[2] * key[4]
    if query is not None and len(query) == 5 and key is None:
        return query[2] * query[4]
    return node.fresh(2, "the width of the values is not known")


@register("GroupQueryAttention SparseAttention", domain=MICROSOFT)
def group_query_attention(node: NodeView) -> tuple[OptimTensor, ...]:
    """`(batch, length, query width)` and the caches."""
    query = node.tensor(0)
    dims, key = ranked(node, query, 3, 3), argument(node, 1)
    lead = _lead(node, dims)
    heads, kv_heads = positive(node, "num_heads"), positive(node, "kv_num_heads")
    if dims is None:
        width = node.fresh(2, _RANK)
        size: OptimDim | None = None
    elif key is None:
        size = dims[2].exact_div(heads + 2 * kv_heads)
        width = size * heads
    else:
        width, size = dims[2], dims[2].exact_div(heads)
    result = tensor(query.dtype, (*lead, width))
    states = [
        _cache(node, index, lead, kv_heads, size) for index in range(1, min(node.n_outputs, 3))
    ]
    rest = [node.unknown("the scores' shape", output=index) for index in range(3, node.n_outputs)]
    return (result, *states, *rest)


def _cache(
    node: NodeView, output: int, lead: Dims, heads: int, size: OptimDim | None
) -> OptimTensor:
    """Present key or value; its length is that of a shared buffer or of past and new together."""
    past = argument(node, 2 + output)
    dims = dims_of(past)
    dtype = node.tensor(0).dtype if past is None or not past.dtype else past.dtype
    if node.op_type == "SparseAttention" and past is not None:
        return without_value(past)
    last = dims[3] if dims is not None and len(dims) == 4 else size
    reason = "the buffer may hold past and present together or not"
    total = lead[1] if past is None else node.fresh(2, reason, output=output)
    if last is None:
        last = node.fresh(3, _RANK, output=output)
    return tensor(dtype, (lead[0], OptimDim(heads), total, last))


@register("PackedAttention", domain=MICROSOFT)
def packed_attention(node: NodeView) -> OptimTensor:
    """`(tokens, value width)`."""
    item = node.tensor(0)
    dims, weights = ranked(node, item, 1), ranked(node, node.tensor(1), 1)
    tokens = node.fresh(0, _RANK) if dims is None else dims[0]
    return tensor(item.dtype, (tokens, _value_width(node, weights, 1)))


@register("PackedMultiHeadAttention", domain=MICROSOFT)
def packed_multi_head_attention(node: NodeView) -> OptimTensor:
    """`(tokens, value width)` of separate or packed operands."""
    query = node.tensor(0)
    dims, value = ranked(node, query, 2, 4), ranked(node, argument(node, 2), 2)
    tokens = node.fresh(0, _RANK) if dims is None else dims[0]
    if value is not None:
        width = value[1]
    elif dims is not None and len(dims) == 4:
        width = dims[1] * dims[3]
    else:
        width = node.fresh(1, _RANK)
    return tensor(query.dtype, (tokens, width))


@register("RelativePositionBias", domain=MICROSOFT)
def relative_position_bias(node: NodeView) -> OptimTensor:
    """`(1, heads, query length, key length)`."""
    table = node.tensor(0)
    dims = ranked(node, table, 2, 2)
    heads = node.fresh(1, _RANK) if dims is None else dims[1]
    lengths = [scalar(argument(node, index)) for index in (1, 2)]
    sizes = [
        node.fresh(axis, "a length is not known") if length is None else length
        for axis, length in enumerate(lengths, start=2)
    ]
    return tensor(table.dtype, (ONE, heads, *sizes))


@register("GatedRelativePositionBias", domain=MICROSOFT)
def gated_relative_position_bias(node: NodeView) -> OptimTensor:
    """`(batch, heads, length, length)`."""
    query = node.tensor(0)
    dims, positions = dims_of(query), ranked(node, argument(node, 2), 4, 4)
    heads = OptimDim(positive(node, "num_heads"))
    if dims is None or len(dims) != 3:
        batch = node.fresh(0, _RANK)
        length = node.fresh(2, _RANK) if positions is None else positions[-1]
    else:
        batch, length = dims[0], dims[1]
    return tensor(query.dtype, (batch, heads, length, length))


@register("RemovePadding", domain=MICROSOFT)
def remove_padding(node: NodeView) -> tuple[OptimTensor, ...]:
    """The tokens that are no padding, their places, and lengths."""
    item = node.tensor(0)
    dims = dims_of(item)
    if dims is None or len(dims) != 3:
        dims = tuple(node.fresh(axis, _RANK) for axis in range(3))
    tokens = node.fresh(0, "the number of tokens that are no padding", upper=dims[0] * dims[1])
    return (
        tensor(item.dtype, (tokens, dims[2])),
        tensor(TensorType.kInt32, dims[:2]),
        tensor(TensorType.kInt32, (dims[0] + ONE,)),
        tensor(TensorType.kInt32, (ONE,)),
    )[: node.n_outputs]


@register("RestorePadding", domain=MICROSOFT)
def restore_padding(node: NodeView) -> OptimTensor:
    """`(batch, length, hidden)`."""
    item = node.tensor(0)
    dims, places = ranked(node, item, 1), ranked(node, node.tensor(1), 2)
    if dims is None or places is None:
        return node.unknown(_RANK, dtype=item.dtype, rank=3)
    return tensor(item.dtype, (*places[:2], dims[-1]))
