"""Shapes as values: what is static stays a constant, the rest is read at run time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from yobx.errors import ConversionError
from yobx.xbuilder import GraphBuilder

from .casts import cast

__all__ = [
    "axis_size",
    "dims",
    "flatten",
    "join_dims",
    "normalise_axis",
    "rank",
    "reshape",
    "scalar",
    "shape_of",
    "vector",
]

Dim = int | str
"""An integer, or the name of an int64 tensor of shape `()` or `(1,)`, or `(n,)` in a list."""

_SMALL_BYTES = 1 << 16


def dims(g: GraphBuilder, x: str) -> tuple[int | None, ...] | None:
    """Return the static sizes of ``x``, ``None`` for a dynamic one; ``None`` without a rank.

    Args:
        g: The builder.
        x: A value of any dtype.
    """
    shape = g.get_shape(x)
    if not shape.has_rank():
        return None
    return tuple(d.as_int() if d.is_int() else None for d in shape.dims())


def rank(g: GraphBuilder, x: str) -> int:
    """Return the rank of ``x``.

    Args:
        g: The builder.
        x: A value of any dtype.

    Raises:
        ConversionError: If it is unknown; the message says what to pin.
    """
    known = g.get_rank(x)
    if known is None:
        raise ConversionError(
            f"The rank of {x!r} is needed here and not known.",
            hint=(
                "Pin it: give the model an input of "
                "known rank, or call tf.ensure_shape(x, [None, ...]) before this operation."
            ),
        )
    return known


def normalise_axis(axis: int, rank_of_x: int) -> int:
    """Return ``axis`` counted from the front."""
    return axis + rank_of_x if axis < 0 else axis


def shape_of(g: GraphBuilder, x: str, start: int = 0, end: int | None = None) -> str:
    """Return the shape of ``x`` between two axes, int64 of shape `(n,)`.

    Args:
        g: The builder.
        x: A value of any dtype.
        start: The first axis.
        end: The axis after the last one; all axes by default.
    """
    keywords: dict[str, Any] = {} if start == 0 else {"start": start}
    if end is not None:
        keywords["end"] = end
    return str(g.op.Shape(x, **keywords))


def axis_size(g: GraphBuilder, x: str, axis: int) -> Dim:
    """Return the size of one axis: an integer if static, else an int64 tensor of shape `(1,)`.

    Args:
        g: The builder.
        x: A value of any dtype.
        axis: The axis, from the end if it is negative.
    """
    known = dims(g, x)
    if known is not None:
        axis = normalise_axis(axis, len(known))
        size = known[axis]
        if size is not None:
            return size
    return shape_of(g, x, axis, axis + 1 if axis != -1 else None)


def vector(g: GraphBuilder, x: str, dtype: Any = np.int64) -> str:
    """Return ``x`` (a scalar or a vector) as a vector of ``dtype``.

    Args:
        g: The builder.
        x: Numbers `()` or `(n,)`.
        dtype: Dtype of the vector.
    """
    x = cast(g, x, dtype)
    if g.get_rank(x) == 1:
        return x
    return str(g.op.Reshape(x, np.array([-1], np.int64)))


def scalar(g: GraphBuilder, x: str) -> str:
    """Return the single element of ``x`` as a tensor of shape `()`.

    Args:
        g: The builder.
        x: A value of one element, of any rank.
    """
    if g.get_rank(x) == 0:
        return x
    return str(g.op.Reshape(x, np.array([], np.int64)))


def join_dims(g: GraphBuilder, parts: Sequence[Dim]) -> str | np.ndarray[Any, Any]:
    """Return one int64 vector made of ``parts``: integers, or names of int64 scalars or vectors.

    Args:
        g: The builder.
        parts: What it is made of, in order.

    Returns:
        An array if all are known, else the name of the vector.
    """
    if all(isinstance(p, int) for p in parts):
        return np.array(parts, np.int64)
    pieces: list[Any] = []
    run: list[int] = []
    for part in parts:
        if isinstance(part, int):
            run.append(part)
            continue
        if run:
            pieces.append(np.array(run, np.int64))
            run = []
        pieces.append(vector(g, part))
    if run:
        pieces.append(np.array(run, np.int64))
    return pieces[0] if len(pieces) == 1 else str(g.op.Concat(*pieces, axis=0))


def reshape(
    g: GraphBuilder,
    x: str,
    parts: Sequence[Dim],
    outputs: list[str] | None = None,
    name: str | None = None,
) -> str:
    """Emit a ``Reshape`` to ``parts``; an integer 0 is a size of zero, -1 is inferred.

    A small constant is reshaped here and now: each batch normalisation has four of them.

    Args:
        g: The builder.
        x: A value of any dtype.
        parts: Sizes: integers, or names of int64 scalars or vectors.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        The value, of the dtype of `x`.
    """
    array = g.get_constant(x)
    sizes = [part for part in parts if isinstance(part, int)]
    if array is not None and array.nbytes <= _SMALL_BYTES and len(sizes) == len(parts):
        return g.make_initializer(outputs[0] if outputs else None, array.reshape(sizes))
    exact = any(not isinstance(p, int) or p == 0 for p in parts)
    keywords: dict[str, Any] = {"allowzero": 1} if exact else {}
    return str(g.op.Reshape(x, join_dims(g, parts), outputs=outputs, name=name, **keywords))


def flatten(g: GraphBuilder, x: str) -> str:
    """Return ``x`` with one axis, shape `(n,)`."""
    return x if g.get_rank(x) == 1 else str(g.op.Reshape(x, np.array([-1], np.int64)))
