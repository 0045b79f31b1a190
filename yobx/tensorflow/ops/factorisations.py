"""QR, LU, eigenvalues, singular values and tridiagonal systems, of matrices of static size.

Vectors of eigenvalues and singular values are determined up to their sign, and so are these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import factorise, jacobi
from yobx.lowering.casts import cast
from yobx.lowering.diagonals import row_minus_column, zero_like
from yobx.lowering.layout import matrix_transpose
from yobx.lowering.linalg import solve
from yobx.tensorflow.ops import _complex_linalg
from yobx.tensorflow.ops._complex import COMPLEX, with_complex
from yobx.tensorflow.ops._complex_linalg import static_sizes
from yobx.tensorflow.ops._op import attr, dims, out_dtype, unsupported
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_PRECISE = ("float32", "float64")


def _triangle(g: GraphBuilder, x: str, *, upper: bool) -> str:
    """Return the matrices with zeros outside a triangle."""
    return str(g.op.Trilu(x, upper=int(upper)))


@register_tf_op_converter("Qr", dtypes=(*_PRECISE, *COMPLEX))
@with_complex(_complex_linalg.orthogonal)
def convert_qr(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Orthonormal columns and an upper triangle."""
    m, n = static_sizes(g, op)
    count = min(m, n)
    factors, taus = factorise.householder(g, op.inputs[0].name, m, n)
    width = m if bool(attr(op, "full_matrices")) else count
    q = factorise.householder_product(g, factors, taus, (m, width), count)
    g.alias(outputs[0], q)
    upper = _triangle(g, factors, upper=True)
    if width < m:
        first, last = np.array([0], np.int64), np.array([-2], np.int64)
        upper = str(g.op.Slice(upper, first, np.array([width], np.int64), last))
    g.alias(outputs[1], upper)
    return outputs[0]


@register_tf_op_converter(
    "Lu", dtypes={"T": (*_PRECISE, *COMPLEX), "output_idx_type": ("int32", "int64")}
)
@with_complex(_complex_linalg.factors)
def convert_lu(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Both triangular factors in one matrix, and the order of the rows."""
    m, n = static_sizes(g, op)
    found = factorise.lu(g, op.inputs[0].name, m, n)
    g.alias(outputs[0], found.factors)
    cast(g, found.order, out_dtype(op, 1), outputs=outputs[1:2])
    return outputs[0]


@register_tf_op_converter("SelfAdjointEigV2", dtypes=(*_PRECISE, *COMPLEX))
@with_complex(_complex_linalg.eigenvalues)
def convert_eigh(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Ascending eigenvalues, and eigenvectors as columns; the lower triangle is read."""
    n, _ = static_sizes(g, op)
    x = op.inputs[0].name
    below = g.op.Trilu(x, np.array(-1, np.int64), upper=0)
    whole = g.op.Add(_triangle(g, x, upper=False), matrix_transpose(g, below))
    values, vectors = jacobi.eigh(g, whole, n)
    g.alias(outputs[0], values)
    if bool(attr(op, "compute_v")):
        g.alias(outputs[1], vectors)
    return outputs[0]


@register_tf_op_converter("Svd", dtypes=(*_PRECISE, *COMPLEX))
@with_complex(_complex_linalg.singular_values)
def convert_svd(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Descending singular values, and the vectors of both sides as columns."""
    m, n = static_sizes(g, op)
    with_vectors = bool(attr(op, "compute_uv"))
    found = jacobi.svd(
        g,
        op.inputs[0].name,
        m,
        n,
        vectors=with_vectors,
        full=bool(attr(op, "full_matrices")),
    )
    g.alias(outputs[0], found.values)
    if found.left is not None and found.right is not None:
        g.alias(outputs[1], found.left)
        g.alias(outputs[2], matrix_transpose(g, found.right))
    return outputs[0]


@register_tf_op_converter("TridiagonalSolve", dtypes=(*_PRECISE, *COMPLEX))
@with_complex(_complex_linalg.tridiagonal)
def convert_tridiagonal_solve(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Systems given by the diagonals above, on and below, as rows."""
    if bool(attr(op, "perturb_singular", False)):
        unsupported(op, "singular matrices are not perturbed", "perturb_singular=True")
    diagonals, b = (i.name for i in op.inputs)
    above, main, below = (
        str(g.op.Gather(diagonals, np.array(i, np.int64), axis=-2)) for i in range(3)
    )
    known = dims(g, op, 0)
    size = known[-1] if known else None
    if size and not bool(attr(op, "partial_pivoting", True)):
        x = factorise.solve_tridiagonal(g, (below, main, above), b, size)
        return g.alias(outputs[0], x)
    count = g.op.Squeeze(g.op.Shape(main, start=-1))
    distance = row_minus_column(g, count, count)
    dense: Any = zero_like(g, main)
    for place, diagonal in ((1, above), (0, main), (-1, below)):
        here = g.op.Equal(distance, np.array(place, np.int64))
        dense = g.op.Where(here, g.op.Unsqueeze(diagonal, np.array([-1], np.int64)), dense)
    return g.alias(outputs[0], solve(g, dense, b))
