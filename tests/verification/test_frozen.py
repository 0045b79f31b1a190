"""Sizes that a number keeps fixed are named, with the line of the number."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper, numpy_helper

from yobx.verification import check_conversion

HERE = Path(__file__)
X = np.arange(8, dtype=np.float32).reshape(2, 4)


def line_of(text):
    """Where this file has a line, as reports name it."""
    lines = HERE.read_text().splitlines()
    return f"{HERE.name}:{next(i for i, line in enumerate(lines, 1) if line.strip() == text)}"


def told(report):
    assert report.failed_phase == "run"
    return report.phase("run").messages[0]


def reshape(sizes):
    """An ONNX model that reshapes to numbers."""
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", "sizes"], ["y"], name="fold")],
        "frozen",
        [helper.make_tensor_value_info("x", 1, ["B", 4])],
        [helper.make_tensor_value_info("y", 1, ["N", 2, 2])],
        [numpy_helper.from_array(np.array(sizes, dtype=np.int64), "sizes")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def folded(x):
    return x.reshape(2, 2, 2)


def test_a_number_in_the_source():
    text = told(check_conversion(reshape([2, 2, 2]), (X,), reference=folded))
    place = line_of("return x.reshape(2, 2, 2)")
    assert text.startswith("the source fails under B=4 (B is fixed to 2 at ")
    assert f"{place}, in folded): ValueError: cannot reshape" in text


def test_a_number_in_the_converted_model():
    text = told(check_conversion(reshape([2, 2, 2]), (X,), reference=lambda x: x.reshape(-1, 2, 2)))
    assert text.startswith(
        'under B=5 (B was fixed to 2 when the model was traced, in node Reshape #0 "fold"): '
        "[ONNXRuntimeError]"
    )


def test_the_symbol_that_is_fixed_is_told_from_those_that_are_not():
    model = reshape([2, 2, 2])
    model.graph.input.append(helper.make_tensor_value_info("z", 1, ["S"]))
    report = check_conversion(model, (X, np.ones(3, np.float32)), reference=lambda x, z: folded(x))
    assert "(B is fixed to 2 at " in told(report)


def test_a_source_that_fails_with_its_own_sample_has_no_fixed_size():
    def broken(x):
        raise ValueError("no luck")

    text = told(check_conversion(reshape([-1, 2, 2]), (X,), reference=broken))
    assert "fixed" not in text
    assert f"{HERE.name}:" in text


def test_with_sizes_of_one_alone():
    report = check_conversion(reshape([2, 2, 2]), (X,), reference=folded, bindings=["ones"])
    assert told(report).startswith("the source runs under no binding (B is fixed to 2 at ")


@pytest.mark.parametrize("framework", ["jax", "tensorflow"])
def test_the_line_in_a_traced_function(framework):
    if framework == "jax":
        jnp = pytest.importorskip("jax.numpy")

        def function(x):
            return jnp.reshape(x, (2, 2, 2))

        text = told(check_conversion(function, (jnp.asarray(X),)))
        place = line_of("return jnp.reshape(x, (2, 2, 2))")
    else:
        tf = pytest.importorskip("tensorflow")

        @tf.function
        def function(x):
            return tf.reshape(x, (2, 2, 2))

        text = told(check_conversion(function, (X,)))
        place = line_of("return tf.reshape(x, (2, 2, 2))")
    assert text.startswith("the source fails under batch=4 (batch is fixed to 2 at ")
    assert place in text


def test_a_number_of_the_sample_in_a_layer():
    keras = pytest.importorskip("keras")

    class Fold(keras.layers.Layer):
        def call(self, x):
            return keras.ops.reshape(x, (x.shape[0] or 2, 2, 2))

    text = told(check_conversion(Fold(name="fold"), (X,)))
    assert text.startswith("under batch=5 (batch was fixed to 2 when the model was traced, in node")
    assert line_of("return keras.ops.reshape(x, (x.shape[0] or 2, 2, 2))") in text
