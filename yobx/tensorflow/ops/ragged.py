"""Ragged and sparse tensors, which travel as their dense parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.casts import cast, to_int64
from yobx.lowering.dtypes import is_integer
from yobx.lowering.gather import gather
from yobx.lowering.integers import floor_divide
from yobx.lowering.legalise import legal
from yobx.lowering.reduce import reduce
from yobx.lowering.scatter import scatter_nd
from yobx.lowering.segments import counts_of
from yobx.tensorflow.ops._complex import COMPLEX, by_parts, by_products
from yobx.tensorflow.ops._op import (
    ALL,
    FLOATS,
    INTS,
    NUMBERS,
    UINTS,
    attr,
    dims,
    out_dtype,
    rank,
    unsupported,
)
from yobx.tensorflow.ops.sort import number_of_bins
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_ZERO = np.array([0], np.int64)
_ONE = np.array([1], np.int64)
_LAST = np.array([np.iinfo(np.int64).max], np.int64)


def _row_of_each(g: GraphBuilder, splits: str) -> str:
    """Return the row of each value, int64, from row splits `(rows + 1,)`."""
    total = shapes.scalar(g, g.op.Gather(splits, np.array([-1], np.int64)))
    position = g.op.Range(np.array(0, np.int64), total, np.array(1, np.int64))
    ends = g.op.Unsqueeze(g.op.Slice(splits, _ONE, _LAST), _ZERO)
    passed = g.op.LessOrEqual(ends, g.op.Unsqueeze(position, _ONE))
    return str(g.op.ReduceSum(cast(g, passed, np.int64), _ONE, keepdims=0))


@register_tf_op_converter("RaggedRange", dtypes=("float32", "float64", "int32", "int64"))
def convert_ragged_range(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A range per row: the row splits and all numbers one behind the other."""
    dtype = op.inputs[0].dtype.as_numpy_dtype
    shape = None
    for tensor in op.inputs:  # Scalars are one row for all.
        if tensor.shape.rank == 1:
            shape = g.op.Shape(tensor.name)
    rows = shape if shape is not None else np.array([1], np.int64)
    starts, limits, deltas = (g.op.Expand(i.name, rows) for i in op.inputs)
    counts = _range_sizes(g, starts, limits, deltas)
    splits = g.op.Concat(_ZERO, g.op.CumSum(counts, np.array(0, np.int64)), axis=0)
    row = _row_of_each(g, splits)
    position = g.op.Range(
        np.array(0, np.int64), shapes.scalar(g, g.op.Gather(splits, np.array([-1]))),
        np.array(1, np.int64),
    )  # fmt: skip
    offset = cast(g, g.op.Sub(position, g.op.Gather(splits, row)), dtype)
    step = g.op.Mul(g.op.Gather(deltas, row), offset)
    cast(g, splits, out_dtype(op, 0), outputs=outputs[:1])
    return str(g.op.Add(g.op.Gather(starts, row), step, outputs=outputs[1:2], name=op.name))


def _range_sizes(g: GraphBuilder, starts: str, limits: str, deltas: str) -> str:
    """Return ``max(0, ceil((limit - start) / delta))`` of each row, int64."""
    span = g.op.Sub(limits, starts)
    if is_integer(g.get_type(span)):
        wide, step = to_int64(g, span), to_int64(g, deltas)
        count = g.op.Neg(floor_divide(g, g.op.Neg(wide), step))
    else:
        count = cast(g, g.op.Ceil(g.op.Div(span, deltas)), np.int64)
    return str(g.op.Max(count, np.array(0, np.int64)))


