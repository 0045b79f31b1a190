"""Linear algebra: ONNX has none of it, so each decomposition is a loop over columns.

All functions work on the last two axes; axes before them are batches. Conventions are LAPACK's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering.casts import cast
from yobx.lowering.layout import matrix_transpose
from yobx.lowering.looping import counted
from yobx.lowering.transcendental import const, in_float32
from yobx.stablehlo.op import Op
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.xbuilder import GraphBuilder

__all__ = ["lapack_names", "matrix_size", "solve_triangular"]


def lapack_names(routine: str) -> tuple[str, ...]:
    """Custom calls of a LAPACK routine for float32 and float64."""
    return tuple(f"custom_call.lapack_{kind}{routine}_ffi" for kind in "sd")


def matrix_size(op: Op, axis: int, index: int = 0) -> int:
    """One of the last two sizes of an operand, which has to be a number."""
    size = op.in_type(index).shape[axis]
    if size is None:
        raise op.unsupported("a matrix of symbolic size", "Fix the last two sizes.")
    return size


def _last(*axes: int) -> np.ndarray[Any, Any]:
    return np.array(axes, dtype=np.int64)


def _column(g: GraphBuilder, a: str, j: str) -> str:
    return str(g.op.Gather(a, j, axis=-1))


def _wide(g: GraphBuilder, x: str, axis: int) -> str:
    return str(g.op.Unsqueeze(x, _last(axis)))


def _stacked_last(g: GraphBuilder, x: str) -> str:
    """Move the axis that a loop stacked from first to last."""
    rank = g.get_rank(x) or 1
    return str(g.op.Transpose(x, perm=[*range(1, rank), 0]))


@register_stablehlo_op_converter(lapack_names("potrf"))
def convert_cholesky(g: GraphBuilder, op: Op) -> tuple[str, str]:
    """Cholesky factor, and whether the matrix was not positive definite."""
    is_upper = op.attr("mhlo.backend_config", {}).get("uplo") == ord("U")
    a = matrix_transpose(g, op.x()) if is_upper else op.x()
    factor, failed = _cholesky(op, a)
    return matrix_transpose(g, factor) if is_upper else factor, failed


@register_stablehlo_op_converter("stablehlo.cholesky")
def convert_stablehlo_cholesky(g: GraphBuilder, op: Op) -> str:
    """The factor alone."""
    factor, _ = _cholesky(op, op.x())
    return factor if op.attr("lower", True) else matrix_transpose(g, factor)


def _cholesky(op: Op, a: str) -> tuple[str, str]:
    n, zero = matrix_size(op, -1), op.scalar(0)
    rows = np.arange(n)

    def turn(b: GraphBuilder, j: str, states: list[str]) -> tuple[list[str], list[str]]:
        whole = _column(b, states[0], j)
        pivot = _wide(b, b.op.Gather(whole, j, axis=-1), -1)
        column = b.op.Where(b.op.GreaterOrEqual(rows, j), b.op.Div(whole, b.op.Sqrt(pivot)), zero)
        product = b.op.Mul(_wide(b, column, -1), _wide(b, column, -2))
        return [b.op.Sub(states[0], product)], [column]

    g = op.g
    _, columns = counted(g, n, [a], turn)
    factor = _stacked_last(g, columns)
    bad = cast(g, g.op.IsNaN(factor), np.int32)
    # LAPACK leaves what is above the diagonal as it was
    whole = str(g.op.Where(rows > rows.reshape(n, 1), a, factor))
    return whole, str(g.op.ReduceMax(bad, _last(-2, -1), keepdims=0))


@register_stablehlo_op_converter(lapack_names("trsm"))
def convert_trsm(g: GraphBuilder, op: Op) -> str:
    """Solve a triangular system."""
    config = op.attr("mhlo.backend_config", {})
    return solve_triangular(
        op,
        left=config["side"] == ord("L"),
        lower=config["uplo"] == ord("L"),
        transposed=config["trans_x"] != ord("N"),
        unit=config["diag"] == ord("U"),
    )


@register_stablehlo_op_converter("stablehlo.triangular_solve")
def convert_triangular_solve(g: GraphBuilder, op: Op) -> str:
    """The same, with StableHLO's attributes."""
    return solve_triangular(
        op,
        left=bool(op.attr("left_side")),
        lower=bool(op.attr("lower")),
        transposed=op.attr("transpose_a") not in ("NO_TRANSPOSE", None),
        unit=bool(op.attr("unit_diagonal")),
    )


