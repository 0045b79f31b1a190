"""Moves the channel axis between the end (TensorFlow) and axis 1 (ONNX)."""

from __future__ import annotations

from yobx.xbuilder import GraphBuilder

__all__ = ["channels_first", "channels_last"]


def channels_first(g: GraphBuilder, x: str, rank: int, last: bool = True) -> str:
    """Return `(n, *s, c)` as `(n, c, *s)`; ``x`` itself if its channels are not ``last``."""
    if not last:
        return x
    return str(g.op.Transpose(x, perm=[0, rank - 1, *range(1, rank - 1)]))


def channels_last(
    g: GraphBuilder, x: str, rank: int, outputs: list[str] | None = None, name: str | None = None
) -> str:
    """Return `(n, c, *s)` as `(n, *s, c)`."""
    perm = [0, *range(2, rank), 1]
    return str(g.op.Transpose(x, perm=perm, outputs=outputs, name=name))
