"""Padding with constants, reflections and repetitions."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.legalise import legal
from yobx.tensorflow.ops._complex import COMPLEX, by_parts
from yobx.tensorflow.ops._op import MOVABLE, attr, constant, rank
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder


def _pads(g: GraphBuilder, op: Any) -> Any:
    """Return ONNX pads, all begins then all ends, from `(rank, 2)` paddings."""
    value = constant(g, op, 1)
    if value is not None:
        return np.ascontiguousarray(value.astype(np.int64).T).reshape(-1)
    turned = g.op.Transpose(op.inputs[1].name, perm=[1, 0])
    return shapes.vector(g, turned)


@register_tf_op_converter(("Pad", "PadV2"), dtypes=(*MOVABLE, *COMPLEX))
@by_parts
def convert_pad(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Border of zeros, or of a given value."""
    x = op.inputs[0].name
    if rank(g, op, 0) == 0:
        return str(g.op.Identity(x, outputs=outputs[:1], name=op.name))
    fill = op.inputs[2].name if op.type == "PadV2" else None
    return str(legal(g).Pad(x, _pads(g, op), fill, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("MirrorPad", dtypes=(*MOVABLE, *COMPLEX))
@by_parts
def convert_mirror_pad(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Border of mirrored elements: ``REFLECT`` leaves the edge out, ``SYMMETRIC`` repeats it."""
    x = op.inputs[0].name
    mode = str(attr(op, "mode"))
    if rank(g, op, 0) == 0:
        return str(g.op.Identity(x, outputs=outputs[:1], name=op.name))
    if mode == "REFLECT":
        pads = _pads(g, op)
        return str(legal(g).Pad(x, pads, mode="reflect", outputs=outputs[:1], name=op.name))
    return _symmetric(g, op, x, outputs)


def _symmetric(g: GraphBuilder, op: Any, x: str, outputs: list[str]) -> str:
    """Mirror with the edge repeated, which ONNX has no mode for: gather by mirrored positions."""
    zero, one = np.array(0, np.int64), np.array(1, np.int64)
    paddings = constant(g, op, 1)
    for axis in range(rank(g, op, 0)):
        if paddings is not None and not paddings[axis].any():
            continue
        if paddings is not None:
            before, after = (np.array(v, np.int64) for v in paddings[axis])
        else:
            row = shapes.vector(g, g.op.Gather(op.inputs[1].name, np.array(axis), axis=0))
            before, after = (g.op.Gather(row, np.array(i, np.int64)) for i in (0, 1))
        size = g.op.Squeeze(g.op.Shape(x, start=axis, end=axis + 1))
        position = g.op.Range(g.op.Neg(before), g.op.Add(size, after), one)
        mirrored = g.op.Where(
            g.op.Less(position, zero), g.op.Sub(g.op.Neg(position), one), position
        )
        beyond = g.op.Sub(g.op.Sub(g.op.Add(size, size), one), mirrored)
        index = g.op.Where(g.op.Less(mirrored, size), mirrored, beyond)
        x = g.op.Gather(x, index, axis=axis)
    return str(g.op.Identity(x, outputs=outputs[:1], name=op.name))
