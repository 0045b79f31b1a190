"""Two small Keras models with random weights that react to their inputs."""

from __future__ import annotations

import keras
import numpy as np


def ranker() -> keras.Model:
    """Scores items for users; inputs are made from the signature."""
    keras.utils.set_random_seed(3)
    user = keras.Input((6,), name="user")
    item = keras.Input((4,), name="item")
    x = keras.layers.Concatenate()([user, item])
    x = keras.layers.Dense(8, activation="gelu", name="mix")(x)
    x = keras.layers.LayerNormalization()(x)
    return keras.Model([user, item], keras.layers.Dense(1, name="score")(x), name="ranker")


def thumbnails() -> tuple[keras.Model, tuple[np.ndarray]]:
    """Classifies small images."""
    keras.utils.set_random_seed(4)
    model = keras.Sequential(
        [
            keras.Input((8, 8, 3)),
            keras.layers.Conv2D(4, 3, padding="same", activation="relu"),
            keras.layers.MaxPooling2D(),
            keras.layers.Flatten(),
            keras.layers.Dense(5, activation="softmax"),
        ],
        name="thumbnails",
    )
    return model, (np.random.default_rng(0).random((2, 8, 8, 3), dtype=np.float32),)
