"""JAX's equations in float64: what they give, and that no fault passes by them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax
from jax.scipy import special

import yobx.jax
from tests.verification.wide_mutations import (
    A_LITTLE_MORE,
    ACQUITTED,
    THROUGH_16_BITS,
    Change,
    break_conversion,
    scale_constant,
    transpose_square,
)
from yobx.verification import check_conversion
from yobx.verification.jax_wide import run_in_float64

RNG = np.random.default_rng(0)
X = RNG.uniform(0.1, 9.9, (23, 4)).astype(np.float32)
W = RNG.uniform(0.2, 1.0, (4, 4)).astype(np.float32)


def wide_of(function: Callable[..., Any], *arrays: Any) -> tuple[list[Any], tuple[str, ...]]:
    outputs, kept = run_in_float64(jax.make_jaxpr(function)(*arrays), arrays)
    return [np.asarray(array) for array in outputs], kept


def _scan(x: Any) -> Any:
    return lax.scan(lambda c, v: (jnp.sin(c) + v, c), x[0], x[1:3])[0]


def _turns(x: Any) -> Any:
    return lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, jnp.sin(s[1])), (0, x))[1]


@pytest.mark.parametrize(
    ("function", "exact"),
    [
        (jnp.sin, np.sin),
        (_scan, lambda x: np.sin(np.sin(x[0]) + x[1]) + x[2]),
        (_turns, lambda x: np.sin(np.sin(np.sin(x)))),
        (lambda x: lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x), np.sin),
        (lambda x: jax.jit(jnp.sin)(x) + 1, lambda x: np.sin(x) + 1),
        (jax.checkpoint(lambda x: jnp.sin(x) + 1), lambda x: np.sin(x) + 1),
        (lambda x: jax.nn.relu(x - 5), lambda x: np.maximum(x - 5, 0)),
        (lambda x: x @ W, lambda x: x @ W.astype(np.float64)),
        (lambda x: x.at[0].add(x[1]), lambda x: np.concatenate([x[:1] + x[1], x[1:]])),
        (lambda x: lax.reduce(x, np.float32(0), lax.add, (0,)), lambda x: x.sum(0)),
        (lambda x: jnp.abs(x.astype(jnp.complex64)), np.abs),
        (lambda x: jnp.sqrt(jnp.finfo(x.dtype).eps * x), lambda x: np.sqrt(2.0**-23 * x)),
    ],
)
def test_float64_is_exact(function: Callable[..., Any], exact: Callable[..., Any]) -> None:
    (wide,), kept = wide_of(function, X)
    assert wide.dtype == np.float64
    assert kept == ()
    np.testing.assert_allclose(wide, exact(X.astype(np.float64)), rtol=1e-13)


@pytest.mark.parametrize("kind", [jnp.float16, jnp.bfloat16])
def test_conversions_round(kind: Any) -> None:
    def function(x: Any) -> Any:
        rounded = x.astype(kind).astype(jnp.float32)
        turns = lax.scan(lambda c, v: (v.astype(kind).astype(jnp.float32), c), x[0], x)[0]
        return rounded, turns, lax.reduce_precision(x, 5, 3)

    (rounded, turns, fewer), kept = wide_of(function, X)
    np.testing.assert_array_equal(rounded, X.astype(kind).astype(np.float64))
    np.testing.assert_array_equal(turns, X[-1].astype(kind).astype(np.float64))
    np.testing.assert_array_equal(fewer, lax.reduce_precision(X, 5, 3))
    assert kept == ()


def test_integers_round_to_float32() -> None:
    (wide,), _ = wide_of(lambda i: i.astype(jnp.float32), np.array([2**24 + 1, 3], np.int32))
    np.testing.assert_array_equal(wide, [2.0**24, 3.0])


def test_what_overflows_is_infinite() -> None:
    (wide,), _ = wide_of(lambda x: 1 / (x * 1e30), np.array([1.0, 1e30], np.float32))
    assert wide[1] == 0.0


def test_float16_may_have_the_range_of_float32() -> None:
    x = np.array([1.0, 300.0, 6e4], np.float16)
    traced = jax.make_jaxpr(lambda x: (x * x) * (x * x) * (x * x) * (x * x) * x)(x)
    (wide,), _ = run_in_float64(traced, [x], in_range=True)
    np.testing.assert_allclose(wide[:2], x[:2].astype(np.float64) ** 9, rtol=1e-15)
    assert np.isinf(wide[2])


def test_bits_are_those_of_the_type() -> None:
    (bits, after), kept = wide_of(lambda x: (x.view(jnp.int32), jnp.nextafter(x, x + 1)), X)
    np.testing.assert_array_equal(bits, X.view(np.int32))
    np.testing.assert_array_equal(after, np.nextafter(X, X + 1))
    assert kept == ()


def test_calls_back_stay_in_their_type() -> None:
    def function(x: Any) -> Any:
        kind = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(lambda v: np.sin(v), kind, x)

    (wide,), kept = wide_of(function, X)
    assert kept == ("pure_callback",)
    np.testing.assert_allclose(wide, np.sin(X), rtol=1e-6)


# ---- checks ------------------------------------------------------------------------------------


def _sinh(x: Any) -> Any:
    return jnp.sinh(x * 3) * jnp.cosh(x * 2) + 0.0 * x


RIGHT: dict[str, tuple[Callable[..., Any], Any]] = {
    "lgamma": (special.gammaln, X),
    "erfinv": (special.erfinv, X / 10),
    "sinh": (_sinh, X),
    "a model": (lambda x: jnp.exp(special.gammaln(x) * 0.1) @ W, X),
    "bfloat16": (lambda x: jnp.sinh(x) - jnp.cosh(x), X.astype(ml_dtypes.bfloat16)),
    "float16": (lambda x: special.digamma(x) - jnp.log(x), X.astype(np.float16)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_conversions_pass(name: str) -> None:
    function, x = RIGHT[name]
    report = check_conversion(jax.jit(function), (jnp.asarray(x),), dynamic_shapes=({0: "n"},))
    assert report.passed, report.text()


GAMMA = RNG.uniform(0.1, 9.0, (40, 11)).astype(np.float16)


@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (special.gamma, (jnp.asarray(GAMMA),), {}),
        (lambda tree: special.gamma(tree["x"]), ({"x": jnp.asarray(GAMMA)},), {}),
        (lambda *, x: {"y": special.gamma(x)}, (), {"x": jnp.asarray(GAMMA)}),
    ],
)
def test_what_is_off_in_16_bits_is_told(function: Any, args: Any, kwargs: Any) -> None:
    report = check_conversion(function, args, kwargs=kwargs)
    assert report.passed, report.text()
    assert ACQUITTED in report.text()


def _normalised(x: Any) -> Any:
    spread = x.var(1, keepdims=True) * 1e-3
    return (x - x.mean(1, keepdims=True)) * lax.rsqrt(spread + 1e-3) * 1e-2 + 9


FAULTS: dict[str, tuple[Callable[..., Any], Change]] = {
    "epsilon": (lambda x: special.digamma(_normalised(x)), scale_constant(1e-3, 1.1)),
    "transposed weights": (lambda x: special.digamma(x @ W), transpose_square),
    "constant": (lambda x: special.digamma(x * 0.3 + 0.7), scale_constant(0.7, 1.0001)),
    "less exact": (special.digamma, THROUGH_16_BITS),
    "some units": (special.digamma, A_LITTLE_MORE),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    function, change = FAULTS[name]
    function, x = jax.jit(function), jnp.asarray(X)
    right = check_conversion(function, (x,), bindings=["sample"])
    assert right.passed, right.text()
    break_conversion(monkeypatch, yobx.jax, change)
    wrong = check_conversion(function, (x,), bindings=["sample"])
    assert wrong.failed_phase == "values"
    assert ACQUITTED not in wrong.text()


def test_what_a_trace_has_frozen_is_refused() -> None:
    scales = itertools.chain([1.0], itertools.repeat(1.001))
    report = check_conversion(lambda x: jnp.sin(x * next(scales)), (jnp.asarray(X),))
    assert report.failed_phase == "values"
    assert ACQUITTED not in report.text()


def test_a_program_that_xla_joins_is_compared_step_by_step_too() -> None:
    """Weights of a cubic resize are computed while XLA compiles, and rounded otherwise."""
    x = np.random.default_rng(0).normal(size=(2, 9, 7, 3)).astype(np.float32)

    def resized(v: Any, factor: float = 1.0) -> Any:
        return jax.image.resize(v * np.float32(factor), (2, 17, 9, 3), "cubic")

    report = check_conversion(resized, (x,), dynamic_shapes={}, localize=False)
    assert report.passed, report.text()
    wrong = yobx.jax.to_onnx(lambda v: resized(v, 1.0 + 1e-5), (x,), dynamic_shapes={})
    faulty = check_conversion(wrong, (x,), reference=resized, localize=False)
    assert faulty.failed_phase == "values"
