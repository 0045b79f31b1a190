"""Linear algebra: calls of LAPACK routines, written by the loops of the shared lowering."""

from __future__ import annotations

import numpy as np

from yobx.lowering.casts import cast
from yobx.lowering.factorise import (
    Size,
    householder,
    householder_product,
    lu,
    solve_tridiagonal,
    strict_triangle,
    triangular_solution,
)
from yobx.lowering.layout import matrix_transpose
from yobx.lowering.linalg import cholesky
from yobx.stablehlo.op import Op
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.xbuilder import GraphBuilder

__all__ = ["extent", "in_float64", "lapack_names", "solve_triangular"]


def lapack_names(routine: str) -> tuple[str, ...]:
    """Custom calls of a LAPACK routine for float32 and float64."""
    return tuple(f"custom_call.lapack_{kind}{routine}_ffi" for kind in "sd")


def extent(op: Op, axis: int, index: int = 0) -> Size:
    """One of the last two sizes of an operand."""
    size = op.in_type(index).shape[axis]
    if size is not None:
        return size
    place = op.in_type(index).rank + axis
    return str(op.g.op.Squeeze(op.g.op.Shape(op.x(index), start=place, end=place + 1)))


def in_float64(op: Op, index: int = 0) -> str:
    """An operand widened: elimination amplifies rounding as much as the matrix does."""
    return cast(op.g, op.x(index), np.float64)


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
    g = op.g
    factor = cast(g, cholesky(g, cast(g, a, np.float64)), g.get_type(a))
    bad = cast(g, g.op.IsNaN(factor), np.int32)
    # LAPACK leaves what is above the diagonal as it was
    above = strict_triangle(g, extent(op, -1), lower=False)
    whole = str(g.op.Where(above, a, factor))
    return whole, str(g.op.ReduceMax(bad, np.array([-2, -1]), keepdims=0))


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
    g, a, b = op.g, in_float64(op, 0), in_float64(op, 1)
    if not left:  # x a = b is a' x' = b'
        b, transposed = matrix_transpose(g, b), not transposed
    if transposed:
        a, lower = matrix_transpose(g, a), not lower
    x = triangular_solution(g, a, b, extent(op, -1), lower=lower, unit=unit)
    return cast(g, x if left else matrix_transpose(g, x), op.out_dtype())


@register_stablehlo_op_converter(lapack_names("getrf"))
def convert_lu(g: GraphBuilder, op: Op) -> tuple[str, str, str]:
    """LU factors in one matrix, pivot rows counted from 1, and whether a pivot is 0."""
    found = lu(g, in_float64(op), extent(op, -2), extent(op, -1))
    numbers = cast(g, g.op.Add(found.places, np.array(1)), np.int32)
    is_zero = cast(g, g.op.Equal(found.pivots, np.array(0.0)), np.int32)
    factors = cast(g, found.factors, op.out_dtype())
    return factors, numbers, str(g.op.ReduceMax(is_zero, np.array([-1]), keepdims=0))


@register_stablehlo_op_converter(lapack_names("geqrf"))
def convert_qr(g: GraphBuilder, op: Op) -> tuple[str, str]:
    """Householder vectors below R, and their factors."""
    made = householder(g, in_float64(op), extent(op, -2), extent(op, -1))
    return cast(g, made[0], op.out_dtype()), cast(g, made[1], op.out_dtype())


@register_stablehlo_op_converter(lapack_names("orgqr"))
def convert_householder_product(g: GraphBuilder, op: Op) -> str:
    """Product of the reflections that ``geqrf`` stored."""
    sizes = extent(op, -2), extent(op, -1)
    vectors, taus = in_float64(op, 0), in_float64(op, 1)
    made = householder_product(g, vectors, taus, sizes, extent(op, -1, 1))
    return cast(g, made, op.out_dtype())


@register_stablehlo_op_converter(lapack_names("gtsv"))
def convert_tridiagonal_solve(g: GraphBuilder, op: Op) -> tuple[str, ...]:
    """Solve a tridiagonal system by Gaussian elimination without pivoting."""
    lower, main, upper = (op.x(i) for i in range(3))  # shapes follow where sizes are symbolic
    wide = [in_float64(op, i) for i in range(4)]
    found = solve_tridiagonal(g, (wide[0], wide[1], wide[2]), wide[3], extent(op, -1))
    solution = cast(g, found, op.out_dtype(3))
    batch = g.op.Shape(lower, end=op.in_type().rank - 1)
    flag = g.op.Expand(np.array(0, np.int32), batch)
    return lower, main, upper, solution, str(flag)
