"""Boxes drawn into images."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.casts import cast
from yobx.lowering.legalise import legal
from yobx.tensorflow.ops._op import dims, unsupported
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_ZERO, _ONE = np.array([0], np.int64), np.array([1], np.int64)
#: The colours of TensorFlow, for where none are given.
_COLORS = np.array(
    [
        [1, 1, 0, 1],
        [0, 0, 1, 1],
        [1, 0, 0, 1],
        [0, 1, 0, 1],
        [0.5, 0, 0.5, 1],
        [0.5, 0.5, 0, 1],
        [0.5, 0, 0, 1],
        [0, 0, 0.5, 1],
        [0, 1, 1, 1],
        [1, 0, 1, 1],
    ],
    np.float32,
)


def _lines(g: GraphBuilder, low: str, high: str, size: str) -> tuple[str, str, str]:
    """Return, along one axis, what a box covers, its two edges, and whether it is there at all."""
    place = g.op.Range(np.array(0), shapes.scalar(g, size), np.array(1))
    first, last = (g.op.Unsqueeze(x, np.array([2])) for x in (low, high))
    covers = g.op.And(g.op.GreaterOrEqual(place, first), g.op.LessOrEqual(place, last))
    edges = g.op.Or(g.op.Equal(place, first), g.op.Equal(place, last))
    inside = g.op.And(g.op.Less(low, size), g.op.GreaterOrEqual(high, np.array(0)))
    return covers, edges, str(g.op.And(g.op.LessOrEqual(low, high), inside))


def _colors(g: GraphBuilder, op: Any, depth: int) -> str | np.ndarray[Any, Any]:
    """Return the colour table, of as many channels as the images."""
    if len(op.inputs) == 2:
        table: Any = _COLORS
    else:
        known = dims(g, op, 2)
        if known is None or len(known) != 2 or known[0] is None:
            unsupported(op, "the number of colors must be static", f"colors of shape {known}")
        table = op.inputs[2].name if known[0] else _COLORS
        if known[0] and known[1] is not None and known[1] < depth:
            unsupported(op, "a color has every channel", f"{known[1]} of {depth} channels")
    if isinstance(table, np.ndarray):
        # Unless a color is given, a box in a grey image is white.
        return table[:, :depth] if depth > 1 else np.ones_like(table[:, :1])
    return str(g.op.Slice(table, _ZERO, np.array([depth]), _ONE))


@register_tf_op_converter(
    ("DrawBoundingBoxes", "DrawBoundingBoxesV2"), dtypes=("float16", "float32")
)
def convert_draw(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Images with the outlines of boxes, a later one over those before it."""
    images, boxes = op.inputs[0].name, op.inputs[1].name
    known = dims(g, op, 0)
    if known is None or known[3] is None:
        unsupported(op, "the number of channels must be static", f"images of shape {known}")
    table = _colors(g, op, int(known[3]))
    height, width = g.op.Shape(images, start=1, end=2), g.op.Shape(images, start=2, end=3)
    largest = g.op.Sub(g.op.Shape(images, start=1, end=3), _ONE)
    scale = cast(g, g.op.Concat(largest, largest, axis=0), np.float32)
    corners = cast(g, g.op.Mul(boxes, scale), np.int64)
    top, left, bottom, right = (g.op.Gather(corners, np.array(k), axis=2) for k in range(4))
    rows, row_edges, tall = _lines(g, top, bottom, height)
    columns, column_edges, wide = _lines(g, left, right, width)
    rows, row_edges = (g.op.Unsqueeze(x, np.array([3])) for x in (rows, row_edges))
    columns, column_edges = (g.op.Unsqueeze(x, np.array([2])) for x in (columns, column_edges))
    outline = g.op.Or(g.op.And(row_edges, columns), g.op.And(column_edges, rows))
    there = g.op.Unsqueeze(g.op.And(tall, wide), np.array([2, 3]))
    drawn = cast(g, g.op.And(outline, there), np.int64)
    count = g.op.Shape(boxes, start=1, end=2)
    number = g.op.Range(np.array(1), shapes.scalar(g, g.op.Add(count, _ONE)), np.array(1))
    numbered = g.op.Mul(drawn, g.op.Unsqueeze(number, np.array([1, 2])))
    # One plane more, so that there is a greatest number where there are no boxes.
    planes = g.op.Pad(numbered, np.array([0, 1, 0, 0, 0, 0, 0, 0]))
    last = g.op.ReduceMax(planes, _ONE, keepdims=0)
    chosen = g.op.Mod(g.op.Max(g.op.Sub(last, np.array(1)), np.array(0)), g.op.Shape(table, end=1))
    paint = cast(g, g.op.Gather(table, chosen, axis=0), op.inputs[0].dtype.as_numpy_dtype)
    hit = g.op.Unsqueeze(g.op.Greater(last, np.array(0)), np.array([3]))
    return str(legal(g).Where(hit, paint, images, outputs=outputs[:1], name=op.name))
