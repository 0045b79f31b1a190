"""Factorisations of complex matrices given as pairs of real ones, in float64.

A complex matrix ``A + iB`` acts like the real one ``[[A, -B], [B, A]]`` of twice the size, its
*embedding*: products and adjoints of embeddings are embeddings. With the two parts of each element
side by side, *interleaved*, triangles stay triangles. Conventions are LAPACK's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .complex_parts import Pair, divide, multiply
from .factorise import (
    LuFactors,
    column_of,
    stacked_last,
    swap_rows,
    triangular_solution,
    unsqueezed,
)
from .layout import matrix_transpose
from .linalg import cholesky
from .looping import counted

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
]

_LAST, _BEFORE = np.array([-1], np.int64), np.array([-2], np.int64)
_ZERO, _ONE = np.array(0.0), np.array(1.0)


def embedded(g: GraphBuilder, x: Pair) -> str:
    """Return the embedding of `(*b, m, n)`, `(*b, 2m, 2n)`."""
    real, imaginary = x
    upper = g.op.Concat(real, g.op.Neg(imaginary), axis=-1)
    return str(g.op.Concat(upper, g.op.Concat(imaginary, real, axis=-1), axis=-2))


def parts_of(g: GraphBuilder, x: str, m: int, n: int) -> Pair:
    """Return the parts of an embedded `(*b, m, n)`."""
    left = g.op.Slice(x, np.array([0]), np.array([n]), _LAST)
    halves = (g.op.Slice(left, np.array([k * m]), np.array([k * m + m]), _BEFORE) for k in (0, 1))
    real, imaginary = halves
    return str(real), str(imaginary)


def adjoint(g: GraphBuilder, x: Pair) -> Pair:
    """Return the conjugated transpose."""
    return matrix_transpose(g, x[0]), str(g.op.Neg(matrix_transpose(g, x[1])))


def _order(n: int) -> np.ndarray[Any, Any]:
    """Rows of an embedding in the order of an interleaved matrix."""
    return np.arange(2 * n).reshape(2, n).T.ravel()


def _interleaved(g: GraphBuilder, x: Pair, n: int) -> str:
    rows = g.op.Gather(embedded(g, x), _order(n), axis=-2)
    return str(g.op.Gather(rows, _order(n), axis=-1))


def _every_second(g: GraphBuilder, x: str, axis: int) -> Pair:
    """Elements 0, 2, ... and 1, 3, ... along an axis."""
    far, where, step = np.array([np.iinfo(np.int64).max]), np.array([axis]), np.array([2])
    first, second = (g.op.Slice(x, np.array([k]), far, where, step) for k in (0, 1))
    return str(first), str(second)


def complex_cholesky(g: GraphBuilder, a: Pair, n: int) -> Pair:
    """Return the lower triangular ``l`` with ``l @ l.H = a``; only the lower half is read."""
    flat = str(g.op.Where(np.eye(n, dtype=np.bool_), _ZERO, a[1]))
    factor = cholesky(g, _interleaved(g, (a[0], flat), n))
    real, imaginary = _every_second(g, _every_second(g, factor, -1)[0], -2)
    return real, str(g.op.Where(np.eye(n, dtype=np.bool_), _ZERO, imaginary))


def complex_triangular_solution(
    g: GraphBuilder, a: Pair, b: Pair, n: int, *, lower: bool, unit: bool
) -> Pair:
    """Return ``x`` with ``a @ x = b`` for triangular `(*b, n, n)`."""
    here = np.eye(n, dtype=np.bool_)
    if not unit:
        diagonal = [
            str(g.op.ReduceSum(g.op.Where(here, part, _ZERO), _LAST, keepdims=1)) for part in a
        ]
        a, b = (divide(g, x, (diagonal[0], diagonal[1])) for x in (a, b))
    ones = str(g.op.Where(here, _ONE, a[0])), str(g.op.Where(here, _ZERO, a[1]))
    rows = str(g.op.Gather(g.op.Concat(*b, axis=-2), _order(n), axis=-2))
    x = triangular_solution(g, _interleaved(g, ones, n), rows, 2 * n, lower=lower, unit=True)
    return _every_second(g, x, -2)


def complex_lu(g: GraphBuilder, a: Pair, m: int, n: int) -> tuple[Pair, LuFactors]:
    """Return both factors in one matrix, and what :func:`~.factorise.lu` says besides."""
    rows, columns = np.arange(m), np.arange(n)

    def turn(b: GraphBuilder, j: str, states: list[str]) -> tuple[list[str], list[str]]:
        column = [column_of(b, part, j) for part in states[:2]]
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
        here = b.op.And(b.op.Equal(columns, j), b.op.Greater(rows.reshape(m, 1), j))
        done = []
        for part, change, own, new in zip((re, im), product, column, factor, strict=True):
            stored = unsqueezed(b, b.op.Where(usable, new, own), -1)
            done.append(str(b.op.Where(here, stored, b.op.Sub(part, change))))
        return [*done, order], [b.op.Squeeze(place, _LAST), b.op.Squeeze(length, _LAST)]

    batch = g.op.Shape(a[0], end=(g.get_rank(a[0]) or 2) - 2)
    start = g.op.Expand(rows.reshape(m, 1), g.op.Concat(batch, np.array([m, 1]), axis=0))
    re, im, order, places, pivots = counted(g, min(m, n), [*a, str(start)], turn)
    flat = str(g.op.Squeeze(order, _LAST))
    return (re, im), LuFactors(re, stacked_last(g, places), stacked_last(g, pivots), flat)


def complex_householder(g: GraphBuilder, a: Pair, m: int, n: int) -> tuple[Pair, Pair]:
    """Return R with the Householder vectors below its diagonal, and their factors."""
    rows, columns = np.arange(m), np.arange(n)

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

    re, im, *taus = counted(g, min(m, n), list(a), turn)
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
    g: GraphBuilder, vectors: Pair, taus: Pair, sizes: tuple[int, int], count: int
) -> Pair:
    """Return the product of ``count`` reflections, its first columns, `(*b, *sizes)`."""
    rows = np.arange(sizes[0])

    def turn(b: GraphBuilder, i: str, states: list[str]) -> tuple[list[str], list[str]]:
        j = b.op.Sub(np.array(count - 1), i)
        at, below = b.op.Equal(rows, j), b.op.Greater(rows, j)
        tails = [b.op.Where(below, column_of(b, part, j), _ZERO) for part in vectors]
        vector = str(b.op.Where(at, _ONE, tails[0])), str(tails[1])
        tau = [unsqueezed(b, b.op.Gather(part, j, axis=-1), -1) for part in taus]
        made = _reflected(b, (states[0], states[1]), vector, (tau[0], tau[1]), mask=None)
        return list(made), []

    batch = g.op.Shape(vectors[0], end=(g.get_rank(vectors[0]) or 2) - 2)
    shape = g.op.Concat(batch, np.array(sizes), axis=0)
    start = [str(g.op.Expand(first, shape)) for first in (np.eye(*sizes), np.zeros(sizes))]
    re, im = counted(g, count, start, turn)
    return re, im
