"""Operators of `com.microsoft` that behave like a standard one, fused or quantised."""

from __future__ import annotations

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_shape import OptimShape
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.shapes._common import (
    ONE,
    Dims,
    argument,
    axis_of,
    broadcast_shape,
    dims_of,
    dtype_attribute,
    int_list,
    positive,
    product,
    ranked,
    register,
    tensor,
    without_value,
)
from yobx.onnx_optim.shapes._values import scalar
from yobx.onnx_optim.shapes.gathering import gather_nd
from yobx.onnx_optim.shapes.generating import range_of
from yobx.onnx_optim.shapes.joining import concat_dims
from yobx.onnx_optim.shapes.matrix import gemm_of, matmul_dims
from yobx.onnx_optim.shapes.recurrent import recurrent_outputs
from yobx.onnx_optim.shapes.reducing import reduced_dims
from yobx.onnx_optim.shapes.slicing import pad
from yobx.onnx_optim.shapes.windows import conv, convolution_dims, read_window, window_sizes
from yobx.onnx_optim.tensor_type import TensorType

__all__ = ["MICROSOFT"]

MICROSOFT = "com.microsoft"

_LIKE_FIRST = (
    "BiasAdd BiasGelu BiasSoftmax FastGelu GatedAdd GatedRMSNorm Gelu GroupNorm Inverse "
    "MoE QLinearLeakyRelu QLinearSigmoid QLinearSoftmax QMoE QOrderedGelu "
    "QOrderedLayerNormalization QuickGelu RotaryEmbedding MRotaryEmbedding ScaledSiLU Trilu "
    "LongformerAttention QOrderedLongformerAttention"
)


@register(_LIKE_FIRST, domain=MICROSOFT)
def like_first(node: NodeView) -> OptimTensor:
    """Same dtype and shape as the first input."""
    return without_value(node.tensor(0))


@register("BiasDropout", domain=MICROSOFT)
def bias_dropout(node: NodeView) -> tuple[OptimTensor, ...]:
    """The input's shape and a mask of it."""
    item = without_value(node.tensor(0))
    return (item, without_value(item, TensorType.kBool))[: node.n_outputs]


@register("BitmaskDropout BitmaskBiasDropout", domain=MICROSOFT)
def bitmask_dropout(node: NodeView) -> tuple[OptimTensor, ...]:
    """The input's shape and one bit per element packed into 32-bit words."""
    item = without_value(node.tensor(0))
    dims = dims_of(item)
    if dims is None:
        words = node.fresh(0, "the input's rank is not known", output=min(1, node.n_outputs - 1))
    else:
        words = product(dims).ceil_div(32)
    return (item, tensor(TensorType.kUInt32, (words,)))[: node.n_outputs]


@register("ComplexMul ComplexMulConj", domain=MICROSOFT)
def complex_mul(node: NodeView) -> OptimTensor:
    """Broadcast product."""
    left, right = node.tensor(0), node.tensor(1)
    return OptimTensor(left.dtype, broadcast_shape(node, (left, right)))


@register("QLinearAdd QLinearMul", domain=MICROSOFT)
def qlinear_binary(node: NodeView) -> OptimTensor:
    """Operands 0 and 3, broadcast."""
    left, right = node.tensor(0), node.tensor(3)
    return OptimTensor(left.dtype, broadcast_shape(node, (left, right)))


@register("MulInteger", domain=MICROSOFT)
def mul_integer(node: NodeView) -> OptimTensor:
    """Operands 0 and 2, broadcast into int32."""
    return OptimTensor(TensorType.kInt32, broadcast_shape(node, (node.tensor(0), node.tensor(2))))


@register("QLinearWhere", domain=MICROSOFT)
def qlinear_where(node: NodeView) -> OptimTensor:
    """Condition 0 and operands 1 and 4, broadcast."""
    parts = (node.tensor(0), node.tensor(1), node.tensor(4))
    return OptimTensor(parts[1].dtype, broadcast_shape(node, parts))


