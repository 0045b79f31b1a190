"""What counts as agreement with JAX, and what does not."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from conformance.cells import Verdict
from conformance.jax_harnesses import check, harnesses
from conformance.jax_tolerances import disagreement

ONE = np.ones(3, np.float32)


def test_tolerance_is_that_of_the_element_type() -> None:
    near = ONE + np.float32(5e-6)
    assert disagreement("add", [near], [ONE], [], {}) == ""
    assert "3 of 3" in disagreement("add", [near + np.float32(1e-4)], [ONE], [], {})
    low = np.ones(3, ml_dtypes.bfloat16)
    assert disagreement("add", [low + low.dtype.type(0.015)], [low], [], {}) == ""
    assert disagreement("add", [low + low.dtype.type(0.1)], [low], [], {})


def test_integers_are_compared_exactly() -> None:
    numbers = np.array([2**31 - 1], np.int32)
    assert disagreement("add", [numbers - 1], [numbers], [], {})


def test_nan_and_infinity_have_places() -> None:
    odd = np.array([np.nan, np.inf, 1], np.float32)
    assert disagreement("add", [odd], [odd], [], {}) == ""
    assert disagreement("add", [odd[[1, 0, 2]]], [odd], [], {})


@pytest.mark.parametrize(
    "got", [ONE.astype(np.float64), ONE[:2], ONE[None]], ids=["dtype", "size", "rank"]
)
def test_type_and_shape_count(got: np.ndarray) -> None:
    assert disagreement("add", [got], [ONE], [], {}).startswith("result 0 is")


def test_pairs_are_complex_numbers() -> None:
    want = np.array([1 + 2j, 3 - 1j], np.complex64)
    assert disagreement("add", [np.stack([want.real, want.imag], -1)], [want], [], {}) == ""
    assert disagreement("add", [np.stack([want.imag, want.real], -1)], [want], [], {})


def test_decompositions_are_put_together_again() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(4, 4))
    values, vectors = np.linalg.eigh(a + a.T)
    turned = vectors * np.array([1, -1, 1, -1])
    assert disagreement("eigh", [turned, values], [vectors, values], [a], {}) == ""
    assert "orthonormal" in disagreement(
        "eigh", [vectors * 0 + np.eye(4), values], [np.eye(4), values], [a], {}
    ) or disagreement("eigh", [2 * vectors, values], [vectors, values], [a], {})
    u, s, v = np.linalg.svd(a)
    assert disagreement("svd", [s, -u, -v], [s, u, v], [a], {}) == ""
    assert "reconstruction" in disagreement("svd", [s, -u, v], [s, u, v], [a], {})
    assert "singular values" in disagreement("svd", [s + 1e-3, u, v], [s, u, v], [a], {})


def test_an_unstable_sort_may_swap_equals() -> None:
    keys, rows = np.array([1, 1, 2], np.int32), np.array([7, 8, 9], np.int32)
    swapped = rows[[1, 0, 2]]
    params = {"num_keys": 1, "is_stable": False}
    assert disagreement("sort", [keys, swapped], [keys, rows], [keys], params) == ""
    assert disagreement("sort", [keys, rows[::-1]], [keys, rows], [keys], params)
    assert disagreement("sort", [keys, swapped], [keys, rows], [keys], {"is_stable": True})


def test_equal_elements_are_taken_once() -> None:
    x = np.array([5, 1, 5, 3], np.float32)
    want = [np.array([5, 5], np.float32), np.array([0, 2], np.int32)]
    assert disagreement("approx_top_k", [want[0], want[1][::-1]], want, [x], {}) == ""
    assert "twice" in disagreement("approx_top_k", [want[0], want[1] * 0], want, [x], {})


def _named(name: str) -> object:
    return next(h for h in harnesses() if h.fullname == name)


@pytest.mark.parametrize("symbolic", [False, True])
def test_a_case_is_converted_and_compared(symbolic: bool) -> None:
    pytest.importorskip("onnxruntime")
    cell = check(_named("sin_shape_float32_20_20_"), symbolic=symbolic)
    assert cell.verdict is Verdict.PASS, cell.message
    assert cell.name.startswith("jax-symbolic/" if symbolic else "jax/")


def test_what_jax_does_not_trace_is_its_own() -> None:
    cell = check(
        _named("reshape_dtypes_shape_float32_2_3_newsizes_3_2_dimensions_0_1_"), symbolic=True
    )
    assert cell.verdict is Verdict.SOURCE
    assert "the source fails" in cell.message
