"""Recurrent layers against onnxruntime."""

import numpy as np
import pytest

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def ones(*dims):
    return np.ones(dims, np.float32)


@pytest.mark.parametrize("op_type", sorted(GATES))
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_recurrent(check, runtime_input, op_type, direction):
    gates, count = GATES[op_type], 2 if direction == "bidirectional" else 1
    inputs = [runtime_input(["t", "n", 3]), ones(count, gates * 5, 3), ones(count, gates * 5, 5)]
    n_outputs = 3 if op_type == "LSTM" else 2
    found = check(op_type, inputs, n_outputs=n_outputs, hidden_size=5, direction=direction)
    assert found[0].shape == ["t", count, "n", 5]
    check(op_type, inputs, n_outputs=n_outputs, direction=direction, need_runs=0)


def test_batch_first(check, runtime_input):
    inputs = [runtime_input(["n", "t", 3]), ones(1, 20, 3), ones(1, 20, 5)]
    found = check("LSTM", inputs, n_outputs=3, hidden_size=5, layout=1, need_runs=0)
    assert found[0].shape == ["n", "t", 1, 5]
    assert found[1].shape == ["n", 1, 5]
