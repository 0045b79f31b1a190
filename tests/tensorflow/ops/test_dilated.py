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


def channels_in_blocks(x: Any) -> Any:
    """Half of the channels in each entry."""
    blocks = tf.space_to_batch(x, [2, 2, 2], [[0, 0]] * 3)
    return tf.batch_to_space(tf.nn.conv2d(blocks, W[:, :, :2], 1, "VALID"), [2, 2, 2], [[0, 0]] * 3)


def batch_as_a_spatial_axis(x: Any) -> Any:
    """A convolution along two axes, the first of which is that of the entries."""
    blocks = tf.space_to_batch(x[:, 0], [2], [[0, 0]])
    weights = tf.concat([W[:1], W[:1, :, :1]], 2)
    made = tf.nn.conv2d(tf.expand_dims(blocks, 0), weights, 1, "VALID")
    return tf.batch_to_space(tf.squeeze(made, [0]), [2], [[0, 0]])


@pytest.mark.parametrize("function", [channels_in_blocks, batch_as_a_spatial_axis])
@pytest.mark.parametrize("dynamic", [False, True])
def test_blocks_along_other_axes(function: Callable[[Any], Any], dynamic: bool) -> None:
    sizes = {0: "n"} | ({2: "w"} if function is batch_as_a_spatial_axis else {})
    x = data(2, 12, 14, 4)
    traced = tf.function(function, autograph=False)
    onx = to_onnx(traced, (x,), dynamic_shapes=(sizes if dynamic else {},))
    for part in (x, x[:1, :, :12] if dynamic and 2 in sizes else x):
        agree(onx, [function(part)], part)
    (conv,) = (node for node in onx.graph.node if node.op_type == "Conv")
    assert {2} != {i for a in conv.attribute if a.name == "dilations" for i in a.ints} - {1}


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
