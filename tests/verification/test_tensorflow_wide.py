"""TensorFlow's graphs in float64: what they give, and that no fault passes by them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import keras
import ml_dtypes
import numpy as np
import onnx
import pytest
import tensorflow as tf

import yobx.tensorflow
from tests.verification.wide_mutations import (
    A_LITTLE_MORE,
    ACQUITTED,
    THROUGH_16_BITS,
    Change,
    break_conversion,
    scale_constant,
    transpose_square,
)
from yobx.verification import check_conversion
from yobx.verification.tensorflow_wide import NotRunError, run_graph

RNG = np.random.default_rng(0)
X = RNG.uniform(0.1, 19.9, (97, 4)).astype(np.float32)
W = RNG.uniform(0.2, 1.0, (4, 4)).astype(np.float32)
OPEN = ({0: "n"},)


def graph_of(function: Callable[..., Any], *arrays: Any) -> tuple[Any, list[Any]]:
    specs = [tf.TensorSpec(array.shape, array.dtype) for array in arrays]
    concrete = tf.function(function).get_concrete_function(*specs)
    return concrete.graph, [*map(tf.constant, arrays), *concrete.captured_inputs]


def both(function: Callable[..., Any], *arrays: Any) -> tuple[Any, Any, tuple[str, ...]]:
    graph, inputs = graph_of(function, *arrays)
    wide, kept = run_graph(graph, inputs, wide=True)
    own, _ = run_graph(graph, inputs, wide=False)
    eager = tf.nest.flatten(function(*map(tf.constant, arrays)))
    for one, other in zip(own, eager, strict=True):
        np.testing.assert_array_equal(one, other)
    return [np.asarray(a) for a in wide], [np.asarray(a) for a in own], kept


# ---- what a graph gives ------------------------------------------------------------------------


def _loop(x: Any) -> Any:
    for _ in tf.range(3):
        x = tf.sin(x) + 1.0
    return x


def _branch(x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.sin(x), lambda: tf.cos(x))


def _case(x: Any) -> Any:
    return tf.switch_case(tf.constant(7) + tf.shape(x)[0], [lambda: tf.cos(x), lambda: tf.sin(x)])


@tf.function
def _called(x: Any) -> Any:
    return tf.sin(x)


@pytest.mark.parametrize(
    ("function", "exact"),
    [
        (tf.sin, np.sin),
        (_loop, lambda x: np.sin(np.sin(np.sin(x) + 1) + 1) + 1),
        (_branch, np.sin),
        (_case, np.sin),
        (lambda x: _called(x) + 1.0, lambda x: np.sin(x) + 1),
        (lambda x: tf.concat([x, tf.sin(x)], 1), lambda x: np.concatenate([x, np.sin(x)], 1)),
        (lambda x: tf.split(tf.sin(x), 2, 1)[1], lambda x: np.sin(x[:, 2:])),
        (lambda x: tf.map_fn(tf.sin, x), np.sin),
        (lambda x: tf.einsum("ab,bc->ac", x, W), lambda x: x @ W.astype(np.float64)),
        (lambda x: tf.abs(tf.cast(x, tf.complex64)), np.abs),
    ],
)
def test_float64_is_exact(function: Callable[..., Any], exact: Callable[..., Any]) -> None:
    (wide,), (own,), kept = both(function, X)
    assert wide.dtype == np.float64
    assert own.dtype == np.float32
    assert kept == ()
    np.testing.assert_allclose(wide, exact(X.astype(np.float64)), rtol=1e-14)


@pytest.mark.parametrize("kind", [tf.float16, tf.bfloat16])
def test_casts_round(kind: Any) -> None:
    (wide,), (own,), _ = both(lambda x: tf.cast(tf.cast(x, kind), tf.float32) * 1.0, X)
    np.testing.assert_array_equal(wide, own)
    assert not np.array_equal(wide, X)


def test_casts_of_wide_values_round_to_float32() -> None:
    (wide,), (own,), _ = both(lambda x: tf.cast(x, tf.float32), X.astype(np.float64) / 3.0)
    np.testing.assert_array_equal(wide, own)
    (wide,), (own,), _ = both(lambda x: tf.cast(x, tf.float32), np.array([2**24 + 1, 3]))
    np.testing.assert_array_equal(wide, own)


def test_casts_to_more_bits_keep_all() -> None:
    (wide,), _, _ = both(lambda x: tf.cast(tf.sin(x), tf.float64), X)
    np.testing.assert_allclose(wide, np.sin(X.astype(np.float64)), rtol=1e-15)


def test_what_overflows_is_infinite() -> None:
    x = np.array([1.0, -1.0, 1e30], np.float32)
    (wide,), _, _ = both(lambda x: 1.0 / (x * 1e30), x)
    assert wide[2] == 0.0


def test_float16_may_have_the_range_of_float32() -> None:
    x = np.array([1.0, 300.0, 6e4], np.float16)
    function = tf.function(lambda x: x * x * x * x * x * x * x * x * x)
    graph = function.get_concrete_function(x).graph
    ((wide,), _) = run_graph(graph, [tf.constant(x)], wide=True, in_range=True)
    np.testing.assert_allclose(wide[:2], x[:2].astype(np.float64) ** 9, rtol=1e-15)
    assert np.isinf(wide[2])


def test_bits_are_those_of_the_type() -> None:
    (bits, after), _, kept = both(lambda x: (tf.bitcast(x, tf.int32), tf.math.nextafter(x, 9e9)), X)
    np.testing.assert_array_equal(bits, X.view(np.int32))
    np.testing.assert_array_equal(after, np.nextafter(X, np.float32(9e9)))
    assert kept == ()


def test_operations_of_one_type_are_told() -> None:
    image = X[:96].reshape(2, 8, 6, 4)
    (wide,), (own,), kept = both(lambda x: tf.image.resize(x, (5, 5)), image)
    assert kept == ("ResizeBilinear",)
    np.testing.assert_allclose(wide, own, rtol=1e-6)


def test_variables_are_read() -> None:
    variable = tf.Variable(W)
    (wide,), _, kept = both(lambda x: x @ variable, X)
    np.testing.assert_allclose(wide, X.astype(np.float64) @ W.astype(np.float64), rtol=1e-15)
    assert kept == ()


def test_variables_are_not_changed() -> None:
    variable = tf.Variable(1.0)

    def count(x: Any) -> Any:
        return x * variable.assign_add(1.0)

    graph, inputs = graph_of(count, X)
    run_graph(graph, inputs, wide=True)
    assert float(variable) == 1.0


def test_random_numbers_are_not_drawn() -> None:
    graph, inputs = graph_of(lambda x: x + tf.random.normal([4]), X)
    with pytest.raises(NotRunError, match="RandomStandardNormal has a state"):
        run_graph(graph, inputs, wide=False)


# ---- checks ------------------------------------------------------------------------------------


def _spence(x: Any) -> Any:
    return tf.math.special.spence(x)


RIGHT: dict[str, tuple[Callable[..., Any], Any]] = {
    "lgamma": (tf.math.lgamma, X),
    "erfinv": (tf.math.erfinv, X / 20.0),
    "bessel_i0e": (tf.math.bessel_i0e, X),
    "bessel_j1": (tf.math.special.bessel_j1, X),
    "spence": (_spence, X),
    "a model": (lambda x: tf.exp(tf.math.lgamma(x) * 0.1) @ W, X),
    "in float16": (lambda x: tf.nn.softmax(tf.exp(x) / 3.0), (X / 9.0).astype(np.float16)),
    "in bfloat16": (lambda x: tf.sinh(x) - tf.cosh(x), (X / 9.0).astype(ml_dtypes.bfloat16)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_conversions_pass(name: str) -> None:
    function, x = RIGHT[name]
    report = check_conversion(tf.function(function), (x,), dynamic_shapes=OPEN)
    assert report.passed, report.text()


@pytest.mark.parametrize("name", ["spence", "bessel_j1"])
def test_a_kernel_that_is_off_is_told(name: str) -> None:
    function, x = RIGHT[name]
    report = check_conversion(tf.function(function), (x,), dynamic_shapes=OPEN)
    assert ACQUITTED in report.text()


def test_keywords_are_inputs_of_it_too() -> None:
    report = check_conversion(lambda *, x: _spence(x), (), kwargs={"x": X})
    assert report.passed, report.text()
    assert ACQUITTED in report.text()


def test_a_keras_model_passes() -> None:
    layers = [keras.layers.Dense(4, "softplus"), keras.layers.BatchNormalization()]
    model = keras.Sequential([keras.Input((4,)), *layers, keras.layers.Lambda(_spence)])
    model.layers[1].moving_mean.assign(tf.constant([-3.0, -2.0, -4.0, -1.0]))
    report = check_conversion(model, (X,))
    assert report.passed, report.text()


def _igamma(x: Any) -> Any:
    return tf.math.igamma(x, x * 1.1)


def _normalised(x: Any) -> Any:
    centre, spread = tf.nn.moments(x, [1], keepdims=True)
    return tf.nn.batch_normalization(x, centre, spread * 1e-3, 9.0, None, 1e-3)


FAULTS: dict[str, tuple[Callable[..., Any], Change]] = {
    "epsilon": (lambda x: _igamma(_normalised(x)), scale_constant(1e-3, 1.1)),
    "transposed weights": (lambda x: _igamma(x @ W), transpose_square),
    "constant": (lambda x: _igamma(x * 0.3 + 0.7), scale_constant(0.7, 1.0001)),
    "less exact": (_igamma, THROUGH_16_BITS),
    "some units": (_igamma, A_LITTLE_MORE),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    function, change = FAULTS[name]
    right = check_conversion(tf.function(function), (X[:20],), bindings=["sample"])
    assert right.passed, right.text()
    assert ACQUITTED in right.text()
    break_conversion(monkeypatch, yobx.tensorflow, change)
    wrong = check_conversion(tf.function(function), (X[:20],), bindings=["sample"])
    assert wrong.failed_phase == "values"
    assert ACQUITTED not in wrong.text()


def _dropped(g: Any, sts: Any, outputs: list[str], op: Any) -> str:
    return str(g.op.Identity(op.inputs[0].name, outputs=outputs))


def _through_float32(g: Any, sts: Any, outputs: list[str], op: Any) -> str:
    narrow = g.op.Cast(op.inputs[0].name, to=1)
    return str(g.op.Cast(g.op.Sin(narrow), to=11, outputs=outputs))


def _another(g: Any, sts: Any, outputs: list[str], op: Any) -> str:
    return str(g.op.Sqrt(op.inputs[0].name, outputs=outputs))


def _quantised(x: Any) -> Any:
    return _spence(tf.quantization.fake_quant_with_min_max_args(x, 0, 20))


@pytest.mark.parametrize(
    ("function", "x", "converters"),
    [
        (_quantised, X, {"FakeQuantWithMinMaxArgs": _dropped}),
        (lambda x: tf.sin(x), X.astype(np.float64), {"Sin": _through_float32}),
        (lambda x: tf.math.nextafter(x, x + 9.0), X, {"NextAfter": _dropped}),
        (_spence, X, {"Spence": _another}),
    ],
)
def test_wrong_converters_are_refused(function: Any, x: Any, converters: Any) -> None:
    report = check_conversion(
        tf.function(function), (x,), bindings=["sample"], extra_converters=converters
    )
    assert report.failed_phase == "values", report.text()
    assert ACQUITTED not in report.text()


def test_a_cast_that_is_dropped_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def function(x: Any) -> Any:
        return _spence(tf.cast(tf.cast(x, tf.float16), tf.float32))

    def without_casts(model: Any) -> None:
        del model.graph.value_info[:]
        for node in model.graph.node:
            if node.op_type == "Cast" and any(a.name == "to" and a.i == 10 for a in node.attribute):
                node.attribute[0].i = 1

    right = check_conversion(tf.function(function), (X,), bindings=["sample"])
    assert right.passed, right.text()
    break_conversion(monkeypatch, yobx.tensorflow, without_casts)
    wrong = check_conversion(tf.function(function), (X,), bindings=["sample"])
    assert wrong.failed_phase == "values"


def test_what_a_trace_has_frozen_is_refused() -> None:
    scales = itertools.chain([1.0], itertools.repeat(1.001))

    def frozen(x: Any) -> Any:
        return _spence(x * next(scales))

    report = check_conversion(frozen, (X,))
    assert report.failed_phase == "values"
    assert ACQUITTED not in report.text()


TENTHS = (np.arange(1, 200) / 10).astype(np.float32)
ROWS = np.random.default_rng(1).normal(size=300).astype(np.float32)


def _floor_of_float64(g: Any, sts: Any, outputs: Any, op: Any) -> Any:
    a, b = (g.op.Cast(value.name, to=onnx.TensorProto.DOUBLE) for value in op.inputs)
    return g.op.Cast(g.op.Floor(g.op.Mul(a, b)), to=onnx.TensorProto.FLOAT, outputs=outputs)


def _always(g: Any, sts: Any, outputs: Any, op: Any) -> Any:
    return g.op.Equal(op.inputs[0].name, op.inputs[0].name, outputs=outputs)


def _nothing(g: Any, sts: Any, outputs: Any, op: Any) -> Any:
    return g.op.Sub(op.inputs[0].name, op.inputs[0].name, outputs=outputs)


def _rounding_error(a: Any, b: Any) -> Any:
    total = a + b
    part = total - a
    return (a - (total - part)) + (b - part)


@pytest.mark.parametrize(
    ("function", "arrays", "converters"),
    [
        (lambda x: tf.cast(tf.cast(x * 10.0, tf.int32), tf.float32), (TENTHS,), "Mul"),
        (lambda x: tf.gather(tf.constant(ROWS), tf.cast(x * 10.0, tf.int32)), (TENTHS,), "Mul"),
        (lambda x: tf.where(x + 1e-9 > x, 1.0, 0.0), (X,), "Greater"),
        (_rounding_error, (X, X[::-1].copy() * np.float32(1e-3)), "AddV2"),
    ],
)
def test_rounding_that_is_meant_is_no_fault_of_the_source(
    function: Any, arrays: Any, converters: str
) -> None:
    wrong = {"Mul": _floor_of_float64, "Greater": _always, "AddV2": _nothing}[converters]
    traced = tf.function(function, autograph=False)
    for given, phase in (({}, ""), ({converters: wrong}, "values")):
        report = check_conversion(
            traced, arrays, dynamic_shapes={}, extra_converters=given, localize=False
        )
        assert report.failed_phase == phase, report.text()


def _quotients(x: Any) -> Any:
    """A softmax that overflows in float16."""
    return tf.exp(x) / tf.reduce_sum(tf.exp(x), -1, keepdims=True)


def test_what_overflows_in_float16_is_told_of_the_source() -> None:
    x = np.array([[1.0, 2.0, 1.5], [11.5, 12.0, 11.25], [-1.0, 3.0, 0.0]], np.float16)
    function = tf.function(_quotients)
    assert np.isnan(function(x).numpy()).any()
    report = check_conversion(function, (x,), dynamic_shapes=({},))
    assert report.passed, report.text()
    assert "leaves the range of float16" in report.text()

    def cut_off(g: Any, sts: Any, outputs: list[str], op: Any) -> Any:
        least = g.op.Min(op.inputs[0].name, np.array(11.5, np.float16))
        return g.op.Exp(least, outputs=outputs[:1])

    report = check_conversion(
        function, (x,), dynamic_shapes=({},), extra_converters={"Exp": cut_off}, localize=False
    )
    assert report.failed_phase == "values", report.text()
