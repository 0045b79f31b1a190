"""Linear algebra by elimination, one ``Loop`` over the columns, for stacks of matrices.

Inside, matrices are `(b, n, n)` with all batch axes as one, in float32 or float64.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from yobx.xbuilder import GraphBuilder

from .diagonals import row_minus_column
from .dtypes import numpy_dtype
from .shapes import rank
from .transcendental import const

__all__ = ["Elimination", "cholesky", "eliminate", "identity_like", "solve"]

_ONE = np.array([1], np.int64)
_LAST = np.array([-1], np.int64)


@dataclass(frozen=True)
class Elimination:
    """Result of Gauss-Jordan elimination.

    Attributes:
        solution: `(*b, n, m)`.
        sign: Sign of the determinant, `(*b,)`.
        log_size: Logarithm of its absolute value, `(*b,)`.
        determinant: The determinant, `(*b,)`.
    """

    solution: str
    sign: str
    log_size: str
    determinant: str


def _batched(g: GraphBuilder, x: str) -> tuple[str, str]:
    """Return `(b, r, c)` and the shape of the batch axes of `(*b, r, c)`."""
    n = rank(g, x)
    batch, matrix = g.op.Shape(x, end=n - 2), g.op.Shape(x, start=n - 2)
    if n == 3:
        return x, str(batch)
    count = g.op.ReduceProd(batch, keepdims=1) if n > 2 else _ONE
    return str(g.op.Reshape(x, g.op.Concat(count, matrix, axis=0), allowzero=1)), str(batch)


def _unbatched(g: GraphBuilder, x: str, batch: str, tail: int) -> str:
    """Give `(b, ...)` its batch axes back; ``tail`` axes follow them."""
    if tail == 0:
        return str(g.op.Reshape(x, batch, allowzero=1))
    rest = g.op.Shape(x, start=1)
    return str(g.op.Reshape(x, g.op.Concat(batch, rest, axis=0), allowzero=1))


def identity_like(g: GraphBuilder, x: str) -> str:
    """Return the unit matrices of the shape of `(*b, n, n)`.

    Args:
        g: The builder.
        x: Square matrices, floats.

    Returns:
        As many unit matrices, of the same shape and dtype.
    """
    size = g.op.Squeeze(g.op.Shape(x, start=-1))
    unit = g.op.Equal(row_minus_column(g, size, size), np.array(0, np.int64))
    return str(g.op.Expand(g.op.Where(unit, const(g, x, 1), const(g, x, 0)), g.op.Shape(x)))


def eliminate(g: GraphBuilder, a: str, b: str) -> Elimination:
    """Solve ``a @ x = b`` with partial pivoting, and find the determinant on the way.

    Args:
        g: The graph.
        a: Matrices `(*b, n, n)`, float32 or float64.
        b: Right-hand sides `(*b, n, m)`.

    Returns:
        Solution and determinant.
    """
    left, batch = _batched(g, a)
    right, _ = _batched(g, b)
    dtype = g.get_type(a)
    table = g.op.Concat(left, right, axis=2)
    count = g.op.Shape(left, end=1)
    ones = g.op.Expand(np.array(1, numpy_dtype(dtype)), count)
    zeros = g.op.Expand(np.array(0, numpy_dtype(dtype)), count)
    size = g.op.Squeeze(g.op.Shape(left, start=1, end=2))
    dims = [None, None, None]
    body = g.subgraph(
        "eliminate",
        inputs=[
            ("eliminate.column", np.int64, []),
            ("eliminate.again", np.bool_, []),
            ("eliminate.table", dtype, dims),
            ("eliminate.sign", dtype, [None]),
            ("eliminate.log_size", dtype, [None]),
            ("eliminate.determinant", dtype, [None]),
        ],
    )
    results = _eliminate_column(body, *body.input_names)
    for i, value in enumerate(results):
        body.make_tensor_output(f"eliminate.next_{i}", source=value)
    done, sign, log_size, determinant = g.op.Loop(
        size, np.array(True), table, ones, zeros, ones, body=body, outputs=4
    )
    far = np.array([np.iinfo(np.int64).max], np.int64)
    start = g.op.Shape(left, start=2)
    solution = g.op.Slice(done, start, far, np.array([2], np.int64))
    return Elimination(
        _unbatched(g, str(solution), batch, 2),
        _unbatched(g, sign, batch, 0),
        _unbatched(g, log_size, batch, 0),
        _unbatched(g, determinant, batch, 0),
    )


def _eliminate_column(
    g: GraphBuilder, k: str, again: str, table: str, *totals: str
) -> tuple[str, str, str, str, str]:
    """Emit one step: swap the largest pivot up, scale its row, clear the column elsewhere."""
    sign, log_size, determinant = totals
    size = g.op.Squeeze(g.op.Shape(table, start=1, end=2))
    rows = g.op.Range(np.array(0, np.int64), size, np.array(1, np.int64))
    column = g.op.Gather(table, k, axis=2)
    below = g.op.GreaterOrEqual(rows, k)
    candidates = g.op.Where(below, g.op.Abs(column), const(g, table, -1))
    pivot = g.op.ArgMax(candidates, axis=1, keepdims=1)
    at_pivot = g.op.Unsqueeze(g.op.Equal(rows, pivot), _LAST)
    at_k = g.op.Unsqueeze(g.op.Equal(rows, k), _LAST)
    pivot_row = g.op.GatherND(table, pivot, batch_dims=1)
    old_row = g.op.Unsqueeze(g.op.Gather(table, k, axis=1), _ONE)
    swapped = g.op.Where(at_pivot, old_row, table)
    value = g.op.Gather(pivot_row, k, axis=1)
    scaled = g.op.Unsqueeze(g.op.Div(pivot_row, g.op.Unsqueeze(value, _LAST)), _ONE)
    factors = g.op.Unsqueeze(g.op.Gather(swapped, k, axis=2), _LAST)
    cleared = g.op.Sub(swapped, g.op.Mul(factors, scaled))
    following = g.op.Where(at_k, scaled, cleared)
    same = g.op.Equal(g.op.Squeeze(pivot, _LAST), k)
    turn = g.op.Where(same, const(g, table, 1), const(g, table, -1))
    new_sign = g.op.Mul(g.op.Mul(sign, turn), g.op.Sign(value))
    new_log = g.op.Add(log_size, g.op.Log(g.op.Abs(value)))
    new_determinant = g.op.Mul(determinant, g.op.Mul(turn, value))
    return str(g.op.Identity(again)), str(following), new_sign, new_log, new_determinant


def solve(g: GraphBuilder, a: str, b: str) -> str:
    """Return ``x`` with ``a @ x = b``.

    Args:
        g: The builder.
        a: Square matrices `(*b, n, n)`, floats.
        b: Right-hand sides `(*b, n, k)` of the same dtype.

    Returns:
        The solution, `(*b, n, k)`, by elimination with partial pivoting.
    """
    return eliminate(g, a, b).solution


def cholesky(g: GraphBuilder, a: str) -> str:
    """Return the lower triangular ``l`` with ``l @ l.T = a``, column by column.

    Args:
        g: The builder.
        a: Symmetric positive definite matrices `(*b, n, n)`, floats.

    Returns:
        The factors, of the shape and dtype of `a` (Golub and Van Loan, 4.2).
    """
    matrix, batch = _batched(g, a)
    dtype = g.get_type(a)
    start = g.op.Mul(matrix, const(g, a, 0))
    size = g.op.Squeeze(g.op.Shape(matrix, start=1, end=2))
    body = g.subgraph(
        "cholesky",
        inputs=[
            ("cholesky.column", np.int64, []),
            ("cholesky.again", np.bool_, []),
            ("cholesky.factor", dtype, [None, None, None]),
        ],
    )
    j, again, factor = body.input_names
    rows = body.op.Range(np.array(0, np.int64), size, np.array(1, np.int64))
    row = body.op.Unsqueeze(body.op.Gather(factor, j, axis=1), _LAST)
    sums = body.op.Squeeze(body.op.MatMul(factor, row), _LAST)
    rest = body.op.Sub(body.op.Gather(matrix, j, axis=2), sums)
    root = body.op.Sqrt(body.op.Unsqueeze(body.op.Gather(rest, j, axis=1), _LAST))
    below = body.op.GreaterOrEqual(rows, j)
    column = body.op.Where(below, body.op.Div(rest, root), const(g, a, 0))
    here = body.op.Equal(rows, j)
    following = body.op.Where(here, body.op.Unsqueeze(column, _LAST), factor)
    body.make_tensor_output("cholesky.again_out", source=body.op.Identity(again))
    body.make_tensor_output("cholesky.factor_out", source=following)
    done = g.op.Loop(size, np.array(True), start, body=body, outputs=1)
    return _unbatched(g, done if isinstance(done, str) else done[0], batch, 2)
