"""Arithmetic that TensorFlow itself refuses."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from yobx.errors import UnsupportedAttributeError
from yobx.tensorflow import to_onnx
from yobx.verification import check_conversion


@pytest.mark.parametrize("exponent", [-1, [2, -3]])
def test_negative_powers_of_integers_are_refused(exponent: object) -> None:
    numbers = np.array([1, 2], np.int32)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.pow(numbers, exponent)
    with pytest.raises(UnsupportedAttributeError, match="Cast to a float type first"):
        to_onnx(tf.function(lambda x: tf.pow(x, exponent)), (numbers,))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_rint_of_16_bits_which_only_xla_computes(dtype: str) -> None:
    numbers = [-2.5, -1.5, -0.5, -0.2, 0.0, -0.0, 0.5, 1.5, 3.7, np.inf, -np.inf, np.nan]
    x = tf.cast(tf.constant(numbers), dtype).numpy()
    report = check_conversion(tf.function(tf.math.rint, jit_compile=True), (x,))
    assert report.passed, report.text()