@register("QLinearConcat", domain=MICROSOFT)
def qlinear_concat(node: NodeView) -> OptimTensor:
    """Every third input from the third on, joined."""
    items = [node.tensor(index) for index in range(2, len(node.inputs), 3)]
    known = [dims for dims in map(dims_of, items) if dims is not None]
    dtype = node.tensor(1).dtype or (items[0].dtype if items else TensorType.kUndefined)
    if not items or len(known) < len(items):
        return node.unknown("the rank of an input is not known", dtype=dtype)
    axis = axis_of(node, int(node.attr("axis", 0)), len(known[0]))
    return tensor(dtype, concat_dims(node, known, axis))


@register("QLinearReduceMean ReduceSumInteger", domain=MICROSOFT)
def reduce_listed(node: NodeView) -> OptimTensor:
    """Reduction over the axes of an attribute."""
    item = node.tensor(0)
    dims = dims_of(item)
    dtype = item.dtype
    if node.op_type == "ReduceSumInteger":
        signed = item.dtype in (TensorType.kInt8, TensorType.kInt32)
        dtype = TensorType.kInt32 if signed else TensorType.kUInt32
    if dims is None:
        return node.unknown("the input's rank is not known", dtype=dtype)
    listed = int_list(node.attr("axes", ())) or ()
    axes = frozenset(axis_of(node, axis, len(dims)) for axis in listed) or frozenset(
        range(len(dims))
    )
    return tensor(dtype, reduced_dims(dims, axes, keep=node.attr("keepdims", 1) != 0))


# --- matrices


def _swapped(node: NodeView, dims: Dims, side: str) -> Dims:
    """Operand of a fused product after its transposing attributes."""
    if len(dims) < 2:
        return dims
    if node.attr(f"transBatch{side}", 0) == 1:
        dims = (*dims[1:-1], dims[0], dims[-1])
    return (*dims[:-2], dims[-1], dims[-2]) if node.attr(f"trans{side}", 0) == 1 else dims


def _product(node: NodeView, right_index: int, dtype: TensorType) -> OptimTensor:
    left, right = dims_of(node.tensor(0)), dims_of(node.tensor(right_index))
    if left is None or right is None:
        return node.unknown("the rank of an operand is not known", dtype=dtype)
    return tensor(dtype, matmul_dims(node, _swapped(node, left, "A"), _swapped(node, right, "B")))


@register(
    "FusedMatMul FusedMatMulActivation TransposeMatMul GemmFastGelu SparseToDenseMatMul",
    domain=MICROSOFT,
)
def fused_matmul(node: NodeView) -> OptimTensor:
    """Product of operands that may be transposed."""
    return _product(node, 1, node.tensor(0).dtype or node.tensor(1).dtype)


@register("DynamicQuantizeMatMul", domain=MICROSOFT)
def dynamic_quantize_matmul(node: NodeView) -> OptimTensor:
    """Product of floats and quantised weights."""
    return _product(node, 1, node.tensor(0).dtype)


@register("MatMulIntegerToFloat", domain=MICROSOFT)
def matmul_integer_to_float(node: NodeView) -> OptimTensor:
    """Product of integers in the dtype of their scales."""
    return _product(node, 1, node.tensor(2).dtype or node.tensor(3).dtype)


@register("MatMulInteger16", domain=MICROSOFT)
def matmul_integer16(node: NodeView) -> OptimTensor:
    """Product of 16-bit integers into 32 bits."""
    unsigned = node.tensor(0).dtype == node.tensor(1).dtype == TensorType.kUInt16
    return _product(node, 1, TensorType.kUInt32 if unsigned else TensorType.kInt32)


@register("FusedGemm GemmFloat8", domain=MICROSOFT)
def fused_gemm(node: NodeView) -> OptimTensor:
    """`Gemm` with an activation, or with scaled 8-bit floats."""
    left, right = node.tensor(0), node.tensor(1)
    dtype = left.dtype or right.dtype
    if node.op_type == "GemmFloat8":
        dtype = dtype_attribute(node, "dtype", TensorType.kFloat)
    return gemm_of(node, left, right, dtype)


