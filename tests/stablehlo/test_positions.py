"""Positions that count are seen in the program as JAX writes it, others are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import pytest
from jax import ShapeDtypeStruct, lax

from tests.stablehlo.test_reader import export_of
from yobx.stablehlo.positions import Positions, counted_positions

START = ShapeDtypeStruct((), jnp.int32)


def positions(function: Callable[..., Any], *shapes: Any) -> Positions | None:
    """Those of the only result of a function."""
    return counted_positions(export_of(function, *shapes).main.body.outputs[0])


def spread(scalar: Any) -> Any:
    return lax.broadcast(scalar, (5,))


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda: lax.iota(jnp.int32, 5), Positions()),
        (lambda: lax.mul(lax.iota(jnp.int32, 5), spread(jnp.int32(3))), Positions(step=3)),
        (lambda: lax.mul(spread(jnp.int32(-2)), lax.iota(jnp.int32, 5)), Positions(step=-2)),
        (lambda: lax.rev(lax.iota(jnp.int32, 5), (0,)), Positions(backwards=True)),
        (lambda: lax.reshape(lax.iota(jnp.int32, 5), (5, 1)), Positions()),
        (lambda: lax.broadcast_in_dim(lax.iota(jnp.int32, 5), (5, 1), (0,)), Positions()),
        (lambda: lax.iota(jnp.int32, 5) ** 2, None),
        (lambda: lax.reshape(lax.iota(jnp.int32, 5), (1, 5)), None),
        (lambda: lax.broadcasted_iota(jnp.int32, (5, 2), 0), None),
        (lambda: lax.mul(lax.iota(jnp.int32, 5), lax.iota(jnp.int32, 5)), None),
    ],
)
def test_steps(function: Callable[..., Any], wanted: Positions | None) -> None:
    assert positions(function) == wanted


@pytest.mark.parametrize("turned", [False, True])
def test_a_start_of_the_user(turned: bool) -> None:
    def moved(start: Any) -> Any:
        count = lax.mul(lax.iota(jnp.int32, 5), spread(jnp.int32(2)))
        return lax.add(spread(start), count) if turned else lax.add(count, spread(start))

    found = positions(moved, START)
    assert found is not None
    assert found.start is not None
    assert found.start.owner is None, "the argument itself"
    assert (found.step, found.backwards) == (2, False)


def test_two_starts_or_a_step_of_the_user_are_not_counted() -> None:
    def twice(a: Any, b: Any) -> Any:
        return lax.add(spread(a), lax.add(spread(b), lax.iota(jnp.int32, 5)))

    assert positions(twice, START, START) is None
    assert positions(lambda s: lax.mul(lax.iota(jnp.int32, 5), spread(s)), START) is None


def test_a_moved_count_that_is_turned_round_keeps_its_start() -> None:
    def back(start: Any) -> Any:
        return lax.rev(lax.add(spread(start), lax.iota(jnp.int32, 5)), (0,))

    found = positions(back, START)
    assert found is not None
    assert found.start is not None
    assert found.backwards
