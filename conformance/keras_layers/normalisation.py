"""Normalisations: axes, scale and centre, epsilon, groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from conformance.entries import Entry, grid, layer, model, numbers

__all__ = ["entries"]

_MATRIX, _STEPS, _IMAGE = numbers(3, 6), numbers(2, 5, 6), numbers(2, 5, 7, 6)


# One mean is of all of an image, and its rounding shows in every element.
_FREE_MEAN = {"free": (1, 2), "norm": 12.0, "reason": "sums of hundreds of elements have no order"}


def entries() -> Iterator[Entry]:
    """Every entry about normalisation."""
    yield from _batch()
    yield from _layer_and_group()
    yield from _features()
    yield from _spectral()


def _batch() -> Iterator[Entry]:
    for data in (_MATRIX, _STEPS, _IMAGE, numbers(2, 3, 4, 5, 6)):
        yield layer(
            "BatchNormalization",
            data,
            label=f"rank {data.ndim}",
            options={"free": (1,)[: data.ndim - 2]},
        )
    for choice in grid(center=[False, True], scale=[False, True], epsilon=[0.1]):
        yield layer("BatchNormalization", _IMAGE, **choice, options={"free": (1, 2)})
    for axis in (1, 2, -1):
        yield layer("BatchNormalization", _IMAGE, axis=axis)
    mask = numbers(2, 5) > 0
    yield layer("BatchNormalization", _STEPS, label="masked", options={"kwargs": {"mask": mask}})


def _layer_and_group() -> Iterator[Entry]:
    axis: Any
    for axis in (-1, 1, 2, [1, 2], [2, 3], [1, 2, 3]):
        yield layer("LayerNormalization", _IMAGE, axis=axis)
    for choice in grid(center=[False, True], scale=[False, True], epsilon=[0.01]):
        yield layer("LayerNormalization", _STEPS, **choice, options={"free": (1,)})
    for groups in (1, 2, 3, 6, -1):
        yield layer("GroupNormalization", _IMAGE, groups=groups, options=_FREE_MEAN)
    for axis in (1, 2):
        yield layer("GroupNormalization", numbers(2, 4, 6, 5), groups=2, axis=axis)
    for choice in grid(center=[False, True], scale=[False, True]):
        yield layer("GroupNormalization", _STEPS, groups=2, **choice, options={"free": (1,)})
    for axis in (-1, (1, 2)):  # Keras itself fails along axis 1 alone
        yield layer("RMSNormalization", _STEPS, axis=axis)
    yield layer("RMSNormalization", _STEPS, epsilon=0.01, options={"free": (1,)})
    for axis in (-1, 1, (1, 2), [2]):
        yield layer("UnitNormalization", _STEPS, axis=axis, options={"free": (1,)})


def _features() -> Iterator[Entry]:
    for invert in (False, True):
        yield layer("Normalization", _MATRIX, mean=0.5, variance=2.0, axis=None, invert=invert)
        for axis in (-1, (1, 2), None, 1):
            yield layer(
                "Normalization",
                _STEPS,
                axis=axis,
                invert=invert,
                label="adapted",
                after=lambda made: made.adapt(3 * numbers(40, 5, 6) + 1),
            )
    constant = np.ones((2, 6), np.float32)
    yield layer(
        "Normalization", _MATRIX, label="no variance", after=lambda made: made.adapt(constant)
    )
    for scale, offset in ((1 / 255, 0.0), (2.0, -1.0), ([1.0, 2.0, 3.0, 1.0, 1.0, 1.0], 0.5)):
        yield layer("Rescaling", _IMAGE, scale=scale, offset=offset, options={"free": (1, 2)})
    whole = np.arange(24, dtype="uint8").reshape(2, 2, 6)
    yield layer("Rescaling", whole, scale=0.5, offset=1.0, label="uint8")


def _spectral() -> Iterator[Entry]:
    from keras import layers

    for steps in (1, 3):
        yield model(
            "SpectralNormalization",
            f"Dense, {steps} steps",
            lambda s=steps: layers.SpectralNormalization(layers.Dense(4), power_iterations=s),
            _MATRIX,
        )
    yield model(
        "SpectralNormalization",
        "Conv2D",
        lambda: layers.SpectralNormalization(layers.Conv2D(4, 3)),
        _IMAGE,
        free=(1, 2),
    )
