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
    unsupported,
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
    # TensorFlow computes the filter when it runs, and its sines are not those of the constants.
    curved = kernel.startswith(("lanczos", "gaussian"))
    with g.provenance(weights="transcendental" if curved else ""):
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


@register_tf_op_converter("ExtractGlimpseV2", dtypes=("float32", "int32"))
def convert_glimpse(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A window of each image around its own place, zeros outside of the image."""
    noise = str(attr(op, "noise", "uniform"))
    if noise != "zero":
        unsupported(
            op,
            "what lies outside of the image must be zero, not random",
            f"noise={noise!r}",
            'Pass noise="zero".',
        )
    x, size = op.inputs[0].name, shapes.vector(g, op.inputs[1].name)
    whole = g.op.Shape(x, start=1, end=3)
    first = cast(g, _glimpse_corners(g, op, size, whole), np.int64)
    zero, one = np.array(0, np.int64), np.array(1, np.int64)
    index, inside = [], []
    for i in (0, 1):
        count = g.op.Range(zero, _element(g, size, i), one)
        place = g.op.Add(g.op.Slice(first, np.array([i]), np.array([i + 1]), np.array([1])), count)
        limit = _element(g, whole, i)
        inside.append(g.op.And(g.op.GreaterOrEqual(place, zero), g.op.Less(place, limit)))
        index.append(g.op.Max(g.op.Min(place, g.op.Sub(limit, one)), zero))
    rows, columns = (
        g.op.Unsqueeze(v, np.array([axis], np.int64)) for v, axis in zip(index, (2, 1), strict=True)
    )
    flat = g.op.Add(g.op.Mul(rows, _element(g, whole, 1)), columns)  # `(n, h, w)`
    pixels = g.op.Reshape(
        x,
        g.op.Concat(
            g.op.Shape(x, start=0, end=1),
            g.op.ReduceProd(whole, keepdims=1),
            g.op.Shape(x, start=3, end=4),
            axis=0,
        ),
        allowzero=1,
    )
    picked = g.op.GatherND(pixels, g.op.Unsqueeze(flat, np.array([3], np.int64)), batch_dims=1)
    seen = g.op.And(
        g.op.Unsqueeze(inside[0], np.array([2], np.int64)),
        g.op.Unsqueeze(inside[1], np.array([1], np.int64)),
    )
    mask = g.op.Unsqueeze(seen, np.array([3], np.int64))
    return str(g.op.Where(mask, picked, np.float32(0), outputs=outputs[:1], name=op.name))


def _glimpse_corners(g: GraphBuilder, op: Any, size: str, whole: str) -> str:
    """Return where each window begins, float32 `(n, 2)`; places are of corners or of centres."""
    places, half = op.inputs[2].name, np.float32(0.5)
    extent = cast(g, whole, np.float32)
    centered, normalized = bool(attr(op, "centered")), bool(attr(op, "normalized"))
    if normalized:
        places = g.op.Mul(places, extent)
    if not centered:
        return str(places)
    if not normalized:
        return str(g.op.Add(places, g.op.Mul(extent, half)))
    middle = g.op.Add(g.op.Mul(places, half), g.op.Mul(extent, half))
    return str(g.op.Sub(middle, g.op.Mul(cast(g, size, np.float32), half)))
