"""Converting changes neither the model nor anything global, and gives the same bytes every time."""

from __future__ import annotations

import gc
import hashlib
import os
import random
import subprocess
import sys
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tests.tensorflow.helpers import data
from yobx.tensorflow import to_onnx


class _Remembering(keras.layers.Layer):
    """Keeps a tensor of its last call, as attention layers and debugging code do."""

    def __init__(self):
        super().__init__()
        self.last = None
        self.inner = keras.layers.Dense(2, activity_regularizer="l2")

    def build(self, shape):
        self.inner.build(shape)

    def call(self, x):
        self.last = self.inner(x)
        return self.last


def test_model_is_left_as_it_was() -> None:
    model = keras.Sequential([keras.Input((3,)), _Remembering(), keras.layers.Dropout(0.5)])
    model.compile("sgd", "mse")
    layers = model._flatten_layers()
    before = [dict(vars(layer)) for layer in layers]
    weights = model.get_weights()
    config, losses = model.get_config(), len(model.losses)
    to_onnx(model, (data(5, 3),))
    for layer, attributes in zip(layers, before, strict=True):
        now = vars(layer)
        assert now.keys() == attributes.keys()
        assert all(now[name] is attributes[name] for name in now)
    assert model.get_config() == config
    assert len(model.losses) == losses
    for one, other in zip(model.get_weights(), weights, strict=True):
        np.testing.assert_array_equal(one, other)
    model.fit(data(4, 3), data(4, 2), verbose=0)


def test_layer_without_weights_stays_unbuilt() -> None:
    class Plain(keras.layers.Layer):
        def call(self, x):
            return x * 2.0

    layer = Plain()
    to_onnx(layer, (data(2),))
    assert not layer.built


def _global_state() -> dict[str, Any]:
    return {
        "eager": tf.config.functions_run_eagerly(),
        "executing": tf.executing_eagerly(),
        "floatx": keras.config.floatx(),
        "format": keras.config.image_data_format(),
        "policy": keras.config.dtype_policy().name,
        "names": dict(
            keras.src.backend.common.global_state.get_global_attribute("object_name_uids") or {}
        ),
        "numpy": np.geterr(),
        "collector": gc.isenabled(),
    }


def _draws() -> list[Any]:
    return [
        tf.random.normal((2,)).numpy().tolist(),
        np.random.rand(),
        random.random(),
        keras.random.normal((2,)).numpy().tolist(),
    ]


def test_global_state_and_random_streams() -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    keras.utils.set_random_seed(3)
    plain = _draws()
    state = _global_state()
    keras.utils.set_random_seed(3)
    to_onnx(model, (data(5, 3),))
    assert _global_state() == state
    assert _draws() == plain


_SCRIPT = """
import hashlib
import keras, numpy as np, tensorflow as tf
from yobx.tensorflow import to_onnx
for _ in range({before}):
    tf.function(lambda x: x + 1.0)(tf.constant(1.0))
keras.utils.set_random_seed(1)
x = keras.Input((4, 4, 4), name="image")
h = keras.layers.Conv2D(8, 3, padding="same", groups=2)(x)
h = keras.layers.BatchNormalization()(h)
h = keras.layers.Rescaling(0.5, offset=[1.0, 2.0] * 4)(h)
y = keras.layers.GlobalAveragePooling2D()(h)
model = keras.Model({{"image": x}}, {{"b": y, "a": keras.layers.Dense(3)(y)}})
data = {{"image": np.zeros((2, 4, 4, 4), np.float32)}}
for _ in range(2):
    print(hashlib.sha256(to_onnx(model, (data,)).SerializeToString()).hexdigest())
"""


def test_bytes_are_the_same_in_every_process() -> None:
    digests = set()
    for seed, before in (("1", 0), ("2", 3)):
        out = subprocess.run(
            [sys.executable, "-c", _SCRIPT.format(before=before)],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        digests.update(out.stdout.split())
    assert len(digests) == 1
    assert len(next(iter(digests))) == len(hashlib.sha256().hexdigest())
