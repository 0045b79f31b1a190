"""Decompositions of complex matrices against numpy: directly where they are unique, else put
together again."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest

from tests.stablehlo.jax_cases import normal, run
from yobx.jax import to_onnx

TOLERANCE = {np.complex64: 3e-6, np.complex128: 1e-13}
PRECISIONS = pytest.mark.parametrize("dtype", TOLERANCE, ids=["complex64", "complex128"])


def _complex(*shape: int) -> np.ndarray:
    pairs = normal(*shape, 2, dtype=np.float64)
    return pairs[..., 0] + 1j * pairs[..., 1]


def _adjoint(x: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(x, -1, -2))


def _converted(
    function: Any, *args: np.ndarray, model: onnx.ModelProto | None = None
) -> list[np.ndarray]:
    """Results of the model; pairs become complex numbers."""
    with jax.enable_x64(args[0].dtype == np.complex128):
        if model is None:
            model = to_onnx(function, args, dynamic_shapes={})
        wanted = jax.tree.leaves(jax.eval_shape(function, *args))
    feeds = tuple(np.stack([a.real, a.imag], -1) for a in args)
    return [
        np.ascontiguousarray(got).view(want.dtype)[..., 0] if want.dtype.kind == "c" else got
        for got, want in zip(run(model, feeds), wanted, strict=True)
    ]


def _close(got: np.ndarray, want: np.ndarray, dtype: type, factor: float = 1) -> None:
    size = max(float(np.abs(want).max()), 1e-30)
    np.testing.assert_allclose(got, want, rtol=0, atol=factor * TOLERANCE[dtype] * size)


def _positive(*shape: int) -> np.ndarray:
    a = _complex(*shape)
    return a @ _adjoint(a) + np.eye(shape[-1])


@PRECISIONS
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (2, 3, 5, 5)], ids=str)
@pytest.mark.parametrize("upper", [False, True], ids=["lower", "upper"])
def test_cholesky(shape: tuple[int, ...], upper: bool, dtype: type) -> None:
    a = _positive(*shape).astype(dtype)
    (factor,) = _converted(lambda x: jnp.linalg.cholesky(x, upper=upper), a)
    want = np.linalg.cholesky(a.astype(np.complex128))
    _close(factor, _adjoint(want) if upper else want, dtype)
    assert not np.diagonal(factor, axis1=-2, axis2=-1).imag.any()


@PRECISIONS
@pytest.mark.parametrize("left", [True, False], ids=["left", "right"])
@pytest.mark.parametrize("lower", [True, False], ids=["lower", "upper"])
@pytest.mark.parametrize("turn", ["plain", "transposed", "adjoint"])
@pytest.mark.parametrize("unit", [False, True], ids=["any", "unit"])
def test_triangular_solve(left: bool, lower: bool, turn: str, unit: bool, dtype: type) -> None:
    a = (_complex(2, 4, 4) + 4 * np.eye(4)).astype(dtype)
    b = _complex(2, *((4, 3) if left else (3, 4))).astype(dtype)
    options = {"transpose_a": turn != "plain", "conjugate_a": turn == "adjoint"}
    (x,) = _converted(
        lambda m, r: jax.lax.linalg.triangular_solve(
            m, r, left_side=left, lower=lower, unit_diagonal=unit, **options
        ),
        a,
        b,
    )
    triangle = (np.tril if lower else np.triu)(a.astype(np.complex128))
    if unit:
        triangle[..., range(4), range(4)] = 1
    if turn != "plain":
        triangle = np.swapaxes(triangle, -1, -2)
    if turn == "adjoint":
        triangle = np.conj(triangle)
    again = triangle @ x if left else x @ triangle
    _close(again, b, dtype, factor=1 + np.abs(x).max())


@PRECISIONS
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (3, 5), (5, 3), (2, 4, 4)], ids=str)
def test_lu(shape: tuple[int, ...], dtype: type) -> None:
    a = _complex(*shape).astype(dtype)
    factors, pivots, order = _converted(jax.lax.linalg.lu, a)
    wanted = jax.lax.linalg.lu(a) if dtype is np.complex64 else None
    if wanted is not None:
        np.testing.assert_array_equal(pivots, wanted[1])
    m, n = shape[-2:]
    k = min(m, n)
    lower = np.tril(factors[..., :, :k], -1) + np.eye(m, k)
    again = lower @ np.triu(factors[..., :k, :])
    _close(again, np.take_along_axis(a, order[..., None], axis=-2), dtype)


@PRECISIONS
@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (3, 5), (5, 3), (2, 4, 2)], ids=str)
def test_qr(shape: tuple[int, ...], mode: str, dtype: type) -> None:
    a = _complex(*shape).astype(dtype)
    q, r = _converted(lambda x: jnp.linalg.qr(x, mode=mode), a)
    wanted = [np.linalg.qr(x, mode=mode) for x in a.reshape(-1, *shape[-2:])]
    _close(q.reshape(-1, *q.shape[-2:]), np.stack([w[0] for w in wanted]), dtype)
    _close(r.reshape(-1, *r.shape[-2:]), np.stack([w[1] for w in wanted]), dtype)


def _repeated(n: int) -> np.ndarray:
    q, _ = np.linalg.qr(_complex(n, n))
    return (q * np.array([2.0] * (n - 1) + [-3.0])) @ _adjoint(q)


def _hermitian(*shape: int) -> np.ndarray:
    a = _complex(*shape)
    return a + _adjoint(a)


HERMITIAN = {
    "one": np.array([[-3.0 + 0j]]),
    "two": np.array([[1.0, 2j], [-2j, 1.0]]),
    "odd": _hermitian(5, 5),
    "batch": _hermitian(2, 3, 4, 4),
    "zero": np.zeros((3, 3), np.complex128),
    "repeated": _repeated(6),
    "larger": _hermitian(24, 24),
}


def _orthonormal(x: np.ndarray, dtype: type) -> None:
    gram = _adjoint(x) @ x
    _close(gram, np.broadcast_to(np.eye(x.shape[-1]), gram.shape), dtype, factor=10)


@PRECISIONS
@pytest.mark.parametrize("lower", [True, False], ids=["lower", "upper"])
@pytest.mark.parametrize("name", HERMITIAN)
def test_eigh(name: str, lower: bool, dtype: type) -> None:
    a = HERMITIAN[name].astype(dtype)
    uplo = "L" if lower else "U"
    values, vectors = _converted(lambda x: jnp.linalg.eigh(x, UPLO=uplo, symmetrize_input=False), a)
    _close(values, np.linalg.eigvalsh(a.astype(np.complex128)), dtype)
    _close((vectors * values[..., None, :]) @ _adjoint(vectors), a, dtype, factor=10)
    _orthonormal(vectors, dtype)


SINGULAR = {
    "one": np.array([[3 - 4j]]),
    "tall": _complex(7, 4),
    "flat": _complex(4, 7),
    "batch": _complex(2, 4, 3),
    "zero": np.zeros((4, 3), np.complex128),
    "rank one": _complex(5, 1) @ _complex(1, 4),
    "repeated": _repeated(5),
}


@PRECISIONS
@pytest.mark.parametrize("full", [True, False], ids=["full", "thin"])
@pytest.mark.parametrize("name", SINGULAR)
def test_svd(name: str, full: bool, dtype: type) -> None:
    a = SINGULAR[name].astype(dtype)
    u, s, v = _converted(lambda x: jnp.linalg.svd(x, full_matrices=full), a)
    _close(s, np.linalg.svd(a.astype(np.complex128), compute_uv=False), dtype)
    count = s.shape[-1]
    _close((u[..., :count] * s[..., None, :]) @ v[..., :count, :], a, dtype, factor=10)
    _orthonormal(u, dtype)
    _orthonormal(_adjoint(v), dtype)


def test_singular_values_alone() -> None:
    a = _complex(3, 5).astype(np.complex64)
    (s,) = _converted(lambda x: jnp.linalg.svd(x, compute_uv=False), a)
    _close(s, np.linalg.svd(a, compute_uv=False), np.complex64)


def _dominant(x: jax.Array) -> jax.Array:
    """A matrix that no pivot is small in."""
    return x + 8 * jnp.eye(x.shape[0], dtype=x.dtype)


UNIQUE = {
    "cholesky": lambda x, b: jnp.linalg.cholesky(_dominant(x @ jnp.conj(x.T))),
    "lu": lambda x, b: jax.lax.linalg.lu(_dominant(x)),
    "qr": lambda x, b: jnp.linalg.qr(_dominant(x)),
    "solution": lambda x, b: jnp.linalg.solve(_dominant(x), b),
    "triangle": lambda x, b: jax.lax.linalg.triangular_solve(
        _dominant(x), b, left_side=True, lower=True, transpose_a=True, conjugate_a=True
    ),
}


@pytest.mark.parametrize("name", UNIQUE)
def test_matrices_of_symbolic_size(name: str) -> None:
    function, c64 = UNIQUE[name], np.complex64
    args = _complex(4, 4).astype(c64), _complex(4, 2).astype(c64)
    model = to_onnx(function, args, dynamic_shapes=({0: "n", 1: "n"}, {0: "n"}))
    for n in (1, 3, 6):
        feeds = _complex(n, n).astype(c64), _complex(n, 2).astype(c64)
        wanted = jax.tree.leaves(function(*feeds))
        for got, want in zip(_converted(function, *feeds, model=model), wanted, strict=True):
            _close(got, np.asarray(want), c64, factor=2)


def test_eigh_of_symbolic_size() -> None:
    a = _hermitian(2, 4, 4).astype(np.complex64)
    model = to_onnx(jnp.linalg.eigh, (a,), dynamic_shapes=({1: "n", 2: "n"},))
    for n in (1, 2, 5, 8):
        a = _hermitian(2, n, n).astype(np.complex64)
        values, vectors = _converted(jnp.linalg.eigh, a, model=model)
        _close(values, np.linalg.eigvalsh(a.astype(np.complex128)), np.complex64)
        _close((vectors * values[..., None, :]) @ _adjoint(vectors), a, np.complex64, factor=10)
        _orthonormal(vectors, np.complex64)


@pytest.mark.parametrize("full", [True, False], ids=["full", "thin"])
@pytest.mark.parametrize("axes", [{0: "m", 1: "n"}, {0: "m"}, {0: "n", 1: "n"}], ids=str)
def test_svd_of_symbolic_sizes(axes: dict[int, str], full: bool) -> None:
    def function(x: Any) -> Any:
        return jnp.linalg.svd(x, full_matrices=full)

    is_square = axes.get(0) == axes.get(1)
    start = (4, 4) if is_square else (3, 4)
    model = to_onnx(function, (_complex(*start).astype(np.complex64),), dynamic_shapes=(axes,))
    for m, n in [(4, 4), (2, 4), (7, 4), (1, 3), (5, 2)]:
        shape = (m if 0 in axes else start[0], n if 1 in axes else start[1])
        if is_square:
            shape = (m, m)
        a = _complex(*shape).astype(np.complex64)
        u, s, v = _converted(function, a, model=model)
        wanted = np.linalg.svd(a, full_matrices=full)
        assert [x.shape for x in (u, s, v)] == [x.shape for x in wanted]
        _close(s, np.linalg.svd(a.astype(np.complex128), compute_uv=False), np.complex64)
        count = s.shape[-1]
        _close((u[..., :count] * s[..., None, :]) @ v[..., :count, :], a, np.complex64, factor=10)
        _orthonormal(u, np.complex64)
        _orthonormal(_adjoint(v), np.complex64)


@PRECISIONS
@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3, 3)], ids=str)
def test_eigh_of_nothing(shape: tuple[int, ...], dtype: type) -> None:
    values, vectors = _converted(jnp.linalg.eigh, np.zeros(shape, dtype))
    assert values.shape == shape[:-1]
    assert vectors.shape == shape
