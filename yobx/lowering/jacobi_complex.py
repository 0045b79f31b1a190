"""Eigenvalues of Hermitian matrices and singular values of complex ones, by Jacobi rotations.

Matrices are carried as embeddings (:mod:`.complex_matrices`), so that the loop is that of
:mod:`.jacobi`; a rotation of two columns has a phase here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .complex_matrices import adjoint, embedded, parts_of, squared_length
from .complex_parts import Pair, multiply
from .factorise import stacked_last
from .jacobi import (
    LAST,
    SWEEPS,
    has_more,
    has_slanted,
    identities,
    in_order,
    picked_columns,
    rotation_angles,
)
from .layout import matrix_transpose
from .looping import counted, repeated
from .tournament import Tournament, meeting, tournament

__all__ = ["complex_svd", "hermitian_eigh"]

_BEFORE = np.array([-2], np.int64)
_ZERO, _ONE = np.array(0.0), np.array(1.0)


def _rotation(g: GraphBuilder, turn: str, gram: str, plan: Tournament, n: int) -> str:
    """Embedded rotation that makes the paired elements of an embedded Hermitian matrix 0."""
    partner, sign, pairs = meeting(g, turn, plan)
    real, imaginary = parts_of(g, gram, n, n)
    diagonal = g.op.ReduceSum(g.op.Mul(real, np.eye(n)), LAST, keepdims=0)
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
    kept = g.op.Mul(g.op.Unsqueeze(cosine, LAST), np.eye(n))
    return embedded(g, (str(g.op.Add(kept, turned[0])), str(turned[1])))


def _outside(n: int) -> np.ndarray[Any, Any]:
    return np.tile(1.0 - np.eye(n), (2, 2))


def hermitian_eigh(g: GraphBuilder, a: Pair, n: int) -> tuple[str, Pair]:
    """Emit eigenvalues and eigenvectors of Hermitian matrices in float64.

    Args:
        g: The graph.
        a: Parts of Hermitian matrices `(*b, n, n)`.
        n: Their size, at least 1.

    Returns:
        Values `(*b, n)`, ascending, and vectors as columns.
    """
    plan = tournament(g, n)

    def step(b: GraphBuilder, turn: str, states: list[str]) -> tuple[list[str], str]:
        matrix, vectors = states
        rotation = _rotation(b, turn, matrix, plan, n)
        matrix = b.op.MatMul(b.op.MatMul(matrix_transpose(b, rotation), matrix), rotation)
        return [matrix, b.op.MatMul(vectors, rotation)], has_more(b, matrix, _outside(n))

    start = embedded(g, a)
    most = plan.rounds(g, SWEEPS)
    matrix, vectors = repeated(g, most, [start, identities(g, start, 2 * n)], step)
    real, _ = parts_of(g, matrix, n, n)
    diagonal = g.op.ReduceSum(g.op.Mul(real, np.eye(n)), LAST, keepdims=0)
    values, order = in_order(g, str(diagonal), largest=False)
    x, y = (picked_columns(g, part, order) for part in parts_of(g, vectors, n, n))
    return values, (x, y)


def complex_svd(
    g: GraphBuilder, a: Pair, m: int, n: int, *, vectors: bool = True, full: bool = False
) -> tuple[str, Pair | None, Pair | None]:
    """Emit singular values in float64, and vectors if asked for.

    Args:
        g: The graph.
        a: Parts of matrices `(*b, m, n)`.
        m: Number of rows, at least 1.
        n: Number of columns, at least 1.
        vectors: Whether vectors are wanted.
        full: Whether the vectors are completed to square matrices.

    Returns:
        Values, left vectors and the adjoint of the right ones.
    """
    if m < n:
        values, left, right = complex_svd(g, adjoint(g, a), n, m, vectors=vectors, full=full)
        if left is None or right is None:
            return values, None, None
        return values, adjoint(g, right), adjoint(g, left)
    plan = tournament(g, n)

    def step(b: GraphBuilder, turn: str, states: list[str]) -> tuple[list[str], str]:
        gram = b.op.MatMul(matrix_transpose(b, states[0]), states[0])
        rotation = _rotation(b, turn, gram, plan, n)
        again = has_slanted(b, gram, np.eye(2 * n), _outside(n), 2 * n)
        return [b.op.MatMul(state, rotation) for state in states], again

    start = embedded(g, a)
    states = [start, identities(g, start, 2 * n)] if vectors else [start]
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


def _unit_columns(g: GraphBuilder, columns: Pair, m: int, n: int, *, full: bool) -> Pair:
    """Orthonormal columns along orthogonal ones, completed where those are 0 or too few.

    Householder reflections of orthogonal columns leave a diagonal; their product has the unit
    columns up to the phases of that diagonal.
    """
    rows = np.arange(m)

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

    start = identities(g, embedded(g, columns), 2 * m)
    *_, product, real, imaginary = counted(g, n, [*columns, start], reflect)
    turns = [stacked_last(g, part) for part in (real, imaginary)]
    count = m if full else n
    if full and m > n:
        rank = g.get_rank(turns[0]) or 2
        pads = np.zeros(2 * rank, np.int64)
        pads[-1] = m - n
        turns = [
            str(g.op.Pad(part, pads, value))
            for part, value in zip(turns, (_ONE, _ZERO), strict=True)
        ]
    x, y = (str(g.op.Unsqueeze(part, _BEFORE)) for part in turns)
    wide = parts_of(g, product, m, m)
    kept = [str(g.op.Slice(part, np.array([0]), np.array([count]), LAST)) for part in wide]
    return multiply(g, (kept[0], kept[1]), (x, y))
