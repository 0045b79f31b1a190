"""What a graph computes from constants is in the model as TensorFlow computes it."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import onnx
import tensorflow as tf

from yobx.tensorflow import to_onnx
from yobx.tensorflow.constants import computed_constants
from yobx.tensorflow.graph_walk import needed_operations
from yobx.verification import check_conversion

X = np.random.default_rng(0).normal(size=(3, 33)).astype(np.float32)
SPEC = tf.TensorSpec((None, 33), tf.float32)


def scale() -> Any:
    """Differences of neighbours, which show the last bit of a logarithm."""
    steps = tf.math.log(1.0 + tf.linspace(0.0, 8000.0, 34) / 700.0)
    return (steps[1:] - steps[:-1]) / steps[1]


def operators(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def constants_of(function: Any, *left_alone: str) -> list[np.ndarray]:
    graph = tf.function(function, input_signature=[SPEC]).get_concrete_function()
    operations = needed_operations(graph.outputs)
    found = computed_constants(operations, graph.outputs, left_alone)
    return [array for arrays in found.values() for array in arrays]


def test_constants_are_those_of_tensorflow_to_the_last_bit() -> None:
    model = to_onnx(tf.function(lambda x: x * scale()), (X,))
    assert operators(model) == ["Mul"]
    (stored,) = [onnx.numpy_helper.to_array(t) for t in model.graph.initializer]
    np.testing.assert_array_equal(stored, scale().numpy())


def test_constants_inside_loops_and_calls() -> None:
    @tf.function
    def inner(x: Any) -> Any:
        return x * scale()

    def outer(x: Any) -> Any:
        return tf.while_loop(lambda i, _: i < 2, lambda i, y: (i + 1, inner(y)), (0, x))[1]

    report = check_conversion(tf.function(outer), (X,))
    assert report.passed, report.text()


def test_only_what_rounds_is_computed() -> None:
    moved = constants_of(lambda x: x + tf.reverse(tf.reshape(tf.range(33.0), (1, 33)), [1]))
    assert moved == []
    assert len(constants_of(lambda x: x + scale())) == 1
    assert constants_of(lambda x: tf.gather(x, tf.range(3) * 2, axis=1)) == []


def test_what_is_not_constant_is_left() -> None:
    draw = constants_of(lambda x: x + tf.random.normal((33,)) * 2.0)
    assert draw == []
    variable = tf.Variable(2.0)
    assert constants_of(lambda x: x + tf.sin(variable)) == []
    assert constants_of(lambda x: x[:1, :1] + tf.sin(tf.fill((1 << 17, 1), 2.0))) == []


def test_types_with_a_converter_of_ones_own_are_left() -> None:
    def function(x: Any) -> Any:
        return x + tf.sin(tf.constant(2.0))

    assert len(constants_of(function)) == 1
    assert constants_of(function, "Sin") == []
    called = []

    def sine(g: Any, sts: Any, outputs: list[str], op: Any, **_: Any) -> str:
        called.append(op.name)
        return str(g.op.Sin(op.inputs[0].name, outputs=outputs))

    to_onnx(tf.function(function), (X,), extra_converters={"Sin": sine})
    assert called


def test_a_filter_bank_is_the_layers_own() -> None:
    layer = keras.layers.MelSpectrogram(fft_length=64, sequence_stride=16, num_mel_bins=8)
    model = keras.Sequential([keras.Input((None,)), layer])
    sound = np.random.default_rng(4).normal(size=(2, 400)).astype(np.float32)
    report = check_conversion(model, (sound,), dynamic_shapes=({0: "b", 1: "t"},), seed=4)
    assert report.passed, report.text()
    # A filter that is a unit in the last place off in its logarithms takes the whole allowance.
    assert max(output.budget_used or 0.0 for output in report.outputs) < 0.5


def test_constants_that_wait_for_something_are_left() -> None:
    def function(x: Any) -> Any:
        with tf.control_dependencies([tf.debugging.assert_less(x, 100.0)]):
            return x * tf.sin(tf.constant([2.0] * 33))

    report = check_conversion(tf.function(function), (X,))
    assert report.passed, report.text()


def test_constants_for_another_device() -> None:
    def function(x: Any) -> Any:
        with tf.device("/GPU:0"):
            return x * tf.sin(tf.constant([2.0] * 33))

    assert check_conversion(tf.function(function), (X,)).passed


def test_what_fails_in_a_branch_that_never_runs_is_left_there() -> None:
    def function(x: Any) -> Any:
        singular = tf.linalg.inv(tf.zeros((1, 1)))
        return x * singular

    def choice(x: Any) -> Any:
        return tf.cond(tf.reduce_sum(x) > 1e9, lambda: function(x), lambda: x * scale())

    assert check_conversion(tf.function(choice), (X,)).passed


def test_a_window_that_is_folded_is_no_part_of_a_gelu() -> None:
    """Its last product is gone when the product with it is looked at."""
    x = np.random.default_rng(5).normal(size=(2, 64)).astype(np.float32)
    function = tf.function(lambda v: v * tf.signal.kaiser_window(64), autograph=False)
    report = check_conversion(function, (x,))
    assert report.passed, report.text()
