"""Reductions over segments, partitions and stitches."""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.casts import to_int64
from yobx.lowering.diagonals import zero_like
from yobx.lowering.gather import gather
from yobx.lowering.legalise import legal
from yobx.lowering.segments import (
    counts_of,
    mean_of,
    segment_reduce,
    sorted_segment_count,
)
from yobx.tensorflow.ops._complex import COMPLEX, Converter, by_parts
from yobx.tensorflow.ops._complex_reduce import segment_products
from yobx.tensorflow.ops._op import ALL, FLOATS, INTS, NUMBERS, attr, rank
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder


def _of_complex(function: Converter) -> Converter:
    """Sums and means of complex numbers are those of their parts; products are not."""
    each = by_parts(function)

    @wraps(function)
    def convert(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
        products = "Prod" in op.type and op.inputs[0].dtype.is_complex
        return (segment_products if products else each)(g, sts, outputs, op)

    return convert


@register_tf_op_converter(
    ("UnsortedSegmentSum", "UnsortedSegmentProd", "SegmentSumV2", "SegmentProdV2"),
    dtypes=(*NUMBERS, *COMPLEX),
)
@register_tf_op_converter(
    ("UnsortedSegmentMax", "UnsortedSegmentMin", "SegmentMaxV2", "SegmentMinV2"), dtypes=NUMBERS
)
@_of_complex
def convert_counted(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Rows of each segment reduced, sorted or not, for a given number of segments."""
    kind = op.type.removeprefix("Unsorted").removeprefix("Segment").removesuffix("V2")
    count = shapes.vector(g, op.inputs[2].name)
    value = segment_reduce(g, kind, op.inputs[0].name, op.inputs[1].name, count)
    return str(g.op.Identity(value, outputs=outputs[:1], name=op.name))


@register_tf_op_converter(("SegmentSum", "SegmentProd", "SegmentMean"), dtypes=(*NUMBERS, *COMPLEX))
@register_tf_op_converter(("SegmentMax", "SegmentMin"), dtypes=NUMBERS)
@_of_complex
def convert_sorted(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Rows of each sorted segment reduced; a missing segment gives zero (one for products)."""
    kind = op.type.removeprefix("Segment")
    x, ids = op.inputs[0].name, op.inputs[1].name
    count = sorted_segment_count(g, ids)
    value = segment_reduce(g, "Sum" if kind == "Mean" else kind, x, ids, count)
    if kind == "Mean":
        value = mean_of(g, value, counts_of(g, ids, count))
    elif kind in ("Max", "Min"):
        empty = g.op.Equal(counts_of(g, ids, count), np.array(0, np.int64))
        extra = rank(g, op, 0) - 1
        if extra:
            empty = g.op.Unsqueeze(empty, np.arange(1, 1 + extra, dtype=np.int64))
        value = legal(g).Where(empty, zero_like(g, x), value)
    return str(g.op.Identity(value, outputs=outputs[:1], name=op.name))


@register_tf_op_converter(
    (
        "SparseSegmentSum",
        "SparseSegmentMean",
        "SparseSegmentSqrtN",
        "SparseSegmentSumWithNumSegments",
        "SparseSegmentMeanWithNumSegments",
        "SparseSegmentSqrtNWithNumSegments",
    ),
    dtypes=(*FLOATS, *INTS, "uint8", "uint16"),
)
def convert_sparse(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Chosen rows reduced by segment: sum, mean, or sum over the root of the count."""
    data, index, ids = (i.name for i in op.inputs[:3])
    given = len(op.inputs) > 3
    count = shapes.vector(g, op.inputs[3].name) if given else sorted_segment_count(g, ids)
    rows = g.op.Gather(data, to_int64(g, index), axis=0)
    value = segment_reduce(g, "Sum", rows, ids, count)
    if "Sum" not in op.type:
        value = mean_of(g, value, counts_of(g, ids, count), root="SqrtN" in op.type)
    return str(g.op.Identity(value, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("DynamicPartition", dtypes=(*ALL, *COMPLEX))
@by_parts
def convert_partition(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The rows that go to each partition."""
    x, parts = op.inputs[0].name, op.inputs[1].name
    batch = rank(g, op, 1)
    rest = [shapes.axis_size(g, x, i) for i in range(batch, rank(g, op, 0))]
    ids = shapes.flatten(g, parts)
    rows = x if batch == 1 else shapes.reshape(g, x, [str(g.op.Shape(ids)), *rest])
    for i, name in enumerate(outputs):
        chosen = g.op.Equal(ids, np.array(i, np.int32))
        places = g.op.Squeeze(g.op.NonZero(chosen), np.array([0], np.int64))
        gather(g, rows, places, outputs=[name], name=op.name)
    return outputs[0]


@register_tf_op_converter(("DynamicStitch", "ParallelDynamicStitch"), dtypes=(*ALL, *COMPLEX))
@by_parts
def convert_stitch(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Rows of several tensors written to their places, later ones over earlier ones."""
    count = int(attr(op, "N"))
    places, rows = [], []
    for i in range(count):
        index, data = op.inputs[i].name, op.inputs[count + i].name
        batch = rank(g, op, i)
        rest = [shapes.axis_size(g, data, d) for d in range(batch, rank(g, op, count + i))]
        flat = shapes.vector(g, index)
        places.append(flat)
        rows.append(data if batch == 1 else shapes.reshape(g, data, [str(g.op.Shape(flat)), *rest]))
    index = places[0] if count == 1 else g.op.Concat(*places, axis=0)
    values = rows[0] if count == 1 else g.op.Concat(*rows, axis=0)
    none = np.array([-1], np.int64)
    top = g.op.ReduceMax(g.op.Concat(none, index, axis=0), keepdims=1)
    size = g.op.Add(top, np.array([1], np.int64))
    shape = g.op.Concat(size, g.op.Shape(values, start=1), axis=0)
    base = legal(g).Expand(zero_like(g, values), shape)
    target = g.op.Unsqueeze(index, np.array([1], np.int64))
    return str(g.op.ScatterND(base, target, values, outputs=outputs[:1], name=op.name))
