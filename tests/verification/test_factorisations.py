"""Factors are judged by what they are: other signs pass, other factors do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from yobx.stablehlo.registry import get_stablehlo_op_converter
from yobx.verification import check_conversion, factorisations
from yobx.verification.check import run_check
from yobx.verification.factorisations import Values, equally_good
from yobx.verification.tolerances import load_tolerances

FACTOR = load_tolerances().factorisation
RNG = np.random.default_rng(4)
A = RNG.standard_normal((3, 5, 5)).astype(np.float32)
SYMMETRIC = A + np.swapaxes(A, -1, -2)
COMPLEX = (A + 1j * RNG.standard_normal(A.shape)).astype(np.complex64)
HERMITIAN = COMPLEX + np.conj(np.swapaxes(COMPLEX, -1, -2))
TALL = RNG.standard_normal((3, 6, 4)).astype(np.float32)
WIDE = np.random.RandomState(2).randn(3, 12, 12).astype(np.float32)
TWINS = np.broadcast_to(np.diag([1, 1, 2, 2, 2]).astype(np.float32), (3, 5, 5))
NEARLY = (TWINS + 1e-7 * SYMMETRIC).astype(np.float32)
HILBERT = np.broadcast_to(1 / (1.0 + np.add.outer(range(6), range(6))), (3, 6, 6))
HILBERT = HILBERT.astype(np.float32)


def inverse_root(a: Any) -> Any:
    w, v = jnp.linalg.eigh(a @ jnp.swapaxes(a, -1, -2))
    return (v / jnp.sqrt(w + 0.1)[..., None, :]) @ jnp.swapaxes(v, -1, -2)


def both_ways(v: Any) -> Any:
    """What comes later is an eigenvector as well, and not the one that was computed."""
    return jnp.stack([v, -v])


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (jnp.linalg.eigh, (SYMMETRIC,)),
        (jnp.linalg.eigh, (NEARLY,)),
        (jnp.linalg.eigh, (HERMITIAN,)),
        (jnp.linalg.eigvalsh, (SYMMETRIC,)),
        (lambda a: jnp.exp(jnp.linalg.eigh(a)[1] @ a), (SYMMETRIC,)),
        (lambda a: both_ways(jnp.linalg.eigh(a)[1]), (SYMMETRIC,)),
        (lambda a: both_ways(jnp.linalg.svd(a, full_matrices=False)[0]), (TALL,)),
        (inverse_root, (A,)),
        (lambda a: jnp.linalg.svd(a), (TALL,)),
        (lambda a: jnp.linalg.svd(a, full_matrices=False), (COMPLEX,)),
        (lambda a: jnp.linalg.svd(a, full_matrices=False)[0] * 2, (TALL,)),
        (lambda a: jnp.linalg.svd(a, full_matrices=False)[2] * 2, (TALL,)),
        (lambda a: jnp.linalg.svd(a, compute_uv=False), (TALL,)),
        (jnp.linalg.pinv, (TALL,)),
        (jnp.linalg.qr, (TALL,)),
        (lambda a: (a.sum(), jnp.linalg.qr(a)), (COMPLEX,)),
        (lambda a: jnp.linalg.qr(a, mode="r"), (TALL,)),
        (jax.lax.linalg.lu, (A,)),
        (lambda a: jnp.linalg.cholesky(a @ jnp.swapaxes(a, -1, -2)), (WIDE,)),
        (jnp.linalg.solve, (HILBERT, TALL)),
        (jnp.linalg.inv, (A,)),
        (jnp.linalg.det, (A,)),
        (jnp.linalg.cholesky, (HILBERT + np.float32(1e-4) * np.eye(6, dtype=np.float32),)),
    ],
)
def test_right_conversions_with_a_symbolic_batch(function: Callable[..., Any], args: Any) -> None:
    check_conversion(function, tuple(map(jnp.asarray, args)), localize=False).raise_if_failed()


def changed(routine: str, change: Callable[[Any, list[str]], list[str]]) -> dict[str, Any]:
    """A converter whose results are not those of the routine."""
    name = f"custom_call.lapack_{routine}_ffi"

    def convert(g: Any, op: Any) -> list[str]:
        registration = get_stablehlo_op_converter(name)
        assert registration is not None
        return change(g, list(registration.converter(g, op)))

    return {name: convert}


def _mixed(g: Any, vectors: str) -> str:
    """Columns that are not at right angles any more."""
    return str(g.op.MatMul(vectors, (np.eye(5) + 1e-4 * np.eye(5, k=1)).astype(np.float32)))


def _permuted(g: Any, x: str, order: list[int]) -> str:
    return str(g.op.Gather(x, np.array(order), axis=-1))


@pytest.mark.parametrize(
    "change",
    [
        lambda g, r: [_permuted(g, r[0], [1, 0, 2, 3, 4]), *r[1:]],
        lambda g, r: [_mixed(g, r[0]), *r[1:]],
        lambda g, r: [str(g.op.Mul(r[0], np.float32(1.0001))), *r[1:]],
        lambda g, r: [str(g.op.Abs(r[0])), *r[1:]],
        lambda g, r: [r[0], _permuted(g, r[1], [4, 3, 2, 1, 0]), *r[2:]],
        lambda g, r: [*(_permuted(g, x, [4, 3, 2, 1, 0]) for x in r[:2]), *r[2:]],
        lambda g, r: [r[0], str(g.op.Add(r[1], np.float32(1e-4))), *r[2:]],
    ],
)
def test_wrong_eigenvectors_and_eigenvalues(change: Any) -> None:
    report = check_conversion(
        jnp.linalg.eigh,
        (jnp.asarray(SYMMETRIC),),
        extra_converters=changed("ssyevd", change),
        localize=False,
    )
    assert report.failed_phase == "values"


@pytest.mark.parametrize(
    "change",
    [
        lambda g, r: [_permuted(g, r[0], [1, 0, 2, 3, 4]), *r[1:]],
        lambda g, r: [str(g.op.Mul(r[0], np.float32(1.0001))), *r[1:]],
    ],
)
def test_wrong_vectors_beside_their_negatives(change: Any) -> None:
    report = check_conversion(
        lambda a: both_ways(jnp.linalg.eigh(a)[1]),
        (jnp.asarray(SYMMETRIC),),
        extra_converters=changed("ssyevd", change),
        localize=False,
    )
    assert report.failed_phase == "values"


def test_a_vector_that_should_be_the_negative() -> None:
    def off(g: Any, op: Any) -> str:
        return str(g.op.Identity(op.x()))

    report = check_conversion(
        lambda a: both_ways(jnp.linalg.eigh(a)[1]),
        (jnp.asarray(SYMMETRIC),),
        extra_converters={"negate": off},
        localize=False,
    )
    assert report.failed_phase == "values"


def test_a_run_keeps_what_the_source_gave() -> None:
    result = run_check(
        jnp.linalg.eigh, (jnp.asarray(SYMMETRIC),), dynamic_shapes={}, localize=False
    )
    result.raise_if_failed()
    own = jnp.linalg.eigh(SYMMETRIC)
    for got, want in zip(result.expected.values(), own, strict=True):
        np.testing.assert_array_equal(got, np.asarray(want))
    assert result.runs[0].with_factors is not None
    assert any("reconstruction: eigh" in note for note in result.report.notes)


def test_programs_without_factors_are_not_run_again() -> None:
    def off(g: Any, op: Any) -> str:
        return str(g.op.Sin(op.x()))

    result = run_check(jnp.cos, (jnp.asarray(A),), extra_converters={"cosine": off}, localize=False)
    assert result.report.failed_phase == "values"
    assert all(run.with_factors is None for run in result.runs)


def test_a_source_that_cannot_be_run_in_steps_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: Any, **named: Any) -> None:
        raise RuntimeError("no steps")

    monkeypatch.setattr("yobx.verification.source_jax.equally_good", broken)
    report = check_conversion(
        jnp.linalg.eigh, (jnp.asarray(SYMMETRIC),), dynamic_shapes={}, localize=False
    )
    assert report.failed_phase == "values"
    assert any("no steps" in note for note in report.notes)


def test_what_follows_wrongly_from_right_vectors() -> None:
    def off(g: Any, op: Any) -> str:
        return str(g.op.Mul(g.op.Exp(op.x()), np.float32(1.0001)))

    report = check_conversion(
        lambda a: jnp.exp(jnp.linalg.eigh(a)[1] @ a),
        (jnp.asarray(SYMMETRIC),),
        extra_converters={"exponential": off},
        localize=False,
    )
    assert report.failed_phase == "values"


# ---- the rules by themselves ---------------------------------------------------------------------


def judged(name: str, params: Any, operands: Any, results: Any, other: Any) -> Any:
    values = Values({f"v{i}": a for i, a in enumerate(other)})
    arrays = [np.asarray(a) for a in results]
    return equally_good(name, params, operands, arrays, values=values, factor=FACTOR)


EIGH = {"lower": True}


def test_signs_are_free() -> None:
    w, v = (np.asarray(a) for a in jnp.linalg.eigh(SYMMETRIC))
    signs = np.array([1, -1, 1, 1, -1], np.float32)
    found = judged("eigh", EIGH, [SYMMETRIC], [v, w], [v * signs, w])
    np.testing.assert_array_equal(found[0], v * signs)
    assert judged("eigh", EIGH, [SYMMETRIC], [v, w], [v[..., ::-1]]) is None


def test_phases_are_free() -> None:
    w, v = (np.asarray(a) for a in jnp.linalg.eigh(HERMITIAN))
    other = (v * np.exp(1j * np.arange(5))).astype(np.complex64)
    found = judged("eigh", EIGH, [HERMITIAN], [v, w], [other.real, other.imag])
    np.testing.assert_array_equal(found[0], other)
    assert judged("eigh", EIGH, [HERMITIAN], [v, w], [other.real, other.imag * 1.001]) is None


def test_a_cluster_may_turn_and_nothing_else() -> None:
    w, v = (np.asarray(a) for a in jnp.linalg.eigh(TWINS))
    turn = np.linalg.qr(RNG.standard_normal((3, 3)))[0].astype(np.float32)
    inside = v.copy()
    inside[..., 2:] = v[..., 2:] @ turn
    across = v.copy()
    across[..., :3] = v[..., :3] @ turn
    assert judged("eigh", EIGH, [TWINS], [v, w], [inside]) is not None
    assert judged("eigh", EIGH, [TWINS], [v, w], [across]) is None


def test_singular_vectors_change_sign_together() -> None:
    u, s, v = (np.asarray(a) for a in jnp.linalg.svd(TALL, full_matrices=False))
    signs = np.array([1, -1, -1, 1], np.float32)
    both = [u * signs, signs[:, None] * v]
    assert judged("svd", {}, [TALL], [s, u, v], both)[1] is not None
    assert judged("svd", {}, [TALL], [s, u, v], [both[0], v]) is None
    assert judged("svd", {}, [TALL], [s, u, v], [both[0][..., ::-1]]) is None
    alone = judged("svd", {}, [TALL], [s, u, v], [both[0]])
    np.testing.assert_array_equal(alone[1], both[0])


def test_where_both_singular_vectors_are_there_neither_is_judged_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What would be best beside one of them is known badly where the condition is bad."""
    u, s, v = (np.asarray(a) for a in jnp.linalg.svd(TALL, full_matrices=False))
    signs = np.array([1, -1, -1, 1], np.float32)
    both = [u * signs, signs[:, None] * v]

    def unknown(a: Any, known: Any) -> Any:
        return np.full((a.shape[-2], known.shape[-2]), np.nan)

    monkeypatch.setattr(factorisations, "_nearest", unknown)
    found = judged("svd", {}, [TALL], [s, u, v], both)
    np.testing.assert_array_equal(found[1], both[0])
    np.testing.assert_array_equal(found[2], both[1])
    assert judged("svd", {}, [TALL], [s, u, v], [both[0]]) is None


