"""Inverses, determinants, linear systems and factorisations."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import complex as pairs
from yobx.lowering import shapes
from yobx.lowering.casts import cast
from yobx.lowering.complex_matrices import embedded
from yobx.lowering.diagonals import row_minus_column, zero_like
from yobx.lowering.layout import matrix_transpose
from yobx.lowering.linalg import cholesky, eliminate, identity_like, solve
from yobx.lowering.transcendental import const
from yobx.tensorflow.ops import _complex_linalg
from yobx.tensorflow.ops._complex import COMPLEX, by_products, with_complex
from yobx.tensorflow.ops._op import attr, require_constant, unsupported
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_PRECISE = ("float32", "float64")
_KINDS = ("float16", *_PRECISE)


def _wide(g: GraphBuilder, op: Any, index: int) -> str:
    """Return an input, half precision widened to float32."""
    name = str(op.inputs[index].name)
    return cast(g, name, np.float32) if op.inputs[index].dtype.name == "float16" else name


def _finish(g: GraphBuilder, op: Any, value: str, outputs: list[str], index: int = 0) -> str:
    wanted = op.outputs[index].dtype.as_numpy_dtype
    return cast(g, value, wanted, outputs=outputs[index : index + 1])


def _flipped(g: GraphBuilder, op: Any, x: str) -> str:
    """Return the matrix, transposed if the op says ``adjoint``."""
    return matrix_transpose(g, x) if bool(attr(op, "adjoint", False)) else x


def _complex_solution(g: GraphBuilder, op: Any, b: tuple[str, str] | None, output: str) -> str:
    """Emit the solution for the right side ``b``, the inverse without one.

    A complex matrix is a real one of twice the size; its transpose is that of the adjoint.
    """
    a = _flipped(g, op, embedded(g, pairs.parts(g, op.inputs[0].name)))
    if b is None:
        one = identity_like(g, pairs.parts(g, op.inputs[0].name)[0])
        b = one, str(g.op.Sub(one, one))
    found = solve(g, a, str(g.op.Concat(*b, axis=-2)))
    real, imaginary = g.op.Split(found, axis=-2, num_outputs=2, outputs=2)
    return pairs.pack(g, real, imaginary, [output])


def complex_inverse(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Inverse matrices."""
    return _complex_solution(g, op, None, outputs[0])


