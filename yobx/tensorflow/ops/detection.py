"""Boxes: cropping, non-maximum suppression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.casts import cast, to_int64
from yobx.lowering.looping import counted
from yobx.tensorflow.ops._op import FLOATS32, INTS, attr, require_constant, unsupported
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

F = np.float32
_FIRST = np.array([0], np.int64)
_ONE = np.array(1, np.int64)
_ZERO = np.array(0, np.int64)


def _threshold(g: GraphBuilder, op: Any, index: int) -> str:
    return shapes.vector(g, op.inputs[index].name, F)


def _select(g: GraphBuilder, op: Any, iou: Any, score: Any) -> str:
    """Return the chosen boxes of one image and class, int64 `(count,)`."""
    boxes = g.op.Unsqueeze(cast(g, op.inputs[0].name, F), _FIRST)
    scores = g.op.Unsqueeze(cast(g, op.inputs[1].name, F), np.array([0, 1], np.int64))
    most = shapes.vector(g, op.inputs[2].name)
    chosen = g.op.NonMaxSuppression(boxes, scores, most, iou, score, name=op.name)
    return str(g.op.Gather(chosen, np.array(2, np.int64), axis=1))


def _padded(g: GraphBuilder, op: Any, chosen: str) -> tuple[str, str]:
    """Return the choice filled up with zeros to the largest output, and its length."""
    count = g.op.Shape(chosen)
    missing = g.op.Sub(shapes.vector(g, op.inputs[2].name), count)
    pads = g.op.Concat(np.array([0], np.int64), missing, axis=0)
    return str(g.op.Pad(chosen, pads)), str(count)


_NMS = ("NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionV4")


@register_tf_op_converter(_NMS, dtypes=("float16", "float32", "int32"))
def convert_nms(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Boxes kept when those that overlap better ones are dropped."""
    if op.type == "NonMaxSuppression":
        iou: Any = np.array([float(attr(op, "iou_threshold"))], F)
    else:
        iou = _threshold(g, op, 3)
    limited = len(op.inputs) > 4
    score: Any = _threshold(g, op, 4) if limited else np.array([np.finfo(F).min], F)
    chosen = _select(g, op, iou, score)
    if op.type == "NonMaxSuppressionV4":
        padded, count = _padded(g, op, chosen)
        chosen = padded if bool(attr(op, "pad_to_max_output_size")) else chosen
        cast(g, shapes.scalar(g, count), np.int32, outputs=outputs[1:2])
    return cast(g, chosen, np.int32, outputs=outputs[:1])


