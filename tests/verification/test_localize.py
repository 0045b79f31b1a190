"""The place of a fault, and the side that is blamed for it."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import onnx.parser
import pytest

from yobx.verification import check_conversion, run_check


def wrong(g: Any, sts: Any, outputs: Any, op: Any, verbose: int = 0) -> Any:
    made = g.op.Relu(op.inputs[0].name)
    return g.op.Mul(made, np.float32(1.01), outputs=outputs)


def tower(side: int) -> keras.Model:
    keras.utils.set_random_seed(0)
    layers = keras.layers
    x = inputs = keras.Input((side, side, 3))
    for index in range(3):
        x = layers.Conv2D(8, 3, padding="same")(x)
        x = layers.BatchNormalization()(x)
        x = layers.Activation("relu" if index == 1 else "tanh", name=f"bend{index}")(x)
    return keras.Model(inputs, layers.GlobalAveragePooling2D()(x))


def localised(side: int) -> Any:
    image = np.random.default_rng(0).standard_normal((2, side, side, 3)).astype(np.float32)
    result = run_check(tower(side), (image,), extra_converters={"Relu": wrong}, bindings="primes")
    return result.report.localization


def test_channels_first_values_are_compared() -> None:
    found = localised(12)
    assert found.source_op == "Relu"
    assert found.layer.endswith("bend1")
    assert found.compared == 3  # the output of every bend
    assert found.verdict == "converter"
    line = wrong.__code__.co_firstlineno
    told = f"Relu is converted by extra_converters, wrong (test_localize.py:{line})"
    assert found.reason.endswith(told)


def test_equal_sizes_do_not_hide_the_order_of_axes() -> None:
    found = localised(8)  # as many channels as rows
    assert found.layer.endswith("bend1")


def casts(narrow: str, wide: str) -> onnx.ModelProto:
    """A product of a value that goes by way of a narrower type."""
    return onnx.parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        net ({wide}[B, 16] x) => ({wide}[B, 16] y) {{
            h = Cast <to: int = {getattr(onnx.TensorProto, narrow.upper())}> (x)
            f = Cast <to: int = {getattr(onnx.TensorProto, wide.upper())}> (h)
            t = Transpose (f)
            m = MatMul (f, t)
            y = MatMul (m, f)
        }}""")


@pytest.mark.parametrize(
    ("narrow", "wide", "dtype"),
    [("float16", "float", "f4"), ("bfloat16", "float", "f4"), ("float", "double", "f8")],
)
def test_a_cast_that_the_source_has_not_is_the_converter(
    narrow: str, wide: str, dtype: str
) -> None:
    x = np.random.default_rng(0).standard_normal((3, 16)).astype(dtype)
    report = check_conversion(casts(narrow, wide), (x,), reference=lambda v: v @ v.T @ v)
    assert report.failed_phase == "values"
    found = report.localization
    assert found is not None
    assert found.verdict == "converter"
    assert "casts to a narrower type than the source" in report.text()


def test_a_cast_that_both_sides_have_excuses_no_run_time() -> None:
    """The tail of the logistic function is off in onnxruntime, whatever was cast before."""
    model = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        net (float[B, 4] x) => (float[B, 4] y) {
            h = Cast <to: int = 10> (x)
            f = Cast <to: int = 1> (h)
            s = Sigmoid (f)
            y = Log (s)
        }""")
    x = np.array([[-18.0, -19.0, -20.0, -18.5]], np.float32)

    def reference(v: Any) -> Any:
        wide = v.astype(np.float16).astype(np.float64)
        return -np.log1p(np.exp(-wide)).astype(np.float32)

    found = check_conversion(model, (x,), reference=reference, bindings="sample").localization
    assert found is not None
    assert found.verdict == "runtime"


def test_an_unstable_formula_is_not_the_fault_of_the_run_time() -> None:
    model = onnx.parser.parse_model("""
        <ir_version: 10, opset_import: ["" : 21]>
        net (float[B, 4] x) => (float[B, 4] y) {
            s = Softmax <axis = 1> (x)
            y = Log (s)
        }""")

    def log_softmax(x: Any) -> Any:
        wide = x.astype(np.float64) - x.max(axis=1, keepdims=True)
        return (wide - np.log(np.exp(wide).sum(axis=1, keepdims=True))).astype(np.float32)

    x = np.array([[0.0, 200.0, 1.0, -50.0]], np.float32)
    report = check_conversion(model, (x,), reference=log_softmax)
    found = report.localization
    assert found is not None
    assert found.verdict == "converter"
    assert "every node is right on its own inputs" in report.text()


def loop(factor: float) -> onnx.ModelProto:
    """A recurrence of four turns."""
    return onnx.parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        net (float[B, 4] x) => (float[B, 4] y)
        <int64 turns = {{4}}, bool go = {{1}}, float factor = {{{factor}}}> {{
            y = Loop (turns, go, x) <body = turn (int64 i, bool c, float[B, 4] v)
                => (bool on, float[B, 4] next) {{
                on = Identity (c)
                bent = Tanh (v)
                scaled = Mul (bent, factor)
                next = Add (scaled, v)
            }}>
        }}""")


def test_values_inside_control_flow_of_a_reference_model_are_compared() -> None:
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    report = check_conversion(loop(0.51), (x,), reference=loop(0.5))
    found = report.localization
    assert found is not None
    assert found.value == "scaled"
    assert (found.verdict, found.inputs_agree) == ("converter", True)
    assert found.difference is not None
    assert found.difference.name == "scaled[0]"
    assert "Mul in Loop" in report.text()
    assert check_conversion(loop(0.5), (x,), reference=loop(0.5)).passed