def solve_triangular(op: Op, *, left: bool, lower: bool, transposed: bool, unit: bool) -> str:
    """Emit the solution of ``op(a) x = b`` or ``x op(a) = b``."""
    g, a, b = op.g, op.x(0), op.x(1)
    dtype = g.get_type(a)
    a, b = (in_float32(g, v) for v in (a, b))
    if not left:  # x a = b is a' x' = b'
        b, transposed = matrix_transpose(g, b), not transposed
    if transposed:
        a, lower = matrix_transpose(g, a), not lower
    if not lower:
        a, b = _turned(g, a, (-2, -1)), _turned(g, b, (-2,))
    x = _forward(g, a, b, matrix_size(op, -1), unit)
    if not lower:
        x = _turned(g, x, (-2,))
    return cast(g, x if left else matrix_transpose(g, x), dtype)


def _turned(g: GraphBuilder, x: str, axes: tuple[int, ...]) -> str:
    """Reverse the order along axes counted from the end."""
    steps = np.full(len(axes), -1, dtype=np.int64)
    ends = np.full(len(axes), np.iinfo(np.int64).min, dtype=np.int64)
    return str(g.op.Slice(x, steps, ends, _last(*axes), steps))


def _forward(g: GraphBuilder, a: str, b: str, n: int, unit: bool) -> str:
    rows, zero = np.arange(n), const(g, a, 0)

    def turn(c: GraphBuilder, i: str, states: list[str]) -> tuple[list[str], list[str]]:
        column = _column(c, a, i)
        row = c.op.Gather(states[0], i, axis=-2)
        if not unit:
            row = c.op.Div(row, _wide(c, c.op.Gather(column, i, axis=-1), -1))
        below = c.op.Where(c.op.Greater(rows, i), column, zero)
        product = c.op.Mul(_wide(c, below, -1), _wide(c, row, -2))
        return [c.op.Sub(states[0], product)], [row]

    _, solution = counted(g, n, [b], turn)
    rank = g.get_rank(solution) or 2
    return str(g.op.Transpose(solution, perm=[*range(1, rank - 1), 0, rank - 1]))


@register_stablehlo_op_converter(lapack_names("getrf"))
def convert_lu(g: GraphBuilder, op: Op) -> tuple[str, str, str]:
    """LU factors in one matrix, pivot rows counted from 1, and whether a pivot is 0."""
    m, n = matrix_size(op, -2), matrix_size(op, -1)
    rows, columns, zero = np.arange(m), np.arange(n), op.scalar(0)

    def turn(b: GraphBuilder, j: str, states: list[str]) -> tuple[list[str], list[str]]:
        a = states[0]
        size = b.op.Where(b.op.GreaterOrEqual(rows, j), b.op.Abs(_column(b, a, j)), op.scalar(-1))
        place = b.op.ArgMax(size, axis=-1, keepdims=1)
        a = _swap_rows(b, a, j, place, rows)
        column, row = _column(b, a, j), b.op.Gather(a, j, axis=-2)
        pivot = _wide(b, b.op.Gather(column, j, axis=-1), -1)
        usable = b.op.And(b.op.Greater(rows, j), b.op.Not(b.op.Equal(pivot, zero)))
        divisor = b.op.Where(b.op.Equal(pivot, zero), op.scalar(1), pivot)
        factor = b.op.Where(usable, b.op.Div(column, divisor), zero)
        right = b.op.Where(b.op.Greater(columns, j), row, zero)
        a = b.op.Sub(a, b.op.Mul(_wide(b, factor, -1), _wide(b, right, -2)))
        here = b.op.And(b.op.Equal(columns, j), b.op.Greater(rows.reshape(m, 1), j))
        a = b.op.Where(here, _wide(b, b.op.Where(usable, factor, column), -1), a)
        return [a], [b.op.Squeeze(place, _last(-1)), b.op.Squeeze(pivot, _last(-1))]

    factors, places, pivots = counted(g, min(m, n), [op.x()], turn)
    numbers = cast(g, g.op.Add(_stacked_last(g, places), np.array(1)), np.int32)
    is_zero = cast(g, g.op.Equal(_stacked_last(g, pivots), zero), np.int32)
    return factors, str(numbers), str(g.op.ReduceMax(is_zero, _last(-1), keepdims=0))


def _swap_rows(b: GraphBuilder, a: str, j: str, place: str, rows: np.ndarray[Any, Any]) -> str:
    """Exchange rows ``j`` and ``place`` (one per batch, shape `(..., 1)`)."""
    index = b.op.Where(b.op.Equal(rows, place), j, rows)
    index = b.op.Where(b.op.Equal(rows, j), place, index)
    spread = b.op.Expand(_wide(b, index, -1), b.op.Shape(a))
    return str(b.op.GatherElements(a, spread, axis=-2))


