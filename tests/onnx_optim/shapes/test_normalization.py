"""Normalisations with several outputs against onnxruntime."""

import numpy as np
import pytest


def ones(*dims):
    return np.ones(dims, np.float32)


@pytest.mark.parametrize("opset", [9, 14, 15])
def test_batch_normalization(check, runtime_input, opset):
    (found,) = check(
        "BatchNormalization", [runtime_input(["n", 3, "h"]), *[ones(3)] * 4], opset=opset
    )
    assert found.shape == ["n", 3, "h"]


def test_batch_normalization_training(check, runtime_input):
    found = check(
        "BatchNormalization",
        [runtime_input(["n", 3, "h"]), *[ones(3)] * 4],
        n_outputs=3,
        training_mode=1,
    )
    assert found[1].shape == found[2].shape == [3]


@pytest.mark.parametrize("axis", [-1, 1, 2])
def test_layer_normalization(check, runtime_input, axis):
    scale = ones(4) if axis != 1 else ones(3, 4)
    check("LayerNormalization", [runtime_input(["n", 3, 4]), scale, scale], n_outputs=3, axis=axis)


def test_group_and_rms_normalization(check, runtime_input):
    check("GroupNormalization", [runtime_input(["n", 4, "h"]), ones(4), ones(4)], num_groups=2)
    check("RMSNormalization", [runtime_input(["n", 3, 4]), ones(4)], opset=23)


def test_simplified_layer_normalization(check, runtime_input):
    check("SimplifiedLayerNormalization", [runtime_input(["n", 3, 4]), ones(4)], opset=17, axis=-1)
