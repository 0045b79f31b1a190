"""Factorisations and determinants of complex matrices, in float64, with Eigen's conventions."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import complex as packed
from yobx.lowering import complex_matrices as matrices
from yobx.lowering import shapes
from yobx.lowering.casts import cast
from yobx.lowering.complex_matrices import adjoint, embedded
from yobx.lowering.complex_parts import Pair, absolute, sign
from yobx.lowering.complex_products import product
from yobx.lowering.diagonals import row_minus_column
from yobx.lowering.factorise import Size, numbered, on_diagonal, strict_triangle
from yobx.lowering.jacobi_complex import complex_svd, hermitian_eigh
from yobx.lowering.linalg import solve
from yobx.tensorflow.ops._op import attr, dims, unsupported
from yobx.xbuilder import GraphBuilder

__all__ = [
    "cholesky",
    "determinant",
    "eigenvalues",
    "factors",
    "orthogonal",
    "singular_values",
    "static_sizes",
    "triangular",
    "tridiagonal",
]

_ZERO, _ONE = np.array(0.0), np.array(1.0)
_LAST = np.array([-1], np.int64)


def static_sizes(g: GraphBuilder, op: Any) -> tuple[int, int]:
    """Return rows and columns of the matrices.

    Raises:
        UnsupportedAttributeError: If they are not static, or zero.
    """
    known = dims(g, op, 0)
    known = known[: op.inputs[0].shape.rank] if known else known
    rows, columns = known[-2:] if known else (None, None)
    if not rows or not columns:
        unsupported(
            op,
            "the loops over rows and columns need a matrix of static size above zero",
            f"shape={list(known) if known else 'unknown'}",
            "Fix the last two sizes of the input.",
        )
    return rows, columns


def _wide(g: GraphBuilder, op: Any, index: int) -> Pair:
    real, imaginary = packed.parts(g, op.inputs[index].name)
    return cast(g, real, np.float64), cast(g, imaginary, np.float64)


def _finish(g: GraphBuilder, op: Any, x: Pair, outputs: list[str], index: int = 0) -> str:
    """Name a result, in the precision of the operation."""
    kind = op.outputs[index].dtype.real_dtype.as_numpy_dtype
    real, imaginary = (cast(g, part, kind) for part in x)
    return packed.pack(g, real, imaginary, outputs[index : index + 1])


def _real(g: GraphBuilder, x: str) -> Pair:
    """A real tensor as a complex one."""
    return x, str(g.op.Mul(x, _ZERO))


def _size(g: GraphBuilder, x: str) -> Size:
    known = shapes.dims(g, x)
    if known is not None and known[-1] is not None:
        return known[-1]
    return shapes.scalar(g, g.op.Shape(x, start=-1))


def determinant(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Determinants, or their directions and the logarithms of their sizes."""
    a = _wide(g, op, 0)
    n = _size(g, a[0])
    both, found = matrices.complex_lu(g, a, n, n, by_modulus=True)
    here = on_diagonal(g, n)
    diagonal = [
        str(g.op.ReduceSum(g.op.Where(here, part, _ZERO), _LAST, keepdims=0)) for part in both
    ]
    moved = cast(g, g.op.Not(g.op.Equal(found.places, numbered(g, n))), np.float64)
    odd = g.op.Mod(g.op.ReduceSum(moved, _LAST, keepdims=0), np.array(2.0), fmod=1)
    turn = g.op.Sub(_ONE, g.op.Mul(odd, np.array(2.0)))
    pivots = diagonal[0], diagonal[1]
    last = [shapes.rank(g, diagonal[0]) - 1]
    if op.type == "MatrixDeterminant":
        whole = product(g, pivots, last, keepdims=False)
        return _finish(g, op, (g.op.Mul(whole[0], turn), g.op.Mul(whole[1], turn)), outputs)
    size = g.op.ReduceSum(g.op.Log(absolute(g, pivots)), _LAST, keepdims=0)
    direction = product(g, sign(g, pivots), last, keepdims=False)
    real, imaginary = (str(g.op.Mul(part, turn)) for part in direction)
    _finish(g, op, (real, imaginary), outputs)
    _finish(g, op, _real(g, str(size)), outputs, 1)
    return outputs[0]


