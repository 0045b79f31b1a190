"""The complex forms of converters that also take real tensors: values are pairs `(..., 2)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from yobx.lowering import casts, shapes
from yobx.lowering import complex as pairs
from yobx.tensorflow.ops._op import attr, constant, rank, require_constant
from yobx.xbuilder import GraphBuilder

__all__ = ["COMPLEX", "Converter", "by_parts", "by_products", "with_complex"]

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


class _Part:
    """A part of a tensor, as a converter of real tensors sees it."""

    def __init__(self, tensor: Any, name: str) -> None:
        self._tensor = tensor
        self.name = name
        self.dtype = tensor.dtype.real_dtype if tensor.dtype.is_complex else tensor.dtype

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tensor, name)


class _OpOfParts:
    """An operation on one part of each of its inputs."""

    def __init__(self, op: Any, inputs: Sequence[str]) -> None:
        self._op = op
        self.inputs = [_Part(*both) for both in zip(op.inputs, inputs, strict=True)]
        self.outputs = [_Part(t, t.name) for t in op.outputs]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._op, name)


def _is_real(op: Any) -> bool:
    return not any(t.dtype.is_complex for t in (*op.inputs, *op.outputs))


def _parts_of(g: GraphBuilder, op: Any) -> list[tuple[str, str]]:
    """Return both parts of every input; a real one twice."""
    return [pairs.parts(g, t.name) if t.dtype.is_complex else (t.name, t.name) for t in op.inputs]


def by_parts(function: Converter) -> Converter:
    """Apply the decorated converter to real and imaginary parts of complex tensors.

    It only moves elements or adds them up. Results that are not complex do not depend on the part.
    """

    @wraps(function)
    def convert(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
        if _is_real(op):
            return function(g, sts, outputs, op)
        both = _parts_of(g, op)
        moved: list[list[str]] = []
        for part in (0, 1):
            names = [g.unique_name(f"{name}/part{part}") for name in outputs]
            function(g, sts, names, _OpOfParts(op, [values[part] for values in both]))
            moved.append(names)
        for real, imaginary, name, tensor in zip(*moved, outputs, op.outputs, strict=True):
            if tensor.dtype.is_complex:
                pairs.pack(g, real, imaginary, [name])
            else:
                g.alias(name, real)
        return outputs[0]

    return convert


def by_products(*factors: str, adjoints: Sequence[str] = ()) -> Callable[[Converter], Converter]:
    """Apply the decorated converter, linear in two groups of inputs, to their parts.

    Args:
        *factors: Inputs of the first group; the other complex ones are the second.
        adjoints: Flags that conjugate the first group and the second.
    """

    def decorate(function: Converter) -> Converter:
        @wraps(function)
        def convert(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
            if _is_real(op):
                return function(g, sts, outputs, op)
            both = _parts_of(g, op)
            first = [argument.name in factors for argument in op.op_def.input_arg]

            def product(i: int, j: int) -> str:
                chosen = [
                    values[i if is_first else j]
                    for values, is_first in zip(both, first, strict=True)
                ]
                names = [g.unique_name(f"{name}/part{i}{j}") for name in outputs]
                function(g, sts, names, _OpOfParts(op, chosen))
                flips = [bool(attr(op, flag)) for flag in adjoints] or [False, False]
                negative = sum(flip for flip, part in zip(flips, (i, j), strict=True) if part) % 2
                return str(g.op.Neg(names[0])) if negative else names[0]

            real = g.op.Sub(product(0, 0), product(1, 1))
            imaginary = g.op.Add(product(0, 1), product(1, 0))
            return pairs.pack(g, str(real), str(imaginary), outputs[:1])

        return convert

    return decorate


def shape_of(g: GraphBuilder, x: Any) -> str:
    """Emit the shape of a TensorFlow tensor, without the axis of the pair if it is complex."""
    return str(g.op.Shape(x.name, end=-1) if x.dtype.is_complex else g.op.Shape(x.name))


def add(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Sum or difference."""
    emit = g.op.Sub if op.type == "Sub" else g.op.Add
    return str(emit(*(i.name for i in op.inputs), outputs=outputs[:1], name=op.name))


def negate(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Negation."""
    return str(g.op.Neg(op.inputs[0].name, outputs=outputs[:1], name=op.name))


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
