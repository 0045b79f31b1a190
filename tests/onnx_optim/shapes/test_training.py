"""Losses and optimisers."""

import numpy as np
import pytest
from onnx import TensorProto as T

TRAINING = "ai.onnx.preview.training"


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses(check, runtime_input, reduction):
    scores, target = runtime_input(["n", 3, "h"]), runtime_input(["n", "h"], T.INT64)
    check("NegativeLogLikelihoodLoss", [scores, target], reduction=reduction)
    check("SoftmaxCrossEntropyLoss", [scores, target], n_outputs=2, opset=13, reduction=reduction)


@pytest.mark.parametrize(
    ("op_type", "inputs", "outputs"), [("Adagrad", 3, 2), ("Momentum", 3, 2), ("Adam", 4, 3)]
)
def test_optimizers(check, runtime_input, op_type, inputs, outputs):
    rate, step = np.array(0.1, np.float32), np.array(1)
    pair = [runtime_input(["n", 3]), runtime_input([4, "m"])]
    extra = (
        {"alpha": 0.9, "beta": 0.8, "mode": "standard", "norm_coefficient": 0.1}
        if op_type == "Momentum"
        else {}
    )
    found = check(
        op_type,
        [rate, step, *pair * inputs],
        n_outputs=2 * outputs,
        domain=TRAINING,
        opset=1,
        need_runs=0,
        **extra,
    )
    assert [item.shape for item in found[:2]] == [["n", 3], [4, "m"]]
    assert [item.shape for item in found[2:4]] == [["n", 3], [4, "m"]]


def test_gradient(check, runtime_input):
    inputs = [runtime_input(["n", 3]), runtime_input(["m"])]
    found = check(
        "Gradient",
        inputs,
        n_outputs=2,
        domain=TRAINING,
        opset=1,
        need_runs=0,
        xs=["i0", "i1"],
        y="z",
    )
    assert found[1].shape == ["m"]
