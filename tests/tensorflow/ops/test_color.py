"""Colours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.tensorflow.helpers import run
from yobx.tensorflow import to_onnx
from yobx.verification.runner import Session


def _colors() -> np.ndarray:
    """Random colours, with equal channels, nearly black channels, greys and numbers below zero."""
    rng = np.random.default_rng(0)
    parts = [
        rng.uniform(0.0, 1.0, (20_000, 3)),
        rng.integers(0, 4, (5_000, 3)) / 3.0,
        rng.uniform(0.0, 1.0, (20_000, 3)) ** 6,
        rng.uniform(0.0, 1.0, (500, 1)) * np.ones(3),
        rng.standard_normal((5_000, 3)),
    ]
    colors = np.concatenate(parts).astype(np.float32)
    # What is smaller than any normal number is zero in TensorFlow.
    return np.where(np.abs(colors) < np.finfo(np.float32).tiny, np.float32(0.0), colors)[None]


@pytest.mark.parametrize("delta", [0.0, 0.3, -0.41, 0.5, -0.5, 1.0, -1.0, 1 / 6, 0.999999])
def test_a_turned_hue_keeps_the_extremes_of_a_color(delta: float) -> None:
    """The darkest channel of a bright colour is no less exact than the others."""
    x = _colors()
    function = tf.function(lambda v: tf.image.adjust_hue(v, delta), autograph=False)
    model = to_onnx(function, (x,))
    (got,) = Session(model).run({model.graph.input[0].name: x}).values.values()
    want = function(x).numpy()
    np.testing.assert_array_equal(got.max(-1), x.max(-1))
    np.testing.assert_array_equal(got.min(-1), x.min(-1))
    np.testing.assert_array_equal(got, want)


ODD: dict[str, Callable[[Any], Any]] = {
    "hue": lambda x: tf.image.adjust_hue(x, 0.2),
    "hue back": lambda x: tf.image.adjust_hue(x, -0.7),
    "saturation": lambda x: tf.image.adjust_saturation(x, 0.5),
    "more saturation": lambda x: tf.image.adjust_saturation(x, 3.0),
}


@pytest.mark.parametrize("name", ODD)
def test_pixels_that_are_no_numbers(name: str) -> None:
    parts = (np.nan, np.inf, -np.inf, 0.1, 0.5)
    x = np.array([[[a, b, c]] for a in parts for b in parts for c in parts], np.float32)
    (got,) = run(to_onnx(tf.function(ODD[name]), (x,)), x)
    np.testing.assert_allclose(got, ODD[name](tf.constant(x)).numpy(), rtol=1e-6, atol=1e-7)
