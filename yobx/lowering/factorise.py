"""Factorisations of stacks of matrices, one loop over columns each.

All functions work on the last two axes; axes before them are batches. Conventions are LAPACK's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .looping import counted
from .shapes import join_dims, shape_of
from .transcendental import const

__all__ = [
    "LuFactors",
    "Size",
    "column_of",
    "forward_substitution",
    "householder",
    "householder_product",
    "identity_matrix",
    "least_size",
    "lu",
    "numbered",
    "on_diagonal",
    "reversed_order",
    "size_less_one",
    "solve_tridiagonal",
    "stacked_last",
    "strict_triangle",
    "swap_rows",
    "triangular_solution",
    "unsqueezed",
    "upright_numbers",
]

#: A number, or the int64 scalar that says it.
Size = int | str


@dataclass(frozen=True)
class LuFactors:
    """Result of an LU factorisation of `(*b, m, n)` with partial pivoting.

    Attributes:
        factors: Both factors in one matrix, `(*b, m, n)`.
        places: Row that each row was exchanged with, in order, `(*b, min(m, n))`.
        pivots: Elements divided by, `(*b, min(m, n))`.
        order: Row of the input for each row of the product, `(*b, m)`.
    """

    factors: str
    places: str
    pivots: str
    order: str


def _last(*axes: int) -> np.ndarray[Any, Any]:
    return np.array(axes, dtype=np.int64)


def column_of(g: GraphBuilder, a: str, j: str) -> str:
    """Return column ``j`` of each matrix `(*b, m, n)`, `(*b, m)`.

    Args:
        g: The builder.
        a: The matrices.
        j: Number of the column, an int64 scalar.

    Returns:
        The columns, of the dtype of `a`.
    """
    return str(g.op.Gather(a, j, axis=-1))


def numbered(g: GraphBuilder, size: Size) -> Any:
    """Return 0, 1, ... ``size - 1``: an array if that is known.

    Args:
        g: The builder.
        size: The number of numbers.
    """
    if isinstance(size, int):
        return np.arange(size)
    return str(g.op.Range(np.array(0), size, np.array(1)))


def upright_numbers(g: GraphBuilder, numbers: Any) -> Any:
    """Return a vector as a column."""
    return numbers[:, None] if isinstance(numbers, np.ndarray) else unsqueezed(g, numbers, -1)


def least_size(g: GraphBuilder, m: Size, n: Size) -> Size:
    """Return the smaller of two sizes.

    Args:
        g: The builder.
        m: One size.
        n: The other one.
    """
    if isinstance(m, int) and isinstance(n, int):
        return min(m, n)
    return str(g.op.Min(*(np.array(size) if isinstance(size, int) else size for size in (m, n))))


def identity_matrix(g: GraphBuilder, sizes: tuple[Size, Size], zero: np.ndarray[Any, Any]) -> Any:
    """Return ones on the diagonal and ``zero`` elsewhere: an array if the sizes are known.

    Args:
        g: The builder.
        sizes: Numbers of rows and columns.
        zero: Zero of the dtype that is wanted.

    Returns:
        A matrix of these sizes, an array or the name of a value.
    """
    m, n = sizes
    if isinstance(m, int) and isinstance(n, int):
        return np.eye(m, n, dtype=zero.dtype)
    same = g.op.Equal(upright_numbers(g, numbered(g, m)), numbered(g, n))
    return g.op.Where(same, np.ones_like(zero), zero)


def on_diagonal(g: GraphBuilder, n: Size) -> Any:
    """Return where the diagonal of a square matrix is: an array if its size is known.

    Args:
        g: The builder.
        n: Number of rows.
    """
    rows = numbered(g, n)
    upright = upright_numbers(g, rows)
    return rows == upright if isinstance(rows, np.ndarray) else g.op.Equal(rows, upright)


def strict_triangle(g: GraphBuilder, n: Size, *, lower: bool) -> Any:
    """Return where a square matrix is below its diagonal, or above it.

    Args:
        g: The builder.
        n: Number of rows.
        lower: Whether the part below the diagonal is meant.
    """
    rows = numbered(g, n)
    upright = upright_numbers(g, rows)
    large, small = (upright, rows) if lower else (rows, upright)
    return large > small if isinstance(rows, np.ndarray) else g.op.Greater(large, small)


def size_less_one(g: GraphBuilder, size: Size) -> Any:
    """Return the last number below ``size``."""
    return np.array(size - 1) if isinstance(size, int) else g.op.Sub(size, np.array(1))


def unsqueezed(g: GraphBuilder, x: str, axis: int) -> str:
    """Return ``x`` with an axis of size 1 more."""
    return str(g.op.Unsqueeze(x, _last(axis)))


def rows_back(g: GraphBuilder, rows: str) -> str:
    """Return rows that a loop stacked first, `(n, *b, k)`, as `(*b, n, k)`."""
    rank = g.get_rank(rows) or 2
    return str(g.op.Transpose(rows, perm=[*range(1, rank - 1), 0, rank - 1]))


def stacked_last(g: GraphBuilder, x: str) -> str:
    """Move the axis that a loop stacked from first to last."""
    rank = g.get_rank(x) or 1
    return str(g.op.Transpose(x, perm=[*range(1, rank), 0]))


def of_batch(g: GraphBuilder, a: str, rows: str, count: Size) -> str:
    """Stacked vectors `(count, *b)` of turns over `(*b, m, n)` as `(*b, count)`.

    A loop without a turn has no batch to tell of, so it is given where sizes are symbolic.

    Args:
        g: The builder.
        a: The matrices `(*b, m, n)`.
        rows: What the turns made, `(count, *b)`.
        count: Number of turns.
    """
    x = stacked_last(g, rows)
    before = (g.get_rank(a) or 2) - 2
    if tuple(g.get_shape(x).dims())[:-1] == tuple(g.get_shape(a).dims())[:before]:
        return x
    return str(g.op.Reshape(x, join_dims(g, [shape_of(g, a, 0, before), count]), allowzero=1))


def reversed_order(g: GraphBuilder, x: str, axes: tuple[int, ...]) -> str:
    """Reverse the order along axes counted from the end.

    Args:
        g: The builder.
        x: A tensor of any dtype.
        axes: The axes, negative.

    Returns:
        A tensor of the same shape.
    """
    steps = np.full(len(axes), -1, dtype=np.int64)
    ends = np.full(len(axes), np.iinfo(np.int64).min, dtype=np.int64)
    return str(g.op.Slice(x, steps, ends, _last(*axes), steps))


def triangular_solution(
    g: GraphBuilder, a: str, b: str, n: Size, *, lower: bool, unit: bool = False
) -> str:
    """Emit ``x`` with ``a @ x = b`` for triangular `(*b, n, n)`; the rest of ``a`` is not read.

    Args:
        g: The builder.
        a: Matrices `(*b, n, n)`.
        b: Right-hand sides `(*b, n, k)`.
        n: Their size.
        lower: Which triangle is read.
        unit: Whether its diagonal is taken for ones, and is not read.

    Returns:
        The solution, `(*b, n, k)`, by substitution; of a singular matrix infinite or NaN.
    """
    if lower:
        return forward_substitution(g, a, b, n, unit=unit)
    turned = reversed_order(g, a, (-2, -1)), reversed_order(g, b, (-2,))
    return reversed_order(g, forward_substitution(g, *turned, n, unit=unit), (-2,))


def forward_substitution(g: GraphBuilder, a: str, b: str, n: Size, *, unit: bool) -> str:
    """Emit the solution for a lower triangle, ``unit``: with ones on its diagonal.

    Args:
        g: The builder.
        a: Matrices `(*b, n, n)`, whose lower triangle is read.
        b: Right-hand sides `(*b, n, k)`.
        n: Their size.
        unit: Whether the diagonal is taken for ones, and is not read.

    Returns:
        The solution, `(*b, n, k)`.
    """
    rows, zero = numbered(g, n), const(g, a, 0)

    def turn(c: GraphBuilder, i: str, states: list[str]) -> tuple[list[str], list[str]]:
        column = column_of(c, a, i)
        row = c.op.Gather(states[0], i, axis=-2)
        if not unit:
            row = c.op.Div(row, unsqueezed(c, c.op.Gather(column, i, axis=-1), -1))
        below = c.op.Where(c.op.Greater(rows, i), column, zero)
        product = c.op.Mul(unsqueezed(c, below, -1), unsqueezed(c, row, -2))
        return [c.op.Sub(states[0], product)], [row]

    _, solution = counted(g, n, [b], turn)
    return rows_back(g, solution)


def lu(g: GraphBuilder, a: str, m: Size, n: Size) -> LuFactors:
    """Emit the LU factors of `(*b, m, n)`; a column without a pivot is left alone.

    Args:
        g: The builder.
        a: Matrices `(*b, m, n)`, floats.
        m: Number of rows.
        n: Number of columns.

    Returns:
        The factors in one matrix, with the order of the rows: elimination with partial pivoting
        (Golub and Van Loan, 3.4).
    """
    rows, columns = numbered(g, m), numbered(g, n)
    upright = upright_numbers(g, rows)
    zero, one = const(g, a, 0), const(g, a, 1)

    def turn(b: GraphBuilder, j: str, states: list[str]) -> tuple[list[str], list[str]]:
        size = b.op.Where(
            b.op.GreaterOrEqual(rows, j), b.op.Abs(column_of(b, states[0], j)), const(g, a, -1)
        )
        place = b.op.ArgMax(size, axis=-1, keepdims=1)
        x, order = (swap_rows(b, state, j, place, rows) for state in states)
        column, row = column_of(b, x, j), b.op.Gather(x, j, axis=-2)
        pivot = unsqueezed(b, b.op.Gather(column, j, axis=-1), -1)
        usable = b.op.And(b.op.Greater(rows, j), b.op.Not(b.op.Equal(pivot, zero)))
        divisor = b.op.Where(b.op.Equal(pivot, zero), one, pivot)
        factor = b.op.Where(usable, b.op.Div(column, divisor), zero)
        right = b.op.Where(b.op.Greater(columns, j), row, zero)
        x = b.op.Sub(x, b.op.Mul(unsqueezed(b, factor, -1), unsqueezed(b, right, -2)))
        here = b.op.And(b.op.Equal(columns, j), b.op.Greater(upright, j))
        x = b.op.Where(here, unsqueezed(b, b.op.Where(usable, factor, column), -1), x)
        return [x, order], [b.op.Squeeze(place, _last(-1)), b.op.Squeeze(pivot, _last(-1))]

    batch = g.op.Shape(a, end=(g.get_rank(a) or 2) - 2)
    start = g.op.Expand(upright, join_dims(g, [batch, m, 1]))
    count = least_size(g, m, n)
    factors, order, places, pivots = counted(g, count, [a, str(start)], turn)
    flat = str(g.op.Squeeze(order, _last(-1)))
    return LuFactors(factors, of_batch(g, a, places, count), of_batch(g, a, pivots, count), flat)


def swap_rows(b: GraphBuilder, a: str, j: str, place: str, rows: Any) -> str:
    """Exchange rows ``j`` and ``place`` (one per batch, shape `(..., 1)`).

    Args:
        b: Builder of the body of a loop.
        a: Matrices `(*b, m, n)`.
        j: A row, int64.
        place: Another one of each matrix.
        rows: Numbers of all rows, `(m,)`.

    Returns:
        The matrices with these rows exchanged.
    """
    index = b.op.Where(b.op.Equal(rows, place), j, rows)
    index = b.op.Where(b.op.Equal(rows, j), place, index)
    spread = b.op.Expand(unsqueezed(b, index, -1), b.op.Shape(a))
    return str(b.op.GatherElements(a, spread, axis=-2))


def householder(g: GraphBuilder, a: str, m: Size, n: Size) -> tuple[str, str]:
    """Emit a QR factorisation of `(*b, m, n)`.

    Args:
        g: The builder.
        a: The matrices, float64.
        m: Number of rows.
        n: Number of columns.

    Returns:
        R with the Householder vectors below its diagonal, `(*b, m, n)`, and their factors,
        `(*b, min(m, n))`.
    """
    rows, columns = numbered(g, m), numbered(g, n)
    zero, one = const(g, a, 0), const(g, a, 1)

    def turn(b: GraphBuilder, j: str, states: list[str]) -> tuple[list[str], list[str]]:
        x = states[0]
        column = column_of(b, x, j)
        alpha = unsqueezed(b, b.op.Gather(column, j, axis=-1), -1)
        tail = b.op.Where(b.op.Greater(rows, j), column, zero)
        square = b.op.ReduceSum(b.op.Mul(tail, tail), _last(-1), keepdims=1)
        trivial = b.op.Equal(square, zero)
        norm = b.op.Sqrt(b.op.Add(b.op.Mul(alpha, alpha), square))
        beta = b.op.Where(b.op.Less(alpha, zero), norm, b.op.Neg(norm))
        beta = b.op.Where(trivial, alpha, beta)
        safe = b.op.Where(trivial, one, beta)
        tau = b.op.Where(trivial, zero, b.op.Div(b.op.Sub(beta, alpha), safe))
        divisor = b.op.Where(trivial, one, b.op.Sub(alpha, beta))
        vector = b.op.Where(b.op.Equal(rows, j), one, b.op.Div(tail, divisor))
        later = b.op.Greater(columns, j)
        x = _reflected(b, x, vector, tau, mask=later, zero=zero)
        stored = b.op.Where(b.op.Greater(rows, j), vector, column)
        stored = b.op.Where(b.op.Equal(rows, j), beta, stored)
        x = b.op.Where(b.op.Equal(columns, j), unsqueezed(b, stored, -1), x)
        return [x], [b.op.Squeeze(tau, _last(-1))]

    factors, taus = counted(g, least_size(g, m, n), [a], turn)
    return factors, stacked_last(g, taus)


def _reflected(
    b: GraphBuilder, a: str, vector: str, tau: str, *, mask: Any, zero: np.ndarray[Any, Any]
) -> str:
    """``a - tau v (v' a)``, only in the columns of the mask."""
    projection = b.op.MatMul(unsqueezed(b, vector, -2), a)
    scaled = b.op.Mul(unsqueezed(b, tau, -1), projection)
    if mask is not None:
        scaled = b.op.Where(mask, scaled, zero)
    return str(b.op.Sub(a, b.op.Mul(unsqueezed(b, vector, -1), scaled)))


def householder_product(
    g: GraphBuilder, vectors: str, taus: str, sizes: tuple[Size, Size], count: Size
) -> str:
    """Emit the product of ``count`` reflections, its first columns.

    Args:
        g: The graph.
        vectors: Householder vectors below the diagonal, `(*b, m, k)`.
        taus: Their factors, `(*b, count)`.
        sizes: Rows and columns of the result.
        count: Number of reflections.

    Returns:
        Orthonormal columns, `(*b, *sizes)`.
    """
    rows, last = numbered(g, sizes[0]), size_less_one(g, count)
    zero, one = const(g, vectors, 0), const(g, vectors, 1)

    def turn(b: GraphBuilder, i: str, states: list[str]) -> tuple[list[str], list[str]]:
        j = b.op.Sub(last, i)
        column = column_of(b, vectors, j)
        tail = b.op.Where(b.op.Greater(rows, j), column, zero)
        vector = b.op.Where(b.op.Equal(rows, j), one, tail)
        tau = unsqueezed(b, b.op.Gather(taus, j, axis=-1), -1)
        return [_reflected(b, states[0], vector, tau, mask=None, zero=zero)], []

    batch = g.op.Shape(vectors, end=(g.get_rank(vectors) or 2) - 2)
    start = g.op.Expand(identity_matrix(g, sizes, zero), join_dims(g, [batch, *sizes]))
    return counted(g, count, [str(start)], turn)[0]


def solve_tridiagonal(g: GraphBuilder, diagonals: tuple[str, str, str], b: str, n: Size) -> str:
    """Solve a tridiagonal system by Gaussian elimination without pivoting.

    Args:
        g: The graph.
        diagonals: Below (its first element is not read), on and above the diagonal, `(*b, n)`.
        b: Right-hand sides, `(*b, n, k)`.
        n: Number of rows.

    Returns:
        The solution, `(*b, n, k)`.
    """
    lower, main, upper = diagonals
    last = size_less_one(g, n)

    def down(c: GraphBuilder, i: str, states: list[str]) -> tuple[list[str], list[str]]:
        below = unsqueezed(c, c.op.Gather(lower, i, axis=-1), -1)
        diagonal = unsqueezed(c, c.op.Gather(main, i, axis=-1), -1)
        above = unsqueezed(c, c.op.Gather(upper, i, axis=-1), -1)
        pivot = c.op.Sub(diagonal, c.op.Mul(below, states[0]))
        ratio = c.op.Div(above, pivot)
        row = c.op.Gather(b, i, axis=-2)
        value = c.op.Div(c.op.Sub(row, c.op.Mul(below, states[1])), pivot)
        return [ratio, value], [ratio, value]

    first = g.op.Gather(b, np.array(0), axis=-2)
    start = g.op.Sub(first, first)
    ratio0 = unsqueezed(g, g.op.Gather(g.op.Sub(main, main), np.array(0), axis=-1), -1)
    _, _, ratios, values = counted(g, n, [ratio0, start], down)

    def up(c: GraphBuilder, i: str, states: list[str]) -> tuple[list[str], list[str]]:
        j = c.op.Sub(last, i)
        ratio = c.op.Gather(ratios, j, axis=0)
        row = c.op.Sub(c.op.Gather(values, j, axis=0), c.op.Mul(ratio, states[0]))
        return [row], [row]

    _, rows = counted(g, n, [start], up)
    return reversed_order(g, rows_back(g, rows), (-2,))
