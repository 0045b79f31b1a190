"""Operators of `com.microsoft` with packed or ordered weights, and rarer ones; NCHWc layouts."""

from __future__ import annotations

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.shapes._common import (
    ONE,
    argument,
    axis_of,
    dims_of,
    dtype_attribute,
    int_list,
    known_ints,
    ranked,
    register,
    tensor,
    without_value,
)
from yobx.onnx_optim.shapes.matrix import matmul_dims
from yobx.onnx_optim.shapes.microsoft import MICROSOFT
from yobx.onnx_optim.shapes.reducing import global_pool
from yobx.onnx_optim.shapes.windows import conv, pool, transposed_dims
from yobx.onnx_optim.tensor_type import TensorType

__all__: list[str] = []

NCHWC = "com.microsoft.nchwc"
_RANK = "the rank of an input is not known"

register("Conv", domain=NCHWC)(conv)
register("MaxPool AveragePool", domain=NCHWC)(pool)
register("GlobalMaxPool GlobalAveragePool", domain=NCHWC)(global_pool)


@register("SampleOp MoEPacked QuantizeWithOrder DequantizeWithOrder", domain=MICROSOFT)
def like_first(node: NodeView) -> OptimTensor:
    """Same shape as the first input; quantising with an order changes the dtype."""
    item = node.tensor(0)
    if node.op_type == "QuantizeWithOrder":
        return without_value(item, TensorType.kInt8)
    if node.op_type == "DequantizeWithOrder":
        return without_value(item, dtype_attribute(node, "to", TensorType.kFloat))
    return without_value(item)


def _with_last(node: NodeView, size: OptimDim) -> OptimTensor:
    """The first input with another last size."""
    item = node.tensor(0)
    dims = ranked(node, item, 1)
    if dims is None:
        return node.unknown(_RANK, dtype=item.dtype)
    return tensor(item.dtype, (*dims[:-1], size))


@register("MatMulNBitsMlp MatMulNBitsQLoRA", domain=MICROSOFT)
def matmul_mlp(node: NodeView) -> tuple[OptimTensor, ...]:
    """`N` columns, and the sum that was normalised."""
    result = _with_last(node, OptimDim(int(node.attr("N", 0))))
    return (result, without_value(node.tensor(0)))[: node.n_outputs]


@register("MatMulNBitsQkv", domain=MICROSOFT)
def matmul_qkv(node: NodeView) -> tuple[OptimTensor, ...]:
    """Query, key and value, and the sum that was normalised."""
    query = _with_last(node, OptimDim(int(node.attr("Nq", 0))))
    key = _with_last(node, OptimDim(int(node.attr("Nkv", 0))))
    return (query, key, key, without_value(node.tensor(0)))[: node.n_outputs]


@register("MatMulBlockQuantizedFp4Weight MatMulBlockQuantizedFp8Weight", domain=MICROSOFT)
def matmul_block_quantized(node: NodeView) -> OptimTensor:
    """As many columns as the weight has rows."""
    weight = ranked(node, node.tensor(1), 1)
    if weight is None:
        return node.unknown(_RANK, dtype=node.tensor(0).dtype)
    return _with_last(node, weight[0])


@register("GatherPacked", domain=MICROSOFT)
def gather_packed(node: NodeView) -> OptimTensor:
    """The indices' shape, then `K` columns."""
    places = dims_of(node.tensor(1))
    dtype = dtype_attribute(node, "output_dtype")
    if places is None:
        return node.unknown(_RANK, dtype=dtype)
    return tensor(dtype, (*places, OptimDim(int(node.attr("K", 0)))))


