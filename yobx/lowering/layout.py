"""Orders of axes: channels at the end (TensorFlow) or on axis 1 (ONNX), permuted weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from yobx.xbuilder import GraphBuilder

from .shapes import rank

__all__ = ["channels_first", "channels_last", "matrix_transpose", "permuted"]


def channels_first(g: GraphBuilder, x: str, rank: int, last: bool = True) -> str:
    """Return `(n, *s, c)` as `(n, c, *s)`; ``x`` itself if its channels are not ``last``.

    Args:
        g: The builder.
        x: A tensor of any dtype.
        rank: Its rank.
        last: Whether its channels are last.

    Returns:
        The tensor, of the dtype of `x`.
    """
    if not last:
        return x
    return str(g.op.Transpose(x, perm=[0, rank - 1, *range(1, rank - 1)]))


def channels_last(
    g: GraphBuilder, x: str, rank: int, outputs: list[str] | None = None, name: str | None = None
) -> str:
    """Return `(n, c, *s)` as `(n, *s, c)`."""
    perm = [0, *range(2, rank), 1]
    return str(g.op.Transpose(x, perm=perm, outputs=outputs, name=name))


def permuted(g: GraphBuilder, x: str, order: Sequence[int], tag: str = "") -> str:
    """Return ``x`` with its axes permuted; what is known while converting is permuted then, once.

    Args:
        g: The graph.
        x: Any tensor, usually weights.
        order: Axis of ``x`` for each axis of the result.
        tag: What the permuted constant is called, after the name of ``x``.

    Returns:
        Name of the result, ``x`` itself if the order is its own.
    """
    if list(order) == list(range(len(order))):
        return x
    value = g.get_constant(x)
    if value is None:
        return str(g.op.Transpose(x, perm=list(order)))
    # Inside an inlined function ``x`` is a local name: what it stands for tells weights apart.
    name = f"{g.alias(x, x)}/{tag or 'axes_' + '_'.join(map(str, order))}"
    return name if g.has_name(name) else g.make_initializer(name, np.transpose(value, order))


def matrix_transpose(g: GraphBuilder, x: str, known_rank: int | None = None) -> str:
    """Return `(..., m, n)` as `(..., n, m)`; the builder's rank is used if none is given."""
    n = rank(g, x) if known_rank is None else known_rank
    return permuted(g, x, [*range(n - 2), n - 1, n - 2], "transposed")
