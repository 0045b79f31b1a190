"""Colour spaces and adjustments of images whose last axis is red, green, blue."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering.casts import cast
from yobx.lowering.legalise import legal
from yobx.lowering.transcendental import const
from yobx.tensorflow.ops._op import FLOATS
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_LAST = np.array([-1], np.int64)


def _channels(g: GraphBuilder, x: str) -> tuple[str, str, str]:
    red, green, blue = g.op.Split(x, axis=-1, num_outputs=3, outputs=3)
    return red, green, blue


def _extremes(g: GraphBuilder, x: str) -> tuple[str, str]:
    """Return the largest and the smallest channel, compared from the last one on as C++ does.

    It shows where one is NaN: the one compared with it is kept.
    """
    red, green, blue = _channels(g, x)
    most = g.op.Where(g.op.Less(green, blue), blue, green)
    most = g.op.Where(g.op.Less(red, most), most, red)
    least = g.op.Where(g.op.Less(blue, green), blue, green)
    return str(most), str(g.op.Where(g.op.Less(least, red), least, red))


def _to_hsv(g: GraphBuilder, x: str, value: str, least: str) -> tuple[str, str, str]:
    """Return hue, saturation and value, each with a last axis of 1, from the extreme channels."""
    red, green, blue = _channels(g, x)
    spread = legal(g).Sub(value, least)
    zero, one = const(g, x, 0), const(g, x, 1)
    saturation = legal(g).Where(legal(g).Greater(value, zero), legal(g).Div(spread, value), zero)
    norm = legal(g).Div(const(g, x, 1.0 / 6.0), spread)

    def sector(a: str, b: str, shift: float) -> Any:
        return legal(g).Add(legal(g).Mul(norm, legal(g).Sub(a, b)), const(g, x, shift))

    is_red, is_green = legal(g).Equal(red, value), legal(g).Equal(green, value)
    hue = legal(g).Where(is_green, sector(blue, red, 2.0 / 6.0), sector(red, green, 4.0 / 6.0))
    hue = legal(g).Where(is_red, legal(g).Mul(norm, legal(g).Sub(green, blue)), hue)
    hue = legal(g).Where(legal(g).Greater(spread, zero), hue, zero)
    wrapped = legal(g).Where(legal(g).Less(hue, zero), legal(g).Add(hue, one), hue)
    return wrapped, saturation, value


def _to_rgb(g: GraphBuilder, hue: str, saturation: str, value: str) -> str:
    """Return the image of hue, saturation and value."""
    one = const(g, hue, 1)
    sixth = legal(g).Mul(hue, const(g, hue, 6))

    def level(center: float, outwards: bool) -> Any:
        distance = legal(g).Abs(legal(g).Sub(sixth, const(g, hue, center)))
        moved = const(g, hue, 1.0 if outwards else 2.0)
        raw = legal(g).Sub(distance, moved) if outwards else legal(g).Sub(moved, distance)
        return legal(g).Clip(raw, const(g, hue, 0), one)

    colors = [level(3, True), level(2, False), level(4, False)]
    dark = legal(g).Sub(one, saturation)
    parts = [legal(g).Mul(legal(g).Add(dark, legal(g).Mul(saturation, c)), value) for c in colors]
    return str(g.op.Concat(*parts, axis=-1))


@register_tf_op_converter("RGBToHSV", dtypes=FLOATS)
def convert_to_hsv(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Red, green, blue as hue, saturation, value."""
    x = op.inputs[0].name
    most, least = (
        str(emit(x, _LAST, keepdims=1)) for emit in (legal(g).ReduceMax, legal(g).ReduceMin)
    )
    parts = _to_hsv(g, x, most, least)
    return str(g.op.Concat(*parts, axis=-1, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("HSVToRGB", dtypes=FLOATS)
def convert_to_rgb(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Hue, saturation, value as red, green, blue."""
    image = _to_rgb(g, *_channels(g, op.inputs[0].name))
    return str(g.op.Identity(image, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("AdjustContrastv2", dtypes=("float16", "float32"))
def convert_contrast(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Distance from the mean of each channel of an image, scaled."""
    x, factor = op.inputs[0].name, op.inputs[1].name
    wide = cast(g, x, np.float32)
    mean = g.op.ReduceMean(wide, np.array([-3, -2], np.int64), keepdims=1)
    value = g.op.Add(g.op.Mul(g.op.Sub(wide, mean), factor), mean)
    return cast(g, value, op.outputs[0].dtype.as_numpy_dtype, outputs=outputs[:1])


@register_tf_op_converter("AdjustSaturation", dtypes=("float16", "float32"))
def convert_saturation(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Saturation scaled and kept within 0 and 1."""
    x = cast(g, op.inputs[0].name, np.float32)
    hue, saturation, value = _to_hsv(g, x, *_extremes(g, x))
    scaled = g.op.Mul(saturation, op.inputs[1].name)
    # limits replace NaN in TensorFlow: without a hue, every channel is the darkest
    scaled = g.op.Where(g.op.IsNaN(scaled), np.float32(0), scaled)
    scaled = g.op.Clip(scaled, np.float32(0), np.float32(1))
    lost = g.op.Or(g.op.IsNaN(hue), g.op.IsInf(value))
    image = _to_rgb(g, str(g.op.Where(lost, np.float32(0), hue)), scaled, value)
    darkest = g.op.Sub(value, g.op.Mul(scaled, value))
    image = str(g.op.Where(lost, darkest, image))
    return cast(g, image, op.outputs[0].dtype.as_numpy_dtype, outputs=outputs[:1])


def _hue_in_sixths(g: GraphBuilder, x: str) -> tuple[str, str, str]:
    """Return the hue between 0 and 6, the largest channel and the smallest.

    The hue is how far the middle channel is between the two others. Comparisons are those of
    TensorFlow one by one, so that NaN ends up where it does there.
    """
    red, green, blue = _channels(g, x)
    one = np.float32(1)
    is_green = g.op.Less(red, green)
    low, high = g.op.Where(is_green, red, green), g.op.Where(is_green, green, red)
    is_last, is_first = g.op.Less(blue, low), g.op.Greater(blue, high)
    is_middle = g.op.Not(g.op.Or(is_last, is_first))
    middle = g.op.Where(is_middle, blue, g.op.Where(is_last, low, high))
    least, most = g.op.Where(is_last, blue, low), g.op.Where(is_first, blue, high)
    flat = g.op.Equal(most, least)
    up = g.op.Div(g.op.Sub(middle, least), g.op.Where(flat, one, g.op.Sub(most, least)))
    down = g.op.Sub(one, up)

    def at(start: float, part: str) -> Any:
        return g.op.Add(part, np.float32(start))

    greener = g.op.Where(is_first, at(3, down), at(2, up))
    greener = g.op.Where(is_last, at(1, down), greener)
    redder = g.op.Where(is_first, at(4, up), at(5, down))
    redder = g.op.Where(is_last, up, redder)
    hue = g.op.Where(is_green, greener, redder)
    return str(g.op.Where(flat, np.float32(0), hue)), str(most), str(least)


@register_tf_op_converter("AdjustHue", dtypes=("float16", "float32"))
def convert_hue(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Hue turned by a part of the circle.

    The largest and the smallest channel stay what they are, as in TensorFlow: a detour through
    saturation and back would round the smallest one by half a unit of the largest.
    """
    x = cast(g, op.inputs[0].name, np.float32)
    six = np.float32(6)
    hue, most, least = _hue_in_sixths(g, x)
    spread = g.op.Sub(most, least)
    turned = g.op.Add(hue, g.op.Mul(op.inputs[1].name, six))
    turned = g.op.Sub(turned, g.op.Mul(g.op.Floor(g.op.Div(turned, six)), six))
    turned = g.op.Where(g.op.GreaterOrEqual(turned, six), np.float32(0), turned)
    # no hue is the last sixth
    sector = g.op.Where(g.op.IsNaN(turned), np.float32(5), g.op.Floor(turned))
    up = g.op.Sub(turned, sector)
    half = g.op.Mul(sector, np.float32(0.5))
    odd = g.op.Greater(half, g.op.Floor(half))
    part = g.op.Where(odd, g.op.Sub(np.float32(1), up), up)
    middle = g.op.Add(least, g.op.Mul(part, spread))

    def near(center: float) -> Any:
        distance = g.op.Abs(g.op.Sub(sector, np.float32(center)))
        return g.op.Less(distance, np.float32(1))

    reddest = g.op.Greater(g.op.Abs(g.op.Sub(sector, np.float32(2.5))), np.float32(2))
    red = g.op.Where(reddest, most, g.op.Where(near(2.5), least, middle))
    dull = g.op.Greater(sector, np.float32(3.5))
    green = g.op.Where(near(1.5), most, g.op.Where(dull, least, middle))
    dull = g.op.Less(sector, np.float32(1.5))
    blue = g.op.Where(near(3.5), most, g.op.Where(dull, least, middle))
    image = g.op.Concat(red, green, blue, axis=-1)
    return cast(g, image, op.outputs[0].dtype.as_numpy_dtype, outputs=outputs[:1])
