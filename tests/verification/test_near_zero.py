"""Roots of what rounding leaves, and sizes of one, where rounding alone is left."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf

from yobx.verification import Outcome, check_conversion


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_roots_of_what_rounding_leaves_move_farther_than_large_noise_says(
    dtype: str, seed: int
) -> None:
    """Of distances between points, those of a point from itself are roots of rounding errors."""

    def distances(x: Any) -> Any:
        s = tf.reduce_sum(x * x, -1)
        squares = s[:, None] + s[None] - 2 * tf.matmul(x, x, transpose_b=True)
        return tf.sqrt(tf.maximum(squares, 0))

    points = np.random.default_rng(seed).standard_normal((5, 16)).astype(dtype)
    report = check_conversion(tf.function(distances), (points,), seed=seed, localize=False)
    assert report.passed, report.text()

    def off(g: Any, sts: Any, outputs: Any, op: Any) -> Any:
        larger = g.op.Add(op.inputs[0].name, np.array(1e-4, dtype))
        return g.op.Sqrt(larger, outputs=outputs)

    report = check_conversion(
        tf.function(distances), (points,), localize=False, extra_converters={"Sqrt": off}
    )
    assert report.failed_phase == "values"


def test_sizes_of_one_that_leave_rounding_alone_are_a_warning_and_vacuous() -> None:
    def distances(x: Any) -> Any:
        s = jnp.sum(x * x, -1)
        return jnp.sqrt(jnp.maximum(s[:, None] + s[None] - 2 * x @ x.T, 0))

    seen = []
    for seed in range(4):
        points = np.random.default_rng(seed).standard_normal((5, 16)).astype(np.float16)
        report = check_conversion(
            distances, (jnp.asarray(points),), bindings="ones", localize=False, seed=seed
        )
        assert report.passed, report.text()
        seen += [o for o in report.outputs if any("others decide" in note for note in o.notes)]
    assert seen
    assert all(o.outcome is Outcome.WARNING and o.vacuous for o in seen)
