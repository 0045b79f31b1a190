"""Factorisations of complex matrices given as pairs of real ones, in float64.

A complex matrix ``A + iB`` acts like the real one ``[[A, -B], [B, A]]`` of twice the size, its
*embedding*: products and adjoints of embeddings are embeddings. With the two parts of each element
side by side, *interleaved*, triangles stay triangles. Conventions are LAPACK's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .complex_parts import Pair, absolute, divide, multiply
from .factorise import (
    LuFactors,
    Size,
    column_of,
    identity_matrix,
    least_size,
    numbered,
    of_batch,
    on_diagonal,
    size_less_one,
    stacked_last,
    swap_rows,
    triangular_solution,
    unsqueezed,
    upright_numbers,
)
from .layout import matrix_transpose
from .looping import counted
from .shapes import join_dims

__all__ = [
    "adjoint",
    "complex_cholesky",
    "complex_householder",
    "complex_householder_product",
    "complex_lu",
    "complex_triangular_solution",
    "embedded",
    "parts_of",
    "squared_length",
    "twice",
]

_LAST, _BEFORE = np.array([-1], np.int64), np.array([-2], np.int64)
_ZERO, _ONE = np.array(0.0), np.array(1.0)


def embedded(g: GraphBuilder, x: Pair) -> str:
    """Return the embedding of `(*b, m, n)`, `(*b, 2m, 2n)`.

    Args:
        g: The builder.
        x: Parts of the matrices, `(*b, m, n)` each.
    """
    real, imaginary = x
    upper = g.op.Concat(real, g.op.Neg(imaginary), axis=-1)
    return str(g.op.Concat(upper, g.op.Concat(imaginary, real, axis=-1), axis=-2))


def twice(g: GraphBuilder, n: Size) -> Size:
    """Return the size of an embedding."""
    return 2 * n if isinstance(n, int) else str(g.op.Mul(n, np.array(2)))


def parts_of(g: GraphBuilder, x: str, m: Size, n: Size) -> Pair:
    """Return the parts of an embedded `(*b, m, n)`.

    Args:
        g: The builder.
        x: Embedded matrices `(*b, 2m, 2n)`.
        m: Number of rows of the complex matrix.
        n: Number of its columns.

    Returns:
        Real and imaginary part, `(*b, m, n)` each.
    """
    left = g.op.Slice(x, np.array([0]), join_dims(g, [n]), _LAST)
    bounds = [np.array([0]), *(join_dims(g, [size]) for size in (m, twice(g, m)))]
    real, imaginary = (g.op.Slice(left, bounds[k], bounds[k + 1], _BEFORE) for k in (0, 1))
    return str(real), str(imaginary)


def adjoint(g: GraphBuilder, x: Pair) -> Pair:
    """Return the conjugated transpose."""
    return matrix_transpose(g, x[0]), str(g.op.Neg(matrix_transpose(g, x[1])))


def _order(g: GraphBuilder, n: Size) -> Any:
    """Rows of an embedding in the order of an interleaved matrix."""
    if isinstance(n, int):
        return np.arange(2 * n).reshape(2, n).T.ravel()
    places = numbered(g, twice(g, n))
    half, is_odd = (f(places, np.array(2)) for f in (g.op.Div, g.op.Mod))
    return g.op.Add(half, g.op.Mul(is_odd, n))


def _interleaved(g: GraphBuilder, x: Pair, n: Size) -> str:
    order = _order(g, n)
    return str(g.op.Gather(g.op.Gather(embedded(g, x), order, axis=-2), order, axis=-1))


def complex_cholesky(g: GraphBuilder, a: Pair, n: Size) -> Pair:
    """Return the lower triangular ``l`` with ``l @ l.H = a``, `(*b, n, n)`, of its lower half.

    Args:
        g: The builder.
        a: Hermitian positive definite matrices `(*b, n, n)`, of which the lower half is read.
        n: Their size.

    Returns:
        The factors, `(*b, n, n)`.
    """
    rows = numbered(g, n)

    def turn(b: GraphBuilder, j: str, states: list[str]) -> tuple[list[str], list[str]]:
        u, v = (unsqueezed(b, b.op.Gather(part, j, axis=-2), -1) for part in states)
        re, im = states
        products = (
            b.op.Add(b.op.MatMul(re, u), b.op.MatMul(im, v)),
            b.op.Sub(b.op.MatMul(im, u), b.op.MatMul(re, v)),
        )
        rest = [
            b.op.Sub(column_of(b, part, j), b.op.Squeeze(product, _LAST))
            for part, product in zip(a, products, strict=True)
        ]
        root = b.op.Sqrt(unsqueezed(b, b.op.Gather(rest[0], j, axis=-1), -1))
        kept = (b.op.GreaterOrEqual(rows, j), b.op.Greater(rows, j))
        here = b.op.Equal(rows, j)
        done = []
        for state, part, where in zip(states, rest, kept, strict=True):
            column = b.op.Where(where, b.op.Div(part, root), _ZERO)
            done.append(str(b.op.Where(here, unsqueezed(b, column, -1), state)))
        return done, []

    shape = g.op.Shape(a[0])
    zeros = str(g.op.Expand(_ZERO, shape))
    re, im = counted(g, n, [zeros, zeros], turn)
    return re, im


def _every_second(g: GraphBuilder, x: str, axis: int) -> Pair:
    """Elements 0, 2, ... and 1, 3, ... along an axis."""
    far, where, step = np.array([np.iinfo(np.int64).max]), np.array([axis]), np.array([2])
    first, second = (g.op.Slice(x, np.array([k]), far, where, step) for k in (0, 1))
    return str(first), str(second)


def complex_triangular_solution(
    g: GraphBuilder, a: Pair, b: Pair, n: Size, *, lower: bool, unit: bool
) -> Pair:
    """Return ``x`` with ``a @ x = b`` for triangular `(*b, n, n)`.

    Args:
        g: The builder.
        a: Matrices `(*b, n, n)`.
        b: Right-hand sides `(*b, n, k)`.
        n: Their size.
        lower: Which triangle is read.
        unit: Whether its diagonal is taken for ones.

    Returns:
        The solution, `(*b, n, k)`.
    """
    here = on_diagonal(g, n)
    if not unit:
        diagonal = [
            str(g.op.ReduceSum(g.op.Where(here, part, _ZERO), _LAST, keepdims=1)) for part in a
        ]
        a, b = (divide(g, x, (diagonal[0], diagonal[1])) for x in (a, b))
    ones = str(g.op.Where(here, _ONE, a[0])), str(g.op.Where(here, _ZERO, a[1]))
    rows = str(g.op.Gather(g.op.Concat(*b, axis=-2), _order(g, n), axis=-2))
    size = twice(g, n)
    x = triangular_solution(g, _interleaved(g, ones, n), rows, size, lower=lower, unit=True)
    return _every_second(g, x, -2)


def complex_lu(
    g: GraphBuilder, a: Pair, m: Size, n: Size, *, by_modulus: bool = False
) -> tuple[Pair, LuFactors]:
    """Return both factors in one matrix, and what :func:`~.factorise.lu` says besides.

    A pivot is the largest by the sum of the sizes of its parts, or by its own size (Eigen).

    Args:
        g: The builder.
        a: Parts of the matrices, `(*b, m, n)` each, float64.
        m: Number of rows.
        n: Number of columns.
        by_modulus: Whether a pivot is the largest by its own size.
    """
    rows, columns = numbered(g, m), numbered(g, n)
    upright = upright_numbers(g, rows)

    def turn(b: GraphBuilder, j: str, states: list[str]) -> tuple[list[str], list[str]]:
        column = [column_of(b, part, j) for part in states[:2]]
        if by_modulus:
            size = absolute(b, (column[0], column[1]))
        else:
            size = b.op.Add(b.op.Abs(column[0]), b.op.Abs(column[1]))
        size = b.op.Where(b.op.GreaterOrEqual(rows, j), size, np.array(-1.0))
        place = b.op.ArgMax(size, axis=-1, keepdims=1)
        re, im, order = (swap_rows(b, state, j, place, rows) for state in states)
        column = [column_of(b, part, j) for part in (re, im)]
        row = [b.op.Gather(part, j, axis=-2) for part in (re, im)]
        pivot = [unsqueezed(b, b.op.Gather(part, j, axis=-1), -1) for part in column]
        length = b.op.Add(b.op.Abs(pivot[0]), b.op.Abs(pivot[1]))
        usable = b.op.Not(b.op.Equal(length, _ZERO))
        below = b.op.And(b.op.Greater(rows, j), usable)
        safe = str(b.op.Where(usable, pivot[0], _ONE)), pivot[1]
        quotient = divide(b, (column[0], column[1]), safe)
        factor = [b.op.Where(below, part, _ZERO) for part in quotient]
        right = [b.op.Where(b.op.Greater(columns, j), part, _ZERO) for part in row]
        product = multiply(
            b,
            (unsqueezed(b, factor[0], -1), unsqueezed(b, factor[1], -1)),
            (unsqueezed(b, right[0], -2), unsqueezed(b, right[1], -2)),
        )
        here = b.op.And(b.op.Equal(columns, j), b.op.Greater(upright, j))
        done = []
        for part, change, own, new in zip((re, im), product, column, factor, strict=True):
            stored = unsqueezed(b, b.op.Where(usable, new, own), -1)
            done.append(str(b.op.Where(here, stored, b.op.Sub(part, change))))
        return [*done, order], [b.op.Squeeze(place, _LAST), b.op.Squeeze(length, _LAST)]

    batch = g.op.Shape(a[0], end=(g.get_rank(a[0]) or 2) - 2)
    start = g.op.Expand(upright, join_dims(g, [batch, m, 1]))
    count = least_size(g, m, n)
    re, im, order, places, pivots = counted(g, count, [*a, str(start)], turn)
    flat = str(g.op.Squeeze(order, _LAST))
    rows = of_batch(g, a[0], places, count), of_batch(g, a[0], pivots, count)
    return (re, im), LuFactors(re, *rows, flat)


def complex_householder(g: GraphBuilder, a: Pair, m: Size, n: Size) -> tuple[Pair, Pair]:
    """Return R with the Householder vectors below its diagonal, and their factors.

    Args:
        g: The builder.
        a: Matrices `(*b, m, n)`.
        m: Number of rows.
        n: Number of columns.

    Returns:
        Both, `(*b, m, n)` and `(*b, min(m, n))` (Golub and Van Loan, 5.2).
    """
    rows, columns = numbered(g, m), numbered(g, n)

    def turn(b: GraphBuilder, j: str, states: list[str]) -> tuple[list[str], list[str]]:
        column = [column_of(b, part, j) for part in states]
        alpha = [unsqueezed(b, b.op.Gather(part, j, axis=-1), -1) for part in column]
        tail = [b.op.Where(b.op.Greater(rows, j), part, _ZERO) for part in column]
        square = squared_length(b, tail)
        trivial = b.op.And(b.op.Equal(square, _ZERO), b.op.Equal(alpha[1], _ZERO))
        norm = b.op.Sqrt(b.op.Add(squared_length(b, alpha), square))
        beta = b.op.Where(b.op.Less(alpha[0], _ZERO), norm, b.op.Neg(norm))
        safe = b.op.Where(trivial, _ONE, beta)
        tau_real = b.op.Div(b.op.Sub(beta, alpha[0]), safe)
        tau = [
            str(b.op.Where(trivial, _ZERO, part))
            for part in (tau_real, b.op.Neg(b.op.Div(alpha[1], safe)))
        ]
        divisor = str(b.op.Where(trivial, _ONE, b.op.Sub(alpha[0], beta))), alpha[1]
        quotient = divide(b, (tail[0], tail[1]), divisor)
        at = b.op.Equal(rows, j)
        vector = str(b.op.Where(at, _ONE, quotient[0])), str(b.op.Where(at, _ZERO, quotient[1]))
        # the adjoint of the reflection is applied
        changed = _reflected(
            b,
            (states[0], states[1]),
            vector,
            (tau[0], str(b.op.Neg(tau[1]))),
            mask=b.op.Greater(columns, j),
        )
        stored = []
        corner = b.op.Where(trivial, alpha[0], beta), b.op.Where(trivial, alpha[1], _ZERO)
        for part, own, new, diagonal in zip(changed, column, vector, corner, strict=True):
            values = b.op.Where(b.op.Greater(rows, j), new, own)
            values = unsqueezed(b, b.op.Where(at, diagonal, values), -1)
            stored.append(str(b.op.Where(b.op.Equal(columns, j), values, part)))
        return stored, [b.op.Squeeze(part, _LAST) for part in tau]

    re, im, *taus = counted(g, least_size(g, m, n), list(a), turn)
    return (re, im), (stacked_last(g, taus[0]), stacked_last(g, taus[1]))


def squared_length(b: GraphBuilder, x: Any) -> str:
    """Squared length of complex vectors, `(*b, 1)`."""
    both = b.op.Add(b.op.Mul(x[0], x[0]), b.op.Mul(x[1], x[1]))
    return str(b.op.ReduceSum(both, _LAST, keepdims=1))


def _reflected(b: GraphBuilder, a: Pair, vector: Pair, tau: Pair, *, mask: Any) -> Pair:
    """``a - tau v (v.H a)``, only in the columns of the mask."""
    across = unsqueezed(b, vector[0], -2), unsqueezed(b, vector[1], -2)
    projection = (
        str(b.op.Add(b.op.MatMul(across[0], a[0]), b.op.MatMul(across[1], a[1]))),
        str(b.op.Sub(b.op.MatMul(across[0], a[1]), b.op.MatMul(across[1], a[0]))),
    )
    scale = unsqueezed(b, tau[0], -1), unsqueezed(b, tau[1], -1)
    scaled = multiply(b, scale, projection)
    if mask is not None:
        scaled = str(b.op.Where(mask, scaled[0], _ZERO)), str(b.op.Where(mask, scaled[1], _ZERO))
    upright = unsqueezed(b, vector[0], -1), unsqueezed(b, vector[1], -1)
    change = multiply(b, upright, scaled)
    return str(b.op.Sub(a[0], change[0])), str(b.op.Sub(a[1], change[1]))


def complex_householder_product(
    g: GraphBuilder, vectors: Pair, taus: Pair, sizes: tuple[Size, Size], count: Size
) -> Pair:
    """Return the product of ``count`` reflections, its first columns, `(*b, *sizes)`.

    Args:
        g: The builder.
        vectors: Parts of the vectors, a column each, `(*b, m, n)`.
        taus: Parts of their factors, `(*b, count)`.
        sizes: Rows and columns of the result.
        count: Number of reflections.
    """
    rows, last = numbered(g, sizes[0]), size_less_one(g, count)

    def turn(b: GraphBuilder, i: str, states: list[str]) -> tuple[list[str], list[str]]:
        j = b.op.Sub(last, i)
        at, below = b.op.Equal(rows, j), b.op.Greater(rows, j)
        tails = [b.op.Where(below, column_of(b, part, j), _ZERO) for part in vectors]
        vector = str(b.op.Where(at, _ONE, tails[0])), str(tails[1])
        tau = [unsqueezed(b, b.op.Gather(part, j, axis=-1), -1) for part in taus]
        made = _reflected(b, (states[0], states[1]), vector, (tau[0], tau[1]), mask=None)
        return list(made), []

    batch = g.op.Shape(vectors[0], end=(g.get_rank(vectors[0]) or 2) - 2)
    shape = join_dims(g, [batch, *sizes])
    start = [str(g.op.Expand(x, shape)) for x in (identity_matrix(g, sizes, _ZERO), _ZERO)]
    re, im = counted(g, count, start, turn)
    return re, im
