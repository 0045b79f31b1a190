"""Arithmetic that TensorFlow itself refuses."""

from __future__ import annotations

import numpy as np
import onnxruntime
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


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ranges_of_floats_have_as_many_numbers_as_in_tensorflow(dtype: str) -> None:
    """0.3 / 0.1 is 3 in float32, and a little more of the same numbers in float64."""
    signature = [tf.TensorSpec((), dtype)] * 3
    counted = tf.function(tf.range, input_signature=signature)
    model = to_onnx(counted)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [value.name for value in session.get_inputs()]
    for tenths in range(60):
        for start, step in ((0.0, 0.1), (-1.0, 0.3), (7.0, -0.7)):
            limit = np.dtype(dtype).type(tenths) * np.dtype(dtype).type(0.1)
            numbers = [np.array(number, dtype) for number in (start, limit, step)]
            want = counted(*map(tf.constant, numbers)).numpy()
            (got,) = session.run(None, dict(zip(names, numbers, strict=True)))
            np.testing.assert_array_equal(got, want)
