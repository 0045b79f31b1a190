"""Square blocks of pixels moved into channels and back, for every dtype."""

from __future__ import annotations

import numpy as np

from yobx.xbuilder import GraphBuilder

from .shapes import Dim, axis_size, reshape

__all__ = ["depth_to_space", "divided", "space_to_depth", "times"]


def times(g: GraphBuilder, size: Dim, factor: int) -> Dim:
    """Return ``size * factor``.

    Args:
        g: The builder.
        size: A number, or the name of one.
        factor: What it is multiplied by.
    """
    if isinstance(size, int):
        return size * factor
    return str(g.op.Mul(size, np.array([factor], np.int64)))


def divided(g: GraphBuilder, size: Dim, factor: int) -> Dim:
    """Return ``size // factor`` of a size that is not negative.

    Args:
        g: The builder.
        size: A number, or the name of one.
        factor: What it is divided by.
    """
    if isinstance(size, int):
        return size // factor
    return str(g.op.Div(size, np.array([factor], np.int64)))


def depth_to_space(
    g: GraphBuilder,
    x: str,
    b: int,
    *,
    last: bool,
    outputs: list[str] | None = None,
    name: str | None = None,
) -> str:
    """Emit `(n, h, w, b*b*c)` as `(n, h*b, w*b, c)`, or the same with channels on axis 1.

    Args:
        g: The builder.
        x: Images of any dtype, of rank 4.
        b: Side of a block.
        last: Whether channels are the last axis.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        The image, of the dtype of `x`.
    """
    n, *rest = (axis_size(g, x, a) for a in range(4))
    height, width, depth = rest if last else (rest[1], rest[2], rest[0])
    channels = divided(g, depth, b * b)
    tall, wide = times(g, height, b), times(g, width, b)
    if last:
        split = reshape(g, x, [n, height, width, b, b, channels])
        moved = g.op.Transpose(split, perm=[0, 1, 3, 2, 4, 5])
        return reshape(g, moved, [n, tall, wide, channels], outputs=outputs, name=name)
    split = reshape(g, x, [n, b, b, channels, height, width])
    moved = g.op.Transpose(split, perm=[0, 3, 4, 1, 5, 2])
    return reshape(g, moved, [n, channels, tall, wide], outputs=outputs, name=name)


def space_to_depth(
    g: GraphBuilder,
    x: str,
    b: int,
    *,
    last: bool,
    outputs: list[str] | None = None,
    name: str | None = None,
) -> str:
    """Emit `(n, h, w, c)` as `(n, h/b, w/b, b*b*c)`, or the same with channels on axis 1.

    Args:
        g: The builder.
        x: Images of any dtype, of rank 4.
        b: Side of a block.
        last: Whether channels are the last axis.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        The image, of the dtype of `x`.
    """
    n, *rest = (axis_size(g, x, a) for a in range(4))
    height, width, channels = rest if last else (rest[1], rest[2], rest[0])
    low, narrow = divided(g, height, b), divided(g, width, b)
    depth = times(g, channels, b * b)
    if last:
        split = reshape(g, x, [n, low, b, narrow, b, channels])
        moved = g.op.Transpose(split, perm=[0, 1, 3, 2, 4, 5])
        return reshape(g, moved, [n, low, narrow, depth], outputs=outputs, name=name)
    split = reshape(g, x, [n, channels, low, b, narrow, b])
    moved = g.op.Transpose(split, perm=[0, 3, 5, 1, 2, 4])
    return reshape(g, moved, [n, depth, low, narrow], outputs=outputs, name=name)