@register("QGemm", domain=MICROSOFT)
def qgemm(node: NodeView) -> OptimTensor:
    """Quantised `Gemm`; the result is float when no scale of it is given."""
    zero_point = argument(node, 8)
    dtype = TensorType.kFloat if zero_point is None else zero_point.dtype
    return gemm_of(node, node.tensor(0), node.tensor(3), dtype)


@register("MatMulNBits MatMulBnb4 MatMulPacked", domain=MICROSOFT)
def matmul_packed(node: NodeView) -> OptimTensor:
    """Product with packed weights of `N` columns."""
    item = node.tensor(0)
    dims = dims_of(item)
    if dims is None:
        return node.unknown("the input's rank is not known", dtype=item.dtype)
    columns = int(node.attr("N", 0))
    if node.op_type == "MatMulBnb4" and node.attr("transB", 1) == 0:
        columns = int(node.attr("K", 0))
    return tensor(item.dtype, (*dims[:-1], OptimDim(columns)))


@register("CDist", domain=MICROSOFT)
def cdist(node: NodeView) -> OptimTensor:
    """One distance per pair of rows."""
    left, right = node.tensor(0), node.tensor(1)
    first, second = ranked(node, left, 2, 2), ranked(node, right, 2, 2)
    reason = "the shape of an operand is not known"
    rows = node.fresh(0, reason) if first is None else first[0]
    return tensor(left.dtype, (rows, node.fresh(1, reason) if second is None else second[0]))


# --- windows


def _channels_first(dims: Dims | None) -> Dims | None:
    return None if dims is None or len(dims) < 3 else (dims[0], dims[-1], *dims[1:-1])


def _channels_last(dims: list[OptimDim]) -> list[OptimDim]:
    return [dims[0], *dims[2:], dims[1]]


@register("NhwcConv NhwcFusedConv", domain=MICROSOFT)
def nhwc_conv(node: NodeView) -> OptimTensor:
    """`Conv` of `(n, d1, ..., c)`."""
    item = node.tensor(0)
    dims = convolution_dims(node, _channels_first(dims_of(item)), dims_of(node.tensor(1)))
    if dims is None:
        return node.unknown("no rank is known", dtype=item.dtype)
    return tensor(item.dtype, _channels_last(dims))


@register("QLinearConv", domain=MICROSOFT)
def qlinear_conv(node: NodeView) -> OptimTensor:
    """Quantised convolution, channels first or last."""
    dtype = node.tensor(7).dtype
    last = node.attr("channels_last", 0) == 1
    data = dims_of(node.tensor(0))
    dims = convolution_dims(node, _channels_first(data) if last else data, dims_of(node.tensor(3)))
    if dims is None:
        return node.unknown("no rank is known", dtype=dtype)
    return tensor(dtype, _channels_last(dims) if last else dims)


@register("NhwcMaxPool QLinearAveragePool MaxpoolWithMask", domain=MICROSOFT)
def pool(node: NodeView) -> OptimTensor:
    """Pooling, channels first or last."""
    item = node.tensor(0)
    last = node.op_type == "NhwcMaxPool" or node.attr("channels_last", 0) == 1
    dims = _channels_first(dims_of(item)) if last else dims_of(item)
    kernel = tuple(OptimDim(size) for size in int_list(node.attr("kernel_shape", ())) or ())
    if dims is None or len(dims) != len(kernel) + 2:
        return node.unknown("the input's rank is not known", dtype=item.dtype)
    found = [
        *dims[:2],
        *window_sizes(node, dims[2:], read_window(node, len(kernel), kernel), lenient=True),
    ]
    return tensor(item.dtype, _channels_last(found) if last else found)


@register("QLinearGlobalAveragePool", domain=MICROSOFT)
def qlinear_global_pool(node: NodeView) -> OptimTensor:
    """All spatial sizes become 1."""
    item = node.tensor(0)
    dims = dims_of(item)
    if dims is None:
        return node.unknown("the input's rank is not known", dtype=item.dtype)
    ones = [ONE] * (len(dims) - 2)
    if node.attr("channels_last", 0) == 1:
        return tensor(item.dtype, (dims[0], *ones, dims[-1]))
    return tensor(item.dtype, (*dims[:2], *ones))


# --- others


