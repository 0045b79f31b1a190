"""Recurrent layers become one node where their body is exactly that layer, else they stay loops."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.tensorflow.ops.op_cases import Arg, Case, check, run_onnx
from yobx.tensorflow import to_onnx
from yobx.tensorflow.ops import register

register()
SIZES = ({"n": 5, "t": 7}, {"n": 1, "t": 1})
STATIC_SIZES = {"n": 3, "t": 4}
LAYERS = keras.layers


def randomised(layer: Any, width: int = 3) -> Any:
    """Return the layer with weights of which none is zero."""
    rng = np.random.default_rng(7)
    layer(np.zeros((1, 2, width), np.float32))
    for weight in layer.weights:
        weight.assign(rng.uniform(-0.8, 0.8, weight.shape))
    return layer


FUSED: dict[str, tuple[str, Any]] = {
    "lstm": ("LSTM", LAYERS.LSTM(5)),
    "lstm_all": ("LSTM", LAYERS.LSTM(5, return_sequences=True, return_state=True)),
    "lstm_backwards": ("LSTM", LAYERS.LSTM(4, go_backwards=True, return_sequences=True)),
    "lstm_no_bias": ("LSTM", LAYERS.LSTM(4, use_bias=False)),
    "gru": ("GRU", LAYERS.GRU(5)),
    "gru_all": ("GRU", LAYERS.GRU(5, return_sequences=True, return_state=True)),
    "gru_no_bias": ("GRU", LAYERS.GRU(4, use_bias=False)),
    "rnn": ("RNN", LAYERS.SimpleRNN(5)),
    "rnn_all": ("RNN", LAYERS.SimpleRNN(5, return_sequences=True, return_state=True)),
    "both_ways": ("LSTM", LAYERS.Bidirectional(LAYERS.LSTM(3, return_sequences=True))),
    "both_ways_gru": ("GRU", LAYERS.Bidirectional(LAYERS.GRU(3), merge_mode="sum")),
}
LOOPS: dict[str, Any] = {
    "reset_before": LAYERS.GRU(4, reset_after=False),
    "hard": LAYERS.LSTM(4, recurrent_activation="hard_sigmoid"),
    "relu": LAYERS.LSTM(4, activation="relu"),
    "rnn_relu": LAYERS.SimpleRNN(4, activation="relu"),
    "linear": LAYERS.GRU(4, activation=None),
}


def cases() -> list[Case]:
    arg = Arg("float32", ("n", "t", 3), -2, 2)
    layers = {**{k: v[1] for k, v in FUSED.items()}, **LOOPS}
    return [
        Case(name, randomised(layer).__call__, (arg,), ulps=32, floor=1.0, bindings=SIZES)
        for name, layer in layers.items()
    ]


@pytest.mark.parametrize("case", cases(), ids=lambda c: c.name)
def test_values(case: Case) -> None:
    check(case, STATIC_SIZES)


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