def test_signs_of_qr_are_fixed() -> None:
    q, r = (np.asarray(a) for a in jnp.linalg.qr(TALL))
    assert judged("qr", {}, [TALL], [q, r], [q, r]) is not None
    assert judged("qr", {}, [TALL], [q, r], [-q, -r]) is None
    assert judged("qr", {}, [TALL], [q, r], [-q]) is None
    assert judged("qr", {}, [TALL], [q, r], [-r]) is None


def test_what_must_be_zero_is() -> None:
    positive = (A @ np.swapaxes(A, -1, -2)).astype(np.float32)
    factor = np.asarray(jnp.linalg.cholesky(positive))
    other = factor + np.triu(np.full((5, 5), 1e-9, np.float32), 1)
    assert judged("cholesky", {}, [positive], [factor], [factor]) is not None
    assert judged("cholesky", {}, [positive], [factor], [other]) is None
    assert judged("cholesky", {}, [positive], [factor], [-factor]) is None


def test_a_solution_is_judged_by_its_residual() -> None:
    params = {
        "left_side": True,
        "lower": True,
        "transpose_a": False,
        "conjugate_a": False,
        "unit_diagonal": False,
    }
    x = np.asarray(jax.lax.linalg.triangular_solve(A, TALL[:, :5], left_side=True, lower=True))
    assert judged("triangular_solve", params, [A, TALL[:, :5]], [x], [x]) is not None
    off = x * np.float32(1.0001)
    assert judged("triangular_solve", params, [A, TALL[:, :5]], [x], [off]) is None
    assert judged("triangular_solve", params, [A, TALL[:, :5]], [x], [x * np.nan]) is None


