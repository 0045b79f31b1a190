"""Bodies of branches and loops, through converters like those a user could write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.tensorflow.helpers import agree, data, dims
from yobx.errors import ConversionError, InternalError
from yobx.tensorflow import convert_function_body, to_onnx
from yobx.tensorflow.conversion import current_conversion


def _convert_if(g, sts, outputs, op):
    branches = []
    for attribute in ("then_branch", "else_branch"):
        body = g.subgraph(f"{op.name}_{attribute}")
        inputs = [tensor.name for tensor in op.inputs[1:]]
        name = op.get_attr(attribute).name
        values = convert_function_body(body, name, inputs, prefix=f"{op.name}/{attribute}")
        for i, value in enumerate(values):
            body.make_tensor_output(g.unique_name(f"{op.name}/{attribute}_{i}"), source=value)
        branches.append(body)
    return g.op.If(
        op.inputs[0].name, then_branch=branches[0], else_branch=branches[1], outputs=outputs
    )


def _condition(x: Any) -> Any:
    """The condition of ``tf.cond`` is computed by an op that this test converts itself."""
    return tf.reduce_sum(x) > 0.0


CONVERTERS = {"If": _convert_if, "StatelessIf": _convert_if}


def test_branches_read_outer_values_and_variables() -> None:
    weight = tf.Variable(data(3, 2), name="weight")

    @tf.function
    def helper(x):
        return x @ weight

    def f(x):
        y = x * 2.0
        return tf.cond(
            _condition(x),
            lambda: helper(y) + tf.cond(_condition(y - 1.0), lambda: 1.0, lambda: y[0, 0]),
            lambda: -helper(x),
        )

    x = np.abs(data(4, 3))
    onx = to_onnx(f, (x,), extra_converters=CONVERTERS)
    assert [i.name for i in onx.graph.initializer].count("weight") == 1
    assert dims(onx.graph.output[0]) == ["batch", 2]
    for feed in (x, -x, x * 0.01):
        agree(onx, [tf.function(f)(feed)], feed, rtol=1e-4)


def test_the_same_function_twice_with_different_variables() -> None:
    @tf.function
    def scale(x, w):
        return x * w.read_value() + w

    a, b = tf.Variable(2.0), tf.Variable(5.0)
    x = data(3)
    onx = to_onnx(lambda x: scale(x, a) - scale(x, b), (x,))
    agree(onx, [(x * 2 + 2) - (x * 5 + 5)], x)


def test_captured_tables_are_reached_through_calls() -> None:
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(
            tf.constant([1, 2], tf.int64), tf.constant([10.0, 20.0])
        ),
        default_value=-1.0,
    )

    @tf.function
    def inner(x):
        return table.lookup(x)

    def find(g, sts, outputs, op):
        handle = current_conversion().resource(op.inputs[0].name)
        keys, values = tf.raw_ops.LookupTableExportV2(
            table_handle=handle, Tkeys=tf.int64, Tvalues=tf.float32
        )
        result = g.make_initializer(None, np.float32([-1.0]))
        for key, value in zip(keys.numpy(), values.numpy(), strict=True):
            same = g.op.Equal(op.inputs[1].name, np.array(key))
            result = g.op.Where(same, np.array(value), result)
        return g.op.Identity(result, outputs=outputs)

    x = np.array([2, 7, 1], np.int64)
    onx = to_onnx(
        lambda x: tf.function(inner)(x) * 1.0,
        (x,),
        extra_converters={"LookupTableFindV2": find},
    )
    agree(onx, [np.float32([20, -1, 10])], x)


def test_wrong_number_of_values() -> None:
    def convert(g, sts, outputs, op):
        convert_function_body(g, op.get_attr("then_branch").name, [])

    with pytest.raises(InternalError, match="one value per input"):
        to_onnx(
            lambda x: tf.cond(_condition(x), lambda: x, lambda: -x),
            (data(2),),
            extra_converters={"If": convert, "StatelessIf": convert},
        )


def test_outside_of_a_conversion() -> None:
    with pytest.raises(InternalError, match="called by to_onnx"):
        current_conversion()


def test_resource_as_an_output() -> None:
    weight = tf.Variable(1.0)
    function = tf.function(lambda x: x + weight).get_concrete_function(tf.TensorSpec((2,)))
    agree(to_onnx(function), [data(2) + 1], data(2))
    with pytest.raises(ConversionError, match="dtype variant"):
        to_onnx(
            lambda x: tf.raw_ops.TensorListFromTensor(
                tensor=x, element_shape=tf.constant([], tf.int32)
            ),
            (data(2),),
            extra_converters={
                "TensorListFromTensor": lambda g, sts, outputs, op: "",
                "Identity": lambda g, sts, outputs, op: "",
            },
        )
