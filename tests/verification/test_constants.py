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
    floats, whole, text = varied((X, np.arange(3), np.array(["a"])))
    assert (np.sign(floats) == np.sign(X)).all()
    assert (floats != X).all()
    assert floats.dtype == X.dtype
    assert list(whole) == [0, 1, 2]
    assert list(text) == ["a"]
