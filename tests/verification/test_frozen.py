"""Sizes that a number keeps fixed are named, with the line of the number."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper, numpy_helper, parser

from pytest_yobx.telling import brief
from yobx.errors import TraceError
from yobx.verification import ConversionReport, check_conversion
from yobx.verification.frozen import FROZEN
from yobx.verification.preparation import NEEDED

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
    assert text.startswith("the source fails under B=5; B=4; B=7; B=8; B=1 (B is fixed to 2 at ")
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
    assert told(report).startswith("the source fails under B=1 (B is fixed to 2 at ")


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
    refused = "batch=5; batch=4; batch=7; batch=8; batch=1"
    assert text.startswith(f"the source fails under {refused} (batch is fixed to 2 at ")
    assert place in text


def test_a_number_of_the_sample_in_a_layer():
    keras = pytest.importorskip("keras")

    class Fold(keras.layers.Layer):
        def call(self, x):
            return keras.ops.reshape(x, (x.shape[0] or 2, 2, 2))

    text = told(check_conversion(Fold(name="fold"), (X,)))
    assert text.startswith("under batch=5 (batch was fixed to 2 when the model was traced, in node")
    assert line_of("return keras.ops.reshape(x, (x.shape[0] or 2, 2, 2))") in text
    report = check_conversion(Fold(name="fold"), (X,))
    assert report.cause.title == FROZEN
    assert report.cause.text == text.partition("(")[2].partition("): ")[0]
    assert report.cause.hint == (
        "write keras.ops.shape(x)[0] in place of x.shape[0]; or fix the size with {} for that "
        "input in dynamic_shapes"
    )


def empty_at_one():
    """A model that onnxruntime runs with every size but 1, where something becomes empty."""
    return parser.parse_model(
        """<ir_version: 10, opset_import: ["" : 21]>
        g (float[n,4] x) => (float[m,k] y)
        <int64[1] last = {-1}, int64[1] one = {1}, int64[1] big = {1000}, int64[1] zero = {0}>
        { rest = Slice(x, one, big, zero)
          rows = Shape<start=0,end=1>(rest)
          sizes = Concat<axis=0>(rows, last)
          y = Reshape(rest, sizes) }"""
    )


def test_a_size_that_is_wrong_for_itself_is_no_fixed_one():
    report = check_conversion(empty_at_one(), (X,), reference=lambda x: x[1:])
    assert told(report).startswith("under n=1: [ONNXRuntimeError]")
    assert "fixed" not in str(report)
    assert "outputs    y OK (exact), under n=5; n=7" in str(report)
    assert "wrong" not in str(report)


def test_a_reason_is_told_once_for_all_sizes():
    text = str(check_conversion(reshape([2, 2, 2]), (X,), reference=folded))
    assert text.count("cannot reshape") == 1
    assert "\n binding" not in text
    assert "\n outputs" not in text


def test_where_other_sizes_do_the_reason_is_told_with_them():
    def pairs(x):
        if len(x) % 2 and len(x) > 1:
            raise ValueError(f"{len(x)} rows are no pairs")
        return x.reshape(-1, 2, 2)

    report = check_conversion(reshape([-1, 2, 2]), (X,), reference=pairs)
    assert report.passed
    notes = [binding.note for binding in report.bindings if binding.note]
    assert notes == [
        "the source refuses B=5: ValueError: 5 rows are no pairs; B=4 was tried instead",
        "the source refuses B=7: for the same reason; B=5 was tried instead",
        "the source refuses B=5: for the same reason; B=8 was tried instead",
    ]


@pytest.mark.parametrize("traced", [True, False])
def test_a_difference_that_no_trace_explains_is_of_no_size(traced: bool):
    """All traces are as near to the model as to the source: they say nothing."""
    tf = pytest.importorskip("tensorflow")

    def similar(x, y):
        return tf.reduce_mean(x - y + 9e-4, axis=1) * x.shape[1]

    def off(g, sts, outputs, op):
        right = g.op.Sub(op.inputs[0].name, op.inputs[1].name)
        return g.op.Mul(right, np.float32(1 + 1e-5), outputs=outputs)

    report = check_conversion(
        tf.function(similar) if traced else similar,
        (X, X[::-1] - 3.0),
        dynamic_shapes=({0: "rows"}, {0: "rows"}),
        extra_converters={"Sub": off},
    )
    assert report.failed_phase == "values"
    assert not any("frozen" in note or "eagerly" in note for note in report.notes)
    assert report.localization.verdict == "converter"


def test_a_number_of_a_trace_that_makes_wrong_values_only():
    tf = pytest.importorskip("tensorflow")

    @tf.function
    def mean(x, scale):
        return tf.reduce_sum(x, axis=0) / (x.shape[0] or 7) * tf.reduce_max(scale)

    sizes = ({0: "rows"}, {0: "others"})
    report = check_conversion(mean, (X, np.ones(3, np.float32)), dynamic_shapes=sizes)
    assert report.failed_phase == "values"
    place = line_of("return tf.reduce_sum(x, axis=0) / (x.shape[0] or 7) * tf.reduce_max(scale)")
    assert report.cause.title == FROZEN
    assert report.cause.text.startswith("rows is a number in operation ")
    assert report.cause.text.partition(": ")[0].endswith(place)
    assert report.cause.text.partition(": ")[2] == (
        "traced with rows=5 it gives what it gives when it is called, traced with a dynamic rows "
        "it gives what the converted model gives"
    )
    assert report.cause.hint == (
        "write tf.shape(x)[0], or keras.ops.shape(x)[0] in Keras, in place of x.shape[0]; or fix "
        "the size with {} for that input in dynamic_shapes"
    )
    assert "eagerly" not in str(report)


def test_what_is_behind_a_failure_is_told_first():
    report = check_conversion(reshape([2, 2, 2]), (X,), reference=folded, name="fold")
    first, second, third, *_ = str(report).splitlines()
    assert first.startswith("yobx: a SIZE is FIXED in the model itself — model fold (onnx), ")
    assert second.startswith(" cause      B is fixed to 2 at ")
    assert third.startswith(" run ")
    summary = "run: a SIZE is FIXED in the model itself: B is fixed to 2 at "
    assert brief(report.as_dict()).startswith(summary)
    again = ConversionReport.from_dict(report.as_dict())
    assert again == report
    assert report.as_dict()["cause"]["title"] == "a SIZE is FIXED in the model itself"


def test_jax_is_advised_in_its_own_words():
    jnp = pytest.importorskip("jax.numpy")

    def mean(x):
        return jnp.sum(x, axis=0) / int(x.shape[0])

    def fixed(x):
        return jnp.reshape(x, (2, 2, 2))

    report = check_conversion(mean, (jnp.asarray(X),))
    assert report.failed_phase == "trace"
    assert report.cause.title == NEEDED
    assert report.cause.text.startswith("it can be traced where batch is a number, but")
    assert line_of("return jnp.sum(x, axis=0) / int(x.shape[0])") in report.cause.text
    for wrong in (report, check_conversion(fixed, (jnp.asarray(X),))):
        assert "write x.shape[0] itself, which stays symbolic" in wrong.cause.hint
        assert "tf." not in str(wrong)


def test_a_function_of_jax_in_a_trace_of_tensorflow_is_advised_in_words_of_jax():
    jnp = pytest.importorskip("jax.numpy")
    pytest.importorskip("tensorflow")
    from yobx.tensorflow import to_onnx

    def mean(x):
        return jnp.sum(x, axis=0) / int(x.shape[0])

    with pytest.raises(TraceError) as caught:
        to_onnx(mean, (X,))
    assert "write x.shape[0] itself, which stays symbolic" in caught.value.instead
    assert "tf." not in str(caught.value)


def test_generated_inputs_that_the_source_refuses_are_told_as_such():
    keras = pytest.importorskip("keras")
    ids = keras.Input((6,), dtype="int32", name="ids")
    model = keras.Model(ids, keras.layers.Embedding(5, 3)(ids))
    report = check_conversion(model)
    assert report.failed_phase == "run"
    assert report.cause.title == "the model refuses GENERATED inputs"
    assert "seed 0: ids int32 [3, 6] from 0 to 9" in report.cause.text
    assert report.cause.hint.startswith("give inputs that the model takes: ")
    given = check_conversion(model, (np.full((3, 6), 7, np.int32),))
    assert given.failed_phase == "run"
    assert given.cause is None
