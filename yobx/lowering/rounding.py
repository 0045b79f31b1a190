"""Rounding to integers that ONNX has no operator for: its ``Round`` sends halves to even ones."""

from __future__ import annotations

from yobx.xbuilder import GraphBuilder

from .legalise import legal
from .transcendental import const

__all__ = ["round_half_away"]


def round_half_away(g: GraphBuilder, x: str) -> str:
    """Emit the nearest integers of floats `(...)`, halves away from zero.

    Adding a half first would round up the number just below one.

    Args:
        g: The builder.
        x: Floats of any shape.

    Returns:
        Floats of the dtype of `x`.
    """
    emit = legal(g)
    size = emit.Abs(x)
    whole = emit.Floor(size)
    up = emit.GreaterOrEqual(emit.Sub(size, whole), const(g, x, 0.5))
    return str(emit.Mul(emit.Sign(x), emit.Where(up, emit.Add(whole, const(g, x, 1)), whole)))
