"""Equations are run in order, calls entered, and what a watcher gives is gone on with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from yobx.verification.jax_equations import Step, has_primitive, run_equations

X = np.array([[0.5, -1.0], [2.0, 3.0]], np.float32)


def run(function: Callable[..., Any], watch: Callable[[Step], Sequence[Any]]) -> list[Any]:
    return run_equations(jax.make_jaxpr(function)(X), [jnp.asarray(X)], watch)


def stacks(function: Callable[..., Any]) -> list[str]:
    seen: list[str] = []

    def watch(step: Step) -> list[Any]:
        seen.append(step.stack)
        return step.outputs

    (got,) = run(function, watch)
    np.testing.assert_array_equal(got, function(X))
    return seen


@jax.custom_jvp
def cubed(x: Any) -> Any:
    return x * x * x


cubed.defjvp(lambda primals, tangents: (cubed(*primals), tangents[0]))


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda x: jnp.sin(jnp.cos(x)), ["cos", "sin"]),
        (lambda x: jax.jit(lambda y: lax.exp(y), inline=False)(x), ["jit(<lambda>)/exp"]),
        (lambda x: jax.checkpoint(lambda y: lax.exp(y))(x), ["checkpoint/exp"]),
        (lambda x: cubed(x), ["mul", "mul"]),
        (lambda x: lax.fori_loop(0, 3, lambda i, y: y + 1, x), ["scan"]),
    ],
)
def test_calls_are_entered_and_loops_are_not(
    function: Callable[..., Any], wanted: list[str]
) -> None:
    assert stacks(function) == wanted


def test_the_inputs_and_outputs_of_a_step_are_arrays() -> None:
    def watch(step: Step) -> list[Any]:
        np.testing.assert_array_equal(step.inputs[0], X)
        np.testing.assert_array_equal(step.outputs[0], -X)
        return [step.outputs[0] - 1]

    (got,) = run(lambda x: lax.neg(x), watch)
    np.testing.assert_array_equal(got, -X - 1)


def test_other_results_reach_what_follows() -> None:
    def watch(step: Step) -> list[Any]:
        return [jnp.ones_like(step.outputs[0])] if step.stack == "exp" else step.outputs

    (got,) = run(lambda x: lax.exp(x) * 5, watch)
    np.testing.assert_array_equal(got, np.full_like(X, 5))


def test_a_linear_solve_is_entered() -> None:
    function = jax.make_jaxpr(lambda a: jnp.linalg.solve(a, a[0]))(X)
    assert has_primitive(function.jaxpr, {"triangular_solve"})
    assert has_primitive(function.jaxpr, {"lu"})
    (got,) = run(lambda a: jnp.linalg.solve(a, a[0]), lambda step: step.outputs)
    np.testing.assert_allclose(got, np.linalg.solve(X, X[0]), rtol=1e-6)


def test_a_primitive_inside_of_a_loop_is_not_shown() -> None:
    function = jax.make_jaxpr(lambda x: lax.fori_loop(0, 3, lambda i, y: jnp.sin(y), x))(X)
    assert not has_primitive(function.jaxpr, {"sin"})
    assert has_primitive(function.jaxpr, {"scan", "while"})


@pytest.mark.parametrize(
    ("function", "turns"),
    [
        (lambda x: lax.scan(lambda c, y: (jnp.sin(c + y), c - y), x[0], x), [0, 1]),
        (lambda x: lax.scan(lambda c, y: (c, jnp.sin(y)), 0, x, reverse=True), [0, 1]),
        (lambda x: lax.scan(lambda c, y: (jnp.sin(c), y), x, None, length=3), [0, 1, 2]),
        (lambda x: lax.scan(lambda c, y: (c, jnp.sin(y)), 0, x[:0]), []),
        (lambda x: lax.while_loop(lambda c: c.sum() < 5.5, lambda c: c + jnp.sin(x), x), [0, 1]),
        (lambda x: lax.fori_loop(0, 2, lambda i, c: lax.map(jnp.sin, c * x), x), [0, 1, 2, 3]),
        (lambda x: lax.switch(5, [jnp.cos, lambda y: jnp.sin(y) * x], x), [0]),
        (lambda x: lax.cond(x.sum() < 0, jnp.sin, jnp.cos, x), []),
        (lambda x: jnp.sin(x), [None]),
    ],
)
def test_loops_with_a_wanted_primitive_are_run_turn_by_turn(
    function: Callable[..., Any], turns: list[int | None]
) -> None:
    seen: list[int | None] = []

    def watch(step: Step) -> list[Any]:
        seen.extend([step.turn] if step.equation.primitive.name == "sin" else [])
        return step.outputs

    traced = jax.make_jaxpr(function)(X)
    assert has_primitive(traced.jaxpr, {"sin"}, inside=True)
    got = run_equations(traced, [jnp.asarray(X)], watch, inside={"sin"})
    for ours, theirs in zip(got, jax.tree.leaves(function(X)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
        assert ours.dtype == jnp.asarray(theirs).dtype
    assert seen == turns
