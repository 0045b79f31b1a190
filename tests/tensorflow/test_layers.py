from __future__ import annotations

import pytest

from yobx.tensorflow.layers import LayerIndex


@pytest.mark.parametrize(
    ("operation", "path"),
    [
        ("model_1/dense_1/MatMul", "model/dense"),
        ("model_1/dense_1_2/MatMul", "model/dense_1"),
        ("model_1/dense_3/MatMul", "model/dense"),
        ("model_1/block_1/conv_1/convolution", "model/block/conv"),
        ("model_1/dense_1/Cast/ReadVariableOp", "model/dense"),
        ("Identity", ""),
        ("strange_1/Add", ""),
        ("model_1/dense_1/while/model_1/dense_1/while/MatMul", "model/dense"),
        ("model_1/block_1/while/model_1/block_1/conv_1/Add", "model/block/conv"),
    ],
)
def test_scopes_of_keras(operation: str, path: str) -> None:
    assert LayerIndex(["model", "dense", "dense_1", "block", "conv"]).path(operation) == path


def test_without_layers_there_are_no_paths() -> None:
    assert LayerIndex().path("a/b/Relu") == ""
    assert LayerIndex().path("Relu") == ""
