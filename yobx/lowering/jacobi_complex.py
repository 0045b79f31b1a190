"""Eigenvalues of Hermitian matrices and singular values of complex ones, by Jacobi rotations.

Matrices are carried as embeddings (:mod:`.complex_matrices`), so that the loop is that of
:mod:`.jacobi`; a rotation of two columns has a phase here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .complex_matrices import adjoint, embedded, parts_of, squared_length, twice
from .complex_parts import Pair, multiply
from .factorise import Size, identity_matrix, numbered, stacked_last
from .jacobi import (
    LAST,
    SWEEPS,
    either,
    has_more,
    has_slanted,
    identities,
    in_order,
    picked_columns,
    rotation_angles,
    sorted_sizes,
)
from .layout import matrix_transpose
from .looping import counted, repeated
from .shapes import join_dims
from .tournament import Tournament, meeting, tournament

__all__ = ["complex_svd", "hermitian_eigh"]

_BEFORE = np.array([-2], np.int64)
_ZERO, _ONE = np.array(0.0), np.array(1.0)


def _rotation(g: GraphBuilder, turn: str, gram: str, plan: Tournament) -> str:
    """Embedded rotation that makes the paired elements of an embedded Hermitian matrix 0."""
    partner, sign, pairs = meeting(g, turn, plan)
    real, imaginary = parts_of(g, gram, plan.size, plan.size)
    diagonal = g.op.ReduceSum(g.op.Mul(real, plan.unit), LAST, keepdims=0)
    above, aside = (
        g.op.ReduceSum(g.op.Mul(part, pairs), LAST, keepdims=0) for part in (real, imaginary)
    )
    # both columns of a pair must see one number, or the rotation would not be one
    half = np.array(0.5)
    above = g.op.Mul(g.op.Add(above, g.op.Gather(above, partner, axis=-1)), half)
    aside = g.op.Mul(g.op.Sub(aside, g.op.Gather(aside, partner, axis=-1)), half)
    size = g.op.Sqrt(g.op.Add(g.op.Mul(above, above), g.op.Mul(aside, aside)))
    divisor = g.op.Where(g.op.Equal(size, _ZERO), _ONE, size)
    cosine, sine = rotation_angles(g, diagonal, size, partner, sign)
    turned = [
        g.op.Mul(g.op.Unsqueeze(g.op.Mul(sine, g.op.Div(part, divisor)), LAST), pairs)
        for part in (above, aside)
    ]
    kept = g.op.Mul(g.op.Unsqueeze(cosine, LAST), plan.unit)
    return embedded(g, (str(g.op.Add(kept, turned[0])), str(turned[1])))


def _outside(g: GraphBuilder, plan: Tournament) -> Any:
    """Return 1 where rows and columns of an embedding are of different columns, else 0."""
    if isinstance(plan.size, int):
        return np.tile(plan.outside, (2, 2))
    return g.op.Tile(plan.outside, np.array([2, 2]))


def hermitian_eigh(g: GraphBuilder, a: Pair, n: Size) -> tuple[str, Pair]:
    """Emit eigenvalues and eigenvectors of Hermitian matrices in float64.

    Args:
        g: The graph.
        a: Parts of Hermitian matrices `(*b, n, n)`.
        n: Their size, at least 1 if it is a number.

    Returns:
        Values `(*b, n)`, ascending, and vectors as columns.
    """
    plan = tournament(g, n)
    outside = _outside(g, plan)

    def step(b: GraphBuilder, turn: str, states: list[str]) -> tuple[list[str], str]:
        matrix, vectors = states
        rotation = _rotation(b, turn, matrix, plan)
        matrix = b.op.MatMul(b.op.MatMul(matrix_transpose(b, rotation), matrix), rotation)
        return [matrix, b.op.MatMul(vectors, rotation)], has_more(b, matrix, outside)

    start = embedded(g, a)
    most = plan.rounds(g, SWEEPS)
    matrix, vectors = repeated(g, most, [start, identities(g, start, twice(g, n))], step)
    real, _ = parts_of(g, matrix, n, n)
    diagonal = g.op.ReduceSum(g.op.Mul(real, plan.unit), LAST, keepdims=0)
    values, order = in_order(g, str(diagonal), largest=False)
    x, y = (picked_columns(g, part, order) for part in parts_of(g, vectors, n, n))
    return values, (x, y)


def complex_svd(
    g: GraphBuilder, a: Pair, m: Size, n: Size, *, vectors: bool = True, full: bool = False
) -> tuple[str, Pair | None, Pair | None]:
    """Emit singular values in float64, and vectors if asked for.

    Args:
        g: The graph.
        a: Parts of matrices `(*b, m, n)`.
        m: Number of rows, at least 1 if it is a number.
        n: Number of columns, at least 1 if it is a number.
        vectors: Whether vectors are wanted.
        full: Whether the vectors are completed to square matrices.

    Returns:
        Values, left vectors and the adjoint of the right ones.
    """
    if not (isinstance(m, int) and isinstance(n, int)):
        return _svd_of_any_shape(g, a, m, n, vectors=vectors, full=full)
    if m < n:
        values, left, right = complex_svd(g, adjoint(g, a), n, m, vectors=vectors, full=full)
        if left is None or right is None:
            return values, None, None
        return values, adjoint(g, right), adjoint(g, left)
    return _tall_svd(g, a, m, n, vectors=vectors, full=full)


def _svd_of_any_shape(
    g: GraphBuilder, a: Pair, m: Size, n: Size, *, vectors: bool, full: bool
) -> tuple[str, Pair | None, Pair | None]:
    """Whether the matrix is wider than high is known at run time only."""
    dims = g.get_shape(a[0]).dims()
    if dims[-1] == dims[-2]:
        return _tall_svd(g, a, n, n, vectors=vectors, full=full)
    is_wide, *sizes = sorted_sizes(g, m, n)
    tall = _adjoint_if(g, is_wide, a, a)
    values, left, right = _tall_svd(g, tall, *sizes, vectors=vectors, full=full)
    if left is None or right is None:
        return values, None, None
    return values, _adjoint_if(g, is_wide, right, left), _adjoint_if(g, is_wide, left, right)


def _adjoint_if(g: GraphBuilder, condition: str, x: Pair, otherwise: Pair) -> Pair:
    """The adjoint of ``x`` if the condition holds, else another matrix."""
    (real, imaginary), (own, aside) = x, otherwise
    return (
        either(g, condition, lambda b: matrix_transpose(b, real), own),
        either(g, condition, lambda b: str(b.op.Neg(matrix_transpose(b, imaginary))), aside),
    )


def _tall_svd(
    g: GraphBuilder, a: Pair, m: Size, n: Size, *, vectors: bool, full: bool
) -> tuple[str, Pair | None, Pair | None]:
    """Matrices with at least as many rows as columns."""
    plan, size = tournament(g, n), twice(g, n)
    unit, outside = identity_matrix(g, (size, size), _ZERO), _outside(g, plan)

    def step(b: GraphBuilder, turn: str, states: list[str]) -> tuple[list[str], str]:
        gram = b.op.MatMul(matrix_transpose(b, states[0]), states[0])
        rotation = _rotation(b, turn, gram, plan)
        again = has_slanted(b, gram, unit, outside, size)
        return [b.op.MatMul(state, rotation) for state in states], again

    start = embedded(g, a)
    states = [start, identities(g, start, size)] if vectors else [start]
    columns, *turned = repeated(g, plan.rounds(g, SWEEPS), states, step)
    both = parts_of(g, columns, m, n)
    squares = g.op.Add(g.op.Mul(both[0], both[0]), g.op.Mul(both[1], both[1]))
    lengths = g.op.Sqrt(g.op.ReduceSum(squares, _BEFORE, keepdims=0))
    values, order = in_order(g, str(lengths), largest=True)
    if not turned:
        return values, None, None
    placed = picked_columns(g, both[0], order), picked_columns(g, both[1], order)
    x, y = (picked_columns(g, part, order) for part in parts_of(g, turned[0], n, n))
    return values, _unit_columns(g, placed, m, n, full=full), adjoint(g, (x, y))


def _unit_columns(g: GraphBuilder, columns: Pair, m: Size, n: Size, *, full: bool) -> Pair:
    """Orthonormal columns along orthogonal ones, completed where those are 0 or too few.

    Householder reflections of orthogonal columns leave a diagonal; their product has the unit
    columns up to the phases of that diagonal.
    """
    rows = numbered(g, m)

    def reflect(b: GraphBuilder, j: str, states: list[str]) -> tuple[list[str], list[str]]:
        matrix, product = states[:2], states[2]
        column = [b.op.Gather(part, j, axis=-1) for part in matrix]
        tail = [b.op.Where(b.op.GreaterOrEqual(rows, j), part, _ZERO) for part in column]
        sizes = b.op.Max(*(b.op.Abs(part) for part in tail))
        largest = b.op.ReduceMax(sizes, LAST, keepdims=1)
        is_zero = b.op.Equal(largest, _ZERO)
        scale = b.op.Where(is_zero, _ONE, largest)
        unit = [b.op.Div(part, scale) for part in tail]
        head = [b.op.Unsqueeze(b.op.Gather(part, j, axis=-1), LAST) for part in unit]
        length, reach = (str(b.op.Sqrt(squared_length(b, x))) for x in (unit, head))
        no_phase = b.op.Equal(reach, _ZERO)
        divisor = b.op.Where(no_phase, _ONE, reach)
        phase = [
            b.op.Where(no_phase, _ONE, b.op.Div(head[0], divisor)),
            b.op.Div(head[1], divisor),
        ]
        here = b.op.Equal(rows, j)
        vector = [
            b.op.Add(part, b.op.Where(here, b.op.Mul(turn, length), _ZERO))
            for part, turn in zip(unit, phase, strict=True)
        ]
        total = squared_length(b, vector)
        factor = b.op.Div(
            b.op.Where(is_zero, _ZERO, np.array(2.0)), b.op.Where(is_zero, _ONE, total)
        )
        upright = [b.op.Unsqueeze(part, LAST) for part in vector]
        thin = embedded(b, (str(upright[0]), str(upright[1])))
        flat = b.op.Mul(b.op.Unsqueeze(factor, LAST), matrix_transpose(b, thin))
        whole = b.op.Concat(*matrix, axis=-2)
        whole = b.op.Sub(whole, b.op.MatMul(thin, b.op.MatMul(flat, whole)))
        product = b.op.Sub(product, b.op.MatMul(b.op.MatMul(product, thin), flat))
        # the diagonal becomes -phase * length
        flips = [b.op.Where(is_zero, _ONE, b.op.Neg(phase[0]))]
        flips.append(b.op.Where(is_zero, _ZERO, b.op.Neg(phase[1])))
        return [*parts_of(b, whole, m, n), product], [b.op.Squeeze(f, LAST) for f in flips]

    start = identities(g, embedded(g, columns), twice(g, m))
    *_, product, real, imaginary = counted(g, n, [*columns, start], reflect)
    turns = [stacked_last(g, part) for part in (real, imaginary)]
    count = m if full else n
    if full and m != n:
        pads: Any = np.zeros(2 * (g.get_rank(turns[0]) or 2), np.int64)
        if isinstance(m, int) and isinstance(n, int):
            pads[-1] = m - n
        else:
            more = g.op.Sub(*(join_dims(g, [size]) for size in (m, n)))
            pads = g.op.Concat(pads[:-1], more, axis=0)
        turns = [
            str(g.op.Pad(part, pads, value))
            for part, value in zip(turns, (_ONE, _ZERO), strict=True)
        ]
    x, y = (str(g.op.Unsqueeze(part, _BEFORE)) for part in turns)
    wide = parts_of(g, product, m, m)
    kept = [str(g.op.Slice(part, np.array([0]), join_dims(g, [count]), LAST)) for part in wide]
    return multiply(g, (kept[0], kept[1]), (x, y))
