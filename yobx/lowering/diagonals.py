"""Matrices from diagonals and diagonals from matrices, over the last two axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .dtypes import numpy_dtype
from .legalise import legal

__all__ = ["band_mask", "embed_diagonal", "row_minus_column", "zero_like"]


def zero_like(g: GraphBuilder, x: str) -> np.ndarray[Any, Any]:
    """Return the zero (or empty string) of the element type of ``x``."""
    dtype = numpy_dtype(g.get_type(x))
    return np.array("", object) if dtype.kind == "O" else np.array(0, dtype)


def row_minus_column(g: GraphBuilder, rows: str, columns: str) -> str:
    """Return the int64 matrix ``column - row`` for sizes given as int64 scalars."""
    zero, one = np.array(0, np.int64), np.array(1, np.int64)
    down = g.op.Unsqueeze(g.op.Range(zero, rows, one), np.array([1], np.int64))
    across = g.op.Unsqueeze(g.op.Range(zero, columns, one), np.array([0], np.int64))
    return str(g.op.Sub(across, down))


def band_mask(g: GraphBuilder, distance: str, low: Any, high: Any) -> str:
    """Return where ``low <= distance <= high``."""
    return str(g.op.And(g.op.GreaterOrEqual(distance, low), g.op.LessOrEqual(distance, high)))


def embed_diagonal(g: GraphBuilder, x: str) -> str:
    """Return `(..., n)` as the diagonals of `(..., n, n)`."""
    size = g.op.Squeeze(g.op.Shape(x, start=-1))
    on_diagonal = g.op.Equal(row_minus_column(g, size, size), np.array(0, np.int64))
    wide = g.op.Unsqueeze(x, np.array([-1], np.int64))
    return str(legal(g).Where(on_diagonal, wide, zero_like(g, x)))