@register_tf_op_converter("NonMaxSuppressionV5", dtypes=("float16", "float32", "int32"))
def convert_nms_v5(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """As V4, with the scores of the boxes kept; soft suppression has no ONNX operator."""
    sigma = require_constant(g, op, 5, "soft_nms_sigma")
    if float(sigma) != 0.0:
        unsupported(op, "soft suppression is not supported", f"soft_nms_sigma={float(sigma)}")
    chosen = _select(g, op, _threshold(g, op, 3), _threshold(g, op, 4))
    scores = g.op.Gather(op.inputs[1].name, chosen, axis=0)
    padded, count = _padded(g, op, chosen)
    if bool(attr(op, "pad_to_max_output_size")):
        missing = g.op.Sub(g.op.Shape(padded), count)
        pads = g.op.Concat(np.array([0], np.int64), missing, axis=0)
        chosen, scores = padded, g.op.Pad(scores, pads)
    g.op.Identity(scores, outputs=outputs[1:2])
    cast(g, shapes.scalar(g, count), np.int32, outputs=outputs[2:3])
    return cast(g, chosen, np.int32, outputs=outputs[:1])


@register_tf_op_converter("CombinedNonMaxSuppression", dtypes=("float32", "int32"))
def convert_combined_nms(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Suppression per image and class, the best of all classes kept, filled up with zeros."""
    boxes, scores = op.inputs[0].name, op.inputs[1].name
    per_class = int(require_constant(g, op, 2, "max_output_size_per_class"))
    total = int(require_constant(g, op, 3, "max_total_size"))
    classes = shapes.axis_size(g, scores, 2)
    own_boxes = op.inputs[0].shape[2]
    if not isinstance(classes, int) or own_boxes is None:
        unsupported(op, "the number of classes must be static", f"classes={classes}")
    if bool(attr(op, "pad_per_class")):
        total = min(total, per_class * classes)
    by_class = g.op.Transpose(scores, perm=[0, 2, 1])
    found = []
    for c in range(classes):
        own = g.op.Gather(boxes, np.array(c if int(own_boxes) > 1 else 0, np.int64), axis=2)
        own_scores = g.op.Gather(by_class, np.array([c], np.int64), axis=1)
        chosen = g.op.NonMaxSuppression(
            own, own_scores, np.array([per_class], np.int64),
            _threshold(g, op, 4), _threshold(g, op, 5),
        )  # fmt: skip
        found.append(_class_grid(g, own, own_scores, chosen, c))
    parts = [
        f if len(found) == 1 else g.op.Concat(*column, axis=1)
        for f, column in zip(found[0], zip(*found, strict=True), strict=True)
    ]
    return _best_boxes(g, op, outputs, parts, total)


def _class_grid(
    g: GraphBuilder, boxes: str, scores: str, chosen: str, c: int
) -> tuple[str, str, str]:
    """Return boxes, scores (minus infinity where suppressed) and class of one class, per image."""
    batch_box = g.op.Gather(chosen, np.array([0, 2], np.int64), axis=1)
    flat = g.op.Squeeze(scores, np.array([1], np.int64))
    base = g.op.Expand(np.array(-np.inf, F), g.op.Shape(flat))
    kept = g.op.ScatterND(base, batch_box, g.op.GatherND(flat, batch_box))
    label = g.op.Expand(np.array(float(c), F), g.op.Shape(flat))
    return boxes, str(kept), str(label)


def _best_boxes(g: GraphBuilder, op: Any, outputs: list[str], parts: list[str], total: int) -> str:
    """Write the ``total`` best boxes, their scores, classes and number."""
    boxes, scores, labels = parts
    width = g.op.Shape(scores, start=1, end=2)
    wanted = np.array([total], np.int64)
    missing = g.op.Max(g.op.Sub(wanted, width), np.array([0], np.int64))
    zeros = np.zeros(3, np.int64)
    pads = g.op.Concat(zeros, missing, axis=0)
    scores = g.op.Pad(scores, pads, np.array(-np.inf, F))
    labels = g.op.Pad(labels, pads)
    boxes = g.op.Pad(boxes, g.op.Concat(np.zeros(4, np.int64), missing, _FIRST, axis=0))
    best, order = g.op.TopK(scores, wanted, axis=1, outputs=2)
    valid = g.op.Greater(best, np.array(-np.inf, F))
    places = g.op.Unsqueeze(order, np.array([-1], np.int64))
    picked = g.op.GatherND(boxes, places, batch_dims=1)
    if bool(attr(op, "clip_boxes")):
        picked = g.op.Clip(picked, F(0), F(1))
    inside = g.op.Unsqueeze(valid, np.array([-1], np.int64))
    g.op.Where(inside, picked, F(0), outputs=outputs[:1], name=op.name)
    g.op.Where(valid, best, F(0), outputs=outputs[1:2])
    classes = g.op.GatherElements(labels, order, axis=1)
    g.op.Where(valid, classes, F(0), outputs=outputs[2:3])
    count = g.op.ReduceSum(cast(g, valid, np.int32), np.array([1], np.int64), keepdims=0)
    g.op.Identity(count, outputs=outputs[3:4])
    return outputs[0]


@register_tf_op_converter("CropAndResize", dtypes=(*FLOATS32, "float64", *INTS, "uint8", "uint16"))
def convert_crop_and_resize(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Parts of images, given by boxes, resized to one size."""
    image = cast(g, op.inputs[0].name, F)
    boxes, owner = op.inputs[1].name, to_int64(g, op.inputs[2].name)
    size = [int(v) for v in require_constant(g, op, 3, "crop_size")]
    fill = F(op.get_attr("extrapolation_value"))
    linear = str(attr(op, "method")) == "bilinear"
    axes = [_crop_axis(g, image, boxes, i, size=size[i], linear=linear) for i in (0, 1)]
    rows, columns = axes
    result = None
    for y, wy in ((rows[0], rows[2]), (rows[1], rows[3])) if linear else ((rows[0], None),):
        for x, wx in (
            ((columns[0], columns[2]), (columns[1], columns[3]))
            if linear
            else ((columns[0], None),)
        ):
            pixel = _pixels(g, image, owner, y, x)
            if wy is not None:
                weight = g.op.Mul(
                    g.op.Unsqueeze(wy, np.array([2, 3], np.int64)),
                    g.op.Unsqueeze(wx, np.array([1, 3], np.int64)),
                )
                pixel = g.op.Mul(pixel, weight)
            result = pixel if result is None else g.op.Add(result, pixel)
    inside = g.op.And(
        g.op.Unsqueeze(rows[4], np.array([2, 3], np.int64)),
        g.op.Unsqueeze(columns[4], np.array([1, 3], np.int64)),
    )
    return str(g.op.Where(inside, result, fill, outputs=outputs[:1], name=op.name))


def _crop_axis(
    g: GraphBuilder, image: str, boxes: str, i: int, *, size: int, linear: bool
) -> tuple[str, str, str, str, str]:
    """Return low and high positions, their weights, and which places are inside, `(box, size)`."""
    first, last = (g.op.Gather(boxes, np.array([j], np.int64), axis=1) for j in (i, i + 2))
    top = cast(g, g.op.Sub(g.op.Shape(image, start=1 + i, end=2 + i), _ONE), F)
    if size > 1:
        step = g.op.Div(g.op.Mul(g.op.Sub(last, first), top), F(size - 1))
        place = g.op.Add(g.op.Mul(first, top), g.op.Mul(np.arange(size, dtype=F), step))
    else:
        place = g.op.Mul(g.op.Mul(F(0.5), g.op.Add(first, last)), top)
    inside = g.op.And(g.op.GreaterOrEqual(place, F(0)), g.op.LessOrEqual(place, top))
    safe = g.op.Min(g.op.Max(place, F(0)), top)
    if not linear:
        nearest = cast(g, g.op.Floor(g.op.Add(safe, F(0.5))), np.int64)
        return nearest, nearest, safe, safe, inside
    low, high = g.op.Floor(safe), g.op.Ceil(safe)
    part = g.op.Sub(safe, low)
    return (
        cast(g, low, np.int64),
        cast(g, high, np.int64),
        g.op.Sub(F(1), part),
        part,
        inside,
    )


def _pixels(g: GraphBuilder, image: str, owner: str, y: str, x: str) -> str:
    """Return the pixels at rows ``y`` and columns ``x`` of each box's image."""
    grid = g.op.Add(
        g.op.Mul(g.op.Unsqueeze(y, np.array([2], np.int64)), _ZERO),
        g.op.Mul(g.op.Unsqueeze(x, np.array([1], np.int64)), _ZERO),
    )
    parts = [
        g.op.Add(grid, g.op.Unsqueeze(owner, np.array([1, 2], np.int64))),
        g.op.Add(grid, g.op.Unsqueeze(y, np.array([2], np.int64))),
        g.op.Add(grid, g.op.Unsqueeze(x, np.array([1], np.int64))),
    ]
    index = g.op.Concat(*(g.op.Unsqueeze(p, np.array([-1], np.int64)) for p in parts), axis=-1)
    return str(g.op.GatherND(image, index))


@register_tf_op_converter("NonMaxSuppressionWithOverlaps", dtypes=("float32", "int32"))
def convert_nms_overlaps(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Boxes kept, best first, when those that overlap kept ones too much are dropped."""
    overlaps, scores, most, limit, least = (i.name for i in op.inputs)
    size = g.op.Shape(scores)
    _, order = g.op.TopK(scores, size, largest=1, sorted=1, outputs=2)
    none = g.op.Expand(np.array(0, np.int64), size)
    room = cast(g, shapes.scalar(g, most), np.int64)

    def turn(
        body: GraphBuilder, number: str, states: list[str]
    ) -> tuple[Sequence[str], Sequence[str]]:
        kept = states[0]
        box = body.op.Gather(order, number)
        close = body.op.Greater(body.op.Gather(overlaps, box, axis=0), limit)
        hits = body.op.ReduceSum(body.op.Mul(cast(body, close, np.int64), kept), keepdims=0)
        alone = body.op.Equal(hits, _ZERO)
        good = body.op.Greater(body.op.Gather(scores, box), least)
        fits = body.op.Less(body.op.ReduceSum(kept, keepdims=0), room)
        chosen = body.op.And(body.op.And(alone, good), fits)
        place = body.op.Unsqueeze(box, _FIRST)
        update = body.op.Unsqueeze(cast(body, chosen, np.int64), _FIRST)
        return [body.op.ScatterElements(kept, place, update, axis=0)], [chosen]

    _, chosen = counted(g, shapes.scalar(g, size), [none], turn)
    found = g.op.Squeeze(g.op.NonZero(chosen), _FIRST)
    return cast(g, g.op.Gather(order, found), np.int32, outputs=outputs[:1])
