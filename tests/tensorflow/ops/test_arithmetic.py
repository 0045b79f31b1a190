"""Arithmetic that TensorFlow itself refuses."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from yobx.errors import UnsupportedAttributeError
from yobx.tensorflow import to_onnx


@pytest.mark.parametrize("exponent", [-1, [2, -3]])
def test_negative_powers_of_integers_are_refused(exponent: object) -> None:
    numbers = np.array([1, 2], np.int32)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.pow(numbers, exponent)
    with pytest.raises(UnsupportedAttributeError, match="Cast to a float type first"):
        to_onnx(tf.function(lambda x: tf.pow(x, exponent)), (numbers,))
