"""Dilated convolutions become one operator, whatever TensorFlow writes for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import keras
import pytest
import tensorflow as tf

from tests.tensorflow.helpers import agree, data, dims
from yobx.tensorflow import to_onnx
from yobx.verification.check import run_check

LAYERS = keras.layers

CASES: list[tuple[str, Callable[[], Any], int]] = [
    ("causal", lambda: LAYERS.Conv1D(4, 3, padding="causal", dilation_rate=2), 1),
    ("same 1d", lambda: LAYERS.Conv1D(4, 2, padding="same", dilation_rate=3), 1),
    ("valid 1d", lambda: LAYERS.Conv1D(4, 3, padding="valid", dilation_rate=4), 1),
    ("separable 1d", lambda: LAYERS.SeparableConv1D(4, 3, padding="same", dilation_rate=2), 1),
    ("same 2d", lambda: LAYERS.Conv2D(4, (3, 2), padding="same", dilation_rate=(2, 3)), 2),
    ("one axis", lambda: LAYERS.Conv2D(4, 3, padding="same", dilation_rate=(1, 2)), 2),
    ("valid 2d", lambda: LAYERS.Conv2D(4, 3, dilation_rate=3), 2),
    ("groups", lambda: LAYERS.Conv2D(6, 3, padding="same", dilation_rate=2, groups=3), 2),
    ("depthwise", lambda: LAYERS.DepthwiseConv2D(3, padding="same", dilation_rate=2), 2),
    ("depthwise 1d", lambda: LAYERS.DepthwiseConv1D(3, padding="same", dilation_rate=2), 1),
    ("3d", lambda: LAYERS.Conv3D(2, 2, padding="same", dilation_rate=2), 3),
]


@pytest.mark.parametrize("size", [13, None])
@pytest.mark.parametrize(("name", "layer", "n"), CASES, ids=[name for name, _, _ in CASES])
def test_layers(name: str, layer: Callable[[], Any], n: int, size: int | None) -> None:
    keras.utils.set_random_seed(n)
    inputs = keras.Input((*(size,) * n, 3))
    model = keras.Model(inputs, layer()(inputs))
    axes = dict.fromkeys(range(n + 1)) if size is None else {0: None}
    named = {axis: f"n{axis}" for axis in axes}
    result = run_check(model, (data(2, *(13,) * n, 3),), dynamic_shapes=(named,))
    result.raise_if_failed()
    assert result.model is not None
    ops = Counter(node.op_type for node in result.model.graph.node)
    assert ops["Conv"] == (2 if "separable" in name else 1)
    assert not ops.keys() & {"Reshape", "Shape", "Gather", "Slice"}
    shown = dims(result.model.graph.output[0])
    if size is None and "valid" not in name:
        assert shown[:-1] == [f"n{axis}" for axis in range(n + 1)]


W = data(3, 3, 3, 4, seed=1)


def grouped(
    paddings: list[list[int]], crops: list[list[int]], back: int = 2, strides: int = 1
) -> Any:
    """A convolution between blocks as a user may write it."""

    @tf.function
    def function(x: Any) -> Any:
        blocks = tf.space_to_batch(x, [2, 2], paddings)
        return tf.batch_to_space(
            tf.nn.conv2d(blocks, W, strides, "VALID"), [back, 4 // back], crops
        )

    return function


@pytest.mark.parametrize(
    ("function", "single"),
    [
        (grouped([[1, 1], [2, 2]], [[0, 0], [0, 0]]), True),
        (grouped([[2, 2], [2, 2]], [[1, 1], [0, 2]]), True),
        (grouped([[0, 0], [0, 0]], [[1, 0], [0, 0]]), False),
        (grouped([[2, 2], [2, 2]], [[0, 0], [0, 0]], back=1), False),
        (grouped([[2, 2], [2, 2]], [[0, 0], [0, 0]], strides=2), False),
    ],
)
def test_groups_of_users(function: Any, single: bool) -> None:
    x = data(2, 12, 14, 3)
    onx = to_onnx(function, (x,))
    agree(onx, [function(x)], x)
    (conv,) = (node for node in onx.graph.node if node.op_type == "Conv")
    dilations = next(a.ints for a in conv.attribute if a.name == "dilations")
    assert (list(dilations) == [2, 2]) == single
    assert any(node.op_type == "Reshape" for node in onx.graph.node) != single
