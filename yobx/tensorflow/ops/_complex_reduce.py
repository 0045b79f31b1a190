"""Reductions of complex numbers, over axes and over segments."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import complex as packed
from yobx.lowering import shapes
from yobx.lowering.complex_products import product, running_product, segment_product
from yobx.lowering.legalise import legal
from yobx.lowering.segments import sorted_segment_count
from yobx.lowering.transcendental import const
from yobx.tensorflow.ops._op import attr, rank, require_constant
from yobx.xbuilder import GraphBuilder

__all__ = ["cumulative_product", "reduction", "segment_products"]


def reduction(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Sum, mean, product or norm over axes; the mean of nothing is 0, other than of real ones."""
    n, x = rank(g, op, 0), op.inputs[0].name
    axes = sorted({int(a) % max(n, 1) for a in np.ravel(require_constant(g, op, 1, "axes"))})
    keep = bool(attr(op, "keep_dims"))
    options = {"keepdims": int(keep), "noop_with_empty_axes": 1}
    if n == 0:
        axes = []
    if op.type == "Prod":
        found = product(g, packed.parts(g, x), axes, keepdims=keep)
        return packed.pack(g, *found, outputs[:1])
    where = np.array(axes, np.int64)
    if op.type == "EuclideanNorm":
        size = str(legal(g).ReduceL2(packed.absolute(g, x), where, **options))
        nothing = str(g.op.Mul(size, const(g, size, 0)))
        return packed.pack(g, size, nothing, outputs[:1])
    emit = legal(g).ReduceMean if op.type == "Mean" else legal(g).ReduceSum
    return str(emit(x, where, outputs=outputs[:1], name=op.name, **options))


def cumulative_product(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Running product along an axis."""
    axis = int(require_constant(g, op, 1, "axis")) % rank(g, op, 0)
    found = running_product(
        g,
        packed.parts(g, op.inputs[0].name),
        axis,
        exclusive=bool(attr(op, "exclusive")),
        reverse=bool(attr(op, "reverse")),
    )
    return packed.pack(g, *found, outputs[:1])


def segment_products(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Products of the rows of each segment, whose number is given or that of the last one."""
    ids = op.inputs[1].name
    given = len(op.inputs) > 2
    count = shapes.vector(g, op.inputs[2].name) if given else sorted_segment_count(g, ids)
    found = segment_product(g, packed.parts(g, op.inputs[0].name), ids, count)
    return packed.pack(g, *found, outputs[:1])