def cholesky(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Lower triangular factors of positive definite matrices."""
    a = _wide(g, op, 0)
    return _finish(g, op, matrices.complex_cholesky(g, a, _size(g, a[0])), outputs)


def triangular(g: GraphBuilder, a: Pair, b: Pair, op: Any, outputs: list[str]) -> str:
    """Solutions of systems of which one triangle is read.

    Args:
        g: The graph.
        a: Parts of the matrices, float64 `(..., n, n)`.
        b: Parts of the right sides, float64 `(..., n, k)` with the same batch.
        op: The operation.
        outputs: Names of its outputs.

    Returns:
        The name of the solutions, `(..., n, k)` with an axis of pairs.
    """
    n, lower = _size(g, a[0]), bool(attr(op, "lower"))
    other = strict_triangle(g, n, lower=not lower)
    real, imaginary = (str(g.op.Where(other, _ZERO, part)) for part in a)
    a = real, imaginary
    if bool(attr(op, "adjoint")):
        a, lower = adjoint(g, a), not lower
    found = matrices.complex_triangular_solution(g, a, b, n, lower=lower, unit=False)
    return _finish(g, op, found, outputs)


def orthogonal(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Orthonormal columns and an upper triangle."""
    m, n = static_sizes(g, op)
    count = min(m, n)
    made, taus = matrices.complex_householder(g, _wide(g, op, 0), m, n)
    width = m if bool(attr(op, "full_matrices")) else count
    q = matrices.complex_householder_product(g, made, taus, (m, width), count)
    _finish(g, op, q, outputs)
    upper = [str(g.op.Trilu(part, upper=1)) for part in made]
    if width < m:
        first, row = np.array([0], np.int64), np.array([-2], np.int64)
        upper = [str(g.op.Slice(part, first, np.array([width], np.int64), row)) for part in upper]
    _finish(g, op, (upper[0], upper[1]), outputs, 1)
    return outputs[0]


def factors(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Both triangular factors in one matrix, and the order of the rows."""
    m, n = static_sizes(g, op)
    both, found = matrices.complex_lu(g, _wide(g, op, 0), m, n, by_modulus=True)
    _finish(g, op, both, outputs)
    cast(g, found.order, op.outputs[1].dtype.as_numpy_dtype, outputs=outputs[1:2])
    return outputs[0]


def eigenvalues(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Ascending eigenvalues, and eigenvectors as columns; the lower triangle is read."""
    n, _ = static_sizes(g, op)
    a = _wide(g, op, 0)
    below = strict_triangle(g, n, lower=True)
    side = str(g.op.Where(below, a[0], _ZERO)), str(g.op.Where(below, a[1], _ZERO))
    other = adjoint(g, side)
    middle = g.op.Where(on_diagonal(g, n), a[0], _ZERO)
    real = g.op.Add(g.op.Add(side[0], other[0]), middle)
    values, vectors = hermitian_eigh(g, (str(real), str(g.op.Add(side[1], other[1]))), n)
    _finish(g, op, _real(g, values), outputs)
    if bool(attr(op, "compute_v")):
        _finish(g, op, vectors, outputs, 1)
    return outputs[0]


def singular_values(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Descending singular values, and the vectors of both sides as columns."""
    m, n = static_sizes(g, op)
    full, wanted = bool(attr(op, "full_matrices")), bool(attr(op, "compute_uv"))
    values, left, right = complex_svd(g, _wide(g, op, 0), m, n, vectors=wanted, full=full)
    _finish(g, op, _real(g, values), outputs)
    if left is not None and right is not None:
        _finish(g, op, left, outputs, 1)
        _finish(g, op, adjoint(g, right), outputs, 2)
    return outputs[0]


def _solved(g: GraphBuilder, a: Pair, b: Pair) -> Pair:
    """``x`` with ``a @ x = b``."""
    found = solve(g, embedded(g, a), str(g.op.Concat(*b, axis=-2)))
    real, imaginary = g.op.Split(found, axis=-2, num_outputs=2, outputs=2)
    return str(real), str(imaginary)


def tridiagonal(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Systems given by the diagonals above, on and below, as rows."""
    if bool(attr(op, "perturb_singular", False)):
        unsupported(op, "singular matrices are not perturbed", "perturb_singular=True")
    diagonals = _wide(g, op, 0)
    count = shapes.scalar(g, g.op.Shape(diagonals[0], start=-1))
    distance = row_minus_column(g, count, count)
    dense = []
    for part in diagonals:
        whole: Any = _ZERO
        for i in range(3):
            here = g.op.Equal(distance, np.array(1 - i, np.int64))
            row = g.op.Gather(part, np.array(i, np.int64), axis=-2)
            whole = g.op.Where(here, g.op.Unsqueeze(row, _LAST), whole)
        dense.append(str(whole))
    return _finish(g, op, _solved(g, (dense[0], dense[1]), _wide(g, op, 1)), outputs)
