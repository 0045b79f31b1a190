"""Functions that onnxruntime has up to float32 only, in float64 against the next wider type."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from yobx.lowering import trigonometric
from yobx.xbuilder import GraphBuilder

_ULP = float(np.finfo(np.float64).eps)


def _run(function: object, x: np.ndarray) -> np.ndarray:
    g = GraphBuilder(21)
    g.make_tensor_input("x", x.dtype, x.shape)
    g.make_tensor_output("y", source=function(g, "x"))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        g.to_onnx().SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return np.asarray(session.run(None, {"x": x})[0])


@pytest.mark.skipif(
    bool(np.finfo(np.longdouble).eps >= _ULP), reason="there is no wider type on this machine"
)
@pytest.mark.parametrize("reach", [0.8, 5.0, 1e3, 1e6])
def test_tangent_in_float64(reach: float) -> None:
    x = np.random.default_rng(0).uniform(-reach, reach, 10_000)
    poles = (np.arange(-50, 50) + 0.5) * np.pi
    x = np.concatenate([x, np.nextafter(poles, 0), poles, poles + 1e-5])
    exact = np.tan(x.astype(np.longdouble))
    error = np.abs((_run(trigonometric.tan, x) - exact) / exact)
    assert error.max() < 4 * _ULP


def test_tangent_of_special_numbers_in_float64() -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-300, -1e300])
    got = _run(trigonometric.tan, x)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(got, np.tan(x), rtol=1e-9)
    assert np.signbit(got[:2]).tolist() == [False, True]
