"""Recurrent layers become one node where their body is exactly that layer, else they stay loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from conformance.tf_ops.cases import Arg, Case, check
from conformance.tf_ops.recurrent import FUSED, LAYERS, LOOPS, randomised
from conformance.tf_ops.running import run_onnx
from yobx.tensorflow import to_onnx


def kinds(layer: Any, dynamic: bool, **call: Any) -> list[str]:
    x = np.zeros((2, 4, 3), np.float32)
    function = tf.function(lambda x: layer(x, **call))
    shapes = ({0: "n", 1: "t"} if dynamic else {},)
    nodes = to_onnx(function, (x,), dynamic_shapes=shapes).graph.node
    return [n.op_type for n in nodes]


@pytest.mark.parametrize("name", FUSED)
@pytest.mark.parametrize("dynamic", [False, True])
def test_one_node(name: str, dynamic: bool) -> None:
    kind, layer = FUSED[name]
    found = kinds(randomised(layer), dynamic)
    assert kind in found
    assert not {"Scan", "Loop"} & set(found)


@pytest.mark.parametrize("name", LOOPS)
def test_other_bodies_stay_loops(name: str) -> None:
    found = kinds(randomised(LOOPS[name]), dynamic=False)
    assert "Scan" in found
    assert not {"LSTM", "GRU", "RNN"} & set(found)


def test_a_mask_stays_a_loop() -> None:
    mask = tf.constant([[True, True, False, False], [True, True, True, False]])
    found = kinds(randomised(LAYERS.LSTM(4)), dynamic=False, mask=mask)
    assert "LSTM" not in found


def test_gates_in_another_order_stay_a_loop() -> None:
    """The gates of an LSTM taken in another order are another function of the same weights."""
    w = tf.constant(np.random.default_rng(0).uniform(-1, 1, (7, 16)).astype(np.float32))

    def swapped(x: Any) -> Any:
        def step(state: Any, item: Any) -> Any:
            h, c = state
            z = tf.matmul(item, w[:3]) + tf.matmul(h, w[3:])
            f, i, g, o = tf.split(z, 4, axis=1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            return tf.sigmoid(o) * tf.tanh(c), c

        zero = tf.zeros([tf.shape(x)[1], 4])
        return tf.scan(step, x, (zero, zero))

    check(Case("swapped", swapped, (Arg("float32", (4, "n", 3)),), ulps=32, floor=1.0,
               bindings=({"n": 2},)))  # fmt: skip


@pytest.mark.parametrize("name", ["lstm_all", "gru_all", "rnn_all", "both_ways"])
@pytest.mark.parametrize(("n", "t"), [(0, 3), (2, 0), (0, 0)])
def test_nothing_to_read(name: str, n: int, t: int) -> None:
    """Keras itself cannot run these; shapes follow from the layer, states stay as they start."""
    _, layer = FUSED[name]
    layer = randomised(layer)
    x = np.zeros((2, 4, 3), np.float32)
    model = to_onnx(tf.function(layer.__call__), (x,), dynamic_shapes=({0: "n", 1: "t"},))
    rows, *states = run_onnx(model, [np.zeros((n, t, 3), np.float32)])
    units = layer.compute_output_shape((2, 4, 3))
    width = (units[0] if isinstance(units, list | tuple) and states else units)[-1]
    assert rows.shape == (n, t, width)
    for state in states:
        np.testing.assert_array_equal(state, np.zeros((n, width), np.float32))
