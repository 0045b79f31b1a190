"""The bits of numbers, and neighbours of floats."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.bits import reread
from yobx.lowering.casts import cast
from yobx.lowering.float_bits import from_bits, is_negative, next_after, to_bits, unsigned
from yobx.lowering.legalise import legal
from yobx.onnx_optim.tensor_type import tensor_type
from yobx.tensorflow.ops._complex import COMPLEX
from yobx.tensorflow.ops._op import FLOATS, INTS, UINTS
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_SIGN = {"int16": -(2**15), "int32": -(2**31), "int64": -(2**63)}


@register_tf_op_converter("Bitcast", dtypes=(*INTS, *UINTS, *FLOATS, *COMPLEX))
def convert_bitcast(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The same bits read as another type; a last axis appears or goes with the width.

    Pairs are that axis of complex numbers already, so that only their parts are read.
    """
    kinds = (op.inputs[0].dtype, op.outputs[0].dtype)
    old, new = (np.dtype((k.real_dtype if k.is_complex else k).as_numpy_dtype) for k in kinds)
    x = op.inputs[0].name
    if kinds[1].is_complex and not kinds[0].is_complex and old.itemsize < new.itemsize:
        x = _last_axis_as(g, x, [2, new.itemsize // old.itemsize])
    if old.name in FLOATS and not kinds[0].is_complex and _only_sign_matters(op):
        negative = is_negative(g, x)
        sign = np.array(_SIGN[new.name], new)
        return str(legal(g).Where(negative, sign, np.array(0, new), outputs=outputs[:1]))
    read = _read_as(g, x, old, new)
    if kinds[0].is_complex and not kinds[1].is_complex and new.itemsize < old.itemsize:
        read = _last_axis_as(g, read, [2 * old.itemsize // new.itemsize], gone=2)
    return str(g.op.Identity(read, outputs=outputs[:1]))


def _read_as(g: GraphBuilder, x: str, old: np.dtype[Any], new: np.dtype[Any]) -> str:
    """Emit the bits of real numbers as another type."""
    if old == new:
        return x
    if old.name in FLOATS:
        x = to_bits(g, x, old)
    if new.name not in FLOATS:
        return reread(g, x, tensor_type(new))
    bits = reread(g, x, tensor_type(unsigned(new)))
    return cast(g, from_bits(g, bits, new), new)


def _last_axis_as(g: GraphBuilder, x: str, sizes: list[int], gone: int = 1) -> str:
    """Return the last ``gone`` axes as others."""
    before = g.op.Shape(x, end=shapes.rank(g, x) - gone)
    shape = g.op.Concat(before, np.array(sizes, np.int64), axis=0)
    return str(g.op.Reshape(x, shape, allowzero=1))


def _only_sign_matters(op: Any) -> bool:
    """Whether every reader keeps the sign bit alone, as ``keras.ops.signbit`` does."""
    import tensorflow as tf

    lowest = _SIGN.get(op.outputs[0].dtype.name)
    readers = op.outputs[0].consumers()
    masks = [tf.get_static_value(r.inputs[1]) for r in readers if r.type == "BitwiseAnd"]
    return (
        bool(readers)
        and len(masks) == len(readers)
        and all(mask is not None and np.all(mask == lowest) for mask in masks)
    )


@register_tf_op_converter("NextAfter", dtypes=("float32", "float64"))
def convert_next_after(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The float next to ``x1`` in the direction of ``x2``."""
    x, y = (i.name for i in op.inputs)
    kind = np.dtype(op.outputs[0].dtype.as_numpy_dtype)
    return next_after(g, x, y, kind, outputs[:1])
