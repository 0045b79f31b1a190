"""The Keras models that are converted, the same in every process: fixed seeds, real statistics."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

NAMES = ("MobileNetV2", "ResNet50")
STEPS = 64


def build(name: str, size: int) -> tuple[Any, np.ndarray[Any, Any]]:
    """Build a network and one example.

    Args:
        name: A network of ``keras.applications``, ``transformer`` or ``bidirectional_lstm``.
        size: Height and width of the images, a multiple of 32.

    Returns:
        The model, and a float32 array of shape `(1, size, size, 3)`, or `(1, STEPS, 128)`.
    """
    import keras

    weights = _weights_module()
    keras.utils.set_random_seed(7)
    if name in _SEQUENCE_MODELS:
        rows = np.random.default_rng(10).normal(size=(1, STEPS, 128)).astype(np.float32)
        return _SEQUENCE_MODELS[name](), rows
    model = getattr(keras.applications, name)(
        input_shape=(size, size, 3), weights=None, classes=100
    )
    weights.calibrate(model, weights.images(2, size, seed=8), seed=9)
    return model, weights.images(1, size, seed=10)


def _transformer() -> Any:
    """Six post-norm layers of attention and a dense network."""
    import keras

    x = inputs = keras.Input((STEPS, 128))
    for _ in range(6):
        mixed = keras.layers.MultiHeadAttention(8, 16)(x, x)
        x = keras.layers.LayerNormalization()(x + mixed)
        wide = keras.layers.Dense(512, activation="gelu")(x)
        x = keras.layers.LayerNormalization()(x + keras.layers.Dense(128)(wide))
    return keras.Model(inputs, x)


def _bidirectional_lstm() -> Any:
    """Two bidirectional layers and a classifier."""
    import keras

    return keras.Sequential(
        [
            keras.Input((STEPS, 128)),
            keras.layers.Bidirectional(keras.layers.LSTM(128, return_sequences=True)),
            keras.layers.Bidirectional(keras.layers.LSTM(128)),
            keras.layers.Dense(10),
        ]
    )


_SEQUENCE_MODELS = {"transformer": _transformer, "bidirectional_lstm": _bidirectional_lstm}


def smallest() -> tuple[Any, np.ndarray[Any, Any]]:
    """Build a network of one convolution and its image, to load what a first conversion loads."""
    import keras

    model = keras.Sequential([keras.Input((8, 8, 3)), keras.layers.Conv2D(2, 3)])
    return model, np.zeros((1, 8, 8, 3), np.float32)


def weight_bytes(model: Any) -> int:
    """Size of all weights."""
    return sum(int(np.prod(w.shape)) * np.dtype(w.dtype).itemsize for w in model.weights)


def _weights_module() -> Any:
    """Load the calibration of the example repository, where it is explained."""
    path = Path(__file__).parent.parent / "docs/examples/model_repo/zoo/weights.py"
    spec = importlib.util.spec_from_file_location("zoo_weights", path)
    if spec is None or spec.loader is None:
        raise RuntimeError(f"{path} is missing")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def convert_with_yobx(model: Any, image: np.ndarray[Any, Any], filename: str | None = None) -> Any:
    """Convert with yobx, batch dynamic."""
    from yobx.tensorflow import to_onnx

    return to_onnx(model, (image,), dynamic_shapes=({0: "batch"},), filename=filename)


def trace_only(model: Any, image: np.ndarray[Any, Any]) -> Any:
    """Trace the model as every converter has to: the floor of a conversion."""
    import tensorflow as tf

    spec = tf.TensorSpec((None, *image.shape[1:]), tf.float32)
    function = tf.function(lambda x: model(x, training=False), autograph=False)
    return function.get_concrete_function(spec)


def convert_with_tf2onnx(
    model: Any, image: np.ndarray[Any, Any], filename: str | None = None
) -> Any:
    """Convert with tf2onnx from a function, which works with Keras 3 where ``from_keras`` fails."""
    import tensorflow as tf
    import tf2onnx

    spec = (tf.TensorSpec((None, *image.shape[1:]), tf.float32, name="image"),)
    function = tf.function(lambda image: model(image, training=False))
    proto, _ = tf2onnx.convert.from_function(
        function, input_signature=spec, opset=18, output_path=filename
    )
    return proto
