"""Eigenvalues and singular values by Jacobi rotations, for stacks of matrices.

A turn of the loop rotates disjoint pairs of columns at once, as in a round-robin tournament: after
``n - 1`` turns (``n`` if odd) every pair has met. Turns go on until nothing is left to rotate.
Everything runs in float64. Vectors are determined up to their sign, and where values coincide up
to a rotation, as they are in LAPACK.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .casts import cast
from .factorise import Size, numbered, unsqueezed
from .layout import matrix_transpose
from .looping import counted, repeated
from .shapes import join_dims
from .tournament import Tournament, meeting, tournament

__all__ = [
    "LAST",
    "SWEEPS",
    "Decomposition",
    "any_of",
    "eigh",
    "either",
    "has_more",
    "has_slanted",
    "identities",
    "in_order",
    "picked_columns",
    "rotation_angles",
    "sorted_sizes",
    "svd",
]

SWEEPS = 30
_EPSILON = np.finfo(np.float64).eps
LAST = np.array([-1], np.int64)
_BEFORE = np.array([-2], np.int64)
_ZERO, _ONE = np.array(0.0), np.array(1.0)


@dataclass(frozen=True)
class Decomposition:
    """Singular values and vectors, ``None`` where not asked for.

    Attributes:
        values: `(*b, k)`, descending.
        left: `(*b, m, m)` or `(*b, m, k)`.
        right: The adjoint of the right vectors, `(*b, n, n)` or `(*b, k, n)`.
    """

    values: str
    left: str | None = None
    right: str | None = None


def rotation_angles(
    g: GraphBuilder, diagonal: str, paired: str, partner: str, sign: str
) -> tuple[str, str]:
    """Cosines and sines that make the paired elements of a symmetric matrix 0.

    Args:
        g: The graph.
        diagonal: The diagonal, `(*b, n)`.
        paired: For each column the element that it has with its partner, `(*b, n)`.
        partner: The column that each one meets, `(n,)`.
        sign: 1, -1 or 0 for the first, the second of a pair, and for none, `(n,)`.

    Returns:
        Both, `(*b, n)`; the sine is that of a column's own row at its partner.
    """
    idle = g.op.Or(g.op.Equal(paired, _ZERO), g.op.Equal(sign, _ZERO))
    gap = g.op.Sub(g.op.Gather(diagonal, partner, axis=-1), diagonal)
    slope = g.op.Div(gap, g.op.Where(idle, _ONE, g.op.Mul(paired, np.array(2.0))))
    direction = g.op.Where(g.op.Equal(slope, _ZERO), sign, g.op.Sign(slope))
    size = g.op.Add(g.op.Abs(slope), g.op.Sqrt(g.op.Add(g.op.Mul(slope, slope), _ONE)))
    tangent = g.op.Where(idle, _ZERO, g.op.Div(direction, size))
    cosine = g.op.Reciprocal(g.op.Sqrt(g.op.Add(g.op.Mul(tangent, tangent), _ONE)))
    return str(cosine), str(g.op.Mul(tangent, cosine))


def _rotation(g: GraphBuilder, turn: str, gram: str, plan: Tournament) -> str:
    """Rotation that makes the paired elements of a symmetric matrix 0."""
    unit = plan.unit
    partner, sign, pairs = meeting(g, turn, plan)
    diagonal = g.op.ReduceSum(g.op.Mul(gram, unit), LAST, keepdims=0)
    above = g.op.ReduceSum(g.op.Mul(gram, pairs), LAST, keepdims=0)
    # both columns of a pair must see one number, or the rotation would not be one
    paired = g.op.Mul(g.op.Add(above, g.op.Gather(above, partner, axis=-1)), np.array(0.5))
    cosine, sine = rotation_angles(g, diagonal, paired, partner, sign)
    turned = g.op.Mul(g.op.Unsqueeze(sine, LAST), pairs)
    return str(g.op.Add(g.op.Mul(g.op.Unsqueeze(cosine, LAST), unit), turned))


def identities(g: GraphBuilder, x: str, n: Size) -> str:
    """Unit matrices of size ``n`` for the batch axes of ``x``.

    Args:
        g: The builder.
        x: Matrices `(*b, p, q)`, float64.
        n: Number of rows of a unit matrix.

    Returns:
        Matrices `(*b, n, n)`, float64.
    """
    rank = g.get_rank(x) or 2
    if isinstance(n, int):
        unit: Any = np.eye(n)
        if rank == 2:
            return g.make_initializer(None, unit)
    else:
        rows = numbered(g, n)
        unit = cast(g, str(g.op.Equal(unsqueezed(g, rows, -1), rows)), np.float64)
    shape = join_dims(g, [g.op.Shape(x, end=rank - 2), n, n])
    return str(g.op.Expand(unit, shape))


def largest_of(g: GraphBuilder, x: str) -> str:
    """Largest element of each matrix, `(*b, 1, 1)`."""
    return str(g.op.ReduceMax(x, np.array([-2, -1]), keepdims=1))


def any_of(g: GraphBuilder, x: str) -> str:
    """Whether any element is true, `()`."""
    return cast(g, str(g.op.ReduceMax(cast(g, x, np.int32), keepdims=0)), np.bool_)


def in_order(g: GraphBuilder, values: str, *, largest: bool) -> tuple[str, str]:
    """Elements along the last axis sorted, and where they came from.

    Args:
        g: The builder.
        values: Numbers `(..., n)`.
        largest: Whether the largest comes first, else the smallest.

    Returns:
        Elements `(..., n)` and their places, int64.
    """
    n = g.get_shape(values).dims()[-1]
    count = np.array([n.as_int()]) if n.is_int() else g.op.Shape(values, start=-1)
    made = g.op.TopK(values, count, axis=-1, largest=int(largest), outputs=2)
    return str(made[0]), str(made[1])


def picked_columns(g: GraphBuilder, matrix: str, order: str) -> str:
    """Columns of each matrix in an order of its own."""
    index = g.op.Expand(g.op.Unsqueeze(order, _BEFORE), g.op.Shape(matrix))
    return str(g.op.GatherElements(matrix, index, axis=-1))


def has_more(b: GraphBuilder, matrix: str, outside: Any) -> str:
    """Whether a symmetric matrix is not diagonal yet, up to rounding.

    Args:
        b: The builder of the loop.
        matrix: Matrices `(*b, n, n)`, float64.
        outside: 1 off the diagonal, 0 on it.

    Returns:
        A boolean `()`.
    """
    sizes = b.op.Abs(matrix)
    rest = largest_of(b, b.op.Mul(sizes, outside))
    limit = b.op.Mul(largest_of(b, sizes), np.array(_EPSILON))
    return any_of(b, b.op.Greater(rest, limit))


def has_slanted(b: GraphBuilder, gram: str, unit: Any, outside: Any, n: Size) -> str:
    """Whether columns with these inner products are not orthogonal yet, up to rounding.

    Args:
        b: The builder of the loop.
        gram: Inner products `(*b, n, n)`, float64.
        unit: The unit matrix.
        outside: 1 off the diagonal, 0 on it.
        n: Number of columns.

    Returns:
        A boolean `()`.
    """
    count: Any = np.array(float(n)) if isinstance(n, int) else cast(b, n, np.float64)
    lengths = b.op.ReduceSum(b.op.Mul(gram, unit), LAST, keepdims=1)
    product = b.op.Mul(lengths, matrix_transpose(b, lengths))
    square = b.op.Mul(b.op.Mul(gram, gram), outside)
    # what is below the rounding of the longest column is no direction any more
    floor = b.op.Mul(largest_of(b, lengths), np.array(_EPSILON**2))
    small = b.op.Mul(b.op.Mul(floor, floor), count)
    if isinstance(n, int):
        bound: Any = np.array((4 * n * _EPSILON) ** 2)
    else:
        bound = b.op.Mul(b.op.Mul(count, count), np.array((4 * _EPSILON) ** 2))
    limit = b.op.Add(b.op.Mul(product, bound), small)
    return any_of(b, b.op.Greater(square, limit))


def eigh(g: GraphBuilder, a: str, n: Size) -> tuple[str, str]:
    """Emit eigenvalues and eigenvectors of symmetric matrices.

    Args:
        g: The graph.
        a: Symmetric matrices `(*b, n, n)`.
        n: Their size, at least 1 if it is a number.

    Returns:
        Values `(*b, n)`, ascending, and vectors as columns `(*b, n, n)`, of the type of ``a``.
    """
    wide = cast(g, a, np.float64)
    plan = tournament(g, n)

    def step(b: GraphBuilder, turn: str, states: list[str]) -> tuple[list[str], str]:
        matrix, vectors = states
        rotation = _rotation(b, turn, matrix, plan)
        matrix = b.op.MatMul(b.op.MatMul(matrix_transpose(b, rotation), matrix), rotation)
        return [matrix, b.op.MatMul(vectors, rotation)], has_more(b, matrix, plan.outside)

    most = plan.rounds(g, SWEEPS)
    matrix, vectors = repeated(g, most, [wide, identities(g, wide, n)], step)
    diagonal = g.op.ReduceSum(g.op.Mul(matrix, plan.unit), LAST, keepdims=0)
    values, order = in_order(g, str(diagonal), largest=False)
    dtype = g.get_type(a)
    return cast(g, values, dtype), cast(g, picked_columns(g, vectors, order), dtype)


def svd(
    g: GraphBuilder, a: str, m: Size, n: Size, *, vectors: bool = True, full: bool = False
) -> Decomposition:
    """Emit singular values, and vectors if asked for.

    Args:
        g: The graph.
        a: Matrices `(*b, m, n)`.
        m: Number of rows, at least 1 if it is a number.
        n: Number of columns, at least 1 if it is a number.
        vectors: Whether vectors are wanted.
        full: Whether the vectors are completed to square matrices.

    Returns:
        The decomposition, of the type of ``a``.
    """
    if not (isinstance(m, int) and isinstance(n, int)):
        return _svd_of_any_shape(g, a, m, n, vectors=vectors, full=full)
    if m < n:
        turned = svd(g, matrix_transpose(g, a), n, m, vectors=vectors, full=full)
        if turned.left is None or turned.right is None:
            return turned
        return Decomposition(
            turned.values, matrix_transpose(g, turned.right), matrix_transpose(g, turned.left)
        )
    return _tall_svd(g, a, m, n, vectors=vectors, full=full)


def _svd_of_any_shape(
    g: GraphBuilder, a: str, m: Size, n: Size, *, vectors: bool, full: bool
) -> Decomposition:
    """Whether the matrix is wider than high is known at run time only."""
    dims = g.get_shape(a).dims()
    if dims[-1] == dims[-2]:
        return _tall_svd(g, a, n, n, vectors=vectors, full=full)
    is_wide, *sizes = sorted_sizes(g, m, n)
    tall = either(g, is_wide, lambda b: matrix_transpose(b, a), a)
    found = _tall_svd(g, tall, *sizes, vectors=vectors, full=full)
    left, right = found.left, found.right
    if left is None or right is None:
        return found
    before = either(g, is_wide, lambda b: matrix_transpose(b, right), left)
    after = either(g, is_wide, lambda b: matrix_transpose(b, left), right)
    return Decomposition(found.values, before, after)


def sorted_sizes(g: GraphBuilder, m: Size, n: Size) -> tuple[str, str, str]:
    """Whether ``m`` is less than ``n``, the larger and the smaller one.

    Args:
        g: The builder.
        m: Number of rows.
        n: Number of columns.

    Returns:
        A boolean and two int64, all of shape `()`.
    """
    rows, columns = (np.array(size) if isinstance(size, int) else size for size in (m, n))
    return (
        str(g.op.Less(rows, columns)),
        str(g.op.Max(rows, columns)),
        str(g.op.Min(rows, columns)),
    )


def either(
    g: GraphBuilder, condition: str, write: Callable[[GraphBuilder], str], otherwise: str
) -> str:
    """What is written if the condition holds, else a value that is there.

    Args:
        g: The builder.
        condition: A boolean `()`.
        write: Writes the value into the builder of the branch that it is given.
        otherwise: The value that is there.

    Returns:
        The value.
    """
    branches = []
    for write_one in (write, lambda b: str(b.op.Identity(otherwise))):
        branch = g.subgraph(g.unique_name("branch"), inputs=[])
        branch.make_tensor_output(branch.unique_name("chosen"), source=write_one(branch))
        branches.append(branch)
    return str(g.op.If(condition, then_branch=branches[0], else_branch=branches[1]))


def _tall_svd(
    g: GraphBuilder, a: str, m: Size, n: Size, *, vectors: bool, full: bool
) -> Decomposition:
    """Matrices with at least as many rows as columns."""
    dtype = g.get_type(a)
    columns, right = _orthogonal_columns(g, cast(g, a, np.float64), n, vectors=vectors)
    lengths = g.op.Sqrt(g.op.ReduceSum(g.op.Mul(columns, columns), _BEFORE, keepdims=0))
    values, order = in_order(g, str(lengths), largest=True)
    if right is None:
        return Decomposition(cast(g, values, dtype))
    left = _unit_columns(g, picked_columns(g, columns, order), m, n, full=full)
    adjoint = matrix_transpose(g, picked_columns(g, right, order))
    return Decomposition(cast(g, values, dtype), cast(g, left, dtype), cast(g, adjoint, dtype))


def _orthogonal_columns(
    g: GraphBuilder, a: str, n: Size, *, vectors: bool
) -> tuple[str, str | None]:
    """Rotate the columns until they are orthogonal; also the product of the rotations."""
    plan = tournament(g, n)

    def step(b: GraphBuilder, turn: str, states: list[str]) -> tuple[list[str], str]:
        gram = b.op.MatMul(matrix_transpose(b, states[0]), states[0])
        rotation = _rotation(b, turn, gram, plan)
        again = has_slanted(b, gram, plan.unit, plan.outside, n)
        return [b.op.MatMul(state, rotation) for state in states], again

    start = [a, identities(g, a, n)] if vectors else [a]
    columns, *right = repeated(g, plan.rounds(g, SWEEPS), start, step)
    return columns, right[0] if right else None


def _unit_columns(g: GraphBuilder, columns: str, m: Size, n: Size, *, full: bool) -> str:
    """Orthonormal columns along orthogonal ones, completed where those are 0 or too few.

    Householder reflections of orthogonal columns leave a diagonal; their product has the unit
    columns up to the signs of that diagonal.
    """
    rows = numbered(g, m)

    def reflect(b: GraphBuilder, j: str, states: list[str]) -> tuple[list[str], list[str]]:
        matrix, product = states
        column = b.op.Gather(matrix, j, axis=-1)
        tail = b.op.Where(b.op.GreaterOrEqual(rows, j), column, _ZERO)
        head = b.op.Unsqueeze(b.op.Gather(column, j, axis=-1), LAST)
        sign = b.op.Where(b.op.Less(head, _ZERO), np.array(-1.0), _ONE)
        largest = b.op.ReduceMax(b.op.Abs(tail), LAST, keepdims=1)
        is_zero = b.op.Equal(largest, _ZERO)
        unit = b.op.Div(tail, b.op.Where(is_zero, _ONE, largest))
        length = b.op.Sqrt(b.op.ReduceSum(b.op.Mul(unit, unit), LAST, keepdims=1))
        here = b.op.Equal(rows, j)
        vector = b.op.Add(unit, b.op.Where(here, b.op.Mul(sign, length), _ZERO))
        square = b.op.ReduceSum(b.op.Mul(vector, vector), LAST, keepdims=1)
        factor = b.op.Div(
            b.op.Where(is_zero, _ZERO, np.array(2.0)), b.op.Where(is_zero, _ONE, square)
        )
        across = b.op.Unsqueeze(vector, _BEFORE)
        scaled = b.op.Unsqueeze(b.op.Mul(vector, factor), LAST)
        matrix = b.op.Sub(matrix, b.op.Mul(scaled, b.op.MatMul(across, matrix)))
        turned = b.op.MatMul(product, b.op.Unsqueeze(vector, LAST))
        product = b.op.Sub(
            product, b.op.Mul(turned, b.op.Unsqueeze(b.op.Mul(vector, factor), _BEFORE))
        )
        # the diagonal becomes -sign * length
        return [matrix, product], [b.op.Where(is_zero, _ONE, b.op.Neg(sign))]

    _, product, signs = counted(g, n, [columns, identities(g, columns, m)], reflect)
    rank = g.get_rank(signs) or 2
    order = [*range(1, rank - 1), rank - 1, 0]
    flips = g.op.Transpose(signs, perm=order)
    if m == n:
        return str(g.op.Mul(product, flips))
    if full:
        pads: Any = np.zeros(2 * rank, np.int64)
        if isinstance(m, int) and isinstance(n, int):
            pads[-1] = m - n
        else:
            more = g.op.Sub(*(join_dims(g, [size]) for size in (m, n)))
            pads = g.op.Concat(pads[:-1], more, axis=0)
        flips = g.op.Pad(flips, pads, _ONE)
    else:
        product = str(g.op.Slice(product, np.array([0]), join_dims(g, [n]), LAST))
    return str(g.op.Mul(product, flips))
