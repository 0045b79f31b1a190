"""Quantised tensors: TensorFlow's ``qint`` types travel as the integers that hold them."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering.casts import cast
from yobx.lowering.rounding import round_half_away
from yobx.tensorflow.ops._op import attr, out_dtype
from yobx.tensorflow.ops.quantization import per_slice
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

F = np.float32
#: What a quantised element is held in.
STORED: dict[str, Any] = {
    "qint8": np.int8,
    "quint8": np.uint8,
    "qint16": np.int16,
    "quint16": np.uint16,
    "qint32": np.int32,
}
_ALL = tuple(STORED)
_FLOAT_MAX = np.finfo(F).max


def _limits(kind: Any) -> tuple[int, int]:
    return int(np.iinfo(kind).min), int(np.iinfo(kind).max)


def _range_with_zero(g: GraphBuilder, op: Any) -> tuple[str, str]:
    """Return the range, widened so that it holds zero and is not too narrow."""
    low, high = op.inputs[1].name, op.inputs[2].name
    minimum = g.op.Min(low, F(0))
    largest = g.op.Max(g.op.Max(g.op.Abs(low), g.op.Abs(high)), F(1))
    apart = g.op.Mul(largest, F(op.get_attr("ensure_minimum_range")))
    maximum = g.op.Max(g.op.Max(high, g.op.Add(minimum, apart)), F(0))
    return str(minimum), str(maximum)


def _scale(g: GraphBuilder, low: str, high: str, ends: tuple[int, int]) -> str:
    """Return how many levels there are for one unit, by the side that has fewer."""
    sides = []
    for level, value in zip(ends, (low, high), strict=True):
        if level == 0:
            continue
        same_side = g.op.Greater(g.op.Mul(value, F(level)), F(0))
        safe = g.op.Where(same_side, value, F(1))
        sides.append(g.op.Where(same_side, g.op.Div(F(level), safe), _FLOAT_MAX))
    return str(sides[0] if len(sides) == 1 else g.op.Min(*sides))


def _scaled_range(g: GraphBuilder, op: Any, low: str, high: str) -> tuple[str, str, str]:
    """Return levels for one unit, and the range that they amount to."""
    kind = STORED[op.outputs[0].dtype.name]
    bottom, top = _limits(kind)
    narrow = bool(attr(op, "narrow_range"))
    even = str(attr(op, "round_mode")) == "HALF_TO_EVEN"
    if even and not narrow and np.dtype(kind).itemsize == 1 and int(attr(op, "axis", -1)) < 0:
        # Symmetric in TensorFlow: as many levels on both sides.
        most = g.op.Max(g.op.Abs(low), g.op.Abs(high))
        signed = bottom < 0
        scale = g.op.Div(F(127.5 if signed else 255), most)
        return scale, (g.op.Neg(most) if signed else g.op.Mul(most, F(0))), most
    scale = _scale(g, low, high, (bottom + int(narrow), top))
    return scale, g.op.Div(F(bottom + int(narrow)), scale), g.op.Div(F(top), scale)


@register_tf_op_converter("QuantizeV2", dtypes={"T": _ALL})
def convert_quantize(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Numbers rounded to the levels of a range, which is given and comes back adjusted."""
    kind = STORED[op.outputs[0].dtype.name]
    bottom, top = _limits(kind)
    mode = str(attr(op, "mode"))
    low, high = _range_with_zero(g, op)
    if mode == "SCALED":
        scale, low, high = _scaled_range(g, op, low, high)
        bottom += int(bool(attr(op, "narrow_range")))
    g.op.Identity(low, outputs=outputs[1:2])
    g.op.Identity(high, outputs=outputs[2:3])
    if mode != "SCALED":
        scale = g.op.Div(F(top - bottom), g.op.Sub(high, low))
    axis = int(attr(op, "axis", -1))
    scale, low, high = (per_slice(g, op, value, axis) for value in (scale, low, high))
    x = op.inputs[0].name
    if mode == "MIN_FIRST":
        if kind is np.uint8:  # TensorFlow's kernel for this one type rounds once, and otherwise.
            level = g.op.Round(g.op.Mul(g.op.Sub(x, low), scale))
        else:
            first = g.op.Sub(round_half_away(g, g.op.Mul(low, scale)), F(bottom))
            level = g.op.Sub(round_half_away(g, g.op.Mul(x, scale)), first)
        level = g.op.Min(level, np.nextafter(F(top + 1), F(0)))
    else:
        kept = g.op.Max(g.op.Min(x, high), low)
        if mode == "SCALED":
            steps = g.op.Mul(kept, scale)
            even = str(attr(op, "round_mode")) == "HALF_TO_EVEN"
            level = g.op.Round(steps) if even else round_half_away(g, steps)
        else:
            steps = g.op.Mul(g.op.Sub(kept, low), scale)
            half = F((top - bottom + 1) / 2)
            level = (
                round_half_away(g, g.op.Sub(steps, half))
                if bottom
                else g.op.Floor(g.op.Add(steps, F(0.5)))
            )
    return _stored(g, level, kind, (bottom, top), outputs[:1])


