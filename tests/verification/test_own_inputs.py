"""Nodes whose inputs agree and are not equal."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

from yobx.verification import check_conversion
from yobx.verification.own_inputs import ILL_CONDITIONED, unequal, what_follows


def near_zero(factor: float) -> onnx.ModelProto:
    """A root of what cancels."""
    return onnx.parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        net (float[B, 4] x) => (float[B, 4] y)
        <float factor = {{{factor}}}, float one = {{1}}> {{
            s = Mul (x, factor)
            d = Sub (s, one)
            a = Abs (d)
            y = Sqrt (a)
        }}""")


def one_node(op_type: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f"""
        <ir_version: 10, opset_import: ["" : 21]>
        net (float[N] x) => (float[N] y) {{ y = {op_type} (x) }}""")


def test_a_root_of_what_rounding_leaves_is_no_fault_of_the_run_time() -> None:
    x = np.array([[3.0, 6.0, 9.0, 2.9999998]] * 3, np.float32)
    report = check_conversion(
        near_zero(0.3333333), (x,), reference=near_zero(0.33333334), tolerance_class="rounded"
    )
    found = report.localization
    assert found is not None
    assert (found.value, found.verdict) == ("y", ILL_CONDITIONED)
    text = report.text()
    assert "the inputs of that node still agree within rounding" in text
    assert "(%a by up to 2.4e-07) give results that differ by up to 0.00024" in text
    assert "the runtime is off" not in text
    assert report.as_dict()["localization"]["verdict"] == ILL_CONDITIONED


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [
        ([1.0, 2.0], [0.0, 2.0], ILL_CONDITIONED),
        ([0.0, 2.0], [0.0, 2.0], None),  # not the floor of what it was given
        ([1.0, 2.0], [3.0, 2.0], "undecided"),
    ],
)
def test_a_step(ours: list[float], theirs: list[float], verdict: str | None) -> None:
    own = {"x": np.array([1.0, 2.5], np.float32)}
    given = {"x": np.array([0.99999994, 2.5], np.float32)}
    both = np.array(ours, np.float32), np.array(theirs, np.float32)
    found = what_follows(one_node("Floor"), own, given, *both)
    assert (found[0] if found else None) == verdict
    assert what_follows(one_node("Floor"), own, own, *both) is None


def test_signs_of_zeros_are_unequal() -> None:
    zero = np.zeros(2, np.float32)
    assert unequal({"x": zero, "i": np.arange(3)}, {"x": -zero, "i": np.arange(3)}) == ["x"]
    assert unequal({"x": [zero, zero]}, {"x": [zero]}) == ["x"]
