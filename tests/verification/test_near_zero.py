"""Roots of what rounding leaves, sizes of one, numbers of unlike scale, and neighbours."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import onnx
import pytest
import tensorflow as tf
from onnx import helper

from tests.verification.models import model, value
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


def test_what_rounding_moves_out_of_the_domain_is_undecided() -> None:
    def distances(x: Any) -> Any:
        s = tf.reduce_sum(x * x, -1, keepdims=True)
        squares = s + tf.transpose(s) - 2 * tf.matmul(x, x, transpose_b=True)
        return tf.sqrt(squares + 1e-12)

    points = np.random.default_rng(1000).standard_normal((7, 13)).astype(np.float32)
    report = check_conversion(tf.function(distances), (points,), localize=False)
    assert report.passed, report.text()
    assert "numbers on one side alone" in report.text()

    def nowhere(g: Any, sts: Any, outputs: Any, op: Any) -> Any:
        root = g.op.Sqrt(op.inputs[0].name)
        few = g.op.Less(root, np.float32(4))
        return g.op.Where(few, np.float32("nan"), root, outputs=outputs)

    wrong = check_conversion(
        tf.function(distances), (points,), localize=False, extra_converters={"Sqrt": nowhere}
    )
    assert wrong.failed_phase == "values"


@pytest.mark.parametrize(("scale", "factor"), [(1e3, 1.001), (1e6, 0.7), (1e9, 0.0)])
def test_small_numbers_beside_large_ones(scale: float, factor: float) -> None:
    rng = np.random.default_rng(0)
    boxes = rng.standard_normal((16, 24)).astype(np.float32) * np.float32(scale)
    scores = (rng.standard_normal((16, 8)) / 4).astype(np.float32)
    x = rng.standard_normal((6, 16)).astype(np.float32)

    def detect(v: Any) -> Any:
        return tf.concat([tf.matmul(v, boxes), tf.sigmoid(tf.matmul(v, scores))], 1)

    def off(g: Any, sts: Any, outputs: Any, op: Any) -> Any:
        return g.op.Mul(g.op.Sigmoid(op.inputs[0].name), np.float32(factor), outputs=outputs)

    right = check_conversion(tf.function(detect), (x,), localize=False)
    assert right.passed, right.text()
    wrong = check_conversion(
        tf.function(detect), (x,), localize=False, extra_converters={"Sigmoid": off}
    )
    assert wrong.failed_phase == "values"


def test_a_nearest_neighbour_is_moved_and_not_computed() -> None:
    def resize(mode: str) -> onnx.ModelProto:
        node = helper.make_node(
            "Resize", ["x", "", "", "s"], ["y"], mode="nearest", nearest_mode=mode
        )
        sizes = {"s": np.array([1, 1, 1, 6144])}
        return model([node], [value("x", [1, 1, 1, 4096])], [value("y", [1, 1, 1, 6144])], sizes)

    ramp = (np.arange(4096) / 4096).astype(np.float32).reshape(1, 1, 1, -1)
    assert check_conversion(resize("floor"), (ramp,), reference=resize("floor")).passed
    report = check_conversion(resize("ceil"), (ramp,), reference=resize("floor"), localize=False)
    assert report.failed_phase == "values"
