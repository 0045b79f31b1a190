"""A sample of ``keras.applications``; ``python -m conformance applications`` runs all 40."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from conformance.applications import ARCHITECTURES, build, check, images

SAMPLE = ["MobileNetV2", "ResNet50V2", "ConvNeXtTiny"]


@pytest.mark.parametrize("name", SAMPLE)
def test_architecture(name: str) -> None:
    outcome = check(name)
    assert outcome.status == "pass", outcome


def test_no_architecture_is_forgotten() -> None:
    exported = {
        name
        for name in dir(keras.applications)
        if name[0].isupper() and callable(getattr(keras.applications, name))
    }
    assert exported == set(ARCHITECTURES)


def test_weights_make_a_model_that_can_be_judged() -> None:
    model = build("MobileNetV2")
    data = images(8, ARCHITECTURES["MobileNetV2"], seed=5)
    outputs = model(data, training=False).numpy()
    # Different images have different outputs, of ordinary size.
    assert np.isfinite(outputs).all()
    assert outputs.std(axis=0).mean() > 0.05 * np.abs(outputs).mean()
    normalisation = next(
        layer for layer in model.layers if isinstance(layer, keras.layers.BatchNormalization)
    )
    assert np.asarray(normalisation.moving_variance).std() > 0