@register_stablehlo_op_converter(lapack_names("geqrf"))
def convert_qr(g: GraphBuilder, op: Op) -> tuple[str, str]:
    """Householder vectors below R, and their factors."""
    m, n = matrix_size(op, -2), matrix_size(op, -1)
    rows, columns = np.arange(m), np.arange(n)
    zero, one = op.scalar(0), op.scalar(1)

    def turn(b: GraphBuilder, j: str, states: list[str]) -> tuple[list[str], list[str]]:
        a = states[0]
        column = _column(b, a, j)
        alpha = _wide(b, b.op.Gather(column, j, axis=-1), -1)
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
        a = _reflected(b, a, vector, tau, mask=later, zero=zero)
        stored = b.op.Where(b.op.Greater(rows, j), vector, column)
        stored = b.op.Where(b.op.Equal(rows, j), beta, stored)
        a = b.op.Where(b.op.Equal(columns, j), _wide(b, stored, -1), a)
        return [a], [b.op.Squeeze(tau, _last(-1))]

    factors, taus = counted(g, min(m, n), [op.x()], turn)
    return factors, _stacked_last(g, taus)


def _reflected(
    b: GraphBuilder, a: str, vector: str, tau: str, *, mask: Any, zero: np.ndarray[Any, Any]
) -> str:
    """``a - tau v (v' a)``, only in the columns of the mask."""
    projection = b.op.MatMul(_wide(b, vector, -2), a)
    scaled = b.op.Mul(_wide(b, tau, -1), projection)
    if mask is not None:
        scaled = b.op.Where(mask, scaled, zero)
    return str(b.op.Sub(a, b.op.Mul(_wide(b, vector, -1), scaled)))


@register_stablehlo_op_converter(lapack_names("orgqr"))
def convert_householder_product(g: GraphBuilder, op: Op) -> str:
    """Product of the reflections that ``geqrf`` stored."""
    m, n, count = matrix_size(op, -2), matrix_size(op, -1), matrix_size(op, -1, 1)
    rows, zero, one = np.arange(m), op.scalar(0), op.scalar(1)
    a, taus = op.x(0), op.x(1)

    def turn(b: GraphBuilder, i: str, states: list[str]) -> tuple[list[str], list[str]]:
        j = b.op.Sub(np.array(count - 1), i)
        column = _column(b, a, j)
        tail = b.op.Where(b.op.Greater(rows, j), column, zero)
        vector = b.op.Where(b.op.Equal(rows, j), one, tail)
        tau = _wide(b, b.op.Gather(taus, j, axis=-1), -1)
        return [_reflected(b, states[0], vector, tau, mask=None, zero=zero)], []

    identity = np.eye(m, n, dtype=op.out_dtype())
    start = g.op.Expand(identity, g.op.Shape(a))
    return counted(g, count, [start], turn)[0]


@register_stablehlo_op_converter(lapack_names("gtsv"))
def convert_tridiagonal_solve(g: GraphBuilder, op: Op) -> tuple[str, ...]:
    """Solve a tridiagonal system by Gaussian elimination without pivoting."""
    n = matrix_size(op, -1)
    lower, main, upper, b = op.xs()

    def down(c: GraphBuilder, i: str, states: list[str]) -> tuple[list[str], list[str]]:
        below = _wide(c, c.op.Gather(lower, i, axis=-1), -1)
        diagonal = _wide(c, c.op.Gather(main, i, axis=-1), -1)
        above = _wide(c, c.op.Gather(upper, i, axis=-1), -1)
        pivot = c.op.Sub(diagonal, c.op.Mul(below, states[0]))
        ratio = c.op.Div(above, pivot)
        row = c.op.Gather(b, i, axis=-2)
        value = c.op.Div(c.op.Sub(row, c.op.Mul(below, states[1])), pivot)
        return [ratio, value], [ratio, value]

    first = g.op.Gather(b, np.array(0), axis=-2)
    start = g.op.Sub(first, first)
    ratio0 = _wide(g, g.op.Gather(g.op.Sub(main, main), np.array(0), axis=-1), -1)
    _, _, ratios, values = counted(g, n, [ratio0, start], down)

    def up(c: GraphBuilder, i: str, states: list[str]) -> tuple[list[str], list[str]]:
        j = c.op.Sub(np.array(n - 1), i)
        ratio = c.op.Gather(ratios, j, axis=0)
        row = c.op.Sub(c.op.Gather(values, j, axis=0), c.op.Mul(ratio, states[0]))
        return [row], [row]

    _, rows = counted(g, n, [start], up)
    rank = g.get_rank(rows) or 2
    solution = g.op.Transpose(rows, perm=[*range(1, rank - 1), 0, rank - 1])
    solution = _turned(g, str(solution), (-2,))
    info = np.zeros((), dtype=np.int32)
    shape = op.out_type(4).static_shape() or ()
    flag = g.make_initializer(None, np.broadcast_to(info, shape).copy())
    return lower, main, upper, solution, flag
