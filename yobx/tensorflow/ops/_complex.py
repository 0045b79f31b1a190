"""The complex forms of converters that also take real tensors: values are pairs `(..., 2)`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from yobx.lowering import casts, shapes
from yobx.lowering import complex as pairs
from yobx.lowering.complex_parts import logarithm
from yobx.lowering.reduce import reduce
from yobx.lowering.trigonometric import atan2
from yobx.tensorflow.ops._op import attr, constant, rank, require_constant
from yobx.xbuilder import GraphBuilder

__all__ = ["COMPLEX", "by_parts", "with_complex"]

COMPLEX = ("complex64", "complex128")
Converter = Callable[[GraphBuilder, dict[str, Any], list[str], Any], str]


def with_complex(form: Converter) -> Callable[[Converter], Converter]:
    """Use ``form`` instead of the decorated converter when the first tensor is complex."""

    def decorate(function: Converter) -> Converter:
        @wraps(function)
        def convert(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
            tensors = op.outputs if not op.inputs else (*op.inputs, *op.outputs)
            chosen = form if any(t.dtype.is_complex for t in tensors) else function
            return chosen(g, sts, outputs, op)

        return convert

    return decorate


def by_parts(function: Converter) -> Converter:
    """Apply the decorated converter, which only moves elements, to real and imaginary parts."""

    @wraps(function)
    def convert(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
        if not op.outputs[0].dtype.is_complex:
            return function(g, sts, outputs, op)
        both = {t.name: pairs.parts(g, t.name) for t in op.inputs if t.dtype.is_complex}
        moved: list[list[str]] = []
        for part in (0, 1):
            names = [g.unique_name(f"{name}/part{part}") for name in outputs]
            with g.scope():
                for name, values in both.items():
                    g.alias(name, values[part])
                function(g, sts, names, op)
            moved.append(names)
        for real, imaginary, name in zip(*moved, outputs, strict=True):
            pairs.pack(g, real, imaginary, [name])
        return outputs[0]

    return convert


def shape_of(g: GraphBuilder, x: Any) -> str:
    """Emit the shape of a TensorFlow tensor, without the axis of the pair if it is complex."""
    return str(g.op.Shape(x.name, end=-1) if x.dtype.is_complex else g.op.Shape(x.name))


def binary(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Sum, difference, product or quotient."""
    x, y = (i.name for i in op.inputs)
    if op.type in ("Mul", "RealDiv", "Div"):
        emit = pairs.multiply if op.type == "Mul" else pairs.divide
        return emit(g, x, y, outputs[:1])
    emitter = g.op.Sub if op.type == "Sub" else g.op.Add
    return str(emitter(x, y, outputs=outputs[:1], name=op.name))


def unary(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Negation, square, exponential or principal logarithm."""
    x = op.inputs[0].name
    if op.type == "Exp":
        return pairs.exponential(g, x, outputs[:1])
    if op.type == "Log":
        size, angle = logarithm(g, pairs.parts(g, x), atan2)
        return pairs.pack(g, size, angle, outputs[:1])
    if op.type == "Square":
        return pairs.multiply(g, x, x, outputs[:1])
    return str(g.op.Neg(x, outputs=outputs[:1], name=op.name))


def constant_pairs(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A constant."""
    import tensorflow as tf

    value = tf.make_ndarray(op.get_attr("value"))
    return g.make_initializer(outputs[0], pairs.to_pairs(value))


def cast(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Real to complex, complex to real (the imaginary part is dropped) or to another precision."""
    x = op.inputs[0].name
    wanted = op.outputs[0].dtype
    kind = wanted.real_dtype.as_numpy_dtype
    if not op.inputs[0].dtype.is_complex:
        value = casts.cast(g, x, kind)
        zero = g.make_initializer(None, np.zeros((), kind))
        return pairs.pack(g, value, zero, outputs[:1])
    if not wanted.is_complex:
        x = pairs.parts(g, x)[0]
    return casts.cast(g, x, kind, outputs=outputs[:1])


def reshape(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The same elements in another shape."""
    value = constant(g, op, 1)
    shape: Any = shapes.vector(g, op.inputs[1].name)
    if value is not None:
        return shapes.reshape(
            g, op.inputs[0].name, [*(int(v) for v in np.ravel(value)), 2], outputs=outputs[:1]
        )
    whole = g.op.Concat(shape, np.array([2], np.int64), axis=0)
    return str(g.op.Reshape(op.inputs[0].name, whole, allowzero=1, outputs=outputs[:1]))


def transpose(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Permutation of the axes, conjugated on request."""
    order = [int(p) for p in require_constant(g, op, 1, "perm")]
    perm = [*(p % len(order) for p in order), len(order)]
    x = op.inputs[0].name
    if op.type == "ConjugateTranspose":
        x = pairs.conjugate(g, x)
    return str(g.op.Transpose(x, perm=perm, outputs=outputs[:1], name=op.name))


def expand_dims(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A new axis of size 1."""
    axis = int(require_constant(g, op, 1, "axis"))
    place = shapes.normalise_axis(axis, rank(g, op, 0) + 1)
    axes = np.array([place], np.int64)
    return str(g.op.Unsqueeze(op.inputs[0].name, axes, outputs=outputs[:1], name=op.name))


def concat(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Tensors one behind the other, or stacked along a new axis."""
    if op.type == "Pack":
        axis = shapes.normalise_axis(int(attr(op, "axis")), rank(g, op, 0) + 1)
        names = [g.op.Unsqueeze(t.name, np.array([axis], np.int64)) for t in op.inputs]
        return str(g.op.Concat(*names, axis=axis, outputs=outputs[:1], name=op.name))
    where = len(op.inputs) - 1 if op.type == "ConcatV2" else 0
    value = int(require_constant(g, op, where, "axis"))
    axis = shapes.normalise_axis(value, rank(g, op, 1 - min(where, 1)))
    names = [t.name for i, t in enumerate(op.inputs) if i != where]
    return str(g.op.Concat(*names, axis=axis, outputs=outputs[:1], name=op.name))


def reduction(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Sum or mean over axes."""
    n = rank(g, op, 0)
    axes = np.ravel(require_constant(g, op, 1, "axes")).astype(np.int64) % max(n, 1)
    keep = bool(attr(op, "keep_dims"))
    return reduce(g, op.type, op.inputs[0].name, axes, keepdims=keep, outputs=outputs[:1])
