"""Outputs keep the names of dynamic sizes, whatever arithmetic the model does with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.tensorflow.helpers import agree, data, dims
from yobx.tensorflow import to_onnx

LAYERS = keras.layers
Function = Callable[[Any], Any]


def size(x: Any, axis: int) -> Any:
    return tf.shape(x)[axis]


FUNCTIONS: list[tuple[str, Function, list[int | str]]] = [
    ("frames", lambda x: tf.signal.frame(x, 32, 8), ["b", "max(n//8 - 3, 0)", 32]),
    ("frames, padded", lambda x: tf.signal.frame(x, 32, 8, pad_end=True), ["b", "(n + 7)//8", 32]),
    ("spectra", lambda x: tf.abs(tf.signal.stft(x, 24, 8)), ["b", "max(n//8 - 2, 0)", 17]),
    ("rounded up", lambda x: x[:, : -(-size(x, 1) // 3)], ["b", "(n + 2)//3"]),
    ("second half", lambda x: x[:, size(x, 1) // 2 :], ["b", "n - (n//2)"]),
    ("last five", lambda x: x[:, -5:], ["b", "min(n, 5)"]),
    ("every other", lambda x: x[:, ::-2], ["b", "(n + 1)//2"]),
    ("at most", lambda x: x[:, : tf.minimum(16, size(x, 1))], ["b", "min(n, 16)"]),
    ("pairs", lambda x: x[:, None, :] * x[:, :, None], ["b", "n", "n"]),
    ("rolled", lambda x: tf.roll(x, 2, 1), ["b", "n"]),
    ("repeated", lambda x: tf.repeat(x, 3, axis=1), ["b", "3*n"]),
    ("counted", lambda x: tf.range(0, size(x, 1), 2), ["(n + 1)//2"]),
    ("counted in floats", lambda x: tf.range(0, size(x, 1), dtype=tf.float32), ["n"]),
    ("from two", lambda x: tf.range(2.0, tf.cast(size(x, 1), tf.float32), 3.0), ["n//3"]),
    ("arange", lambda x: keras.ops.arange(size(x, 1), dtype="float32")[None] * x, ["b", "n"]),
    ("summed", lambda x: tf.scan(lambda a, r: a + r, tf.transpose(x))[0], ["b"]),
    ("quantiles", lambda x: keras.ops.quantile(x[:, :4], [0.1, 0.9], axis=1), [2, "b"]),
    (
        "ones beside the sizes",
        lambda x: tf.reshape(x, tf.pad(tf.shape(x), [[1, 2]], constant_values=1)),
        [1, "b", "n", 1, 1],
    ),
    ("one hot", lambda x: tf.one_hot(tf.argmax(x, -1), size(x, 1)), ["b", "n"]),
]
MODELS: list[tuple[str, Callable[[], Any], tuple[Any, ...], list[int | str]]] = [
    ("spectrogram", lambda: LAYERS.STFTSpectrogram("log", 32, 8), ("n", 1), ["b", "n//8 - 3", 17]),
    (
        "steps",
        lambda: LAYERS.TimeDistributed(LAYERS.Conv2D(2, 3, strides=2)),
        ("t", "n", "n2", 3),
        ["b", "t", "(n + 1)//2 - 1", "(n2 + 1)//2 - 1", 2],
    ),
    (
        "separable steps",
        lambda: LAYERS.TimeDistributed(LAYERS.SeparableConv2D(2, 3, padding="same")),
        ("t", 8, 9, 3),
        ["b", "t", 8, 9, 2],
    ),
    (
        "causal",
        lambda: LAYERS.Conv1D(2, 3, dilation_rate=2, padding="causal"),
        ("n", 3),
        ["b", "n", 2],
    ),
    ("transposed", lambda: LAYERS.Conv1DTranspose(2, 5, 3), ("n", 3), ["b", "3*n + 2", 2]),
    ("reshaped", lambda: LAYERS.Reshape((-1, 6)), ("n", 3), ["b", "n//2", 6]),
]


@pytest.mark.parametrize(("name", "function", "wanted"), FUNCTIONS, ids=[f[0] for f in FUNCTIONS])
def test_functions(name: str, function: Function, wanted: list[int | str]) -> None:
    signature = [tf.TensorSpec((None, None), tf.float32)]
    traced = tf.function(function, input_signature=signature, autograph=False)
    onx = to_onnx(traced, dynamic_shapes=({0: "b", 1: "n"},))
    assert dims(onx.graph.output[0]) == wanted


@pytest.mark.parametrize(("name", "layer", "sizes", "wanted"), MODELS, ids=[m[0] for m in MODELS])
def test_layers(
    name: str, layer: Callable[[], Any], sizes: tuple[Any, ...], wanted: list[int | str]
) -> None:
    inputs = keras.Input([None if isinstance(s, str) else s for s in sizes])
    names = {0: "b"} | {i: s for i, s in enumerate(sizes, 1) if isinstance(s, str)}
    onx = to_onnx(keras.Model(inputs, layer()(inputs)), dynamic_shapes=(names,))
    assert dims(onx.graph.output[0]) == wanted


def _cropped(fraction: float) -> Function:
    return lambda x: tf.image.central_crop(x[..., None], fraction)


def _bins_by_a_size(x: Any) -> Any:
    bins = size(x, 1)
    return tf.math.bincount(tf.cast(tf.reshape(x, [-1]), tf.int32), None, bins, bins)


@pytest.mark.parametrize(
    ("name", "function", "wanted"),
    [
        ("half", _cropped(0.5), ["b - 2*(b//4)", "n - 2*(n//4)", 1]),
        ("three eighths", _cropped(0.375), ["b - 2*(5*b//16)", "n - 2*(5*n//16)", 1]),
        ("bins", lambda x: tf.math.bincount(tf.cast(x, tf.int32), None, 5, 5, axis=-1), ["b", 5]),
        ("bins by a size", _bins_by_a_size, ["n"]),
    ],
)
def test_sizes_that_are_computed_from_data_or_floats(
    name: str, function: Function, wanted: list[int | str]
) -> None:
    signature = [tf.TensorSpec((None, None), tf.float32)]
    traced = tf.function(function, input_signature=signature, autograph=False)
    onx = to_onnx(traced, dynamic_shapes=({0: "b", 1: "n"},))
    assert dims(onx.graph.output[0]) == wanted
    for shape in ((7, 13), (1, 1), (2, 64), (5, 3), (31, 9)):
        feed = np.abs(data(*shape)) * 4
        agree(onx, [traced(feed)], feed)


def test_rows_of_ragged_text() -> None:
    layer = LAYERS.TextVectorization(vocabulary=["cat", "dog"], output_mode="multi_hot")
    text = keras.Input((1,), dtype="string")
    onx = to_onnx(keras.Model(text, layer(text)), dynamic_shapes=({0: "b"},))
    assert dims(onx.graph.output[0]) == ["b", 3]


def test_fractions_that_float64_rounds_stay_as_they_are() -> None:
    signature = [tf.TensorSpec((None, None), tf.float32)]
    traced = tf.function(_cropped(0.3), input_signature=signature, autograph=False)
    onx = to_onnx(traced, dynamic_shapes=({0: "b", 1: "n"},))
    for shape in ((7, 13), (10, 20), (100, 1000)):
        feed = data(*shape)
        agree(onx, [traced(feed)], feed)
