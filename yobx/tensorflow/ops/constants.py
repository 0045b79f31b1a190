"""Constants, and operations that pass a value on unchanged."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.casts import cast
from yobx.lowering.dtypes import numpy_dtype
from yobx.lowering.legalise import legal
from yobx.lowering.transcendental import in_float32
from yobx.tensorflow.ops import _complex
from yobx.tensorflow.ops._complex import COMPLEX, by_parts, with_complex
from yobx.tensorflow.ops._op import ALL, MOVABLE, constant, out_dtype
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_PASS_THROUGH = (
    "CheckNumerics",
    "CheckNumericsV2",
    "DeepCopy",
    "EnsureShape",
    "GuaranteeConst",
    "Identity",
    "IdentityN",
    "PlaceholderWithDefault",
    "PreventGradient",
    "ReadVariableOp",
    "Snapshot",
    "StopGradient",
)


@register_tf_op_converter("Const")
@with_complex(_complex.constant_pairs)
def convert_const(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A constant tensor."""
    import tensorflow as tf

    if g.has_name(outputs[0]):  # Keras lists some constants among the captures as well.
        return outputs[0]
    value = tf.make_ndarray(op.get_attr("value"))
    if value.dtype == object:
        value = np.array([v.decode() for v in value.ravel()], object).reshape(value.shape)
    return g.make_initializer(outputs[0], value)


@register_tf_op_converter(_PASS_THROUGH)
def convert_identity(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The inputs themselves, under another name: no node."""
    for name, tensor in zip(outputs, op.inputs, strict=False):
        g.alias(name, tensor.name)
    return outputs[0]


@register_tf_op_converter(("NoOp", "Assert"))
def convert_nothing(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Nothing: ONNX has no side effects."""
    return ""


@register_tf_op_converter(("ZerosLike", "OnesLike"), dtypes=(*MOVABLE, *COMPLEX))
def convert_like(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Zeros or ones of the shape of a tensor."""
    value = 0 if op.type == "ZerosLike" else 1
    if op.outputs[0].dtype.is_complex:
        fill = np.array([value, 0], op.outputs[0].dtype.real_dtype.as_numpy_dtype)
    else:
        fill = np.array(value, numpy_dtype(out_dtype(op)))
    shape = shapes.shape_of(g, op.inputs[0].name)
    return str(legal(g).Expand(fill, shape, outputs=outputs[:1], name=op.name))


@register_tf_op_converter(("Fill", "BroadcastTo"), dtypes=(*ALL, *COMPLEX))
@by_parts
def convert_fill(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A value broadcast to a shape."""
    value, shape = (0, 1) if op.type == "BroadcastTo" else (1, 0)
    sizes = shapes.vector(g, op.inputs[shape].name)
    x = op.inputs[value].name
    return str(legal(g).Expand(x, sizes, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("Empty", dtypes=(*MOVABLE, *COMPLEX))
@by_parts
def convert_empty(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A tensor whose contents TensorFlow leaves open: zeros."""
    fill = np.array(0, numpy_dtype(out_dtype(op)))
    sizes = shapes.vector(g, op.inputs[0].name)
    return str(legal(g).Expand(fill, sizes, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("BroadcastArgs", dtypes=("int32", "int64"))
def convert_broadcast_args(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """The shape that two shapes broadcast to."""
    one = np.array(1, np.int64)
    a, b = (shapes.vector(g, i.name) for i in op.inputs)
    shape = g.op.Shape(g.op.Add(g.op.Expand(one, a), g.op.Expand(one, b)))
    return cast(g, shape, out_dtype(op), outputs=outputs[:1])


_COUNTABLE = ("float16", "bfloat16", "float32", "float64", "int32", "int64")


@register_tf_op_converter("Range", dtypes=_COUNTABLE)
def convert_range(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Numbers from start to limit in steps of delta."""
    start, limit, delta = (i.name for i in op.inputs)
    counted = _counted(g, op)
    if counted is not None:
        whole = g.op.Range(*counted, name=op.name)
        return cast(g, whole, out_dtype(op), outputs=outputs[:1])
    if op.outputs[0].dtype.name not in {"float32", "float64"}:
        return str(legal(g).Range(start, limit, delta, outputs=outputs[:1], name=op.name))
    # onnxruntime counts in float64 and adds up; TensorFlow counts in the type and multiplies.
    steps = g.op.Ceil(g.op.Abs(g.op.Div(g.op.Sub(limit, start), delta)))
    count = g.op.Range(np.array(0, np.int64), cast(g, steps, np.int64), np.array(1, np.int64))
    moved = g.op.Mul(cast(g, count, out_dtype(op)), delta)
    return str(g.op.Add(start, moved, outputs=outputs[:1], name=op.name))


def _counted(g: GraphBuilder, op: Any) -> list[Any] | None:
    """Integers for a range of floats that counts to a size, as ``arange(shape(x)[1], "float32")``.

    Inference knows how many there are, which it does not of floats. The numbers are the same:
    whole numbers up to 2^24 are exact in float32.
    """
    source = op.inputs[1].op
    if source.type != "Cast" or op.outputs[0].dtype.name not in {"float32", "float64"}:
        return None
    if source.inputs[0].dtype.name not in {"int32", "int64"}:
        return None
    start, delta = (constant(g, op, index) for index in (0, 2))
    if start is None or delta is None or not (_is_exact(start) and _is_exact(delta)):
        return None
    limit = shapes.scalar(g, cast(g, source.inputs[0].name, np.int64))
    return [start.astype(np.int64), limit, delta.astype(np.int64)]


def _is_exact(number: Any) -> bool:
    """Whether a float is a whole number of which float32 has the next one too."""
    return bool(abs(number) < 2**24 and number == np.floor(number))


@register_tf_op_converter("LinSpace", dtypes=_COUNTABLE)
def convert_linspace(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """``num`` numbers from start to stop, both included."""
    start, stop = (in_float32(g, i.name) for i in op.inputs[:2])
    num = shapes.scalar(g, cast(g, op.inputs[2].name, np.int64))
    one = np.array(1, np.int64)
    steps = cast(g, g.op.Max(g.op.Sub(num, one), one), g.get_type(start))
    index = g.op.Range(np.array(0, np.int64), num, one)
    count = cast(g, index, g.get_type(start))
    delta = g.op.Div(g.op.Sub(stop, start), steps)
    line = g.op.Add(start, g.op.Mul(count, delta))
    last = g.op.And(g.op.Equal(index, g.op.Sub(num, one)), g.op.Greater(num, one))
    value = g.op.Where(last, stop, line)
    return cast(g, value, out_dtype(op), outputs=outputs[:1])
