"""A layer over steps whose number is open while tracing does what it does when called eagerly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

from tests.tensorflow.helpers import agree, data
from yobx.tensorflow import to_onnx

LAYERS = keras.layers


class Centred(LAYERS.Layer):
    """A layer that mixes the samples of a batch."""

    def call(self, inputs: Any) -> Any:
        return inputs - keras.ops.mean(inputs, axis=0, keepdims=True)

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape


def model_of(make: Callable[[], Any], *sizes: int, mask: bool = False) -> Any:
    inputs = keras.Input((None, *sizes))
    steps = LAYERS.Masking()(inputs) if mask else inputs
    return keras.Model(inputs, LAYERS.TimeDistributed(make())(steps))


@pytest.mark.parametrize(
    ("make", "sizes"),
    [
        (lambda: LAYERS.Dense(3), (4,)),
        (lambda: LAYERS.Conv2D(2, 3), (5, 6, 2)),
        (lambda: LAYERS.BatchNormalization(), (4,)),
        (lambda: keras.Sequential([LAYERS.Dense(3), LAYERS.LayerNormalization()]), (4,)),
        (lambda: LAYERS.LSTM(3), (5, 4)),
        (lambda: LAYERS.Bidirectional(LAYERS.GRU(2, return_sequences=True)), (5, 4)),
        (Centred, (4,)),
    ],
    ids=["dense", "conv", "batch", "several", "lstm", "both ways", "mixes samples"],
)
def test_every_step_is_computed_once(make: Callable[[], Any], sizes: tuple[int, ...]) -> None:
    model = model_of(make, *sizes)
    onx = to_onnx(model, (data(3, 6, *sizes),), dynamic_shapes=({0: "batch", 1: "steps"},))
    for batch, steps in ((3, 6), (5, 2), (2, 2), (1, 4)):
        feed = data(batch, steps, *sizes, seed=steps)
        agree(onx, [model(feed)], feed)


def test_masks_of_the_steps() -> None:
    inputs = keras.Input((None, 5, 4))
    masked = LAYERS.TimeDistributed(LAYERS.Masking())(inputs)
    model = keras.Model(inputs, LAYERS.TimeDistributed(LAYERS.LSTM(3))(masked))
    feed = data(2, 6, 5, 4)
    feed[0, :, 3:] = 0
    onx = to_onnx(model, (feed,), dynamic_shapes=({0: "batch", 1: "steps"},))
    agree(onx, [model(feed)], feed)


def test_a_mask_is_carried_on() -> None:
    inputs = keras.Input((None, 4))
    steps = LAYERS.TimeDistributed(LAYERS.Dense(3))(LAYERS.Masking()(inputs))
    model = keras.Model(inputs, LAYERS.LSTM(2)(steps))
    feed = data(3, 6, 4)
    feed[0, 3:] = 0
    onx = to_onnx(model, (feed,), dynamic_shapes=({0: "batch", 1: "steps"},))
    agree(onx, [model(feed)], feed)


def test_the_layer_stays_as_it_was() -> None:
    model = model_of(lambda: LAYERS.Dense(3), 4)
    to_onnx(model, (data(2, 3, 4),), dynamic_shapes=({1: "steps"},))
    assert all("call" not in vars(layer) for layer in model.layers)
    np.testing.assert_array_equal(model(data(2, 3, 4)).shape, (2, 3, 3))


def test_a_call_of_ones_own_is_kept() -> None:
    class Doubled(LAYERS.TimeDistributed):
        def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
            return inputs * 2.0

    inputs = keras.Input((None, 4))
    model = keras.Model(inputs, Doubled(LAYERS.Dense(4))(inputs))
    onx = to_onnx(model, (data(2, 3, 4),), dynamic_shapes=({1: "steps"},))
    agree(onx, [2 * data(2, 5, 4)], data(2, 5, 4))
