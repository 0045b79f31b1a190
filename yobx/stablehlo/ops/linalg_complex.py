"""Linear algebra of complex matrices: LAPACK's routines, in float64 on pairs."""

from __future__ import annotations

import numpy as np

from yobx.lowering.casts import cast
from yobx.lowering.complex_matrices import (
    adjoint,
    complex_cholesky,
    complex_householder,
    complex_householder_product,
    complex_lu,
    complex_triangular_solution,
)
from yobx.lowering.complex_parts import Pair
from yobx.lowering.factorise import on_diagonal, strict_triangle
from yobx.lowering.jacobi_complex import complex_svd, hermitian_eigh
from yobx.lowering.layout import matrix_transpose
from yobx.stablehlo.op import Op
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.xbuilder import GraphBuilder

from .linalg import extent
from .spectral import converged

Results = list[tuple[str, ...]]


def _names(routine: str) -> tuple[str, ...]:
    """Custom calls of a LAPACK routine for complex64 and complex128."""
    return tuple(f"custom_call.lapack_{kind}{routine}_ffi" for kind in "cz")


def _wide(op: Op, index: int = 0) -> Pair:
    """An operand in float64."""
    real, imaginary = (part.full(op.g, op.scope.lineage) for part in op.parts[index])
    return cast(op.g, real, np.float64), cast(op.g, imaginary, np.float64)


def _narrow(op: Op, x: Pair, index: int = 0) -> Pair:
    """Parts in the precision of a result."""
    dtype = op.out_dtype(index)
    return cast(op.g, x[0], dtype), cast(op.g, x[1], dtype)


def _code(op: Op, name: str) -> str:
    """A letter of the call's configuration."""
    return chr(op.attr("mhlo.backend_config", {})[name])


@register_stablehlo_op_converter(_names("potrf"), complex_parts="pair")
def convert_complex_cholesky(g: GraphBuilder, op: Op) -> Results:
    """Cholesky factor, and whether the matrix was not positive definite."""
    n, is_upper = extent(op, -1), _code(op, "uplo") == "U"
    a = adjoint(g, _wide(op)) if is_upper else _wide(op)
    factor = complex_cholesky(g, a, n)
    bad = cast(g, g.op.IsNaN(factor[0]), np.int32)
    # LAPACK leaves what is above the diagonal as it was
    above = strict_triangle(g, n, lower=False)
    real, imaginary = (str(g.op.Where(above, old, new)) for old, new in zip(a, factor, strict=True))
    whole = adjoint(g, (real, imaginary)) if is_upper else (real, imaginary)
    return [_narrow(op, whole), (str(g.op.ReduceMax(bad, np.array([-2, -1]), keepdims=0)),)]


@register_stablehlo_op_converter(_names("trsm"), complex_parts="pair")
def convert_complex_trsm(g: GraphBuilder, op: Op) -> Results:
    """Solve a triangular system."""
    a, b, lower = _wide(op, 0), _wide(op, 1), _code(op, "uplo") == "L"
    turn, left = _code(op, "trans_x"), _code(op, "side") == "L"
    if turn == "C":
        a = a[0], str(g.op.Neg(a[1]))
    transposed = turn != "N"
    if not left:  # x a = b is a' x' = b'
        b, transposed = (matrix_transpose(g, b[0]), matrix_transpose(g, b[1])), not transposed
    if transposed:
        a, lower = (matrix_transpose(g, a[0]), matrix_transpose(g, a[1])), not lower
    unit = _code(op, "diag") == "U"
    x = complex_triangular_solution(g, a, b, extent(op, -1), lower=lower, unit=unit)
    if not left:
        x = matrix_transpose(g, x[0]), matrix_transpose(g, x[1])
    return [_narrow(op, x)]


@register_stablehlo_op_converter(_names("getrf"), complex_parts="pair")
def convert_complex_lu(g: GraphBuilder, op: Op) -> Results:
    """LU factors in one matrix, pivot rows counted from 1, and whether a pivot is 0."""
    factors, found = complex_lu(g, _wide(op), extent(op, -2), extent(op, -1))
    numbers = cast(g, g.op.Add(found.places, np.array(1)), np.int32)
    is_zero = cast(g, g.op.Equal(found.pivots, np.array(0.0)), np.int32)
    flag = str(g.op.ReduceMax(is_zero, np.array([-1]), keepdims=0))
    return [_narrow(op, factors), (numbers,), (flag,)]


@register_stablehlo_op_converter(_names("geqrf"), complex_parts="pair")
def convert_complex_qr(g: GraphBuilder, op: Op) -> Results:
    """Householder vectors below R, and their factors."""
    made = complex_householder(g, _wide(op), extent(op, -2), extent(op, -1))
    return [_narrow(op, part) for part in made]


@register_stablehlo_op_converter(_names("ungqr"), complex_parts="pair")
def convert_complex_householder_product(g: GraphBuilder, op: Op) -> Results:
    """Product of the reflections that ``geqrf`` stored."""
    sizes = extent(op, -2), extent(op, -1)
    count = extent(op, -1, 1)
    made = complex_householder_product(g, _wide(op, 0), _wide(op, 1), sizes, count)
    return [_narrow(op, made)]


@register_stablehlo_op_converter(_names("heevd"), complex_parts="pair")
def convert_hermitian_eigh(g: GraphBuilder, op: Op) -> Results:
    """Vectors as columns, values ascending, and that the iteration converged."""
    n, lower = extent(op, -1), _code(op, "uplo") == "L"
    real, imaginary = _wide(op)
    if n == 0:
        values = str(g.op.ReduceSum(real, np.array([-1]), keepdims=0))
        return [
            _narrow(op, (real, imaginary)),
            (cast(g, values, op.out_dtype(1)),),
            (converged(op),),
        ]
    kept = strict_triangle(g, n, lower=lower)
    zero = np.array(0.0)
    side = str(g.op.Where(kept, real, zero)), str(g.op.Where(kept, imaginary, zero))
    other = adjoint(g, side)
    middle = g.op.Where(on_diagonal(g, n), real, zero)
    whole = str(g.op.Add(g.op.Add(side[0], other[0]), middle)), str(g.op.Add(side[1], other[1]))
    values, vectors = hermitian_eigh(g, whole, n)
    return [_narrow(op, vectors), (cast(g, values, op.out_dtype(1)),), (converged(op),)]


@register_stablehlo_op_converter(_names("gesdd"), complex_parts="pair")
def convert_complex_svd(g: GraphBuilder, op: Op) -> Results:
    """The operand, singular values descending, both kinds of vectors, and that it converged."""
    m, n, mode = extent(op, -2), extent(op, -1), _code(op, "mode")
    values, left, right = complex_svd(g, _wide(op), m, n, vectors=mode != "N", full=mode == "A")
    own = _narrow(op, _wide(op))
    sides = [own if x is None else _narrow(op, x, 2) for x in (left, right)]
    # nobody reads what was not asked for
    return [own, (cast(g, values, op.out_dtype(1)),), *sides, (converged(op),)]
