"""What is said of a graph that agrees with its own float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser
import pytest

from yobx.verification import check_conversion
from yobx.verification.findings import Outcome, OutputReport
from yobx.verification.text import describe_output
from yobx.verification.verdict64 import OTHER_FUNCTION, verdict_of


def test_a_source_that_leaves_its_range_is_off() -> None:
    """TensorFlow computes erfinv of (x + 1) / 2, which is one in float32."""
    tf = pytest.importorskip("tensorflow")
    x = np.array([0.99999994, 0.5, -0.3, 0.1], np.float32)
    report = check_conversion(tf.function(tf.math.erfinv), (x,), bindings="sample")
    found = report.localization
    assert found is not None
    assert found.verdict == "source"
    assert "the converted graph gives 3.832506" in found.reason
    assert "in its own type inf → the source is off" in found.reason
    assert OTHER_FUNCTION not in report.text()


def reciprocal(tail: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        net (float[4] x) => (float[4] y) {{ s = Sqrt (x) y = {tail} (s) }}""")


@pytest.mark.parametrize("flushes", [True, False])
def test_subnormal_inputs(flushes: bool) -> None:
    x = np.array([1e-40, 1.0, 2.0, 3.0], np.float32)

    def reference(v: Any) -> Any:
        v = np.where(v < 1e-38, np.float32(0.0 if flushes else 4.0), v)
        with np.errstate(divide="ignore"):
            return (1 / np.sqrt(v.astype(np.float64))).astype(np.float32)

    found = check_conversion(reciprocal("Reciprocal"), (x,), reference=reference).localization
    assert found is not None
    assert ("has the processor flush them" in found.reason) is flushes
    assert found.verdict == ("source" if flushes else "converter")


def test_a_source_that_rounds_more_is_no_other_function() -> None:
    exact = np.linspace(1.0, 2.0, 50)
    ours = exact.astype(np.float16)
    theirs = np.nextafter(ours, np.float16(9))
    verdict, words = verdict_of(ours.astype(np.float64), ours, theirs, "jax")
    assert verdict == "undecided"
    assert "jax is 0.7 units in the last place of its own type away" in words
    verdict, words = verdict_of(exact, ours, theirs + np.float16(0.25), "jax")
    assert (verdict, OTHER_FUNCTION in words) == ("converter", True)


def test_a_graph_with_a_rounded_constant_is_less_exact() -> None:
    """HardSigmoid has the factor 1 / 6 in float32, also in its float64 form."""
    keras = pytest.importorskip("keras")
    given = keras.Input((1001,))
    layer = keras.layers.Activation("hard_sigmoid")
    x = np.linspace(-3, -2.9, 5 * 1001).reshape(5, 1001).astype(np.float32)
    found = check_conversion(keras.Model(given, layer(given)), (x,)).localization
    assert found is not None
    assert found.verdict == "converter"
    assert "the source, computed in float64, gives its own result" in found.reason
    assert "the converted graph is less exact than the source" in found.reason


@pytest.mark.parametrize(
    ("exact", "ours", "theirs", "words"),
    [
        ([0.0], [0.0], [-0.0], "the sign of zeros alone differs: float64 gives that of onnxrun"),
        ([-0.0], [0.0], [-0.0], "the sign of zeros alone differs: float64 gives that of the sour"),
        ([1.0], [np.inf], [np.nan], "(onnxruntime infinite in 1 other place, jax NaN in 1 other"),
    ],
)
def test_what_has_no_distance_is_told_in_words(
    exact: list[float], ours: list[float], theirs: list[float], words: str
) -> None:
    narrow = np.array(ours, np.float32), np.array(theirs, np.float32)
    verdict, told = verdict_of(np.array(exact), *narrow, "jax")
    assert verdict == "undecided"
    assert words in told


def test_a_root_mean_square_that_fails_is_named() -> None:
    output = OutputReport("y", dtype="float32", shape=(49,), elements=49, category="values")
    output.outcome = Outcome.FAILED
    assert "no element alone, the root mean square of all" in describe_output(output)[0]
    output.wrong = 1
    assert "1/49 elements" in describe_output(output)[0]
