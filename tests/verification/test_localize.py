"""The first value that differs."""

from __future__ import annotations

import numpy as np
import onnx.parser

from yobx.verification import check_conversion


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
