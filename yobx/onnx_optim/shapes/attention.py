"""Attention and the state-carrying sequence operators of recent opsets."""

from __future__ import annotations

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.shapes._common import (
    ONE,
    Dims,
    argument,
    dims_of,
    positive,
    ranked,
    register,
    tensor,
    without_value,
)

__all__: list[str] = []


def _heads(node: NodeView, dims: Dims, attribute: str) -> Dims:
    """`(batch, heads, length, head size)` of a rank-3 or rank-4 operand."""
    if len(dims) == 4:
        return dims
    if len(dims) != 3:
        node.fail(f"query, key and value must have rank 3 or 4, one has rank {len(dims)}")
    count = node.attr(attribute, None)
    if not count:
        node.fail(f"operands of rank 3 need attribute {attribute}")
    return (dims[0], OptimDim(int(count)), dims[1], dims[2].exact_div(int(count)))


@register("Attention", since=23)
def attention(node: NodeView) -> tuple[OptimTensor, ...]:
    """Output, then the present key, the present value and the scores."""
    query, key, value = node.tensor(0), node.tensor(1), node.tensor(2)
    q_dims, k_dims, v_dims = dims_of(query), dims_of(key), dims_of(value)
    dtypes = (query.dtype, key.dtype or query.dtype, value.dtype, query.dtype)
    if q_dims is None or k_dims is None or v_dims is None:
        reason = "the rank of query, key or value is not known"
        return tuple(
            node.unknown(reason, dtype=dtype, output=index)
            for index, dtype in enumerate(dtypes[: node.n_outputs])
        )
    queries = _heads(node, q_dims, "q_num_heads")
    keys, values = _heads(node, k_dims, "kv_num_heads"), _heads(node, v_dims, "kv_num_heads")
    if len(q_dims) == 3:
        result: Dims = (q_dims[0], q_dims[1], queries[1] * values[3])
    else:
        result = (*queries[:3], values[3])
    total = _total_length(node, keys[2])
    present_key = (keys[0], keys[1], total, keys[3])
    present_value = (values[0], values[1], total, values[3])
    scores = (queries[0], queries[1], queries[2], total)
    shapes = (result, present_key, present_value, scores)
    return tuple(tensor(dtype, dims) for dtype, dims in zip(dtypes, shapes, strict=True))[
        : node.n_outputs
    ]


def _total_length(node: NodeView, length: OptimDim) -> OptimDim:
    past = argument(node, 4)
    if past is None:
        return length
    dims = dims_of(past)
    if dims is None:
        return node.fresh(2, "the rank of past_key is not known", output=min(1, node.n_outputs - 1))
    if len(dims) != 4:
        node.fail(f"past_key must have rank 4, its rank is {len(dims)}")
    return dims[2] + length


@register("FlexAttention", domain="ai.onnx.preview")
def flex_attention(node: NodeView) -> OptimTensor:
    """`(batch, query heads, query length, value head size)`."""
    query, value = node.tensor(0), node.tensor(2)
    q_dims, v_dims = dims_of(query), dims_of(value)
    for dims in (q_dims, v_dims):
        if dims is not None and len(dims) != 4:
            node.fail(f"query, key and value must have rank 4, one has rank {len(dims)}")
    reason = "the rank of query or value is not known"
    lead = tuple(node.fresh(axis, reason) for axis in range(3)) if q_dims is None else q_dims[:3]
    size = node.fresh(3, reason) if v_dims is None else v_dims[3]
    return tensor(query.dtype, (*lead, size))


@register("LinearAttention")
def linear_attention(node: NodeView) -> tuple[OptimTensor, ...]:
    """Output `(batch, time, query heads * value size)` and the state."""
    query, key, value = node.tensor(0), node.tensor(1), node.tensor(2)
    q_dims, k_dims, v_dims = dims_of(query), dims_of(key), dims_of(value)
    q_heads, kv_heads = positive(node, "q_num_heads"), positive(node, "kv_num_heads")
    past = argument(node, 3)
    state_dtype = query.dtype if past is None or not past.dtype else past.dtype
    if q_dims is None or k_dims is None or v_dims is None:
        reason = "the rank of query, key or value is not known"
        unknown = node.unknown(reason, dtype=query.dtype, rank=3)
        state = node.unknown(reason, dtype=state_dtype, rank=4, output=min(1, node.n_outputs - 1))
        return (unknown, state)[: node.n_outputs]
    if len(q_dims) != 3 or len(k_dims) != 3 or len(v_dims) != 3:
        node.fail("query, key and value must have rank 3")
    size = v_dims[2].exact_div(kv_heads)
    result = tensor(query.dtype, (q_dims[0], q_dims[1], size * q_heads))
    state = tensor(state_dtype, (q_dims[0], kv_heads, k_dims[2].exact_div(kv_heads), size))
    return (result, state)[: node.n_outputs]


@register("CausalConvWithState")
def causal_conv(node: NodeView) -> tuple[OptimTensor, ...]:
    """The input's shape, and the last `k - 1` positions as state."""
    item = node.tensor(0)
    dims, weight = ranked(node, item, 3), ranked(node, node.tensor(1), 3)
    result = without_value(item)
    if node.n_outputs == 1:
        return (result,)
    reason = "the shape of the input or of the weight is not known"
    lead = (
        tuple(node.fresh(axis, reason, output=1) for axis in range(2)) if dims is None else dims[:2]
    )
    length = node.fresh(2, reason, output=1) if weight is None else weight[-1] - ONE
    return (result, tensor(item.dtype, (*lead, length)))