def test_rows_of_lu_stay_where_they_are() -> None:
    packed, pivots, permutation = (np.asarray(a) for a in jax.lax.linalg.lu(A))
    made = [packed, pivots, permutation]
    assert judged("lu", {}, [A], made, [packed]) is not None
    assert judged("lu", {}, [A], made, [packed[..., ::-1, :]]) is None


def test_other_functions_have_no_freedom() -> None:
    assert judged("sin", {}, [A], [np.sin(A)], [np.sin(A)]) is None


def test_a_function_whose_framework_shows_when_it_runs_is_judged_by_reconstruction_too() -> None:
    """It is converted by way of TensorFlow, which sorts what dictionaries hold."""

    def parts(matrix: Any) -> Any:
        return dict(zip("zya", jnp.linalg.svd(matrix), strict=True))

    for seed in range(3):
        matrix = np.random.default_rng(seed).normal(size=(4, 4)).astype(np.float32)
        report = check_conversion(lambda *a: parts(*a), (matrix,), dynamic_shapes={}, seed=seed)
        assert report.framework == "jax"
        assert report.passed, report.text()


def _scanned(a: Any) -> Any:
    return jax.lax.scan(lambda c, x: (c + x.sum(), jnp.linalg.eigh(x)), 0.0, a, reverse=True)


