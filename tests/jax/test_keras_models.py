"""Keras models on Keras's JAX backend, in a process of their own, since it has one backend."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_HEAD = """
import keras, numpy as np
from keras import layers
from tests.stablehlo.jax_cases import normal, run
from yobx.errors import ArgumentError, ConversionError
from yobx.jax import to_onnx

def names(values):
    return [value.name for value in values]

def agrees(model, onnx_model, *shapes):
    for n in (3, 1):
        args = [normal(n, *shape) for shape in shapes]
        wanted = np.asarray(model(args if len(args) > 1 else args[0]))
        np.testing.assert_allclose(run(onnx_model, args)[0], wanted, rtol=2e-5, atol=2e-6)
"""

NAMES = """
model = keras.Sequential([
    keras.Input((4,), name="features"),
    layers.Dense(3, name="hidden"), layers.Dropout(0.5), layers.Dense(2, name="head"),
])
before = [np.asarray(v) for v in model.variables]
converted = to_onnx(model, (normal(5, 4),), passes=())
assert names(converted.graph.input) == ["features"]
assert names(converted.graph.output) == ["head"]
weights = {v.path for layer in model.layers for v in layer.trainable_variables}
assert weights <= set(names(converted.graph.initializer))
agrees(model, converted, (4,))
assert all(np.array_equal(a, b) for a, b in zip(before, map(np.asarray, model.variables)))
model.layers[0].kernel.assign(model.layers[0].kernel * 2)
agrees(model, to_onnx(model, (normal(5, 4),)), (4,))
"""

SEVERAL = """
left, right = keras.Input((4,), name="left"), keras.Input((4,), name="right")
shared = layers.Dense(3)
model = keras.Model([left, right], layers.BatchNormalization()(shared(left) * shared(right)))
converted = to_onnx(model, (normal(5, 4), normal(5, 4)))
assert names(converted.graph.input) == ["left", "right"]
agrees(model, converted, (4,), (4,))
by_name = keras.Model({"left": left, "right": right}, {"sum": left + right})
converted = to_onnx(by_name, ({"left": normal(5, 4), "right": normal(5, 4)},))
assert names(converted.graph.input) == ["left", "right"]
assert names(converted.graph.output) == ["sum"]
"""

RECURRENT = """
model = keras.Sequential([keras.Input((6, 4)), layers.LSTM(3), layers.Reshape((1, 3)),
    layers.GRU(2)])
agrees(model, to_onnx(model, (normal(5, 6, 4),)), (6, 4))
"""

OWN = """
class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.attention = layers.MultiHeadAttention(2, 4)
    def call(self, tokens, training=False):
        return self.attention(tokens, tokens) + (1.0 if training else 0.0)
model = Own()
try:
    to_onnx(model, (normal(2, 5, 8),))
except ArgumentError as error:
    assert "not built" in str(error)
else:
    raise AssertionError
model(normal(2, 5, 8))
converted = to_onnx(model, (normal(2, 5, 8),))
assert names(converted.graph.input) == ["tokens"]
agrees(model, converted, (5, 8))
layer = layers.LayerNormalization()
layer.build((None, 8))
agrees(layer, to_onnx(layer, (normal(2, 8),)), (8,))
"""

STATEFUL = """
model = keras.Sequential([keras.Input(batch_shape=(2, 6, 4)), layers.LSTM(3, stateful=True)])
try:
    to_onnx(model, (normal(2, 6, 4),), dynamic_shapes={})
except ConversionError as error:
    assert "writes to some" in str(error), error
else:
    raise AssertionError
"""

CHECKED = """
from yobx.verification import check_conversion
one, other = keras.Input((8, 8, 3)), keras.Input((4,))
h = layers.GlobalAveragePooling2D()(layers.BatchNormalization()(layers.Conv2D(4, 3)(one)))
model = keras.Model([one, other], [layers.Add()([h, other]), layers.Dropout(0.5)(h)])
images = np.random.default_rng(0).random((2, 8, 8, 3))  # float64, which JAX narrows
report = check_conversion(model, (images, normal(2, 4)))
assert report.passed, report
assert report.framework == "jax"
assert len(report.bindings) == 3
layer = layers.LSTM(3)
layer.build((None, 5, 4))
assert check_conversion(layer, (normal(2, 5, 4),)).passed
message, *_ = check_conversion(layers.Dense(3), (normal(2, 4),)).phase("convert").messages
assert "is not built" in message, message
"""


def script(text: str, backend: str) -> None:
    """Run a script with one of Keras's backends."""
    environment = {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [sys.executable, "-c", _HEAD + text],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("text", [NAMES, SEVERAL, RECURRENT, OWN, STATEFUL, CHECKED], ids=range(6))
def test_on_jax(text: str) -> None:
    script(text, "jax")


def test_on_tensorflow() -> None:
    script(
        """
try:
    to_onnx(keras.Sequential([keras.Input((4,)), layers.Dense(3)]), (normal(5, 4),))
except ArgumentError as error:
    assert "yobx.tensorflow.to_onnx" in str(error)
else:
    raise AssertionError
""",
        "tensorflow",
    )
