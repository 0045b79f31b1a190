"""Quantisation, simulated and real."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from yobx.lowering.dtypes import numpy_dtype
from yobx.lowering.legalise import legal
from yobx.lowering.transcendental import const
from yobx.tensorflow.ops._op import FLOATS, attr, rank, unsupported
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

F = np.float32


def _levels(op: Any) -> tuple[float, float]:
    """Return the smallest and the largest level."""
    return (1.0 if bool(attr(op, "narrow_range")) else 0.0), float(
        2 ** int(attr(op, "num_bits")) - 1
    )


def _fake_quant(
    g: GraphBuilder, op: Any, x: str, limits: tuple[str, str], outputs: list[str]
) -> str:
    """Emit rounding to levels between two limits, moved so that zero is a level."""
    low, high = limits
    bottom, top = _levels(op)
    scale = g.op.Div(g.op.Sub(high, low), F(top - bottom))
    raw = g.op.Sub(F(bottom), g.op.Div(low, scale))
    # Halves of the zero point go away from zero, not to even.
    rounded = g.op.Floor(g.op.Add(raw, F(0.5)))
    zero = g.op.Clip(rounded, F(bottom), F(top))
    nudged_low = g.op.Mul(g.op.Sub(F(bottom), zero), scale)
    nudged_high = g.op.Mul(g.op.Sub(F(top), zero), scale)
    clamped = g.op.Min(g.op.Max(x, nudged_low), nudged_high)
    inverse = g.op.Reciprocal(scale)
    steps = g.op.Mul(g.op.Sub(clamped, nudged_low), inverse)
    level = g.op.Floor(g.op.Add(g.op.Sub(steps, g.op.Mul(zero, F(0))), F(0.5)))
    value = g.op.Add(g.op.Mul(level, scale), nudged_low)
    both_zero = g.op.And(g.op.Equal(low, F(0)), g.op.Equal(high, F(0)))
    return str(g.op.Where(both_zero, F(0), value, outputs=outputs, name=op.name))


@register_tf_op_converter("FakeQuantWithMinMaxArgs", dtypes=("float32",))
def convert_fake_quant_args(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Rounding to levels between two attributes."""
    low, high = (g.make_initializer(None, F(op.get_attr(n))) for n in ("min", "max"))
    return _fake_quant(g, op, op.inputs[0].name, (low, high), outputs[:1])


@register_tf_op_converter(
    ("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel"), dtypes=("float32",)
)
def convert_fake_quant_vars(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Rounding to levels between two inputs, perhaps per channel."""
    x, low, high = (i.name for i in op.inputs)
    return _fake_quant(g, op, x, (low, high), outputs[:1])


@register_tf_op_converter(
    ("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4"),
    dtypes=(*FLOATS, "int32"),
)
def convert_quantize_and_dequantize(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Rounding to levels symmetric around zero, their range given or found."""
    axis = int(attr(op, "axis", -1))
    if op.type == "QuantizeAndDequantizeV3":
        value = g.get_constant(op.inputs[3].name)
        if value is None:
            unsupported(op, "num_bits must be known", f"num_bits={op.inputs[3].name}")
        bits = int(value)
    else:
        bits = int(attr(op, "num_bits"))
    signed, narrow = bool(attr(op, "signed_input")), bool(attr(op, "narrow_range", False))
    x = op.inputs[0].name
    if bool(attr(op, "range_given")):
        low, high = (per_slice(g, op, op.inputs[i].name, axis) for i in (1, 2))
    else:
        others = [i for i in range(rank(g, op, 0)) if i != axis]
        low, high = (
            getattr(legal(g), f"Reduce{k}")(x, np.array(others, np.int64), keepdims=1)
            if axis >= 0
            else getattr(legal(g), f"Reduce{k}")(x, keepdims=0)
            for k in ("Min", "Max")
        )
    bottom = float(-(2 ** (bits - 1)) + int(narrow)) if signed else 0.0
    top = float(2 ** (bits - 1) - 1) if signed else float(2**bits - 1)
    return _symmetric(g, op, x, (low, high), (bottom, top), outputs=outputs[:1])


def per_slice(g: GraphBuilder, op: Any, value: str, axis: int) -> str:
    """Return one value per slice along an axis in a shape that broadcasts to the input."""
    if axis < 0:
        return value
    after = rank(g, op, 0) - 1 - axis
    return str(g.op.Reshape(value, np.array([-1, *[1] * after], np.int64)))


def _symmetric(
    g: GraphBuilder,
    op: Any,
    x: str,
    limits: tuple[str, str],
    levels: tuple[float, float],
    *,
    outputs: list[str],
) -> str:
    """Emit rounding with the larger of the two scales that the range asks for."""
    low, high = limits
    emit = legal(g)
    bottom, top = (const(g, x, v) for v in levels)
    zero = const(g, x, 0)
    # What TensorFlow scales with where a side of the range says nothing.
    big = const(g, x, float(ml_dtypes.finfo(numpy_dtype(g.get_type(x))).max))
    scale = emit.Where(emit.Greater(high, zero), emit.Div(top, high), big) if levels[1] else big
    inverse = emit.Div(high, top)
    least, most = emit.Mul(bottom, inverse), high
    if levels[0] < 0:
        by_low = emit.Where(emit.Less(low, zero), emit.Div(bottom, low), big)
        wide = emit.Less(by_low, scale)
        scale = emit.Where(wide, by_low, scale)
        inverse = emit.Where(wide, emit.Div(low, bottom), inverse)
        least = emit.Where(wide, low, emit.Mul(bottom, inverse))
        most = emit.Where(wide, emit.Mul(top, inverse), high)
    given = bool(attr(op, "range_given"))
    kept = emit.Max(emit.Min(x, most), least) if given else x
    steps = emit.Mul(kept, scale)
    if str(attr(op, "round_mode", "HALF_TO_EVEN")) == "HALF_UP":
        level = emit.Floor(emit.Add(steps, const(g, x, 0.5)))
    else:
        level = emit.Round(steps)
    return str(emit.Mul(level, inverse, outputs=outputs, name=op.name))
