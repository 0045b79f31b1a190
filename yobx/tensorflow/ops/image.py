"""Resizing of images `(n, h, w, c)`."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import resample_dynamic, shapes
from yobx.lowering.casts import cast
from yobx.lowering.layout import channels_first, channels_last
from yobx.lowering.resample import (
    Axis,
    area_weights,
    cubic_weights,
    kernel_weights,
    resample,
)
from yobx.lowering.resample_dynamic import OpenAxis
from yobx.tensorflow.ops._op import (
    FLOATS,
    INTS,
    MOVABLE,
    attr,
    constant,
    dims,
)
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_IMAGES = (*FLOATS, *INTS, "uint8", "uint16")


def _flags(op: Any) -> tuple[bool, bool]:
    return bool(attr(op, "align_corners", False)), bool(attr(op, "half_pixel_centers", False))


def _axes(g: GraphBuilder, op: Any) -> tuple[Axis | OpenAxis, ...]:
    """Return height and width to resize; both axes are of constants, or both computed."""
    known, wanted = dims(g, op, 0), constant(g, op, 1)
    align, half = _flags(op)
    if wanted is not None and known is not None and None not in known[1:3]:
        return tuple(Axis(int(known[1 + i] or 0), int(wanted[i]), align, half) for i in (0, 1))
    x, sizes = op.inputs[0].name, shapes.vector(g, op.inputs[1].name)
    return tuple(
        OpenAxis(
            g,
            g.op.Squeeze(g.op.Shape(x, start=1 + i, end=2 + i)),
            _element(g, sizes, i),
            align,
            half,
        )
        for i in (0, 1)
    )


def _element(g: GraphBuilder, vector: str, index: int) -> str:
    return str(g.op.Gather(vector, np.array(index, np.int64)))


@register_tf_op_converter("ResizeBilinear", dtypes=_IMAGES)
def convert_bilinear(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Linear interpolation between the four neighbours; the result is float32."""
    align, half = _flags(op)
    mode = "align_corners" if align else "half_pixel" if half else "asymmetric"
    x = channels_first(g, cast(g, op.inputs[0].name, np.float32), 4)
    sizes = g.op.Concat(g.op.Shape(x, start=0, end=2), shapes.vector(g, op.inputs[1].name), axis=0)
    resized = g.op.Resize(
        x, None, None, sizes, mode="linear", coordinate_transformation_mode=mode, name=op.name
    )
    return channels_last(g, resized, 4, outputs=outputs[:1])


@register_tf_op_converter("ResizeNearestNeighbor", dtypes=MOVABLE)
def convert_nearest(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The nearest element along each axis, found by TensorFlow's own float32 formula."""
    x = op.inputs[0].name
    sizes = shapes.vector(g, op.inputs[1].name)
    wanted = constant(g, op, 1)
    known = dims(g, op, 0)
    align, half = _flags(op)
    for i, axis in enumerate((1, 2)):
        size = None if known is None else known[axis]
        names = outputs[:1] if axis == 2 else None
        if size is not None and wanted is not None:
            index: Any = _nearest_static(size, int(wanted[i]), align, half)
        else:
            index = _nearest_dynamic(g, x, axis, sizes, align=align, half=half)
        x = g.op.Gather(x, index, axis=axis, outputs=names, name=op.name)
    return str(x)


def _nearest_static(size: int, wanted: int, align: bool, half: bool) -> np.ndarray[Any, Any]:
    f = np.float32
    scale = f((size - 1) / f(wanted - 1)) if align and wanted > 1 else f(f(size) / f(wanted))
    place = (np.arange(wanted, dtype=f) + f(0.5 if half else 0.0)) * scale
    # Halves go away from zero here, which for places >= 0 is upwards.
    index = np.floor(place + f(0.5)) if align else np.floor(place)
    return np.asarray(np.clip(index, 0, size - 1), np.int64)


def _nearest_dynamic(
    g: GraphBuilder, x: str, axis: int, sizes: str, *, align: bool, half: bool
) -> str:
    f = np.float32
    size = g.op.Squeeze(g.op.Shape(x, start=axis, end=axis + 1))
    wanted = g.op.Gather(sizes, np.array(axis - 1, np.int64))
    one = np.array(1, np.int64)
    top, last = cast(g, size, f), g.op.Sub(size, one)
    bottom = cast(g, wanted, f)
    scale = g.op.Div(top, bottom)
    if align:
        corners = g.op.Div(cast(g, last, f), cast(g, g.op.Max(g.op.Sub(wanted, one), one), f))
        scale = g.op.Where(g.op.Greater(wanted, one), corners, scale)
    steps = cast(g, g.op.Range(np.array(0, np.int64), wanted, one), f)
    place = g.op.Mul(g.op.Add(steps, f(0.5)) if half else steps, scale)
    index = cast(g, g.op.Floor(g.op.Add(place, f(0.5)) if align else place), np.int64)
    return str(g.op.Min(index, last))


@register_tf_op_converter("ResizeBicubic", dtypes=_IMAGES)
def convert_bicubic(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Cubic interpolation, with the weights of TensorFlow's table."""
    rows, columns = (
        resample_dynamic.cubic_weights(a) if isinstance(a, OpenAxis) else cubic_weights(a)
        for a in _axes(g, op)
    )
    x = cast(g, op.inputs[0].name, np.float32)
    return resample(g, x, rows, columns, outputs=outputs[:1], name=op.name)


@register_tf_op_converter("ResizeArea", dtypes=_IMAGES)
def convert_area(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Average over the area that each pixel of the result covers."""
    rows, columns = (
        resample_dynamic.area_weights(a) if isinstance(a, OpenAxis) else area_weights(a)
        for a in _axes(g, op)
    )
    x = cast(g, op.inputs[0].name, np.float32)
    return resample(g, x, rows, columns, outputs=outputs[:1], name=op.name)


@register_tf_op_converter("ScaleAndTranslate", dtypes=_IMAGES)
def convert_scale_and_translate(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Scaling and moving by a filter, antialiased on request."""
    kernel, antialias = str(attr(op, "kernel_type")), bool(attr(op, "antialias"))
    rows, columns = (
        _kernel_weights(g, op, i, axis, kernel=kernel, antialias=antialias)
        for i, axis in enumerate(_axes(g, op))
    )
    x = cast(g, op.inputs[0].name, np.float32)
    return resample(g, x, rows, columns, outputs=outputs[:1], name=op.name)


def _kernel_weights(
    g: GraphBuilder, op: Any, index: int, axis: Axis | OpenAxis, *, kernel: str, antialias: bool
) -> Any:
    scale, translation = constant(g, op, 2), constant(g, op, 3)
    if isinstance(axis, Axis):
        if scale is not None and translation is not None:
            return kernel_weights(
                axis.size,
                axis.wanted,
                scale[index],
                translation[index],
                kernel=kernel,
                antialias=antialias,
            )
        size, wanted = (g.make_initializer(None, np.array(n)) for n in (axis.size, axis.wanted))
        axis = OpenAxis(g, size, wanted)
    ratio, move = (_element(g, op.inputs[i].name, index) for i in (2, 3))
    return resample_dynamic.kernel_weights(axis, ratio, move, kernel=kernel, antialias=antialias)
