"""Recurrent layers become one node where their body is exactly that layer, else they stay loops."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from conformance.tf_ops.cases import Arg, Case

SIZES = ({"n": 5, "t": 7}, {"n": 1, "t": 1})
LAYERS = keras.layers


def randomised(layer: Any, width: int = 3) -> Any:
    """Return the layer with weights of which none is zero."""
    rng = np.random.default_rng(7)
    layer(np.zeros((1, 2, width), np.float32))
    for weight in layer.weights:
        weight.assign(rng.uniform(-0.8, 0.8, weight.shape))
    return layer


class _MixedCell(keras.layers.LSTMCell):  # type: ignore[misc]
    """An LSTM whose gates do not all have the same activation."""

    def call(self, inputs: Any, states: Any, training: bool = False) -> Any:
        """Return the new state twice, and the new cell."""
        h, c = states
        z = keras.ops.matmul(inputs, self.kernel) + keras.ops.matmul(h, self.recurrent_kernel)
        i, f, g, o = keras.ops.split(z + self.bias, 4, axis=-1)
        c = keras.ops.sigmoid(f) * c + keras.ops.relu(i) * keras.ops.tanh(g)
        h = keras.ops.sigmoid(o) * keras.ops.tanh(c)
        return h, [h, c]


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
    "both_ways_all": (
        "LSTM",
        LAYERS.Bidirectional(LAYERS.LSTM(3, return_sequences=True, return_state=True)),
    ),
    "both_ways_apart": (
        "RNN",
        LAYERS.Bidirectional(LAYERS.SimpleRNN(3, return_sequences=True), merge_mode=None),
    ),
    "both_ways_product": (
        "GRU",
        LAYERS.Bidirectional(
            LAYERS.GRU(3, return_sequences=True, use_bias=False), merge_mode="mul"
        ),
    ),
    "rnn_relu": ("RNN", LAYERS.SimpleRNN(4, activation="relu")),
    "rnn_leaky": ("RNN", LAYERS.SimpleRNN(4, activation="leaky_relu", return_sequences=True)),
    "rnn_linear": ("RNN", LAYERS.SimpleRNN(4, activation=None, use_bias=False)),
    "hard": ("LSTM", LAYERS.LSTM(4, recurrent_activation="hard_sigmoid")),
    "relu": ("LSTM", LAYERS.LSTM(4, activation="relu", return_sequences=True)),
    "linear_gates": ("LSTM", LAYERS.LSTM(4, activation=None, recurrent_activation="relu")),
    "softsign": ("GRU", LAYERS.GRU(4, activation="softsign", recurrent_activation="tanh")),
    "linear": ("GRU", LAYERS.GRU(4, activation=None)),
    "reset_before": ("GRU", LAYERS.GRU(4, reset_after=False)),
    "reset_before_all": (
        "GRU",
        LAYERS.GRU(
            3,
            activation="relu",
            recurrent_activation="hard_sigmoid",
            reset_after=False,
            use_bias=False,
            go_backwards=True,
            return_sequences=True,
            return_state=True,
        ),
    ),
    "both_ways_activations": (
        "LSTM",
        LAYERS.Bidirectional(
            LAYERS.LSTM(
                3, activation="softsign", recurrent_activation="hard_sigmoid", return_sequences=True
            )
        ),
    ),
    "both_ways_reset_before": (
        "GRU",
        LAYERS.Bidirectional(LAYERS.GRU(3, activation="relu", reset_after=False)),
    ),
    "both_ways_last": ("LSTM", LAYERS.Bidirectional(LAYERS.LSTM(3), merge_mode="ave")),
}
#: Two layers that one node cannot be.
APART: dict[str, tuple[str, Any]] = {
    "widths": (
        "LSTM",
        LAYERS.Bidirectional(
            LAYERS.LSTM(3, return_sequences=True),
            backward_layer=LAYERS.LSTM(4, return_sequences=True, go_backwards=True),
        ),
    ),
    "biases": (
        "GRU",
        LAYERS.Bidirectional(
            LAYERS.GRU(3), backward_layer=LAYERS.GRU(3, use_bias=False, go_backwards=True)
        ),
    ),
}
LOOPS: dict[str, Any] = {
    "rnn_elu": LAYERS.SimpleRNN(4, activation="elu"),
    "softplus": LAYERS.LSTM(4, activation="softplus"),
    "gelu": LAYERS.GRU(4, activation="gelu"),
    "mixed_gates": LAYERS.RNN(_MixedCell(4)),
}


def cases() -> list[Case]:
    """Return the cases of this module."""
    arg = Arg("float32", ("n", "t", 3), -2, 2)
    layers = {**{k: v[1] for k, v in (FUSED | APART).items()}, **LOOPS}
    return [
        Case(name, randomised(layer).__call__, (arg,), ulps=32, floor=1.0, bindings=SIZES)
        for name, layer in layers.items()
    ]
