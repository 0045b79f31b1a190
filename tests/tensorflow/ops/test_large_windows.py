"""Windows of pooling that are larger than the image."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import tensorflow as tf

from yobx.errors import TraceError
from yobx.tensorflow import to_onnx

POOLS = [
    lambda x, k, s: tf.nn.max_pool2d(x, k, s, "VALID"),
    lambda x, k, s: tf.nn.avg_pool2d(x, k, s, "VALID"),
]


@pytest.mark.parametrize("pool", POOLS, ids=["max", "mean"])
def test_known_sizes_are_refused(pool: Callable[..., Any]) -> None:
    x = np.ones((1, 2, 2, 1), np.float32)
    with pytest.raises(TraceError):
        to_onnx(tf.function(lambda x: pool(x, 3, 2)), (x,), dynamic_shapes=({},))


@pytest.mark.parametrize("pool", POOLS, ids=["max", "mean"])
@pytest.mark.parametrize(("size", "window", "stride"), [(2, 3, 1), (1, 3, 2), (1, 5, 3)])
def test_open_sizes_give_no_window(
    pool: Callable[..., Any], size: int, window: int, stride: int
) -> None:
    x = np.ones((1, 8, 9, 1), np.float32)
    function = tf.function(lambda x: pool(x, window, stride))
    onx = to_onnx(function, (x,), dynamic_shapes=({1: "h", 2: "w"},))
    session = onnxruntime.InferenceSession(onx.SerializeToString())
    given = {session.get_inputs()[0].name: x[:, :size, :size]}
    assert session.run(None, given)[0].shape == (1, 0, 0, 1)


@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool"])
def test_onnxruntime_rounds_a_negative_quotient_towards_zero(op_type: str) -> None:
    """The standard says floor((2 - 3) / 2) + 1, which is 0; documented until this changes."""
    graph = onnx.parser.parse_graph(
        f"g (float[1, 1, n] x) => (float[1, 1, m] y)"
        f" {{ y = {op_type} <kernel_shape = [3], strides = [2]> (x) }}"
    )
    opset = [onnx.helper.make_opsetid("", 21)]
    model = onnx.helper.make_model(graph, opset_imports=opset, ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    assert session.run(None, {"x": np.ones((1, 1, 2), np.float32)})[0].shape == (1, 1, 1)
