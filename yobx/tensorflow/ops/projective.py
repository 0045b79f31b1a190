"""Images seen through projective transforms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.casts import cast, convert, to_int64
from yobx.lowering.legalise import legal
from yobx.lowering.rounding import round_half_away
from yobx.onnx_optim import TensorType
from yobx.tensorflow.ops._op import FLOATS, attr, out_dtype
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

F = np.float32
_ZERO, _ONE = np.array(0, np.int64), np.array(1, np.int64)
_KINDS = {"dtype": (*FLOATS, "uint8", "int32", "int64")}


@dataclass(frozen=True)
class _Image:
    """Images `(n, h, w, c)`, flat: `(n, h * w, c)`, and their sizes as scalars."""

    flat: str
    height: str
    width: str
    fill: str


def _scalar_size(g: GraphBuilder, x: str, axis: int) -> str:
    return str(g.op.Squeeze(g.op.Shape(x, start=axis, end=axis + 1)))


def _trunc(g: GraphBuilder, x: str) -> str:
    return str(g.op.Mul(g.op.Sign(x), g.op.Floor(g.op.Abs(x))))


def _reflected(g: GraphBuilder, place: str, size: str) -> str:
    """Mirror coordinates at the edges, the outermost pixel twice."""
    twice = g.op.Mul(size, F(2))
    low = g.op.Less(place, F(0))
    turns = _trunc(g, g.op.Div(g.op.Neg(place), twice))
    raised = g.op.Add(g.op.Mul(twice, turns), place)
    below = g.op.Where(
        g.op.Less(raised, g.op.Neg(size)),
        g.op.Add(raised, twice),
        g.op.Sub(g.op.Neg(raised), F(1)),
    )
    lowered = g.op.Sub(place, g.op.Mul(twice, _trunc(g, g.op.Div(place, twice))))
    above = g.op.Where(
        g.op.GreaterOrEqual(lowered, size), g.op.Sub(g.op.Sub(twice, lowered), F(1)), lowered
    )
    beyond = g.op.Greater(place, g.op.Sub(size, F(1)))
    return _clamped(g, g.op.Where(low, below, g.op.Where(beyond, above, place)), size)


def _wrapped(g: GraphBuilder, place: str, size: str) -> str:
    """Repeat the image at its edges."""
    last = g.op.Max(g.op.Sub(size, F(1)), F(1))
    low = g.op.Less(place, F(0))
    turns = g.op.Add(_trunc(g, g.op.Div(g.op.Neg(place), last)), F(1))
    below = g.op.Add(place, g.op.Mul(size, turns))
    above = g.op.Sub(place, g.op.Mul(size, _trunc(g, g.op.Div(place, last))))
    beyond = g.op.Greater(place, g.op.Sub(size, F(1)))
    return _clamped(g, g.op.Where(low, below, g.op.Where(beyond, above, place)), size)


def _clamped(g: GraphBuilder, place: str, size: str) -> str:
    return str(g.op.Min(g.op.Max(place, F(0)), g.op.Sub(size, F(1))))


_MODES = {"REFLECT": _reflected, "WRAP": _wrapped, "NEAREST": _clamped}


def _read(g: GraphBuilder, image: _Image, y: str, x: str) -> str:
    """Return the pixels at whole coordinates `(n, p)`, or the fill value outside."""
    sizes = [cast(g, s, F) for s in (image.height, image.width)]
    inside = [
        g.op.And(g.op.GreaterOrEqual(v, F(0)), g.op.Less(v, s))
        for v, s in zip((y, x), sizes, strict=True)
    ]
    both = g.op.And(*inside)
    row, column = (to_int64(g, _clamped(g, v, s)) for v, s in zip((y, x), sizes, strict=True))
    index = g.op.Add(g.op.Mul(row, image.width), column)
    pixels = legal(g).GatherND(image.flat, g.op.Unsqueeze(index, np.array([-1])), batch_dims=1)
    return str(legal(g).Where(g.op.Unsqueeze(both, np.array([-1])), pixels, image.fill))


def _places(g: GraphBuilder, op: Any, count: str) -> tuple[str, str, str]:
    """Return rows and columns in the input, `(n, p)`, and where the projection is degenerate."""
    size = to_int64(g, op.inputs[2].name)
    height, width = (g.op.Gather(size, np.array(i, np.int64)) for i in (0, 1))
    y, x = (cast(g, g.op.Range(_ZERO, s, _ONE), F) for s in (height, width))
    y, x = g.op.Unsqueeze(y, np.array([1])), g.op.Unsqueeze(x, np.array([0]))
    entries = [g.op.Gather(op.inputs[1].name, np.array([[i]], np.int64), axis=1) for i in range(8)]
    plane = [g.op.Add(g.op.Mul(entries[i], x), g.op.Mul(entries[i + 1], y)) for i in (0, 3, 6)]
    depth = g.op.Add(plane[2], F(1))
    degenerate = g.op.Equal(depth, F(0))
    safe = g.op.Where(degenerate, F(1), depth)
    target = g.op.Concat(count, np.array([-1], np.int64), axis=0)
    wanted = g.op.Concat(count, size, axis=0)
    results = []
    for value, offset in ((plane[1], entries[5]), (plane[0], entries[2])):
        place = g.op.Div(g.op.Add(value, offset), safe)
        results.append(g.op.Reshape(g.op.Expand(place, wanted), target, allowzero=0))
    flat = g.op.Reshape(g.op.Expand(degenerate, wanted), target, allowzero=0)
    return str(results[0]), str(results[1]), str(flat)


@register_tf_op_converter(
    ("ImageProjectiveTransformV2", "ImageProjectiveTransformV3"), dtypes=_KINDS
)
def convert_projective(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Each pixel of the result is read where a projective map sends it."""
    nearest = str(attr(op, "interpolation")) == "NEAREST"
    source = op.inputs[0].name if nearest else cast(g, op.inputs[0].name, F)
    count = shapes.shape_of(g, source, 0, 1)
    fill = (
        shapes.scalar(g, op.inputs[3].name)
        if len(op.inputs) > 3
        else g.make_initializer(None, F(0))
    )
    fill = convert(g, fill, g.get_type(source))
    channels = shapes.shape_of(g, source, 3, 4)
    area = g.op.Mul(g.op.Shape(source, start=1, end=2), g.op.Shape(source, start=2, end=3))
    flat = g.op.Reshape(source, g.op.Concat(count, area, channels, axis=0), allowzero=1)
    image = _Image(str(flat), _scalar_size(g, source, 1), _scalar_size(g, source, 2), fill)
    y, x, degenerate = _places(g, op, count)
    mode = _MODES.get(str(attr(op, "fill_mode", "CONSTANT")))
    if mode is not None:
        y = mode(g, y, cast(g, image.height, F))
        x = mode(g, x, cast(g, image.width, F))
    if nearest:
        y, x = (round_half_away(g, v) for v in (y, x))
        value = _read(g, image, y, x)
    else:
        value = _bilinear(g, image, y, x)
    value = legal(g).Where(g.op.Unsqueeze(degenerate, np.array([-1])), fill, value)
    whole = g.op.Concat(count, to_int64(g, op.inputs[2].name), channels, axis=0)
    value = g.op.Reshape(value, whole, allowzero=1)
    return _finish(g, str(value), out_dtype(op), outputs)