def _stored(
    g: GraphBuilder, level: str, kind: Any, ends: tuple[int, int], outputs: list[str]
) -> str:
    """Emit levels as integers, those outside of the type at its ends."""
    if kind is np.int32:  # TensorFlow lets the processor decide.
        return cast(g, level, kind, outputs=outputs)
    wide = cast(g, level, np.int64)  # holds the ends of every type exactly
    inside = g.op.Max(g.op.Min(wide, np.array(ends[1])), np.array(ends[0]))
    return cast(g, inside, kind, outputs=outputs)


@register_tf_op_converter("Dequantize", dtypes={"T": _ALL, "dtype": ("float32", "bfloat16")})
def convert_dequantize(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The numbers that levels of a range stand for."""
    bottom, top = _limits(STORED[op.inputs[0].dtype.name])
    level = cast(g, op.inputs[0].name, F)
    axis = int(attr(op, "axis", -1))
    low, high = (per_slice(g, op, op.inputs[i].name, axis) for i in (1, 2))
    mode = str(attr(op, "mode"))
    if mode == "SCALED":
        bottom += int(bool(attr(op, "narrow_range")))
        scale = g.op.Div(high, F(top))
        if bottom:
            scale = g.op.Max(g.op.Div(low, F(bottom)), scale)
        value = g.op.Mul(level, scale)
    else:
        scale = g.op.Div(g.op.Sub(high, low), F(top - bottom))
        if mode == "MIN_FIRST":
            same = g.op.Equal(scale, F(0))
            rounded = round_half_away(g, g.op.Div(low, g.op.Where(same, F(1), scale)))
            low = g.op.Where(same, low, g.op.Mul(rounded, scale))
        steps = g.op.Sub(level, F(bottom)) if bottom else level
        value = g.op.Add(g.op.Mul(steps, scale), low)
    return cast(g, value, out_dtype(op), outputs=outputs[:1])


@register_tf_op_converter(
    "UniformQuantize", dtypes={"Tin": ("float32",), "Tout": ("qint8", "quint8", "qint32")}
)
def convert_uniform_quantize(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Numbers rounded to levels, halves up, by scales and zero points."""
    axis = int(attr(op, "quantization_axis"))
    scale, zero = (per_slice(g, op, op.inputs[i].name, axis) for i in (1, 2))
    steps = g.op.Mul(op.inputs[0].name, g.op.Reciprocal(scale))
    level = g.op.Floor(g.op.Add(steps, F(0.5)))
    moved = g.op.Add(cast(g, level, np.int64), cast(g, zero, np.int64))
    ends = [np.array(int(op.get_attr(f"quantization_{e}_val"))) for e in ("min", "max")]
    inside = g.op.Max(g.op.Min(moved, ends[1]), ends[0])
    return cast(g, inside, STORED[op.outputs[0].dtype.name], outputs=outputs[:1])


@register_tf_op_converter(
    "UniformDequantize", dtypes={"Tin": ("qint8", "quint8", "qint32"), "Tout": ("float32",)}
)
def convert_uniform_dequantize(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """The numbers that levels stand for, by scales and zero points."""
    axis = int(attr(op, "quantization_axis"))
    scale, zero = (per_slice(g, op, op.inputs[i].name, axis) for i in (1, 2))
    steps = g.op.Sub(cast(g, op.inputs[0].name, np.int32), zero)
    return str(g.op.Mul(cast(g, steps, F), scale, outputs=outputs[:1], name=op.name))


def _zero_level(g: GraphBuilder, low: str, high: str, ends: tuple[int, int]) -> tuple[str, str]:
    """Return the level that stands for zero, int32, and the size of one level."""
    span = g.op.Sub(high, low)
    scale = g.op.Div(np.float64(ends[1] - ends[0]), cast(g, span, np.float64))
    first = cast(g, g.op.Mul(cast(g, low, np.float64), scale), F)
    zero = g.op.Sub(F(ends[0]), round_half_away(g, first))
    return cast(g, zero, np.int32), str(g.op.Div(span, F(ends[1] - ends[0])))


@register_tf_op_converter(
    "QuantizedMatMul", dtypes={"T1": ("quint8",), "T2": ("quint8",), "Toutput": ("qint32",)}
)
def convert_quantized_matmul(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Product of two quantised matrices as 32-bit levels, and the range of these."""
    a, b, *limits = (i.name for i in op.inputs)
    ends = _limits(np.uint8)
    sides, size = [], None
    for name, (low, high), flag in zip(
        (a, b), (limits[:2], limits[2:]), ("transpose_a", "transpose_b"), strict=True
    ):
        zero, level = _zero_level(g, low, high, ends)
        side = g.op.Sub(cast(g, name, np.int32), zero)
        sides.append(g.op.Transpose(side, perm=[1, 0]) if bool(attr(op, flag)) else side)
        size = level if size is None else g.op.Mul(size, level)
    for name, end in zip(outputs[1:], _limits(np.int32), strict=True):
        g.op.Mul(size, F(end), outputs=[name])
    return str(g.op.MatMul(*sides, outputs=outputs[:1], name=op.name))
