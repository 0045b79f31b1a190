"""Images: sizes and crops, and the random layers, which do nothing at inference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from conformance.entries import LARGE, Entry, grid, layer, model, positive

__all__ = ["entries"]

_IMAGES = positive(2, 8, 10, 3, high=255.0)
_FIRST = np.ascontiguousarray(_IMAGES.transpose(0, 3, 1, 2))
_FREE = {"free": (1, 2)}
# Weights that are looked up by a rounded position jump where the noise of a measurement crosses it.
_ROUNDED: dict[str, Any] = {**_FREE, "norm": 6.0, "reason": "positions are rounded to a table"}
_METHODS = ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5", "area")

#: Random layers and the arguments they want.
RANDOM: dict[str, dict[str, Any]] = {
    "AugMix": {},
    "CutMix": {},
    "MixUp": {},
    "RandAugment": {},
    "RandomBrightness": {"factor": 0.2},
    "RandomColorDegeneration": {"factor": 0.5},
    "RandomColorJitter": {"brightness_factor": 0.2},
    "RandomContrast": {"factor": 0.2},
    "RandomElasticTransform": {},
    "RandomErasing": {},
    "RandomFlip": {},
    "RandomGaussianBlur": {},
    "RandomGrayscale": {},
    "RandomHue": {"factor": 0.2},
    "RandomInvert": {},
    "RandomPerspective": {},
    "RandomPosterization": {"factor": 4},
    "RandomRotation": {"factor": 0.2},
    "RandomSaturation": {"factor": 0.3},
    "RandomSharpness": {"factor": 0.3},
    "RandomShear": {"x_factor": 0.2},
    "RandomTranslation": {"height_factor": 0.2, "width_factor": 0.2},
    "RandomZoom": {"height_factor": 0.2},
}


def entries() -> Iterator[Entry]:
    """Every entry about images."""
    yield from _sizes()
    yield from _crops()
    yield from _tones()
    for kind, arguments in RANDOM.items():
        yield layer(kind, _IMAGES, **arguments, options={"free": (1, 2), **_AT_INFERENCE})


_AT_INFERENCE = {"kwargs": {"training": False}}


def _sizes() -> Iterator[Entry]:
    for choice in grid(interpolation=_METHODS, antialias=[False, True]):
        for height, width in ((5, 4), (16, 13)):
            yield layer("Resizing", _IMAGES, height=height, width=width, **choice)
        options = _ROUNDED if choice["interpolation"] == "bicubic" else _FREE
        yield layer(
            "Resizing", _IMAGES, height=6, width=15, **choice, label="open", options=options
        )
    for choice in (
        {"crop_to_aspect_ratio": True},
        {"pad_to_aspect_ratio": True},
        {"pad_to_aspect_ratio": True, "fill_value": 7.0},
    ):
        for height, width in ((6, 6), (5, 12)):
            yield layer("Resizing", _IMAGES, height=height, width=width, **choice)
    yield layer("Resizing", _FIRST, height=5, width=12, data_format="channels_first")
    yield layer(
        "Resizing", _IMAGES[0], height=5, width=12, label="one image", options={"free": ({},)}
    )
    yield layer("Resizing", _IMAGES, height=5, width=12, dtype="uint8", label="to uint8")


_FIXED = {
    **_FREE,
    "refused_dynamic": "float() argument must be",
    "reason": "Keras compares the sides while it traces, and wants to know them",
}


def _crops() -> Iterator[Entry]:
    for kind, extra in (("CenterCrop", {}), ("RandomCrop", _AT_INFERENCE)):
        for height, width in ((4, 6), (5, 7), (8, 10), (12, 6), (12, 20)):
            yield layer(kind, _IMAGES, height=height, width=width, options=extra)
        sizes = {**_FREE, "options": LARGE} if kind == "CenterCrop" else _FIXED
        yield layer(kind, _IMAGES, height=4, width=5, label="open", options={**sizes, **extra})
        yield layer(kind, _FIRST, height=4, width=5, data_format="channels_first", options=extra)
    yield layer(
        "CenterCrop", _IMAGES[0], height=4, width=5, label="one image", options={"free": ({},)}
    )


def _tones() -> Iterator[Entry]:
    for kind in ("AutoContrast", "Equalization", "ContrastLimitedAdaptiveHistogramEqualization"):
        yield layer(kind, _IMAGES, value_range=(0, 255))
        yield layer(kind, (_IMAGES / 255).astype("float32"), value_range=(0, 1))
    yield layer("Equalization", _IMAGES, value_range=(0, 255), bins=16)
    for choice in ({}, {"addition_factor": 0.2}, {"threshold_factor": (0.4, 0.6)}):
        yield layer("Solarization", _IMAGES, **choice, options=_FREE)
    yield model("Pipeline", "Resizing, Rescaling, CenterCrop", _pipeline, _IMAGES)
    boxes = {
        "images": _IMAGES,
        "bounding_boxes": {
            "boxes": positive(2, 3, 4, high=7.0),
            "labels": np.zeros((2, 3), "float32"),
        },
    }
    yield layer("MaxNumBoundingBoxes", boxes, max_number=5, bounding_box_format="xyxy")


def _pipeline() -> Any:
    import keras

    layers = keras.layers
    return layers.Pipeline(
        [layers.Resizing(9, 9), layers.Rescaling(1 / 255), layers.CenterCrop(6, 5)]
    )