@register_tf_op_converter("RaggedGather")
def convert_ragged_gather(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Rows of a ragged tensor with one ragged axis."""
    if int(op.get_attr("OUTPUT_RAGGED_RANK")) != 1 or len(op.inputs) != 3:
        unsupported(op, "one ragged axis is supported", f"inputs={len(op.inputs)}")
    splits, values = to_int64(g, op.inputs[0].name), op.inputs[1].name
    index = shapes.vector(g, op.inputs[2].name)
    first = g.op.Gather(splits, index)
    counts = g.op.Sub(g.op.Gather(splits, g.op.Add(index, _ONE)), first)
    new = g.op.Concat(_ZERO, g.op.CumSum(counts, np.array(0, np.int64)), axis=0)
    row = _row_of_each(g, new)
    total = shapes.scalar(g, g.op.Gather(new, np.array([-1])))
    position = g.op.Range(np.array(0, np.int64), total, np.array(1, np.int64))
    place = g.op.Add(g.op.Sub(position, g.op.Gather(new, row)), g.op.Gather(first, row))
    cast(g, new, out_dtype(op, 0), outputs=outputs[:1])
    return gather(g, values, place, outputs=outputs[1:2], name=op.name)


@register_tf_op_converter(
    "RaggedBincount", dtypes={"Tidx": ("int32", "int64"), "T": (*FLOATS, *INTS, *UINTS)}
)
def convert_ragged_bincount(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Occurrences (or weights) of each number in each row of a ragged tensor."""
    splits, values = (shapes.vector(g, i.name) for i in op.inputs[:2])
    size = number_of_bins(g, op.inputs[2])
    inside = g.op.And(g.op.GreaterOrEqual(values, np.array(0, np.int64)), g.op.Less(values, size))
    # What is outside falls into a column that is cut off.
    column = g.op.Unsqueeze(g.op.Where(inside, values, size), _ONE)
    places = g.op.Concat(g.op.Unsqueeze(_row_of_each(g, splits), _ONE), column, axis=1)
    rows = g.op.Sub(g.op.Shape(splits), _ONE)
    dtype = op.outputs[0].dtype.as_numpy_dtype
    base = g.op.Expand(np.array(0, dtype), g.op.Concat(rows, g.op.Add(size, _ONE), axis=0))
    binary, weights = bool(attr(op, "binary_output")), dims(g, op, 3)
    if binary or (weights is not None and 0 in weights):
        updates = g.op.Expand(np.array(1, dtype), g.op.Shape(values))
    else:
        updates = shapes.flatten(g, op.inputs[3].name)
    full = scatter_nd(g, base, places, updates, "none" if binary else "add", name=op.name)
    return str(g.op.Slice(full, _ZERO, size, _ONE, outputs=outputs[:1]))


@register_tf_op_converter("SparseToDense", dtypes=(*ALL, *COMPLEX))
@by_parts
def convert_sparse_to_dense(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """A dense tensor with values at some places and a default elsewhere."""
    index, shape, values, default = (i.name for i in op.inputs)
    base = legal(g).Expand(default, shapes.vector(g, shape))
    n = rank(g, op, 0)
    if n == 0:
        index = g.op.Reshape(index, np.array([1, 1], np.int64))
    elif n == 1:
        index = g.op.Unsqueeze(index, _ONE)
    count = g.op.Shape(index, start=0, end=1)
    if op.inputs[2].shape.rank == 0:
        values = legal(g).Expand(values, count)
    return scatter_nd(g, base, index, values, "none", outputs=outputs[:1], name=op.name)


@register_tf_op_converter("SparseReorder", dtypes=(*ALL, *COMPLEX))
@by_parts
def convert_sparse_reorder(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """The same entries in row-major order."""
    index, values, shape = (i.name for i in op.inputs)
    flat = flat_positions(g, index, shape)
    count = g.op.Shape(flat)
    _, order = g.op.TopK(flat, count, largest=0, sorted=1, outputs=2)
    g.op.Gather(index, order, axis=0, outputs=outputs[:1], name=op.name)
    return str(g.op.Gather(values, order, axis=0, outputs=outputs[1:2]))


def _strides(g: GraphBuilder, shape: str) -> str:
    """Return the number of elements behind one step along each axis, int64."""
    sizes = shapes.vector(g, shape)
    logs = g.op.Concat(g.op.Slice(sizes, _ONE, _LAST), _ONE, axis=0)
    # A product from the right: the mask keeps, for each axis, the sizes after it.
    count = shapes.scalar(g, g.op.Shape(logs))
    position = g.op.Range(np.array(0, np.int64), count, np.array(1, np.int64))
    later = g.op.GreaterOrEqual(g.op.Unsqueeze(position, _ZERO), g.op.Unsqueeze(position, _ONE))
    factors = g.op.Where(later, g.op.Unsqueeze(logs, _ZERO), np.array(1, np.int64))
    return str(g.op.ReduceProd(factors, _ONE, keepdims=0))


def row_sizes(g: GraphBuilder, rows: str, count: str) -> str:
    """Return how many elements each row has, as a vector.

    Args:
        g: Builder.
        rows: Row of each element.
        count: Number of rows, of shape `(1,)`.
    """
    none = g.op.Expand(np.array(0, np.int64), count)
    ones = g.op.Expand(np.array([1], np.int64), g.op.Shape(rows))
    return str(g.op.ScatterElements(none, rows, ones, axis=0, reduction="add"))


def flat_positions(g: GraphBuilder, index: str, shape: str) -> str:
    """Return the place of each entry of a sparse tensor in row-major order, int64."""
    return str(g.op.ReduceSum(g.op.Mul(index, _strides(g, shape)), _ONE, keepdims=0))


@register_tf_op_converter("SparseReshape", dtypes=("int64",))
def convert_sparse_reshape(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """The entries of a sparse tensor in another dense shape; one size may be -1."""
    index, shape, wanted = (i.name for i in op.inputs)
    total = g.op.ReduceProd(shape, keepdims=1)
    open_one = g.op.Less(wanted, np.array(0, np.int64))
    known = g.op.ReduceProd(g.op.Where(open_one, np.array(1, np.int64), wanted), keepdims=1)
    sizes = g.op.Where(open_one, g.op.Div(total, known), wanted)
    flat = g.op.Unsqueeze(flat_positions(g, index, shape), _ONE)
    g.op.Mod(g.op.Div(flat, _strides(g, sizes)), sizes, outputs=outputs[:1], name=op.name)
    return str(g.op.Identity(sizes, outputs=outputs[1:2]))


@register_tf_op_converter("SparseTensorDenseMatMul", dtypes=(*FLOATS, *INTS, *COMPLEX))
@by_products("a_values", adjoints=("adjoint_a", "adjoint_b"))
def convert_sparse_matmul(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Product of a sparse and a dense matrix, the sparse one made dense."""
    index, values, shape, dense = (i.name for i in op.inputs)
    zero = np.array(0, op.outputs[0].dtype.as_numpy_dtype)
    base = legal(g).Expand(zero, shapes.vector(g, shape))
    left = scatter_nd(g, base, index, values, "add")
    if bool(op.get_attr("adjoint_a")):
        left = g.op.Transpose(left, perm=[1, 0])
    if bool(op.get_attr("adjoint_b")):
        dense = g.op.Transpose(dense, perm=[1, 0])
    return str(legal(g).MatMul(left, dense, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("SparseReduceSum", dtypes=(*NUMBERS, *COMPLEX))
@by_parts
def convert_sparse_sum(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Sum of a sparse tensor over axes, dense."""
    index, values, shape = (i.name for i in op.inputs[:3])
    zero = np.array(0, op.outputs[0].dtype.as_numpy_dtype)
    base = legal(g).Expand(zero, shapes.vector(g, shape))
    whole = scatter_nd(g, base, index, values, "add")
    axes = shapes.vector(g, op.inputs[3].name)
    keep = bool(op.get_attr("keep_dims"))
    return reduce(g, "Sum", whole, axes, keepdims=keep, outputs=outputs[:1], name=op.name)


@register_tf_op_converter("RaggedTensorToTensor", dtypes=(*ALL, *COMPLEX))
@by_parts
def convert_ragged_to_dense(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Rows of different length filled up with a default; one ragged axis."""
    kinds = [
        k.decode() if isinstance(k, bytes) else str(k) for k in op.get_attr("row_partition_types")
    ]
    partitions = [to_int64(g, t.name) for t in op.inputs[3:]]
    values, default = op.inputs[1].name, op.inputs[2].name
    if kinds == ["ROW_SPLITS"]:
        splits = partitions[0]
    elif kinds == ["FIRST_DIM_SIZE", "VALUE_ROWIDS"]:
        counts = counts_of(g, partitions[1], shapes.vector(g, partitions[0]))
        splits = str(g.op.Concat(_ZERO, g.op.CumSum(counts, np.array(0, np.int64)), axis=0))
    else:
        unsupported(op, "one ragged axis is supported", f"row_partition_types={kinds}")
    row = _row_of_each(g, splits)
    total = shapes.scalar(g, g.op.Gather(splits, np.array([-1], np.int64)))
    position = g.op.Range(np.array(0, np.int64), total, np.array(1, np.int64))
    column = g.op.Sub(position, g.op.Gather(splits, row))
    lengths = g.op.Sub(g.op.Slice(splits, _ONE, _LAST), g.op.Slice(splits, _ZERO, -_ONE))
    longest = g.op.ReduceMax(g.op.Concat(lengths, _ZERO, axis=0), keepdims=1)
    rows, width = _dense_size(g, op, str(g.op.Shape(lengths)), str(longest))
    inside = g.op.And(g.op.Less(row, rows), g.op.Less(column, width))
    kept = g.op.Squeeze(g.op.NonZero(inside), _ZERO)
    pairs = g.op.Concat(g.op.Unsqueeze(row, _ONE), g.op.Unsqueeze(column, _ONE), axis=1)
    shape = g.op.Concat(rows, width, g.op.Shape(values, start=1), axis=0)
    base = legal(g).Expand(default, shape)
    chosen = gather(g, values, kept)
    return str(g.op.ScatterND(base, g.op.Gather(pairs, kept, axis=0), chosen, outputs=outputs[:1]))


def _dense_size(g: GraphBuilder, op: Any, rows: str, width: str) -> tuple[str, str]:
    """Return rows and columns: those asked for, or all there are where -1 is asked for."""
    if op.inputs[0].shape.rank == 0:
        return rows, width
    wanted = shapes.vector(g, op.inputs[0].name)
    found = []
    for i, natural in enumerate((rows, width)):
        size = g.op.Gather(wanted, np.array([i], np.int64))
        found.append(str(g.op.Where(g.op.Less(size, np.array(0, np.int64)), natural, size)))
    return found[0], found[1]