# Same meaning as the standard operator of that name.
register("FusedConv", domain=MICROSOFT)(conv)
register("Pad", domain=MICROSOFT)(pad)
register("GatherND", domain=MICROSOFT)(gather_nd)


@register("Range", domain=MICROSOFT)
def microsoft_range(node: NodeView) -> OptimTensor:
    """`Range` whose step may be missing."""
    return range_of(node, [argument(node, 0), argument(node, 1), argument(node, 2)])


@register("DynamicQuantizeLSTM", domain=MICROSOFT)
def dynamic_quantize_lstm(node: NodeView) -> tuple[OptimTensor, ...]:
    """`LSTM` with quantised weights."""
    return recurrent_outputs(node)


@register("ExpandDims", domain=MICROSOFT)
def expand_dims(node: NodeView) -> OptimTensor:
    """A new axis of size 1."""
    item = node.tensor(0)
    dims, axis = dims_of(item), scalar(argument(node, 1))
    if dims is None or axis is None or not axis.is_int():
        rank = None if dims is None else len(dims) + 1
        return node.unknown(
            "the input's rank or the axis is not known", dtype=item.dtype, rank=rank
        )
    place = axis_of(node, axis.as_int(), len(dims) + 1)
    return tensor(item.dtype, (*dims[:place], ONE, *dims[place:]))


@register("TorchEmbedding", domain=MICROSOFT)
def torch_embedding(node: NodeView) -> OptimTensor:
    """The indices' shape, then the width of the table."""
    weight = node.tensor(0)
    table, places = ranked(node, weight, 2, 2), dims_of(node.tensor(1))
    if table is None or places is None:
        return node.unknown("the rank of an input is not known", dtype=weight.dtype)
    return tensor(weight.dtype, (*places, table[-1]))


@register("Unique", domain=MICROSOFT)
def microsoft_unique(node: NodeView) -> tuple[OptimTensor, ...]:
    """Distinct elements of a vector, the place of each input element, and counts."""
    item = node.tensor(0)
    dims = dims_of(item)
    size = None if dims is None else product(dims)
    count = node.fresh(0, "the number of distinct elements", upper=size)
    inverse = node.fresh(0, "the input's rank is not known", output=1) if size is None else size
    return (
        tensor(item.dtype, (count,)),
        tensor(TensorType.kInt64, (inverse,)),
        tensor(TensorType.kInt64, (count,)),
    )[: node.n_outputs]


@register("UnfoldTensor", domain=MICROSOFT)
def unfold(node: NodeView) -> OptimTensor:
    """Windows along one axis, their contents on a new last axis."""
    item = node.tensor(0)
    dims = dims_of(item)
    if dims is None:
        return node.unknown("the input's rank is not known", dtype=item.dtype)
    axis = axis_of(node, int(node.attr("dim", -1)), len(dims))
    size, step = positive(node, "size"), positive(node, "step")
    count = (dims[axis] - size) // step + ONE
    return tensor(item.dtype, (*dims[:axis], count, *dims[axis + 1 :], OptimDim(size)))


@register("BiasSplitGelu", domain=MICROSOFT)
def bias_split_gelu(node: NodeView) -> OptimTensor:
    """Half of the last axis."""
    item = node.tensor(0)
    dims = ranked(node, item, 1)
    if dims is None:
        return node.unknown("the input's rank is not known", dtype=item.dtype)
    return tensor(item.dtype, (*dims[:-1], dims[-1].exact_div(2)))


@register("IsAllFinite", domain=MICROSOFT)
def is_all_finite(_: NodeView) -> OptimTensor:
    """One truth value."""
    return OptimTensor(TensorType.kBool, OptimShape(()))


@register("MurmurHash3", domain=MICROSOFT)
def murmur_hash(node: NodeView) -> OptimTensor:
    """A 32-bit hash per element."""
    dtype = TensorType.kUInt32 if node.attr("positive", 1) == 1 else TensorType.kInt32
    return without_value(node.tensor(0), dtype)


@register("NGramRepeatBlock", domain=MICROSOFT)
def ngram_repeat_block(node: NodeView) -> OptimTensor:
    """Scores with some of them forbidden."""
    return without_value(node.tensor(1))
