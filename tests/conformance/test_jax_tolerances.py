"""What counts as agreement with JAX, and what does not."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from jax._src import public_test_util
from jax._src.internal_test_util.lax_test_util import lax_ops

from conformance.cells import Verdict
from conformance.jax_harnesses import check, harnesses
from conformance.jax_reference import more_exact
from conformance.jax_tolerances import disagreement, tolerance

ONE = np.ones(3, np.float32)


@pytest.mark.parametrize(
    "dtype", ["float32", "complex64", ml_dtypes.bfloat16, "float16", "int32", "bool"]
)
def test_tolerance_is_what_jax_has_for_the_element_type(dtype: object) -> None:
    own = public_test_util.default_tolerance()[np.dtype(dtype)]
    assert tolerance("add", np.dtype(dtype)) == own
    if own:
        one = np.ones(3, dtype)
        near, far = (one + np.asarray(own * factor, dtype) for factor in (1.5, 4.0))
        assert disagreement("add", [near], [one], [], {}) == ""
        assert "3 of 3" in disagreement("add", [far], [one], [], {})


def test_a_function_has_the_tolerance_of_jax_for_it() -> None:
    single = np.dtype(np.float32)
    own = {record.op: record.tol for record in lax_ops() if record.tol is not None}
    assert tolerance("tan", single) == own["tan"][np.float32] > tolerance("sin", single)
    assert tolerance("regularized_incomplete_beta", single) == own["betainc"][np.float32]


def test_nothing_is_wider_than_jax_has_it() -> None:
    groups = {str(harness.group_name) for harness in harnesses()}
    named = {record.op for record in lax_ops() if record.tol is not None}
    own = public_test_util.default_tolerance()
    for dtype in (np.dtype(name) for name in ("float16", "float32", "complex64", "int8")):
        wider = {group for group in groups if tolerance(group, dtype) > own[dtype]}
        known = {"conv_general_dilated", "regularized_incomplete_beta"}
        assert wider <= named | known


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
    a = rng.normal(size=(4, 4)).astype(np.float32)
    values, vectors = np.linalg.eigh(a + a.T)
    turned = vectors * np.array([1, -1, 1, -1], np.float32)
    assert disagreement("eigh", [turned, values], [vectors, values], [a], {}) == ""
    assert "orthonormal" in disagreement("eigh", [2 * vectors, values], [vectors, values], [a], {})
    unit = np.eye(4, dtype=np.float32)
    assert "eigenvectors" in disagreement("eigh", [unit, values], [vectors, values], [a], {})
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


def test_pairs_that_are_close_as_a_number_are_close() -> None:
    want = np.array([1000 + 0j], np.complex64)
    assert disagreement("add", [want + 5e-4j], [want], [], {}) == ""
    assert disagreement("add", [want + 5e-3j], [want], [], {})


def test_float64_is_the_arbiter() -> None:
    sums = _named("cumsum_dtype_by_fun_shape_float32_8_9_axis_0_reverse_False")
    x = np.full((8, 9), 0.1, np.float32)
    (exact,) = more_exact(sums, [x], [x.dtype])
    np.testing.assert_array_equal(exact, np.cumsum(x.astype(np.float64), axis=0).astype(x.dtype))
    assert more_exact(sums, [x.astype(np.int32)], [np.dtype(np.int32)]) == []


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