def complex_solve(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Solutions of linear systems."""
    return _complex_solution(g, op, pairs.parts(g, op.inputs[1].name), outputs[0])


@register_tf_op_converter("MatrixInverse", dtypes=(*_KINDS, *COMPLEX))
@register_tf_op_converter("BatchMatrixInverse", dtypes=_KINDS)
@with_complex(complex_inverse)
def convert_inverse(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Inverse matrices."""
    x = _flipped(g, op, _wide(g, op, 0))
    return _finish(g, op, solve(g, x, identity_like(g, x)), outputs)


@register_tf_op_converter("MatrixDeterminant", dtypes=(*_KINDS, *COMPLEX))
@with_complex(_complex_linalg.determinant)
def convert_determinant(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Determinants."""
    x = _wide(g, op, 0)
    found = eliminate(g, x, identity_like(g, x))
    return _finish(g, op, found.determinant, outputs)


@register_tf_op_converter("LogMatrixDeterminant", dtypes=(*_KINDS, *COMPLEX))
@with_complex(_complex_linalg.determinant)
def convert_log_determinant(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Signs and logarithms of the absolute values of determinants."""
    x = _wide(g, op, 0)
    found = eliminate(g, x, identity_like(g, x))
    _finish(g, op, found.sign, outputs)
    _finish(g, op, found.log_size, outputs, 1)
    return outputs[0]


@register_tf_op_converter("MatrixSolve", dtypes=(*_KINDS, *COMPLEX))
@with_complex(complex_solve)
def convert_solve(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Solutions of linear systems."""
    a = _flipped(g, op, _wide(g, op, 0))
    return _finish(g, op, solve(g, a, _wide(g, op, 1)), outputs)


def complex_triangular_solve(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Solutions of linear systems of which one triangle is read."""
    both = [pairs.parts(g, i.name) for i in op.inputs]
    parts = [
        _broadcast_batch(g, *(cast(g, x, np.float64) for x in part))
        for part in zip(*both, strict=True)
    ]
    a, b = ((x, y) for x, y in zip(*parts, strict=True))
    return _complex_linalg.triangular(g, a, b, op, outputs)


@register_tf_op_converter("MatrixTriangularSolve", dtypes=(*_KINDS, *COMPLEX))
@register_tf_op_converter("BatchMatrixTriangularSolve", dtypes=_KINDS)
@with_complex(complex_triangular_solve)
def convert_triangular_solve(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Solutions of linear systems of which one triangle is read."""
    a, b = _wide(g, op, 0), _wide(g, op, 1)
    size = g.op.Squeeze(g.op.Shape(a, start=-1))
    distance = row_minus_column(g, size, size)
    zero = np.array(0, np.int64)
    lower = bool(attr(op, "lower"))
    emit = g.op.LessOrEqual if lower else g.op.GreaterOrEqual
    triangle = g.op.Where(emit(distance, zero), a, zero_like(g, a))
    a, b = _broadcast_batch(g, triangle, b)
    return _finish(g, op, solve(g, _flipped(g, op, a), b), outputs)


def _broadcast_batch(g: GraphBuilder, a: str, b: str) -> tuple[str, str]:
    """Give two stacks of matrices the same batch axes."""
    n = max(shapes.rank(g, a), shapes.rank(g, b))
    if n == 2:
        return a, b
    one = np.array(1, np.int64)
    batches = [g.op.Expand(one, g.op.Shape(x, end=shapes.rank(g, x) - 2)) for x in (a, b)]
    batch = g.op.Shape(g.op.Add(*batches))
    grown = []
    for x in (a, b):
        tail = g.op.Shape(x, start=shapes.rank(g, x) - 2)
        grown.append(str(g.op.Expand(x, g.op.Concat(batch, tail, axis=0))))
    return grown[0], grown[1]


@register_tf_op_converter("Cholesky", dtypes=(*_KINDS, *COMPLEX))
@register_tf_op_converter("BatchCholesky", dtypes=_KINDS)
@with_complex(_complex_linalg.cholesky)
def convert_cholesky(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Lower triangular factors of positive definite matrices."""
    return _finish(g, op, cholesky(g, _wide(g, op, 0)), outputs)


@register_tf_op_converter("MatrixSolveLs", dtypes=(*_PRECISE, *COMPLEX))
def convert_solve_ls(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Least squares by the normal equations, which is what ``fast=True`` means."""
    if not bool(attr(op, "fast")):
        unsupported(
            op, "only fast=True is supported", "fast=False", "Use tf.linalg.lstsq(fast=True)."
        )
    weight = float(require_constant(g, op, 2, "l2_regularizer"))
    shape = op.inputs[0].shape
    rows, columns = shape[-2:] if shape.rank else (None, None)
    wide = rows is not None and columns is not None and rows < columns
    if not op.inputs[0].dtype.is_complex:
        found = _least_squares(g, op.inputs[0].name, op.inputs[1].name, weight, wide=wide)
        return _finish(g, op, found, outputs)
    a, b = ([cast(g, x, np.float64) for x in pairs.parts(g, i.name)] for i in op.inputs[:2])
    table = embedded(g, (a[0], a[1]))
    found = _least_squares(g, table, str(g.op.Concat(*b, axis=-2)), weight, wide=wide)
    kind = op.outputs[0].dtype.real_dtype.as_numpy_dtype
    real, imaginary = g.op.Split(found, axis=-2, num_outputs=2, outputs=2)
    return pairs.pack(g, cast(g, real, kind), cast(g, imaginary, kind), outputs[:1])


def _least_squares(g: GraphBuilder, a: str, b: str, weight: float, *, wide: bool) -> str:
    """The ``x`` for which ``a @ x`` is nearest to ``b``; of many, the shortest."""
    turned = matrix_transpose(g, a)
    gram = g.op.MatMul(*((a, turned) if wide else (turned, a)))
    if weight:
        unit = identity_like(g, gram)
        gram = g.op.Add(gram, g.op.Mul(unit, const(g, unit, weight)))
    if wide:
        return str(g.op.MatMul(turned, solve(g, gram, b)))
    return solve(g, gram, str(g.op.MatMul(turned, b)))


@register_tf_op_converter("TridiagonalMatMul", dtypes=(*_PRECISE, *COMPLEX))
@by_products("superdiag", "maindiag", "subdiag")
def convert_tridiagonal(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Product of a matrix with three diagonals, given as rows, and a matrix."""
    above, main, below, x = (i.name for i in op.inputs)
    columns = [matrix_transpose(g, d) for d in (above, main, below)]
    axis = np.array([-2], np.int64)
    far = np.array([np.iinfo(np.int64).max], np.int64)
    n = shapes.rank(g, x)
    zeros = np.zeros(2 * n, np.int64)
    ahead, behind = zeros.copy(), zeros.copy()
    ahead[2 * n - 2], behind[n - 2] = 1, 1
    following = g.op.Pad(g.op.Slice(x, np.array([1], np.int64), far, axis), ahead)
    previous = g.op.Pad(
        g.op.Slice(x, np.array([0], np.int64), np.array([-1], np.int64), axis), behind
    )
    terms = [g.op.Mul(c, v) for c, v in zip(columns, (following, x, previous), strict=True)]
    total = g.op.Add(g.op.Add(terms[0], terms[1]), terms[2])
    return _finish(g, op, total, outputs)
