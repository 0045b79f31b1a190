"""Conditions of TensorFlow 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.tensorflow.helpers import agree, data
from yobx.errors import UnsupportedAttributeError
from yobx.tensorflow import load_graph_def, to_onnx


def graph_of(function: Any) -> Any:
    """The graph of a function as TensorFlow 1 would write it."""
    graph = tf.Graph()
    with graph.as_default():
        was_on = tf.compat.v1.control_flow_v2_enabled()
        tf.compat.v1.disable_control_flow_v2()
        try:
            x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
            tf.identity(function(x), name="y")
        finally:
            if was_on:
                tf.compat.v1.enable_control_flow_v2()
    return graph.as_graph_def()


def nested(x: Any) -> Any:
    def inner() -> Any:
        return tf.cond(tf.reduce_sum(x) > 10.0, lambda: x * 10.0, lambda: tf.constant([7.0]))

    return tf.cond(tf.reduce_sum(x) > 0.0, inner, lambda: x - 1.0)


@pytest.mark.parametrize("shift", [-3.0, 0.1, 20.0])
def test_nested_conditions_and_constants_in_branches(shift: float) -> None:
    onx = to_onnx(load_graph_def(graph_of(nested), ["x"], ["y"]))
    x = np.abs(data(4)) + np.float32(shift)
    agree(onx, [nested(tf.constant(x))], x)


def test_a_switch_with_a_default_leaves_one_branch() -> None:
    def function(x: Any) -> Any:
        training = tf.compat.v1.placeholder_with_default(False, [], name="training")
        return tf.cond(training, lambda: x * 0.5, lambda: x + 1.0)

    onx = to_onnx(load_graph_def(graph_of(function), ["x"], ["y"]))
    assert {n.op_type for n in onx.graph.node} <= {"Add", "Identity"}
    agree(onx, [data(4) + 1], data(4))


def test_values_of_no_condition_are_refused() -> None:
    def merged(x: Any) -> Any:
        return tf.raw_ops.Merge(inputs=[x, x + 1])[0]

    with pytest.raises(UnsupportedAttributeError, match="not on two sides of one predicate"):
        to_onnx(tf.function(merged), (data(3),))
