"""Angles of spectra, which a tiny imaginary part of a negative number turns by a whole turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from yobx.verification import check_conversion


@pytest.mark.parametrize("sizes", [{}, ({1: "n"},)], ids=["static", "dynamic"])
@pytest.mark.parametrize("length", [63, 64, 200])
def test_angles_of_the_spectrum_of_a_real_signal(length: int, sizes: Any) -> None:
    x = np.random.default_rng(0).standard_normal((8, length)).astype(np.float32)
    x[0] -= 1.0  # the first element of its spectrum is negative
    model = tf.function(lambda v: tf.math.angle(tf.signal.rfft(v)), autograph=False)
    edges = model(x).numpy()[:, [0, -1] if length % 2 == 0 else [0]]
    assert {np.float32(0.0), np.float32(np.pi)} == set(edges.ravel())
    report = check_conversion(model, (x,), dynamic_shapes=sizes)
    assert report.passed, report.text()


def test_noise_of_a_spectrum_that_tensorflow_does_not_read_back() -> None:
    x = np.random.default_rng(0).standard_normal((2, 33, 2)).astype(np.float32)
    x[:, [0, 32], 1] = 1e6
    model = tf.function(
        lambda v: tf.signal.irfft(tf.complex(v[..., 0], v[..., 1])), autograph=False
    )
    report = check_conversion(model, (x,), dynamic_shapes=({0: "batch"},))
    assert report.passed, report.text()
