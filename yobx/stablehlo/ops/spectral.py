"""Eigenvalues of symmetric matrices and singular values, which JAX takes from LAPACK on CPU."""

from __future__ import annotations

import numpy as np

from yobx.lowering import jacobi
from yobx.stablehlo.op import Op
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.stablehlo.tensor import Tensor
from yobx.xbuilder import GraphBuilder

from .linalg import extent, lapack_names

_NO_VECTORS, _FULL, _LOWER = ord("N"), ord("A"), ord("L")


@register_stablehlo_op_converter(lapack_names("syevd"))
def convert_eigh(g: GraphBuilder, op: Op) -> tuple[Tensor | str, ...]:
    """Vectors as columns, values ascending, and that the iteration converged."""
    n = extent(op, -1)
    if n == 0:
        return op.x(), str(g.op.ReduceSum(op.x(), np.array([-1]), keepdims=0)), converged(op)
    config = op.attr("mhlo.backend_config", {})
    lower = config.get("uplo", _LOWER) == _LOWER
    a = op.x()
    half = g.op.Trilu(a, upper=int(not lower))
    other = g.op.Trilu(a, np.array(-1 if lower else 1), upper=int(not lower))
    rank = op.in_type().rank
    mirrored = g.op.Transpose(other, perm=[*range(rank - 2), rank - 1, rank - 2])
    values, vectors = jacobi.eigh(g, g.op.Add(half, mirrored), n)
    return vectors, values, converged(op)


@register_stablehlo_op_converter(lapack_names("gesdd"))
def convert_svd(g: GraphBuilder, op: Op) -> tuple[Tensor | str, ...]:
    """The operand, singular values descending, both kinds of vectors, and that it converged."""
    m, n = extent(op, -2), extent(op, -1)
    mode = op.attr("mhlo.backend_config", {}).get("mode")
    found = jacobi.svd(g, op.x(), m, n, vectors=mode != _NO_VECTORS, full=mode == _FULL)
    unread = op.inputs[0]
    if found.left is None or found.right is None:  # nobody reads what was not asked for
        return unread, found.values, unread, unread, converged(op)
    return unread, found.values, found.left, found.right, converged(op)


def converged(op: Op) -> str:
    """LAPACK's 0 for each matrix."""
    g, rank = op.g, op.in_type().rank
    zero = np.array(0, np.int32)
    if rank == 2:
        return g.make_initializer(None, zero)
    return str(g.op.Expand(zero, g.op.Shape(op.x(), end=rank - 2)))
