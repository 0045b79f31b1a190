"""Models over sequences of any length."""

from __future__ import annotations

from typing import Any

import numpy as np

VOCABULARY = 100
LONGEST = 64


def transformer() -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """A two-block encoder: embeddings, multi-head attention, exact GELU, layer normalisation."""
    import keras

    keras.utils.set_random_seed(21)
    layers = keras.layers

    class Embeddings(layers.Layer):
        """Sum of a token's embedding and of its position's."""

        def __init__(self, width: int, **options: Any) -> None:
            super().__init__(**options)
            self.token = layers.Embedding(VOCABULARY, width)
            self.position = layers.Embedding(LONGEST, width)

        def call(self, tokens: Any) -> Any:
            length = keras.ops.shape(tokens)[1]
            return self.token(tokens) + self.position(keras.ops.arange(length))

    width = 32
    tokens = keras.Input((None,), dtype="int32", name="tokens")
    hidden = Embeddings(width, name="embeddings")(tokens)
    for block in range(2):
        attention = layers.MultiHeadAttention(4, width // 4, name=f"attention_{block}")
        hidden = layers.LayerNormalization(name=f"norm_a{block}")(
            hidden + attention(hidden, hidden)
        )
        wide = layers.Dense(4 * width, name=f"wide_{block}")(hidden)
        wide = layers.Activation(lambda x: keras.activations.gelu(x, approximate=False))(wide)
        hidden = layers.LayerNormalization(name=f"norm_b{block}")(
            hidden + layers.Dense(width, name=f"narrow_{block}")(wide)
        )
    pooled = layers.GlobalAveragePooling1D()(hidden)
    model = keras.Model(tokens, layers.Dense(5, name="logits")(pooled), name="transformer")
    example = np.random.default_rng(22).integers(0, VOCABULARY, (2, 12), dtype=np.int32)
    return model, (example,), {"dynamic_shapes": ({0: "batch", 1: "time"},)}


def tagger() -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """A bidirectional LSTM that labels every step."""
    import keras

    keras.utils.set_random_seed(23)
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((None, 8), name="features"),
            layers.Bidirectional(layers.LSTM(16, return_sequences=True), name="encoder"),
            layers.Dense(4, activation="softmax", name="tags"),
        ],
        name="tagger",
    )
    example = np.random.default_rng(24).normal(size=(2, 7, 8)).astype(np.float32)
    return model, (example,), {"dynamic_shapes": ({0: "batch", 1: "time"},)}
