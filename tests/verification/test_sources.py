"""Originals of every framework: right conversions agree whatever goes in and comes out."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
import onnx
import pytest
import tensorflow as tf
from jax import export

from yobx.verification import check_conversion
from yobx.verification.inner_values import Collector
from yobx.verification.runner import RunError
from yobx.verification.source_onnx import OnnxSource

X = np.random.default_rng(5).standard_normal((5, 4)).astype(np.float32)
Pair = namedtuple("Pair", "u v")


def _tensorflow(x, shift=2.0, *, scale=1.0):
    return {"y": tf.sin(x) * scale + shift}


def _jax(x, shift=2.0, *, scale=1.0):
    return {"y": jnp.sin(x) * scale + shift}


def _local_jax(x, shift=2.0, *, scale=1.0):
    import jax.numpy as local

    return {"y": local.sin(x) * scale + shift}


@pytest.mark.parametrize("function", [_tensorflow, tf.function(_tensorflow), _jax, _local_jax])
def test_tensors_among_keywords_are_inputs(function: Callable[..., Any]) -> None:
    kwargs = {"shift": X[:, :1], "scale": np.float32(3.0)}
    report = check_conversion(
        function, (X,), kwargs=kwargs, dynamic_shapes=({0: "n"}, {}, {0: "n"})
    )
    report.raise_if_failed()
    assert sum(entry.ran for entry in report.bindings) == 3


def test_a_wrong_use_of_a_keyword_is_found() -> None:
    def subtract(g, sts, outputs, op):
        return g.op.Sub(op.inputs[0].name, op.inputs[1].name, outputs=outputs)

    report = check_conversion(
        _tensorflow, (X,), kwargs={"shift": X}, extra_converters={"AddV2": subtract}
    )
    assert report.failed_phase == "values"
    assert "AddV2" in report.text()


@pytest.mark.parametrize("sine", [tf.sin, jnp.sin])
def test_python_numbers_among_the_outputs(sine: Callable[..., Any]) -> None:
    check_conversion(lambda x: (sine(x), 3, 2.5, True), (X,)).raise_if_failed()


def test_outputs_called_like_inputs() -> None:
    check_conversion(lambda p: Pair(p.v, p.u * 2.0), (Pair(X, X),)).raise_if_failed()


@pytest.mark.parametrize(
    "array",
    [
        np.array([b"A", b"bcc"]),
        np.array(["A", b"b"], dtype=object),
        np.array(["é", "longer"]),
        X.astype(">f4"),
        np.arange(3, dtype=">i8"),
    ],
)
def test_arrays_of_every_layout(array: Any) -> None:
    check_conversion(tf.identity, (array,)).raise_if_failed()


def test_an_archive_with_code_is_opened_once_as_asked(tmp_path: Path) -> None:
    path = tmp_path / "unsafe.keras"
    model = keras.Sequential([keras.Input((4,)), keras.layers.Lambda(lambda t: t * 2.0)])
    model.save(path)
    report = check_conversion(path)
    assert report.failed_phase == "import"
    assert "allow_unsafe" in str(report.phase("import").messages)
    check_conversion(path, allow_unsafe=True).raise_if_failed()


def test_outputs_of_one_layer_share_its_name() -> None:
    inputs = keras.Input((4, 3))
    states = keras.layers.LSTM(2, return_state=True, name="lstm")(inputs)
    x = np.random.default_rng(0).standard_normal((5, 4, 3)).astype(np.float32)
    model = keras.Model(inputs, [*states, states[0]])
    check_conversion(model, (x,)).raise_if_failed()


def test_a_model_that_differs_in_a_graph_is_told_apart() -> None:
    def double_in_a_graph(x):
        return x if tf.executing_eagerly() else x * 2.0

    report = check_conversion(double_in_a_graph, (X,))
    assert report.failed_phase == "values"
    assert any("called eagerly" in note for note in report.notes)
    assert report.localization.verdict == "source"
    assert "→ the model itself is another function when it is called, see the note" in str(report)
    assert "the converted graph is another function" not in str(report)

    def negate(g, sts, outputs, op):
        return g.op.Neg(op.inputs[0].name, outputs=outputs)

    wrong = check_conversion(lambda x: tf.sin(x), (X,), extra_converters={"Sin": negate})
    assert wrong.failed_phase == "values"
    assert not any("called eagerly" in note for note in wrong.notes)
    assert "the model itself is another function" not in str(wrong)


def test_a_constant_that_the_optimiser_of_tensorflow_moves() -> None:
    """It computes ``x + (c - y)``, as in ``tf.image.ssim``: one rounding is alike everywhere."""
    x = np.random.default_rng(0).uniform(0.5, 1.0, 10_000).astype(np.float32)
    y = (x + np.float32(0.005)).astype(np.float32)
    near, steps = np.float32(9e-4), tf.function(lambda a, b: a - b + np.float32(9e-4))
    exact = x.astype(np.float64) - y + near
    moved, kept = (abs(np.mean(f(x, y) - exact)) for f in (steps, steps.python_function))
    assert moved > 1e-8
    assert kept < 1e-9
    report = check_conversion(steps, (x, y), dynamic_shapes={})
    assert report.passed, str(report)
    assert any("optimiser of graphs moves a constant" in note for note in report.notes)
    assert tf.config.optimizer.get_experimental_options().get("constant_folding", True)
    named = check_conversion(steps, (x,), kwargs={"b": y}, dynamic_shapes={})
    assert named.passed, str(named)
    assert any("optimiser of graphs moves a constant" in note for note in named.notes)

    def shifted(g, sts, outputs, op):
        moved = g.op.Add(op.inputs[0].name, op.inputs[1].name)
        return g.op.Add(moved, np.float32(1e-6), outputs=outputs)

    wrong = check_conversion(steps, (x, y), dynamic_shapes={}, extra_converters={"AddV2": shifted})
    assert not wrong.passed
    assert not any("optimiser of graphs" in note for note in wrong.notes)


def test_a_plain_function_with_keywords_is_as_it_is_written() -> None:
    def subtract(g, sts, outputs, op):
        return g.op.Sub(op.inputs[0].name, op.inputs[1].name, outputs=outputs)

    report = check_conversion(
        _tensorflow, (X,), kwargs={"shift": X}, extra_converters={"AddV2": subtract}
    )
    assert report.failed_phase == "values"
    assert not any("as it is written" in note for note in report.notes)


def test_arrays_of_64_bits_are_narrowed_as_jax_does() -> None:
    rng = np.random.default_rng(0)
    report = check_conversion(
        jax.jit(lambda i, x, z: (x[i], z * x)),
        (np.arange(3), rng.normal(size=5), rng.normal(size=5) + 1j),
    )
    assert report.passed, report


def test_an_exported_function_of_jax_declares_its_inputs() -> None:
    (n,) = export.symbolic_shape("n")
    spec = jax.ShapeDtypeStruct((n, 3), np.float32)
    made = export.export(jax.jit(lambda x: {"y": jnp.sin(x["a"]) @ x["b"].T}))(
        {"a": spec, "b": spec}
    )
    report = check_conversion(made)
    assert report.passed, report
    assert report.framework == "jax"
    assert report.model_name == "<lambda>"
    assert len(report.bindings) == 3
    doubled = export.export(jax.jit(lambda x, y: x + y))(
        jax.ShapeDtypeStruct((2 * n,), np.float32), jax.ShapeDtypeStruct((n + n,), np.float32)
    )
    report = check_conversion(doubled)
    assert report.passed, report
    assert report.bindings[0].sizes == {"n": 5}


def spec(*sizes: Any, **options: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(export.symbolic_shape(", ".join(sizes), **options), jnp.float32)


def test_symbolic_sizes_of_jax_may_be_expressions() -> None:
    scope = export.SymbolicScope(("n == 3*m",))
    args = (spec("n", scope=scope), spec("m", "2*k", scope=scope))
    report = check_conversion(lambda x, y: x.reshape(3, -1) + y.sum(1), args)
    assert report.passed, report.text()
    assert [set(b.sizes) for b in report.bindings if b.ran] == [{"m", "k"}] * 3
    exported = export.export(jax.jit(lambda x: x.reshape(2, -1)))(spec("2*k", "m"))
    assert check_conversion(exported, None).passed


@pytest.mark.parametrize("given", ["scope", "argument"])
def test_no_sizes_are_compared_that_the_source_excludes(given: str) -> None:
    def function(x: jax.Array) -> jax.Array:
        return jnp.stack([x[0], x[-4] if x.shape[0] >= 4 else x[0]])

    # With three elements the function gives something else than its trace for four and more.
    if given == "scope":
        report = check_conversion(function, (spec("n", constraints=["n >= 4"]),))
    else:
        args = (np.arange(5, dtype=np.float32),)
        options = {"dynamic_shapes": ({0: "n"},), "constraints": ["n >= 4"]}
        report = check_conversion(function, args, bindings=["primes", {"n": 3}], **options)
    refused = [b for b in report.bindings if not b.ran]
    assert len(refused) == 1
    assert "symbolic shape constraint n >= 4" in refused[0].note
    assert report.passed == (given == "scope"), report.text()


def test_inner_values_of_a_reference_that_cannot_be_had_are_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 21]>
        g (float[n] x, bool c) => (float[n] y) {
            y = If (c) <
                then_branch = t () => (float[n] a) { h = Exp(x) a = Neg(h) },
                else_branch = e () => (float[n] b) { b = Neg(x) }>
        }"""
    )
    args = (np.ones(3, np.float32), np.array(True))
    source = OnnxSource(model, reference=model)
    assert "h" in source.intermediates(args, ["h", "y"], {})

    def refused(_collector: Collector, _values: Any) -> Any:
        raise RunError("no memory")

    monkeypatch.setattr(Collector, "turns", refused)
    found = source.intermediates(args, ["h", "y"], {})
    assert "h" not in found
    assert "y" in found
    assert "no memory" in caplog.text


