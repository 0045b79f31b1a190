"""Image classifiers of ``keras.applications``."""

from __future__ import annotations

from typing import Any

from zoo.weights import calibrate, images


def mobilenet() -> tuple[Any, tuple[Any, ...]]:
    """MobileNetV2 on images of 96 by 96: depthwise convolutions, ReLU6, residuals."""
    import keras

    keras.utils.set_random_seed(11)
    model = keras.applications.MobileNetV2(input_shape=(96, 96, 3), weights=None, classes=10)
    calibrate(model, images(8, 96, seed=1), seed=2)
    return model, (images(2, 96, seed=3),)


def resnet() -> tuple[Any, tuple[Any, ...]]:
    """ResNet50 on images of 64 by 64: 53 convolutions and as many batch normalisations."""
    import keras

    keras.utils.set_random_seed(12)
    model = keras.applications.ResNet50(input_shape=(64, 64, 3), weights=None, classes=10)
    calibrate(model, images(8, 64, seed=4), seed=5)
    return model, (images(2, 64, seed=6),)