@register("GatherBlockQuantized", domain=MICROSOFT)
def gather_block_quantized(node: NodeView) -> OptimTensor:
    """The indices' shape takes the place of an axis; packed bytes unfold along the last one."""
    data, scales = node.tensor(0), node.tensor(2)
    dims, places = ranked(node, data, 1), dims_of(node.tensor(1))
    if dims is None or places is None:
        return node.unknown(_RANK, dtype=scales.dtype)
    sizes = list(dims)
    if data.dtype == TensorType.kUInt8:
        sizes[-1] = sizes[-1] * (8 // int(node.attr("bits", 4)))
    axis = axis_of(node, int(node.attr("gather_axis", 0)), len(dims))
    return tensor(scales.dtype, (*sizes[:axis], *places, *sizes[axis + 1 :]))


@register("QOrderedMatMul", domain=MICROSOFT)
def qordered_matmul(node: NodeView) -> OptimTensor:
    """Product of operands 0 and 2."""
    left, right = node.tensor(0), node.tensor(2)
    first, second = dims_of(left), dims_of(right)
    if first is None or second is None:
        return node.unknown(_RANK, dtype=left.dtype)
    return tensor(left.dtype, matmul_dims(node, first, second))


@register("QOrderedAttention", domain=MICROSOFT)
def qordered_attention(node: NodeView) -> OptimTensor:
    """`(batch, length, value width)`."""
    weight = ranked(node, node.tensor(7), 1)
    return _with_last(node, node.fresh(2, _RANK) if weight is None else weight[-1])


@register("GemmaRotaryEmbedding", domain=MICROSOFT)
def gemma_rotary_embedding(node: NodeView) -> tuple[OptimTensor, ...]:
    """Query and key, rotated."""
    return (without_value(node.tensor(1)), without_value(node.tensor(3)))[: node.n_outputs]


@register("LinearAttentionGate", domain=MICROSOFT)
def linear_attention_gate(node: NodeView) -> tuple[OptimTensor, ...]:
    """Decay and update rate."""
    second = argument(node, 3)
    beta = without_value(node.tensor(0) if second is None else second)
    return (without_value(node.tensor(0)), beta)[: node.n_outputs]


@register("SwiGLU", domain=MICROSOFT)
def swiglu(node: NodeView) -> OptimTensor:
    """One half of the projection."""
    item = node.tensor(0)
    dims = ranked(node, item, 1)
    if argument(node, 1) is not None:
        return without_value(item)
    if dims is None:
        return node.unknown(_RANK, dtype=item.dtype)
    return tensor(item.dtype, (*dims[:-1], dims[-1].exact_div(2)))


@register("Rfft Irfft", domain=MICROSOFT)
def rfft(node: NodeView) -> OptimTensor:
    """Real to complex adds a last axis of 2; the way back removes it. One-sided."""
    item = node.tensor(0)
    dims = ranked(node, item, 1 if node.op_type == "Rfft" else 2)
    if dims is None or node.attr("onesided", 1) != 1 or node.attr("signal_ndim", 1) != 1:
        return node.unknown(_RANK, dtype=item.dtype)
    if node.op_type == "Rfft":
        return tensor(item.dtype, (*dims[:-1], dims[-1] // 2 + ONE, OptimDim(2)))
    return tensor(item.dtype, (*dims[:-2], (dims[-2] - ONE) * 2))


@register("Tokenizer", domain=MICROSOFT)
def tokenizer(node: NodeView) -> OptimTensor:
    """A new last axis as long as the longest list of tokens."""
    dims = dims_of(node.tensor(0))
    if dims is None:
        return node.unknown(_RANK, dtype=TensorType.kString)
    longest = node.fresh(len(dims), "the largest number of tokens")
    return tensor(TensorType.kString, (*dims, longest))


@register("ReorderOutput", domain=NCHWC)
def reorder_output(node: NodeView) -> OptimTensor:
    """Back from blocked channels: their number is an attribute."""
    item = node.tensor(0)
    dims = ranked(node, item, 3)
    if dims is None:
        return node.unknown(_RANK, dtype=item.dtype)
    channels = OptimDim(int(node.attr("channels", 0)))
    if node.attr("channels_last", 0) == 1:
        return tensor(item.dtype, (dims[0], *dims[2:], channels))
    return tensor(item.dtype, (dims[0], channels, *dims[2:]))


@register("ReorderInput", domain=NCHWC)
def reorder_input(node: NodeView) -> OptimTensor:
    """To blocked channels, whose number is rounded up to what the machine likes."""
    item = node.tensor(0)
    dims = dims_of(item)
    if dims is None or len(dims) < 3:
        return node.unknown(_RANK, dtype=item.dtype)
    channels = node.fresh(1, "the block size is up to the machine")
    spatial = dims[1:-1] if node.attr("channels_last", 0) == 1 else dims[2:]
    return tensor(item.dtype, (dims[0], channels, *spatial))


@register("ConvTransposeWithDynamicPads", domain=MICROSOFT)
def conv_transpose_dynamic(node: NodeView) -> OptimTensor:
    """Transposed convolution with the pads as an input."""
    item = node.tensor(0)
    data, weight, given = dims_of(item), dims_of(node.tensor(1)), argument(node, 2)
    pads = (0,) * (2 * (len(weight) - 2)) if given is None and weight is not None else None
    if given is not None:
        pads = known_ints(given.value)
    dims = transposed_dims(node, data, weight, pads)
    if dims is None:
        return node.unknown(_RANK, dtype=item.dtype)
    if pads is None and not int_list(node.attr("output_shape", None)):
        reason = "the pads are not known"
        dims[2:] = [node.fresh(axis, reason) for axis in range(2, len(dims))]
    return tensor(item.dtype, dims)


@register("Upsample", domain=NCHWC)
def upsample(node: NodeView) -> OptimTensor:
    """Sizes times whole scales."""
    item = node.tensor(0)
    scales = int_list(node.attr("scales", None)) or ()
    dims = ranked(node, item, len(scales)) if scales else dims_of(item)
    if dims is None:
        return node.unknown(_RANK, dtype=item.dtype)
    return tensor(item.dtype, [size * scale for size, scale in zip(dims, scales, strict=False)])
