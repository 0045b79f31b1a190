"""Recurrent layers become one node where their body is exactly that layer, else they stay loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import tensorflow as tf

from conformance.tf_ops.cases import Arg, Case, check
from conformance.tf_ops.recurrent import APART, FUSED, LAYERS, LOOPS, randomised
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


@pytest.mark.parametrize("name", [name for name in FUSED if name.startswith("both_ways")])
@pytest.mark.parametrize("dynamic", [False, True])
def test_one_node_for_both_directions(name: str, dynamic: bool) -> None:
    kind, layer = FUSED[name]
    assert kinds(randomised(layer), dynamic).count(kind) == 1


@pytest.mark.parametrize("name", APART)
def test_unlike_directions_stay_apart(name: str) -> None:
    kind, layer = APART[name]
    assert kinds(randomised(layer), dynamic=True).count(kind) == 2


def test_activations_of_both_directions_are_said_twice() -> None:
    _, layer = FUSED["both_ways_activations"]
    function = tf.function(randomised(layer).__call__)
    nodes = to_onnx(function, (np.zeros((2, 4, 3), np.float32),)).graph.node
    node = next(n for n in nodes if n.op_type == "LSTM")
    values = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    assert values["activations"] == [b"HardSigmoid", b"Softsign", b"Softsign"] * 2
    assert values["activation_alpha"] == pytest.approx([1 / 6] * 2)
    assert values["activation_beta"] == [0.5] * 2


def test_few_nodes_beside_it() -> None:
    """No zero states, one reading of the sizes, no reversals."""
    _, layer = FUSED["both_ways"]
    assert kinds(randomised(layer), dynamic=False) == ["Transpose", "LSTM", "Transpose", "Reshape"]
    assert len(kinds(randomised(layer), dynamic=True)) == 10


def test_a_start_that_is_not_zero() -> None:
    layer = randomised(LAYERS.LSTM(4, return_sequences=True, return_state=True))
    args = (Arg("float32", ("n", "t", 3)), Arg("float32", ("n", 4)), Arg("float32", ("n", 4)))
    function = lambda x, h, c: layer(x, initial_state=[h, c])  # noqa: E731
    sizes = ({"n": 5, "t": 7}, {"n": 1, "t": 1})
    check(Case("started", function, args, ulps=32, floor=1.0, bindings=sizes))


def test_the_first_turns_of_a_reversed_list() -> None:
    """A loop that stops before the end of what is reversed reads the last items only."""
    w = tf.constant(np.random.default_rng(0).uniform(-1, 1, (7, 4)).astype(np.float32))

    def last(x: Any, count: Any) -> Any:
        items = tf.reverse(x, [0])
        array = tf.TensorArray(tf.float32, size=tf.shape(x)[0]).unstack(items)

        def step(i: Any, h: Any) -> Any:
            z = tf.matmul(array.read(i), w[:3]) + tf.matmul(h, w[3:])
            return i + 1, tf.tanh(z)

        start = (tf.constant(0), tf.zeros([tf.shape(x)[1], 4]))
        return tf.while_loop(lambda i, h: i < count, step, start)[1]

    args = (Arg("float32", ("t", "n", 3)), Arg("int32", (), 2, 3))
    sizes = ({"n": 5, "t": 7}, {"n": 1, "t": 2})
    check(Case("stopped", last, args, ulps=32, floor=1.0, bindings=sizes))


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


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_onnxruntime_alone_hides_nan_in_gates(kind: str) -> None:
    """A bare node with biases gives numbers for a NaN: the documentation says so."""
    gates = {"LSTM": 4, "GRU": 3}[kind]
    rng = np.random.default_rng(0)
    names = ["x", "w", "r", "b"]
    node = onnx.helper.make_node(kind, names, ["y"], hidden_size=2)
    shapes = [(3, 1, 2), (1, 2 * gates, 2), (1, 2 * gates, 2), (1, 4 * gates)]
    floats = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        [node],
        "bare",
        [
            onnx.helper.make_tensor_value_info(n, floats, s)
            for n, s in zip(names, shapes, strict=True)
        ],
        [onnx.helper.make_tensor_value_info("y", floats, None)],
    )
    model = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10
    )
    feeds = {n: rng.normal(size=s).astype(np.float32) for n, s in zip(names, shapes, strict=True)}
    feeds["x"][1, 0, 0] = np.nan
    session = onnxruntime.InferenceSession(model.SerializeToString())
    assert np.isfinite(session.run(None, feeds)[0]).all()
