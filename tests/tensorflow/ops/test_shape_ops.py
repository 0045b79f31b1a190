"""Squeezing without axes and orders of axes, where sizes are open."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import tensorflow as tf

from yobx.tensorflow import to_onnx


def run(function: Any, x: Any, dynamic: Any, *others: Any) -> list[Any]:
    model = to_onnx(tf.function(function), (x,), dynamic_shapes=(dynamic,))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    name = session.get_inputs()[0].name
    return [session.run(None, {name: value})[0] for value in (x, *others)]


def test_norms_of_mapped_rows_keep_the_number_of_rows() -> None:
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    one = x[1:2]
    mapped = lambda x: tf.vectorized_map(lambda row: tf.norm(row), x)  # noqa: E731
    for got, rows in zip(run(mapped, x, {0: "n"}, one), (x, one), strict=True):
        np.testing.assert_allclose(got, np.linalg.norm(rows, axis=1), rtol=1e-6)


def test_a_size_that_is_one_when_the_model_runs_is_squeezed() -> None:
    x = np.arange(12, dtype=np.float32).reshape(4, 3)

    def squeezed(x: Any) -> Any:
        return tf.shape(tf.squeeze(x[:, None, :]))

    found = run(squeezed, x, {0: "n"}, x[:1], x[:0])
    assert [shape.tolist() for shape in found] == [[4, 3], [3], [0, 3]]


def test_an_order_of_axes_that_is_chosen_by_a_size() -> None:
    weights = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)

    def function(x: Any) -> Any:
        return tf.vectorized_map(lambda row: tf.linalg.matvec(tf.constant(weights), row), x)

    x = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    sizes = x, x[:1], x[:0]
    for got, rows in zip(run(function, x, {0: "n"}, *sizes[1:]), sizes, strict=True):
        assert got.shape == (len(rows), 3)
        np.testing.assert_allclose(got, rows @ weights.T, rtol=1e-5, atol=1e-6)
