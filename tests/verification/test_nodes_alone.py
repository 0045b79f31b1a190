"""Nodes on their own inputs, where the source has no values."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser

from yobx.verification import check_conversion


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
