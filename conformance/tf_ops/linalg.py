"""Linear systems; what rounding may do grows with the condition of the matrices, here below 50."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from conformance.tf_ops.cases import EMPTY, Arg, Case


def matrix(dtype: str) -> Arg:
    """Return a stack of square matrices."""
    return Arg(dtype, ("n", 4, 4), -1, 1)


def good(x: Any) -> Any:
    """Move matrices away from singular ones; one row stays in need of a pivot."""
    order = tf.constant([2, 0, 3, 1])
    return tf.gather(x + 4.0 * tf.eye(4, dtype=x.dtype), order, axis=1)


def positive(x: Any) -> Any:
    """Make matrices symmetric and positive definite."""
    return tf.matmul(x, x, transpose_b=True) + tf.eye(4, dtype=x.dtype)


def systems() -> list[Case]:
    """Return inverses, determinants, factors and solutions."""
    rows = []
    for dtype in ("float32", "float64"):
        a, b = matrix(dtype), Arg(dtype, ("n", 4, 2))
        bound: dict[str, Any] = {"ulps": 64, "floor": 1.0, "bindings": EMPTY}
        rows += [
            Case(f"inverse-{dtype}", lambda x: tf.linalg.inv(good(x)), (a,), **bound),
            Case(f"adjoint-{dtype}", lambda x: tf.linalg.inv(good(x), True), (a,), **bound),
            Case(f"determinant-{dtype}", lambda x: tf.linalg.det(good(x)), (a,), **bound),
            Case(f"slogdet-{dtype}", lambda x: tf.linalg.slogdet(good(x)), (a,), **bound),
            Case(f"solve-{dtype}", lambda x, y: tf.linalg.solve(good(x), y), (a, b), **bound),
            Case(f"cholesky-{dtype}", lambda x: tf.linalg.cholesky(positive(x)), (a,), **bound),
            Case(f"lower-{dtype}", lambda x, y: tf.linalg.triangular_solve(
                positive(x), y), (a, b), **bound),
            Case(f"upper-{dtype}", lambda x, y: tf.linalg.triangular_solve(
                positive(x), y, lower=False, adjoint=True), (a, b), **bound),
            Case(f"tridiagonal-{dtype}", lambda x, y: tf.linalg.tridiagonal_matmul(
                x[:, :3], y, "compact"), (a, b), **bound),
            Case(f"least-squares-{dtype}", lambda x, y: tf.linalg.lstsq(positive(x)[:, :, :3], y,
                l2_regularizer=0.5), (a, b), ulps=512, floor=4.0),
            Case(f"shortest-{dtype}", lambda x, y: tf.linalg.lstsq(positive(x)[:, :2], y[:, :2]),
                 (a, b), ulps=512, floor=4.0),
        ]  # fmt: skip
    rows.append(
        Case("inverse-2d", lambda x: tf.linalg.inv(good(x[None])[0]),
             (Arg("float32", (4, 4), -1, 1),), ulps=64, floor=1.0)
    )  # fmt: skip
    rows.append(
        Case("inverse-4d", lambda x: tf.linalg.inv(tf.reshape(good(x), [1, -1, 4, 4])),
             (matrix("float32"),), ulps=64, floor=1.0)
    )  # fmt: skip
    return rows


def same_up_to_signs() -> list[Case]:
    """Vectors times values give the matrix back, and have no component along each other."""

    def whole_svd(x: Any, full: bool) -> Any:
        s, u, v = tf.linalg.svd(x, full_matrices=full)
        k = s.shape[-1]
        back = tf.matmul(u[..., :k] * s[..., None, :], v[..., :k], adjoint_b=True)
        return s, back, tf.matmul(u, u, adjoint_a=True), tf.matmul(v, v, adjoint_a=True)

    def whole_eigh(x: Any) -> Any:
        e, v = tf.linalg.eigh(x + tf.linalg.matrix_transpose(x))
        return e, tf.matmul(v * e[..., None, :], v, adjoint_b=True), tf.abs(v)

    rows = []
    for dtype in ("float32", "float64"):
        for m, n in ((5, 3), (3, 5), (4, 4), (1, 2)):
            arg = Arg(dtype, ("n", m, n), -1, 1)
            rows += [
                Case(f"svd-{dtype}-{m}-{n}-{full}", lambda x, full=full: whole_svd(x, full),
                     (arg,), ulps=64, floor=1.0)
                for full in (False, True)
            ]  # fmt: skip
        rows.append(Case(f"eigh-{dtype}", whole_eigh, (matrix(dtype),), ulps=256, floor=1.0))
    return rows


def cases() -> list[Case]:
    """Return the cases of this module."""
    return [*systems(), *same_up_to_signs()]
