"""Order, search and counting."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.bits import population_count
from yobx.lowering.casts import cast, to_int64
from yobx.lowering.gather import gather
from yobx.lowering.legalise import legal
from yobx.lowering.scatter import scatter_nd
from yobx.tensorflow.ops._exact_sizes import limited_size
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
    require_constant,
)
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_ONE = np.array(1, np.int64)
_ZERO = np.array(0, np.int64)
_FIRST_AXIS = np.array([0], np.int64)
_NEW_LAST = np.array([-1], np.int64)


@register_tf_op_converter(("TopK", "TopKV2"), dtypes=NUMBERS)
def convert_top_k(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The largest elements of the last axis in order, ties by position, and their positions."""
    x = op.inputs[0].name
    k: Any = np.array([int(attr(op, "k"))], np.int64) if op.type == "TopK" else None
    if k is None:
        k = shapes.vector(g, op.inputs[1].name)
    values, index = legal(g).TopK(x, k, axis=-1, largest=1, sorted=1, outputs=2)
    g.op.Identity(values, outputs=outputs[:1], name=op.name)
    cast(g, index, out_dtype(op, 1), outputs=outputs[1:2])
    return outputs[0]


@register_tf_op_converter("NthElement", dtypes=NUMBERS)
def convert_nth_element(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The element at a position of the sorted last axis."""
    n = shapes.vector(g, op.inputs[1].name)
    count = g.op.Add(n, np.array([1], np.int64))
    largest = int(attr(op, "reverse"))
    values, _ = legal(g).TopK(op.inputs[0].name, count, axis=-1, largest=largest, outputs=2)
    last = np.array(-1, np.int64)
    return str(g.op.Gather(values, last, axis=-1, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("InTopKV2", dtypes=("float32", "int32", "int64", "bool"))
@register_tf_op_converter("InTopK", dtypes=("float32", "int32", "int64", "bool"))
def convert_in_top_k(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Whether fewer than k predictions are larger than that of the target class."""
    scores, target = op.inputs[0].name, to_int64(g, op.inputs[1].name)
    k = (
        shapes.vector(g, op.inputs[2].name)
        if op.type == "InTopKV2"
        else np.array(int(attr(op, "k")), np.int64)
    )
    classes = shapes.shape_of(g, scores, 1)
    inside = g.op.And(g.op.GreaterOrEqual(target, _ZERO), g.op.Less(target, classes))
    safe = g.op.Unsqueeze(g.op.Where(inside, target, _ZERO), _NEW_LAST)
    mine = g.op.GatherElements(scores, safe, axis=1)
    larger = g.op.ReduceSum(cast(g, g.op.Greater(scores, mine), np.int64), _NEW_LAST, keepdims=0)
    odd = g.op.Or(g.op.IsNaN(scores), g.op.IsInf(scores))
    unclear = g.op.ReduceSum(cast(g, odd, np.int64), _NEW_LAST, keepdims=0)
    clear = g.op.And(inside, g.op.Equal(unclear, _ZERO))
    return str(g.op.And(g.op.Less(larger, k), clear, outputs=outputs[:1], name=op.name))


def _unique_axis(g: GraphBuilder, op: Any) -> int | None:
    if not op.type.endswith("V2") or op.type == "UniqueV1":
        return None
    axes = np.ravel(require_constant(g, op, 1, "axis"))
    return int(axes[0]) if axes.size else None


@register_tf_op_converter(
    ("Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2"), dtypes=ALL
)
def convert_unique(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Distinct elements in the order of their first occurrence, and where each input went."""
    axis = _unique_axis(g, op)
    keywords: dict[str, Any] = {} if axis is None else {"axis": axis}
    y, _, inverse, counts = legal(g).Unique(op.inputs[0].name, sorted=0, outputs=4, **keywords)
    g.op.Identity(y, outputs=outputs[:1], name=op.name)
    cast(g, inverse, out_dtype(op, 1), outputs=outputs[1:2])
    if len(outputs) > 2:
        cast(g, counts, out_dtype(op, 2), outputs=outputs[2:3])
    return outputs[0]


@register_tf_op_converter("ListDiff", dtypes=ALL)
def convert_list_diff(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Elements of the first vector that the second lacks, and their positions."""
    x, y = op.inputs[0].name, op.inputs[1].name
    same = legal(g).Equal(g.op.Unsqueeze(x, _NEW_LAST), g.op.Unsqueeze(y, _FIRST_AXIS))
    hits = g.op.ReduceSum(cast(g, same, np.int64), _NEW_LAST, keepdims=0)
    left = g.op.NonZero(g.op.Equal(hits, _ZERO))
    places = g.op.Squeeze(left, _FIRST_AXIS)
    gather(g, x, places, outputs=outputs[:1], name=op.name)
    cast(g, places, out_dtype(op, 1), outputs=outputs[1:2])
    return outputs[0]


@register_tf_op_converter(("LowerBound", "UpperBound"), dtypes=NUMBERS)
def convert_bound(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """How many elements of each sorted row are below (or not above) each value."""
    row = g.op.Unsqueeze(op.inputs[0].name, np.array([1], np.int64))
    values = g.op.Unsqueeze(op.inputs[1].name, _NEW_LAST)
    if op.type == "LowerBound":
        before = legal(g).Less(row, values)
    else:  # nothing is above NaN, so it comes after all
        before = g.op.Not(legal(g).Less(values, row))
    count = g.op.ReduceSum(cast(g, before, np.int64), _NEW_LAST, keepdims=0)
    return cast(g, count, out_dtype(op), outputs=outputs[:1])


@register_tf_op_converter("Bucketize", dtypes=("float32", "float64", "int32", "int64"))
def convert_bucketize(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Index of the interval between boundaries that each element is in."""
    x = op.inputs[0].name
    kind = np.float64 if op.inputs[0].dtype.name == "float64" else np.float32
    limits = np.array(op.get_attr("boundaries"), np.float32).astype(kind)
    wide = g.op.Unsqueeze(cast(g, x, kind), _NEW_LAST)
    passed = g.op.Not(g.op.Less(wide, limits))  # NaN is in the last one
    count = g.op.ReduceSum(cast(g, passed, np.int32), _NEW_LAST, keepdims=0)
    return str(g.op.Identity(count, outputs=outputs[:1], name=op.name))


def number_of_bins(g: GraphBuilder, tensor: Any) -> Any:
    """Return the number of bins of a count, int64 of shape `(1,)`."""
    known = limited_size(tensor)
    if isinstance(known, int):
        return np.array([known], np.int64)
    return shapes.vector(g, (tensor if known is None else known).name)


@register_tf_op_converter(("Bincount", "DenseBincount"), dtypes=(*FLOATS, *INTS, *UINTS))
def convert_bincount(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Occurrences (or weights) of each number, of each row if there are rows."""
    values, size = op.inputs[0].name, number_of_bins(g, op.inputs[1])
    n = rank(g, op, 0) if op.type == "DenseBincount" else 1
    flat = shapes.vector(g, values)
    inside = g.op.And(g.op.GreaterOrEqual(flat, _ZERO), g.op.Less(flat, size))
    places = g.op.Unsqueeze(g.op.Where(inside, flat, size), _NEW_LAST)
    width = g.op.Add(size, np.array([1], np.int64))
    shape = width
    if n == 2:
        row = _row_numbers(g, values)
        places = g.op.Concat(row, places, axis=1)
        shape = g.op.Concat(shapes.shape_of(g, values, 0, 1), width, axis=0)
    dtype = op.outputs[0].dtype.as_numpy_dtype
    base = g.op.Expand(np.array(0, dtype), shape)
    kind = "none" if bool(attr(op, "binary_output", False)) else "add"
    weights = _bin_weights(g, op, flat, dtype, binary=kind == "none")
    full = scatter_nd(g, base, places, weights, kind)
    return str(
        g.op.Slice(full, _FIRST_AXIS, size, np.array([n - 1], np.int64), outputs=outputs[:1])
    )


def _row_numbers(g: GraphBuilder, x: str) -> str:
    """Return the row of each element of the flattened matrix ``x``, `(elements, 1)`."""
    rows = shapes.scalar(g, shapes.shape_of(g, x, 0, 1))
    number = g.op.Unsqueeze(g.op.Range(_ZERO, rows, _ONE), _NEW_LAST)
    return str(g.op.Reshape(g.op.Expand(number, g.op.Shape(x)), np.array([-1, 1], np.int64)))


def _bin_weights(g: GraphBuilder, op: Any, flat: str, dtype: Any, *, binary: bool) -> str:
    """Return one weight per element; no weights, or only presence, count one each."""
    sizes = dims(g, op, 2)
    ones = str(g.op.Expand(np.array(1, dtype), g.op.Shape(flat)))
    if binary or (sizes is not None and 0 in sizes):
        return ones
    return shapes.flatten(g, op.inputs[2].name)


@register_tf_op_converter("HistogramFixedWidth", dtypes=("float32", "float64", "int32", "int64"))
def convert_histogram(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Number of elements in each of equally wide bins; outliers go to the outer bins."""
    values = shapes.flatten(g, op.inputs[0].name)
    limits, bins = op.inputs[1].name, shapes.vector(g, op.inputs[2].name)
    low = g.op.Gather(limits, np.array([0], np.int64))
    high = g.op.Gather(limits, np.array([1], np.int64))
    width = cast(g, legal(g).Sub(high, low), np.float64)
    step = g.op.Div(width, cast(g, bins, np.float64))
    distance = cast(g, legal(g).Sub(legal(g).Max(values, low), low), np.float64)
    top = g.op.Sub(bins, np.array([1], np.int64))
    place = g.op.Min(g.op.Div(distance, step), cast(g, top, np.float64))
    index = g.op.Unsqueeze(cast(g, place, np.int64), _NEW_LAST)
    dtype = op.outputs[0].dtype.as_numpy_dtype
    base = g.op.Expand(np.array(0, dtype), bins)
    ones = g.op.Expand(np.array(1, dtype), g.op.Shape(values))
    return scatter_nd(g, base, index, ones, "add", outputs=outputs[:1], name=op.name)


@register_tf_op_converter("UnravelIndex", dtypes=("int32", "int64"))
def convert_unravel_index(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Coordinates of flat positions, one row per axis."""
    index = to_int64(g, op.inputs[0].name)
    sizes = require_constant(g, op, 1, "dims").astype(np.int64)
    stride = np.concatenate([np.cumprod(sizes[:0:-1])[::-1], [1]]).astype(np.int64)
    column = (-1, *([1] * rank(g, op, 0)))
    divided = g.op.Div(g.op.Unsqueeze(index, _FIRST_AXIS), stride.reshape(column))
    value = g.op.Mod(divided, sizes.reshape(column))
    return cast(g, value, out_dtype(op), outputs=outputs[:1])


@register_tf_op_converter("PopulationCount", dtypes=(*INTS, *UINTS))
def convert_population_count(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Number of ones among the bits."""
    return cast(g, population_count(g, op.inputs[0].name), np.uint8, outputs=outputs[:1])
