"""A model whose inputs and outputs have names."""

from __future__ import annotations

from typing import Any

import numpy as np


def two_towers() -> tuple[Any, tuple[Any, ...]]:
    """Two inputs and two outputs, each as a dict."""
    import keras

    keras.utils.set_random_seed(31)
    layers = keras.layers
    user = keras.Input((12,), name="user")
    item = keras.Input((20,), name="item")
    left = layers.Dense(16, activation="relu", name="user_tower")(user)
    right = layers.Dense(16, activation="relu", name="item_tower")(item)
    score = layers.Dot(axes=-1, normalize=True, name="affinity")([left, right])
    both = layers.Concatenate(name="both")([left, right])
    label = layers.Dense(3, activation="softmax", name="classes")(both)
    model = keras.Model({"user": user, "item": item}, {"label": label, "score": score})
    rng = np.random.default_rng(32)
    example = {
        "user": rng.normal(size=(4, 12)).astype(np.float32),
        "item": rng.normal(size=(4, 20)).astype(np.float32),
    }
    return model, (example,)
