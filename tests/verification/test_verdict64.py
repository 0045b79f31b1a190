"""The side that float64 blames."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser
import pytest

from yobx.verification import check_conversion


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
