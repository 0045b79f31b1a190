"""Matrices from diagonals and diagonals from matrices, over the last two axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .dtypes import numpy_dtype
from .legalise import legal
from .shapes import dims

__all__ = [
    "Band",
    "band_mask",
    "embed_diagonal",
    "matrix_sizes",
    "readable",
    "row_minus_column",
    "spread_band",
    "take_band",
    "zero_like",
]

_ZERO, _ONE = np.array(0, np.int64), np.array(1, np.int64)


@dataclass(frozen=True)
class Band:
    """Neighbouring diagonals as rows, the highest first, each as long as the longest.

    Attributes:
        low: The lowest diagonal; negative ones are below the main diagonal.
        high: The highest diagonal.
        left_above: Whether shorter diagonals above the main one are filled up at their end.
        left_below: The same for those below it.
    """

    low: int
    high: int
    left_above: bool = True
    left_below: bool = True

    def from_right(self) -> np.ndarray[Any, Any]:
        """Return 1 for each row that is filled up at its start, else 0."""
        k = np.arange(self.high, self.low - 1, -1)
        left = ((k >= 0) & self.left_above) | ((k <= 0) & self.left_below)
        return np.asarray(~left, np.int64)


def zero_like(g: GraphBuilder, x: str) -> np.ndarray[Any, Any]:
    """Return the zero (or empty string) of the element type of ``x``."""
    dtype = numpy_dtype(g.get_type(x))
    return np.array("", object) if dtype.kind == "O" else np.array(0, dtype)


def row_minus_column(g: GraphBuilder, rows: str, columns: str) -> str:
    """Return the int64 matrix ``column - row`` for sizes given as int64 scalars.

    Args:
        g: The builder.
        rows: Number of rows.
        columns: Number of columns.
    """
    down = g.op.Unsqueeze(g.op.Range(_ZERO, rows, _ONE), np.array([1], np.int64))
    across = g.op.Unsqueeze(g.op.Range(_ZERO, columns, _ONE), np.array([0], np.int64))
    return str(g.op.Sub(across, down))


def band_mask(g: GraphBuilder, distance: str, low: Any, high: Any) -> str:
    """Return where ``low <= distance <= high``."""
    return str(g.op.And(g.op.GreaterOrEqual(distance, low), g.op.LessOrEqual(distance, high)))


def embed_diagonal(g: GraphBuilder, x: str) -> str:
    """Return `(..., n)` as the diagonals of `(..., n, n)`.

    Args:
        g: The builder.
        x: Elements of any dtype.
    """
    size = g.op.Squeeze(g.op.Shape(x, start=-1))
    on_diagonal = g.op.Equal(row_minus_column(g, size, size), _ZERO)
    wide = g.op.Unsqueeze(x, np.array([-1], np.int64))
    return str(legal(g).Where(on_diagonal, wide, zero_like(g, x)))


def matrix_sizes(g: GraphBuilder, x: str) -> tuple[str, str]:
    """Return the numbers of rows and columns of the last two axes as int64 scalars."""
    rows, columns = (g.op.Squeeze(g.op.Shape(x, start=s, end=e)) for s, e in ((-2, -1), (-1, None)))
    return str(rows), str(columns)


def _lengths(g: GraphBuilder, rows: str, columns: str, k: np.ndarray[Any, Any]) -> str:
    """Return the lengths of the diagonals ``k``, in its shape."""
    down = g.op.Add(rows, np.minimum(k, 0))
    return str(g.op.Max(g.op.Min(down, g.op.Sub(columns, np.maximum(k, 0))), _ZERO))


def take_band(g: GraphBuilder, x: str, band: Band) -> tuple[str, str]:
    """Return the diagonals of `(..., m, n)` as rows, and where these hold elements.

    Args:
        g: Builder to write to.
        x: Matrices.
        band: Which diagonals.

    Returns:
        `(..., d, l)`, and booleans `(d, l)`; elsewhere it holds some other element.
    """
    rows, columns = matrix_sizes(g, x)
    k = np.arange(band.high, band.low - 1, -1)[:, None]
    lengths = _lengths(g, rows, columns, k)
    longest = g.op.ReduceMax(lengths, keepdims=0)
    shift = g.op.Mul(g.op.Sub(longest, lengths), band.from_right()[:, None])
    place = g.op.Sub(g.op.Unsqueeze(g.op.Range(_ZERO, longest, _ONE), np.array([0])), shift)
    inside = g.op.And(g.op.GreaterOrEqual(place, _ZERO), g.op.Less(place, lengths))
    flat = g.op.Add(
        g.op.Mul(g.op.Add(place, np.maximum(-k, 0)), columns), g.op.Add(place, np.maximum(k, 0))
    )
    return str(g.op.Gather(_flattened(g, x), g.op.Where(inside, flat, _ZERO), axis=-1)), str(inside)


def spread_band(g: GraphBuilder, x: str, sizes: tuple[str, str], band: Band) -> tuple[str, str]:
    """Return diagonals in matrices, and where these have them.

    Args:
        g: Builder to write to.
        x: Diagonals as rows, `(..., d, l)`.
        sizes: Rows `m` and columns `n` of the matrices, int64 scalars.
        band: Which diagonals.

    Returns:
        `(..., m, n)`, and booleans `(m, n)`; elsewhere it holds some other element.
    """
    k = row_minus_column(g, *sizes)
    inside = band_mask(g, k, np.array(band.low), np.array(band.high))
    row = g.op.Where(inside, g.op.Sub(np.array(band.high), k), _ZERO)
    down = g.op.Unsqueeze(g.op.Range(_ZERO, sizes[0], _ONE), np.array([1]))
    place = g.op.Add(down, g.op.Min(k, _ZERO))
    length = g.op.Squeeze(g.op.Shape(x, start=-1))
    if band.from_right().any():
        every = np.arange(band.high, band.low - 1, -1)
        shift = g.op.Sub(length, _lengths(g, *sizes, every))
        shift = g.op.Mul(shift, band.from_right())
        place = g.op.Add(place, g.op.Gather(shift, row))
    flat = g.op.Where(inside, g.op.Add(g.op.Mul(row, length), place), _ZERO)
    return str(g.op.Gather(readable(g, _flattened(g, x), band), flat, axis=-1)), str(inside)


def readable(g: GraphBuilder, x: str, band: Band) -> str:
    """Return the elements of diagonals, and one more if there could be none.

    The matrix around diagonals beside the main one has elements even if these have not, and all
    of them are read from somewhere.

    Args:
        g: The graph.
        x: Diagonals, `(..., n)`.
        band: Which ones they are.

    Returns:
        The same, or `(..., n + 1)` with a zero at the end.
    """
    if band.low <= 0 <= band.high or (dims(g, x) or (None,))[-1]:
        return x
    return str(legal(g).Pad(x, np.array([0, 1]), zero_like(g, x), np.array([-1])))


def _flattened(g: GraphBuilder, x: str) -> str:
    """Return `(..., m, n)` as `(..., m * n)`."""
    count = g.op.ReduceProd(g.op.Shape(x, start=-2), keepdims=1)
    shape = g.op.Concat(g.op.Shape(x, end=-2), count, axis=0)
    return str(g.op.Reshape(x, shape, allowzero=1))
