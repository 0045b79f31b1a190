"""Eigenvalues and singular values against numpy: by their values, and by reconstruction."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest

from tests.stablehlo.jax_cases import normal, run
from yobx.jax import to_onnx

RTOL = {np.float32: 3e-6, np.float64: 1e-13}


def _orthonormal(x: np.ndarray, tolerance: float) -> None:
    gram = np.swapaxes(x, -1, -2) @ x
    np.testing.assert_allclose(
        gram, np.broadcast_to(np.eye(x.shape[-1]), gram.shape), atol=tolerance
    )


def _symmetric(*shape: int, dtype: type = np.float32) -> np.ndarray:
    x = normal(*shape, dtype=dtype)
    return x + np.swapaxes(x, -1, -2)


def _repeated(n: int) -> np.ndarray:
    q, _ = np.linalg.qr(normal(n, n, dtype=np.float64))
    return (q * np.array([2.0] * (n - 1) + [-3.0])) @ q.T


SYMMETRIC = {
    "one": np.array([[-3.0]]),
    "two": np.array([[1.0, 2.0], [2.0, 1.0]]),
    "odd": _symmetric(5, 5),
    "even": _symmetric(8, 8),
    "batch": _symmetric(2, 3, 4, 4),
    "zero": np.zeros((3, 3)),
    "diagonal": np.diag([3.0, 1.0, 2.0]),
    "repeated": _repeated(6),
    "scales": np.diag([1e12, 1.0, 1e-12]) + 1e-13,
    "larger": _symmetric(40, 40),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", SYMMETRIC)
def test_eigh(name: str, dtype: type) -> None:
    with jax.enable_x64(dtype is np.float64):
        a = SYMMETRIC[name].astype(dtype)
        model = to_onnx(jnp.linalg.eigh, (a,), dynamic_shapes={})
        values, vectors = run(model, (a,))
    wanted = np.linalg.eigvalsh(a.astype(np.float64))
    size = max(np.abs(wanted).max(), 1e-30)
    assert values.dtype == vectors.dtype == dtype
    np.testing.assert_allclose(values, wanted, rtol=0, atol=RTOL[dtype] * size)
    again = (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    np.testing.assert_allclose(again, a, rtol=0, atol=10 * RTOL[dtype] * size)
    _orthonormal(vectors, 10 * RTOL[dtype])


@pytest.mark.parametrize("lower", [True, False])
def test_only_one_triangle_is_read(lower: bool) -> None:
    a = normal(4, 4)

    def function(x: jax.Array) -> jax.Array:
        return jax.lax.linalg.eigh(x, lower=lower, symmetrize_input=False)[1]

    (values,) = run(to_onnx(function, (a,), dynamic_shapes={}), (a,))
    np.testing.assert_allclose(
        values, np.linalg.eigvalsh(a, "L" if lower else "U"), rtol=1e-5, atol=1e-6
    )


MATRICES = {
    "one": np.array([[-3.0]]),
    "square": normal(5, 5),
    "tall": normal(7, 4),
    "wide": normal(3, 6),
    "batch": normal(2, 3, 5, 4),
    "zero": np.zeros((4, 2)),
    "rank one": np.outer(normal(5), normal(4, seed=1)),
    "zero column": normal(5, 3) * np.array([1.0, 0.0, 1.0]),
    "orthogonal": np.linalg.qr(normal(6, 6, dtype=np.float64))[0],
    "column": normal(6, 1),
    "larger": normal(30, 20),
}


@pytest.mark.parametrize("full", [True, False], ids=["full", "thin"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", MATRICES)
def test_svd(name: str, dtype: type, full: bool) -> None:
    with jax.enable_x64(dtype is np.float64):
        a = MATRICES[name].astype(dtype)
        model = to_onnx(lambda x: jnp.linalg.svd(x, full_matrices=full), (a,), dynamic_shapes={})
        u, s, v = run(model, (a,))
    shapes = [x.shape for x in np.linalg.svd(a, full_matrices=full)]
    assert [u.shape, s.shape, v.shape] == shapes
    assert {x.dtype for x in (u, s, v)} == {np.dtype(dtype)}
    wanted = np.linalg.svd(a.astype(np.float64), compute_uv=False)
    size = max(wanted.max(), 1e-30)
    np.testing.assert_allclose(s, wanted, rtol=0, atol=RTOL[dtype] * size)
    k = s.shape[-1]
    again = (u[..., :k] * s[..., None, :]) @ v[..., :k, :]
    np.testing.assert_allclose(again, a, rtol=0, atol=10 * RTOL[dtype] * size)
    _orthonormal(u, 10 * RTOL[dtype])
    _orthonormal(np.swapaxes(v, -1, -2), 10 * RTOL[dtype])


def test_singular_values_alone_with_a_symbolic_batch() -> None:
    model = to_onnx(
        lambda x: jnp.linalg.svd(x, compute_uv=False),
        (normal(5, 4, 3),),
        dynamic_shapes=({0: "n"},),
    )
    for n in (1, 7):
        a = normal(n, 4, 3, seed=n)
        (s,) = run(model, (a,))
        np.testing.assert_allclose(s, np.linalg.svd(a, compute_uv=False), rtol=1e-5, atol=1e-6)


def test_what_is_made_of_them() -> None:
    a = normal(5, 3)
    for function in (jnp.linalg.pinv, jnp.linalg.matrix_rank, lambda x: jnp.linalg.cond(x)):
        (got,) = run(to_onnx(function, (a,), dynamic_shapes={}), (a,))
        np.testing.assert_allclose(got, function(a), rtol=2e-4, atol=1e-5)


def test_nan_ends_and_stays_nan() -> None:
    a = np.full((3, 3), np.nan, np.float32)
    (values,) = run(to_onnx(jnp.linalg.eigvalsh, (a,), dynamic_shapes={}), (a,))
    assert np.isnan(values).all()


def _shapes(model: onnx.ModelProto) -> list[list[int | str]]:
    return [
        [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
        for value in model.graph.output
    ]


def test_eigh_of_a_symbolic_size() -> None:
    model = to_onnx(jnp.linalg.eigh, (_symmetric(2, 4, 4),), dynamic_shapes=({1: "n", 2: "n"},))
    assert _shapes(model) == [[2, "n"], [2, "n", "n"]]
    for n in (4, 1, 2, 7, 12):
        a = _symmetric(2, n, n)
        values, vectors = run(model, (a,))
        np.testing.assert_allclose(values, np.linalg.eigvalsh(a), atol=2e-5)
        again = (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)
        np.testing.assert_allclose(again, a, atol=2e-5)
        _orthonormal(vectors, 3e-6)


SIZES = [(4, 6), (6, 4), (5, 5), (1, 3), (3, 1), (12, 9)]


@pytest.mark.parametrize("full", [False, True], ids=["thin", "full"])
def test_svd_of_symbolic_sizes(full: bool) -> None:
    model = to_onnx(
        lambda x: jnp.linalg.svd(x, full_matrices=full),
        (normal(4, 6),),
        dynamic_shapes=({0: "m", 1: "n"},),
    )
    for m, n in SIZES:
        a = normal(m, n)
        a[-1] = a[0]  # of lower rank
        u, s, v = run(model, (a,))
        assert [x.shape for x in (u, s, v)] == [
            x.shape for x in np.linalg.svd(a, full_matrices=full)
        ]
        np.testing.assert_allclose(s, np.linalg.svd(a, compute_uv=False), rtol=1e-5, atol=2e-6)
        k = min(m, n)
        np.testing.assert_allclose((u[:, :k] * s) @ v[:k], a, atol=5e-6)
        _orthonormal(u, 3e-6)
        _orthonormal(v.T, 3e-6)


def test_singular_values_of_one_symbolic_size() -> None:
    model = to_onnx(
        lambda x: jnp.linalg.svd(x, compute_uv=False),
        (normal(3, 4, 5),),
        dynamic_shapes=({0: "b", 1: "m"},),
    )
    for m in (2, 5, 8):
        a = normal(2, m, 5)
        wanted = np.linalg.svd(a, compute_uv=False)
        np.testing.assert_allclose(run(model, (a,))[0], wanted, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3, 3)], ids=str)
def test_eigh_of_nothing(shape: tuple[int, ...]) -> None:
    a = np.zeros(shape, np.float32)
    values, vectors = run(to_onnx(jnp.linalg.eigh, (a,), dynamic_shapes={}), (a,))
    assert values.shape == shape[:-1]
    assert vectors.shape == shape
