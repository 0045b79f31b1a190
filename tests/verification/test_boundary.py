"""Messages of foreign exceptions."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from yobx.verification.boundary import one_line, with_place


class _FiveRows(keras.layers.Layer):  # type: ignore[misc]
    def call(self, values: tf.Tensor) -> tf.Tensor:
        return tf.reshape(values, (5, -1))


@pytest.fixture(scope="module")
def refused() -> Exception:
    """What Keras raises when a kernel of TensorFlow refuses its input."""
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        _FiveRows()(np.ones(7, dtype=np.float32))
    assert "\x1b" in str(caught.value)
    assert "function_node" in str(caught.value)
    return caught.value


def test_one_line_keeps_what_went_wrong_and_nothing_of_the_terminal(refused: Exception) -> None:
    line = one_line(refused, 200)
    assert line.startswith(
        "Exception encountered when calling _FiveRows.call(). Input to reshape is a tensor with 7 "
    )
    assert "\x1b" not in line
    assert "device:CPU" not in line


def test_place_has_no_colours(refused: Exception) -> None:
    text = with_place(refused)
    assert text.startswith("InvalidArgumentError: ")
    assert "Raised in " in text
    assert "\x1b" not in text


def test_braces_of_the_user_stay() -> None:
    assert one_line(ValueError("{{function_node mine}} {{x}}")) == (
        "ValueError: {{function_node mine}} {{x}}"
    )
