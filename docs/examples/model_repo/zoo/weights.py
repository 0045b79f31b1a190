"""Give an untrained network weights that make a comparison worth something.

Deep networks with fresh weights hardly react to their input: every output is close to the same
constant, and a wrong conversion would pass. So the batch normalisations get random scales and
shifts, and the statistics of the data that really flow through them.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def images(count: int, size: int, *, seed: int) -> np.ndarray:
    """Images with large structures: white noise averages out in the first pooling.

    Args:
        count: Number of images.
        size: Height and width, a multiple of 8.
        seed: Seed of the random numbers.

    Returns:
        float32 array of shape `(count, size, size, 3)`.
    """
    rng = np.random.default_rng(seed)
    blocks = rng.normal(size=(count, 8, 8, 3)).repeat(size // 8, axis=1).repeat(size // 8, axis=2)
    return (blocks + 0.3 * rng.normal(size=blocks.shape)).astype(np.float32)


def calibrate(model: Any, data: np.ndarray, *, seed: int) -> None:
    """Set the batch normalisations of a Keras model from data.

    Args:
        model: The model, changed in place.
        data: A batch of inputs.
        seed: Seed of the random scales and shifts.
    """
    import keras

    rng = np.random.default_rng(seed)
    layers = [la for la in model.layers if isinstance(la, keras.layers.BatchNormalization)]
    momenta = [layer.momentum for layer in layers]
    for layer in layers:
        layer.gamma.assign(rng.uniform(0.8, 1.2, layer.gamma.shape))
        layer.beta.assign(rng.normal(0.0, 0.1, layer.beta.shape))
        layer.momentum = 0.0  # the statistics of this one batch replace the old ones
    model(data, training=True)
    for layer, momentum in zip(layers, momenta, strict=True):
        layer.momentum = momentum
