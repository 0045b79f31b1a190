"""A model that cannot be traced: what to try depends on why."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from yobx.errors import TraceError
from yobx.tensorflow import to_onnx

X = np.ones((4, 3), np.float32)
ROWS = ({0: "rows"},)
WRITE = (
    "It can be traced where rows is a number, but a dynamic size is None in x.shape. Write "
    "tf.shape(x)[0], or keras.ops.shape(x)[0] in Keras, in place of x.shape[0], or fix the sizes "
    "with {} for that input in dynamic_shapes; the original error is chained."
)


class _Divided(keras.layers.Layer):
    def call(self, x):
        return x / x.shape[0]


@pytest.mark.parametrize(
    "model",
    [
        tf.function(lambda x: tf.reshape(x, [x.shape[0], -1])),
        tf.function(lambda x: x * x.shape[0]),
        lambda x: tf.add_n([x[i] for i in range(x.shape[0])]),
        _Divided(),
    ],
)
def test_a_size_in_python_that_is_open(model):
    with pytest.raises(TraceError) as caught:
        to_onnx(model, (X,), dynamic_shapes=ROWS)
    assert str(caught.value).endswith(WRITE)


def test_other_reasons_keep_the_general_advice():
    def broken(x):
        raise ValueError(f"no luck with {x.shape}")

    for shapes in (ROWS, {}):
        with pytest.raises(TraceError) as caught:
            to_onnx(tf.function(broken), (X,), dynamic_shapes=shapes)
        assert "Try calling it on the same arguments inside tf.function" in str(caught.value)