def test_a_report_prints_as_its_text() -> None:
    report = check_conversion(tf.function(tf.sin), (X,))
    assert str(report) == report.text()


def test_arrays_of_jax_tell_a_function_of_jax() -> None:
    def total(x):
        return x.sum(axis=0)

    for given in (jnp.asarray(X), jax.ShapeDtypeStruct(X.shape, X.dtype)):
        report = check_conversion(total, (given,))
        report.raise_if_failed()
        assert report.framework == "jax"
    mixed = check_conversion(lambda x, y: x * y, (tf.constant(X), jnp.asarray(X)))
    assert mixed.framework == "tensorflow"


def test_a_function_of_methods_of_arrays_says_how_to_choose() -> None:
    report = check_conversion(lambda x: x.sum(axis=0), (X,))
    assert report.failed_phase == "trace"
    assert "jax.numpy.asarray" in report.text()


def test_keys_that_are_numbers_are_sorted_as_numbers() -> None:
    check_conversion(lambda n: n[10] - tf.sin(n[2]), ({10: X, 2: X},)).raise_if_failed()


_SUM = onnx.parser.parse_model(
    '<ir_version: 10, opset_import: ["" : 21]> '
    "two (float[n, 3] a, float[n, 3] b) => (float[n, 3] y) { y = Add(a, b) }"
)


