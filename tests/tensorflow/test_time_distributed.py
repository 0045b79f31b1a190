"""A layer over steps does what it does when called eagerly, and is converted once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

from tests.tensorflow.helpers import agree, data, dims
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


def _network() -> Any:
    images = keras.Input((8, 9, 3))
    x = LAYERS.Conv2D(4, 3, activation="relu")(images)
    x = LAYERS.BatchNormalization()(x)
    return keras.Model(images, LAYERS.Dense(5)(LAYERS.Flatten()(LAYERS.MaxPooling2D()(x))))


def _centred_rows() -> Any:
    rows = keras.Input((4,))
    return keras.Model(rows, rows - keras.ops.mean(rows, axis=0, keepdims=True))


def _summed(x: Any) -> Any:
    return x / (2 + keras.ops.sum(keras.ops.abs(x), axis=0, keepdims=True))


@pytest.mark.parametrize(
    ("make", "sizes", "nodes"),
    [
        (lambda: LAYERS.Dense(3), (4,), 3),
        (lambda: LAYERS.Conv2D(2, 3), (5, 6, 2), 5),
        (lambda: LAYERS.LSTM(3), (5, 4), 12),
        (lambda: LAYERS.Bidirectional(LAYERS.GRU(2, return_sequences=True)), (5, 4), 11),
        (lambda: LAYERS.Flatten(), (5, 4), 1),
        (lambda: LAYERS.Embedding(9, 3), (5,), 7),
        (lambda: LAYERS.TimeDistributed(LAYERS.Dense(3)), (5, 4), 3),
        (lambda: keras.Sequential([LAYERS.Dense(3), LAYERS.LayerNormalization()]), (4,), 5),
        (_network, (8, 9, 3), 10),
    ],
    ids="dense conv lstm ways flatten embedding nested several network".split(),
)
@pytest.mark.parametrize("dynamic", [{}, {0: "batch"}], ids=["static", "batch"])
def test_known_steps_are_one_call(
    make: Callable[[], Any], sizes: tuple[int, ...], nodes: int, dynamic: dict[int, str]
) -> None:
    inputs = keras.Input((6, *sizes), batch_size=None if dynamic else 3)
    model = keras.Model(inputs, LAYERS.TimeDistributed(make())(inputs))
    onx = to_onnx(model, (data(3, 6, *sizes),), dynamic_shapes=(dynamic,))
    assert len(onx.graph.node) <= nodes
    for batch in (3, 1, 5, 0) if dynamic else (3,):
        feed = abs(data(batch, 6, *sizes, seed=batch))
        # TensorFlow itself cannot add a bias to what oneDNN makes of no samples.
        tail = dims(onx.graph.output[0])[1:]
        agree(onx, [model(feed) if batch else np.zeros((0, *tail), np.float32)], feed)


@pytest.mark.parametrize(
    ("make", "sizes"),
    [
        (Centred, (4,)),
        (_centred_rows, (4,)),
        (lambda: LAYERS.Lambda(_summed), (4,)),
        (lambda: LAYERS.Dense(4, activation=_summed), (4,)),
        (lambda: LAYERS.Softmax(axis=0), (4,)),
        (lambda: LAYERS.Softmax(axis=-2), (4,)),
    ],
    ids="own function lambda activation first second".split(),
)
@pytest.mark.parametrize("dynamic", [{}, {0: "batch"}], ids=["static", "batch"])
def test_layers_that_mix_samples_are_called_step_by_step(
    make: Callable[[], Any], sizes: tuple[int, ...], dynamic: dict[int, str]
) -> None:
    inputs = keras.Input((4, *sizes), batch_size=None if dynamic else 3)
    model = keras.Model(inputs, LAYERS.TimeDistributed(make())(inputs))
    onx = to_onnx(model, (data(3, 4, *sizes),), dynamic_shapes=(dynamic,))
    for batch in (3, 5) if dynamic else (3,):
        feed = data(batch, 4, *sizes, seed=batch)
        agree(onx, [model(feed)], feed, rtol=1e-4)


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