def _turned(a: Any) -> Any:
    def body(state: Any) -> Any:
        count, x = state
        return count + 1, x @ jnp.diag(jnp.linalg.eigh(x)[0]) + jnp.linalg.eigh(x)[1]

    return jax.lax.while_loop(lambda state: state[0] < a.shape[0] - 1, body, (0, a[0]))


def _chosen(a: Any) -> Any:
    return jax.lax.switch(1 - a.shape[0] // 9, [jnp.sin, lambda x: jnp.linalg.eigh(x)[1]], a[0])


@pytest.mark.parametrize("function", [_scanned, _turned, _chosen])
def test_factors_inside_loops_and_branches(function: Callable[..., Any]) -> None:
    given = (jnp.asarray(SYMMETRIC),)
    right = check_conversion(function, given, dynamic_shapes={}, localize=False)
    assert right.passed, right.text()
    assert any("factors of the model were taken" in note for note in right.notes)
    wrong = changed("ssyevd", lambda g, r: [str(g.op.Mul(r[0], np.float32(1.0001))), *r[1:]])
    told = check_conversion(
        function, given, dynamic_shapes={}, extra_converters=wrong, localize=False
    )
    assert told.failed_phase == "values", told.text()


def test_arrays_of_a_turn_come_before_others() -> None:
    main, inside = np.zeros(3, np.float32), [np.full(3, i, np.float32) for i in (1, 2)]
    values = Values({"inside": inside, "main": main})

    def first(turn: int | None) -> list[float]:
        return [float(a[0]) for a in values.at(turn).like(main)]

    assert first(None) == [0.0]
    assert first(0) == [1.0, 0.0, 2.0]
    assert first(1) == [2.0, 0.0, 1.0]
    assert first(7) == [0.0, 2.0, 1.0]