def _finish(g: GraphBuilder, value: str, dtype: TensorType, outputs: list[str]) -> str:
    """Give the result its name and type."""
    if g.get_type(value) == dtype:
        return str(g.op.Identity(value, outputs=outputs[:1]))
    return convert(g, value, dtype, outputs=outputs[:1])


def _bilinear(g: GraphBuilder, image: _Image, y: str, x: str) -> str:
    """Return the pixels interpolated between their four neighbours."""
    top, left = g.op.Floor(y), g.op.Floor(x)
    bottom, right = g.op.Add(top, F(1)), g.op.Add(left, F(1))
    last = np.array([-1], np.int64)
    from_left = g.op.Unsqueeze(g.op.Sub(x, left), last)
    to_right = g.op.Unsqueeze(g.op.Sub(right, x), last)
    rows = []
    for row in (top, bottom):
        near = g.op.Mul(to_right, _read(g, image, row, left))
        rows.append(g.op.Add(near, g.op.Mul(from_left, _read(g, image, row, right))))
    upper = g.op.Mul(g.op.Unsqueeze(g.op.Sub(bottom, y), last), rows[0])
    lower = g.op.Mul(g.op.Unsqueeze(g.op.Sub(y, top), last), rows[1])
    return str(g.op.Add(upper, lower))