def _keyword(a: Any, *, b: Any) -> Any:
    return a + b


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        (lambda a: a, "reference(a) for a model of 2 inputs (a, b): too many positional arguments"),
        (
            lambda a, b, c: a,
            "reference(a, b, c) for a model of 2 inputs (a, b): missing a required",
        ),
        (_keyword, "reference(a, *, b) for a model of 2 inputs (a, b): "),
        (
            onnx.parser.parse_model(
                '<ir_version: 10, opset_import: ["" : 21]> '
                "one (float[n, 3] x) => (float[n, 3] y) { y = Abs(x) }"
            ),
            "a reference of 1 input (x) for a model of 2 inputs (a, b)",
        ),
    ],
)
@pytest.mark.parametrize("args", [None, (X[:, :3], X[:, :3])])
def test_a_reference_of_other_arguments_is_told_as_such(
    reference: Any, words: str, args: Any
) -> None:
    report = check_conversion(_SUM, args, reference=reference)
    assert report.failed_phase == "import"
    head, cause, *_ = report.text().splitlines()
    assert head.startswith("yobx: the REFERENCE takes other arguments than the model has inputs — ")
    assert cause.split(maxsplit=1)[1].startswith(words)
    assert report.text().count("takes other arguments") == 1


@pytest.mark.parametrize(
    "reference", [np.add, lambda *inputs: sum(inputs), lambda a, b, c=0: a + b]
)
def test_a_reference_may_take_more_than_the_inputs(reference: Any) -> None:
    check_conversion(_SUM, reference=reference).raise_if_failed()


def test_inputs_that_the_model_does_not_have_are_no_fault_of_the_reference() -> None:
    report = check_conversion(_SUM, (X[:, :3],), reference=lambda a, b: a + b)
    assert report.cause is None
    assert "the converted model has 2 inputs (a, b), the source was given 1" in report.text()
