"""Outputs that are constant are told from those of which rounding hides how they vary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from yobx.verification import check_conversion
from yobx.verification.constants import varied
from yobx.verification.findings import UNDECIDED

X = np.random.default_rng(1).standard_normal((5, 16)).astype(np.float32)
W = np.random.default_rng(2).standard_normal((16, 16)).astype(np.float32)


def check(function: Callable[..., Any], **options: Any) -> Any:
    return check_conversion(lambda *a: function(*a), (jnp.asarray(X),), localize=False, **options)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jnp.mean(jax.nn.standardize(x), -1),
        lambda x: jnp.mean(jax.nn.standardize(x @ W) * 1.7, -1),
        lambda x: (jnp.mean(jax.nn.standardize(x), -1), x @ W),
    ],
)
def test_a_mean_of_what_is_centred_is_constant(function: Callable[..., Any]) -> None:
    report = check(function)
    assert report.passed, report.text()
    assert "constant up to rounding" in report.text()


def test_what_is_wrong_before_a_constant_is_not_hidden() -> None:
    def off(g: Any, op: Any) -> Any:
        return g.op.Sqrt(g.op.Mul(op.inputs[0].compact, np.float32(1.01)))

    def function(x: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return jnp.mean(centred / jnp.sqrt(x.var(-1, keepdims=True)), -1)

    assert check(function).passed
    report = check(function, extra_converters={"stablehlo.sqrt": off})
    assert report.failed_phase == "values"


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jnp.sum(jnp.concatenate([x, -x, x * 1e-7], -1) @ jnp.tile(W, (3, 1)), -1),
        lambda x: jnp.broadcast_to(jnp.sum(jnp.concatenate([x, -x, x * 1e-5])), (5,)),
    ],
)
def test_what_rounding_hides_stays_undecided(function: Callable[..., Any]) -> None:
    report = check(function)
    assert report.failed_phase == "values", report.text()
    assert any(o.category == UNDECIDED for o in report.outputs)


def test_other_floats_have_the_same_signs() -> None:
    floats, whole, text = varied((X, np.arange(9), np.array(["a"]))) or ((),) * 3
    assert (np.sign(floats) == np.sign(X)).all()
    assert (floats != X).all()
    assert floats.dtype == X.dtype
    assert set(whole) < set(range(9))
    assert list(text) == ["a"]
    assert varied((np.array(["a", "a"]), np.zeros(3))) is None


def test_a_source_in_float64_shows_by_itself_that_an_output_is_constant() -> None:
    def mean(x: Any) -> Any:
        return jnp.mean(jax.nn.standardize(x @ W.astype(x.dtype)) * 1.7, -1)

    with jax.enable_x64(True):
        report = check_conversion(mean, (jnp.asarray(X, jnp.float64),), localize=False)
    assert report.passed, report.text()
    assert "constant up to rounding" in report.text()


def test_what_hides_behind_cancelled_numbers_in_float64_stays_undecided() -> None:
    def variance(x: Any) -> Any:
        return jnp.mean(x * x, -1) - jnp.mean(x, -1) ** 2

    with jax.enable_x64(True):
        x = 1e9 + jnp.asarray(X, jnp.float64)
        report = check_conversion(variance, (x,), localize=False)
    assert report.failed_phase == "values", report.text()
    assert any(o.category == UNDECIDED for o in report.outputs)


def test_ids_are_other_ones_too() -> None:
    def row(ids: Any) -> Any:
        x = jnp.asarray(X)[ids]
        return jnp.sum(jnp.concatenate([x, -x, x * 1e-7], -1) @ jnp.tile(W, (3, 1)), -1)

    ids = jnp.asarray(np.arange(8, dtype=np.int32) % 5)
    report = check_conversion(lambda i: row(i), (ids,), localize=False)
    assert report.failed_phase == "values", report.text()
    assert any(o.category == UNDECIDED for o in report.outputs)
