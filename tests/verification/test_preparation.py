"""The model that is checked is the model that ``to_onnx`` makes of the same arguments."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
import tensorflow as tf
from onnx import TensorProto, helper

from yobx.tensorflow import to_onnx
from yobx.verification import check_conversion
from yobx.verification.check import prepare_check

DESCRIBED = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["B", "T", 8])


def sequence():
    return keras.Sequential([keras.Input((None, 8), name="steps"), keras.layers.Dense(4)])


@tf.function
def tf_sine(x):
    return tf.sin(x)


def jax_sine(x):
    return jnp.sin(x)


def plain(x):
    return x * 2.0


def two(x, *, y):
    return tf.matmul(x, y)


def shapes_of(model):
    return [
        (value.name, [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim])
        for value in model.graph.input
    ]


@pytest.mark.parametrize(
    ("make", "args"),
    [
        (sequence, None),
        (lambda: tf_sine, (DESCRIBED,)),
        (lambda: tf_sine, (tf.TensorSpec((None, None, 8), tf.float32),)),
        (lambda: tf.function(tf.sin, input_signature=[tf.TensorSpec((None, None))]), None),
        (lambda: jax_sine, (DESCRIBED,)),
        (lambda: jax.jit(jax_sine), (DESCRIBED,)),
        (lambda: plain, (DESCRIBED,)),
    ],
    ids=["keras", "described", "spec", "signature", "jax", "jit", "plain"],
)
def test_open_sizes_stay_open(make, args):
    prepared = prepare_check(make(), args)
    assert shapes_of(prepared.result.model) == shapes_of(to_onnx(make(), args))
    report = prepared.run(None).report
    report.raise_if_failed()
    (_, sizes), *_ = shapes_of(prepared.result.model)
    for symbol in (size for size in sizes if isinstance(size, str)):
        assert len({binding.sizes[symbol] for binding in report.bindings}) > 1, symbol


def test_archive(tmp_path):
    path = tmp_path / "steps.keras"
    sequence().save(path)
    report = check_conversion(path, filename=str(tmp_path / "steps.onnx"))
    report.raise_if_failed()
    assert set(report.bindings[0].sizes) == {"batch", "steps_dim1"}


def test_described_keywords_stay_open():
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", "k"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["k", "m"])
    prepared = prepare_check(two, (x,), kwargs={"y": y})
    assert [sizes for _, sizes in shapes_of(prepared.result.model)] == [["n", "k"], ["k", "m"]]
    prepared.run(None).report.raise_if_failed()


@pytest.mark.parametrize("description", [DESCRIBED, tf.TensorSpec((None, None, 8), tf.float32)])
def test_another_precision_keeps_open_sizes(description):
    prepared = prepare_check(plain, (description,), precision="float64")
    (value,) = prepared.result.model.graph.input
    assert value.type.tensor_type.elem_type == TensorProto.DOUBLE
    ((_, sizes),) = shapes_of(prepared.result.model)
    assert [isinstance(size, str) for size in sizes] == [True, True, False]
    prepared.run(None).report.raise_if_failed()


def test_the_first_difference_is_found_with_other_sizes_than_those_of_the_arrays():
    def negate(g, sts, outputs, op):
        return g.op.Neg(op.inputs[0].name, outputs=outputs, name=op.name)

    report = check_conversion(
        tf_sine, (DESCRIBED,), extra_converters={"Sin": negate}, bindings=[{"B": 2, "T": 11}]
    )
    assert report.failed_phase == "values"
    assert report.localization is not None
    assert report.localization.op_type == "Neg"
    assert np.isfinite(report.outputs[0].max_abs)


def test_an_error_of_a_converter_is_told_with_its_place():
    def faulty(g, sts, outputs, op):
        return {}["nothing"]

    report = check_conversion(tf_sine, (DESCRIBED,), extra_converters={"Sin": faulty})
    assert report.failed_phase == "convert"
    first, place, line = report.phase("convert").messages
    assert first == "KeyError: 'nothing'"
    assert place.startswith("While converting Sin ")
    assert line.startswith("Raised in faulty (")
    assert "test_preparation.py:" in line


def test_what_the_source_says_survives_its_call_stack():
    @tf.function
    def by_five(x):
        return tf.reshape(x, (5, -1))

    x = np.ones((5, 4), np.float32)
    report = check_conversion(by_five, (x,), bindings=[{"batch": 7}])
    assert report.failed_phase == "run"
    assert "must be evenly divisible by 5 but is 28" in report.text()


def test_a_fault_in_a_converter_of_ones_own_is_told_with_its_line():
    def wrong(g, sts, outputs, op):
        return g.op.Tanh("", outputs=outputs)

    function = tf.function(lambda x: tf.tanh(x))
    report = check_conversion(
        function, (np.zeros((2, 3), np.float32),), extra_converters={"Tanh": wrong}
    )
    assert report.failed_phase == "convert"
    line = wrong.__code__.co_firstlineno + 1
    assert f"test_preparation.py:{line}, in wrong." in report.text()
