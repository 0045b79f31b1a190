"""Ways to put layers together: nested, shared, subclassed, with several inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from conformance.entries import Entry, model, numbers, whole

__all__ = ["entries"]

_MATRIX, _STEPS, _IMAGE = numbers(2, 6), numbers(2, 5, 6), numbers(2, 8, 8, 3)


def entries() -> Iterator[Entry]:
    """Every entry about whole models."""
    yield model("models.Sequential", "Dense, BatchNormalization, Dense", _stack, _MATRIX)
    yield model("models.Model", "nested twice", _nested, _MATRIX)
    yield model("models.Model", "a shared layer", _shared, [_MATRIX, numbers(2, 6, seed=1)])
    yield model(
        "models.Model", "inputs and outputs by name", _named, {"a": _MATRIX, "b": _MATRIX + 1}
    )
    yield model("models.Model", "residual convolutions", _residual, _IMAGE)
    yield model("models.Model", "subclassed", _subclassed, _STEPS, free=(1,))
    yield model(
        "models.Model", "a transformer block", _transformer, whole(2, 5, high=11), free=(1,)
    )
    yield model("models.Model", "ops between layers", _operations, _STEPS, free=(1,))
    yield model("models.Model", "an input as output", _input_out, _MATRIX)
    yield model("Wrapper", "of Dense", _wrapper, _MATRIX)
    yield model("Layer", "of one's own", _own_layer, _MATRIX)
    yield model("TFSMLayer", "a SavedModel", _saved, _MATRIX)
    yield model("JaxLayer", "a JAX function", _jax, _MATRIX)
    yield model("InputLayer", "with a fixed batch", _fixed_batch, _MATRIX, modes=("static",))


def _stack() -> Any:
    import keras

    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(5, activation="swish"),
            layers.BatchNormalization(),
            layers.Dense(3),
        ]
    )


def _nested() -> Any:
    import keras

    inner = keras.Sequential([keras.Input((6,)), _stack()])
    x = keras.Input((6,))
    return keras.Model(x, [inner(x), keras.layers.Dense(2)(inner(x))])


def _shared() -> Any:
    import keras

    a, b = keras.Input((6,)), keras.Input((6,))
    dense = keras.layers.Dense(4)
    return keras.Model([a, b], keras.layers.Subtract()([dense(a), dense(b)]))


def _named() -> Any:
    import keras

    a, b = keras.Input((6,), name="a"), keras.Input((6,), name="b")
    total = keras.layers.Add()([a, b])
    return keras.Model({"a": a, "b": b}, {"sum": total, "head": keras.layers.Dense(2)(total)})


def _residual() -> Any:
    import keras

    layers = keras.layers
    x = keras.Input((None, None, 3))
    y = layers.Conv2D(4, 3, padding="same")(x)
    z = layers.BatchNormalization()(layers.Conv2D(4, 3, padding="same", activation="relu")(y))
    return keras.Model(x, layers.GlobalAveragePooling2D()(layers.Add()([y, z])))


def _subclassed() -> Any:
    import keras

    class Tagger(keras.Model):  # type: ignore[misc]
        """A recurrent layer, and a branch on a Python value."""

        def __init__(self) -> None:
            super().__init__()
            self.rnn = keras.layers.Bidirectional(keras.layers.GRU(3, return_sequences=True))
            self.head = keras.layers.Dense(2)

        def call(self, x: Any, training: bool = False) -> Any:
            if training:
                x = x + 1.0
            return {"tags": self.head(self.rnn(x)), "mean": keras.ops.mean(x, axis=1)}

    return Tagger()


def _transformer() -> Any:
    import keras

    layers = keras.layers
    ids = keras.Input((None,), dtype="int32")
    x = layers.Embedding(11, 8, mask_zero=True)(ids)
    y = layers.LayerNormalization()(x)
    x = layers.Add()([x, layers.MultiHeadAttention(2, 4)(y, y, use_causal_mask=True)])
    y = layers.Dense(16, activation="gelu")(layers.RMSNormalization()(x))
    x = layers.Add()([x, layers.Dense(8)(y)])
    return keras.Model(ids, layers.GlobalAveragePooling1D()(x))


def _operations() -> Any:
    import keras

    ops = keras.ops

    class Weighted(keras.layers.Layer):  # type: ignore[misc]
        """Weighs every step by its place."""

        def call(self, x: Any) -> Any:
            places = ops.cast(ops.arange(ops.shape(x)[1]), "float32")
            return x * places[None, :, None]

    x = keras.Input((None, 6))
    y = ops.where(x > 0, Weighted()(x), ops.exp(x))
    return keras.Model(x, ops.concatenate([ops.mean(y, axis=1), ops.max(y[:, ::-1], axis=1)], -1))


def _input_out() -> Any:
    import keras

    x = keras.Input((6,))
    return keras.Model(x, [x, keras.layers.Dense(2)(x)])


def _wrapper() -> Any:
    import keras

    class Doubled(keras.layers.Wrapper):  # type: ignore[misc]
        """Twice what the layer says."""

        def call(self, x: Any) -> Any:
            return 2.0 * self.layer(x)

    return Doubled(keras.layers.Dense(3))


def _own_layer() -> Any:
    import keras

    class Scaled(keras.layers.Layer):  # type: ignore[misc]
        """A weight and a constant."""

        def build(self, shape: Any) -> None:
            self.scale = self.add_weight(shape=(shape[-1],), name="scale")
            self.shift = np.arange(shape[-1], dtype="float32")

        def call(self, x: Any) -> Any:
            return x * self.scale + self.shift

    return Scaled()


def _saved() -> Any:
    import tempfile

    import keras

    stack = _stack()
    stack(_MATRIX)
    with tempfile.TemporaryDirectory() as folder:
        stack.export(folder, verbose=False)
        return keras.layers.TFSMLayer(folder, call_endpoint="serve")


def _jax() -> Any:
    import jax
    import keras

    def forward(params: Any, inputs: Any) -> Any:
        return jax.nn.softmax(inputs @ params)

    x = keras.Input((6,))
    return keras.Model(x, keras.layers.JaxLayer(call_fn=forward, params=numbers(6, 4))(x))


def _fixed_batch() -> Any:
    import keras

    x = keras.Input(batch_shape=(2, 6))
    return keras.Model(x, keras.layers.Dense(3)(x))
