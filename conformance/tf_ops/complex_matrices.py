"""Complex matrices: factors, determinants, systems; vectors are the same up to their phases."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import tensorflow as tf

from conformance.tf_ops.cases import Arg, Case

Function = Callable[[Any], Any]


def good(z: Any) -> Any:
    """Move matrices away from singular ones; one row stays in need of a pivot."""
    order = tf.constant([2, 0, 3, 1])
    return tf.gather(z + 4.0 * tf.eye(4, dtype=z.dtype), order, axis=1)


def positive(z: Any) -> Any:
    """Make matrices Hermitian and positive definite."""
    return tf.matmul(z, z, adjoint_b=True) + tf.eye(4, dtype=z.dtype)


def whole_qr(full: bool, z: Any) -> Any:
    """Both factors, whose phases are fixed."""
    q, r = tf.linalg.qr(z, full_matrices=full)
    return [q, r] if full is False else [tf.matmul(q, r), r, tf.matmul(q, q, adjoint_a=True)]


def whole_svd(full: bool, z: Any) -> Any:
    """Values, the product of all, and what the vectors have in common."""
    s, u, v = tf.linalg.svd(z, full_matrices=full)
    k = s.shape[-1]
    left = u[..., :k] * tf.cast(s, z.dtype)[..., None, :]
    back = tf.matmul(left, v[..., :k], adjoint_b=True)
    return [s, back, tf.matmul(u, u, adjoint_a=True), tf.matmul(v, v, adjoint_a=True)]


def whole_eigh(z: Any) -> Any:
    """The same of eigenvectors."""
    e, v = tf.linalg.eigh(z)
    scaled = v * tf.cast(e, z.dtype)[..., None, :]
    return [e, tf.matmul(scaled, v, adjoint_b=True), tf.abs(v)]


def triangular(lower: bool, turned: bool, z: Any) -> Any:
    """Solve systems of which one triangle is read, with one right side for all."""
    return tf.linalg.triangular_solve(positive(z), z[:1, :, :2], lower=lower, adjoint=turned)


def systems() -> dict[str, tuple[Function, tuple[int, ...]]]:
    """Return functions by name, and the shape of the matrices."""
    square = (4, 4)
    found: dict[str, tuple[Function, tuple[int, ...]]] = {
        "determinant": (lambda z: tf.linalg.det(good(z)), square),
        "slogdet": (lambda z: list(tf.linalg.slogdet(good(z))), square),
        "cholesky": (lambda z: tf.linalg.cholesky(positive(z)), square),
        "lu": (lambda z: list(tf.linalg.lu(good(z))), square),
        "lu-int64": (lambda z: list(tf.linalg.lu(good(z), tf.int64)), square),
        "eigh": (lambda z: whole_eigh(positive(z)), square),
        "eigenvalues": (lambda z: tf.linalg.eigvalsh(positive(z)), square),
        "singular-values": (lambda z: tf.linalg.svd(z, compute_uv=False), (3, 5)),
        "tall-ls": (lambda z: tf.linalg.lstsq(z[..., :3], z[..., 3:]), (6, 5)),
        "wide-ls": (lambda z: tf.linalg.lstsq(z[..., :2, :], z[..., 2:, 2:]), (4, 5)),
        "tridiagonal": (lambda z: tf.linalg.tridiagonal_solve(
            z[:, :3] + 6.0 * tf.eye(3, 4, dtype=z.dtype)[::-1] + 6.0, z), square),
    }  # fmt: skip
    for lower in (False, True):
        for turned in (False, True):
            found[f"triangular-{lower}-{turned}"] = partial(triangular, lower, turned), square
    for full in (False, True):
        for m, n in ((5, 3), (3, 5), (4, 4)):
            found[f"qr-{m}-{n}-{full}"] = partial(whole_qr, full), (m, n)
            found[f"svd-{m}-{n}-{full}"] = partial(whole_svd, full), (m, n)
    return found


def regular(kind: str, z: Any) -> Any:
    """Least squares with a weight, which TensorFlow has in complex64 only."""
    a, b = (z[..., :3], z[..., 3:]) if kind == "tall" else (z[..., :3, :], z[..., :3, 3:])
    return tf.linalg.lstsq(a, b, 0.5)


def parts(value: Any) -> Any:
    """Return complex tensors as pairs of real ones."""
    found = value if isinstance(value, list) else [value]
    return [
        tf.stack([tf.math.real(t), tf.math.imag(t)], -1) if t.dtype.is_complex else t for t in found
    ]


def cases() -> list[Case]:
    """Return the cases of this module."""
    rows = [
        Case(f"regular-ls-{name}", lambda x, name=name: parts(regular(name, tf.complex(
            x[..., 0], x[..., 1]))), (Arg("float32", ("n", 5, 5, 2), -1, 1),), ulps=256, floor=2.0)
        for name in ("tall", "wide")
    ]  # fmt: skip
    for name, (function, shape) in systems().items():
        for kind, dtype in (("complex64", "float32"), ("complex128", "float64")):
            arg = Arg(dtype, ("n", *shape, 2), -1, 1)
            rows.append(
                Case(f"{name}-{kind}", lambda x, function=function: parts(
                    function(tf.complex(x[..., 0], x[..., 1]))), (arg,), ulps=256, floor=2.0)
            )  # fmt: skip
    return rows
