"""What tells which side of a difference is right is more exact than both."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
import pytest

from conformance.jax_reference import more_exact


@dataclass
class _Harness:
    """As much of JAX's class as is needed."""

    group_name: str
    dyn_fun: Any
    params: dict[str, Any] = field(default_factory=dict)


def _log() -> _Harness:
    return _Harness("log", jax.numpy.log)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_a_case_in_float32_is_computed_in_float64(dtype: Any) -> None:
    x = np.linspace(0.1, 3, 50).astype(dtype)
    (got,) = more_exact(_log(), [x], [x.dtype])
    wide = np.complex128 if np.iscomplexobj(x) else np.float64
    np.testing.assert_array_equal(got, np.log(x.astype(wide)).astype(dtype))


@pytest.mark.skipif(
    bool(np.finfo(np.longdouble).eps >= np.finfo(np.float64).eps),
    reason="there is no wider type here",
)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_a_function_in_float64_is_computed_in_the_next_wider_type(dtype: Any) -> None:
    x = np.linspace(0.1, 3, 50).astype(dtype)
    (got,) = more_exact(_log(), [x], [x.dtype])
    wide = np.clongdouble if np.iscomplexobj(x) else np.longdouble
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, np.log(x.astype(wide)).astype(dtype))


@pytest.mark.skipif(
    bool(np.finfo(np.longdouble).eps >= np.finfo(np.float64).eps),
    reason="there is no wider type here",
)
@pytest.mark.parametrize("full", [True, False], ids=["full", "thin"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 5, 3), (3, 5)], ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_factorisations_in_float64_are_those_of_the_matrix(
    dtype: Any, shape: tuple[int, ...], full: bool
) -> None:
    rng = np.random.default_rng(0)
    a = rng.standard_normal(shape).astype(dtype)
    if a.dtype.kind == "c":
        a += 1j * rng.standard_normal(shape)
    with jax.enable_x64(True):
        wanted = jax.lax.linalg.qr(a, full_matrices=full)
    harness = _Harness("qr", None, {"full_matrices": full})
    for got, want in zip(more_exact(harness, [a], [a.dtype]), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)
    square = a[..., : min(shape[-2:]), :]
    square = square @ np.conj(np.swapaxes(square, -1, -2))
    with jax.enable_x64(True):
        want = jax.lax.linalg.cholesky_p.bind(square)
    (got,) = more_exact(_Harness("cholesky", None), [square], [a.dtype])
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)


def test_of_other_cases_in_float64_nothing_more_exact_is_known() -> None:
    x = np.ones(3)
    other = _Harness("cumsum", jax.numpy.cumsum)
    assert more_exact(other, [x], [x.dtype]) == []
    assert more_exact(_log(), [x, x], [x.dtype]) == []
