"""Opsets of the standard domain that front ends write."""

from __future__ import annotations

from functools import cache

import onnx

__all__ = ["DEFAULT_OPSET", "OLDEST_OPSET", "newest_opset"]

OLDEST_OPSET = 18
DEFAULT_OPSET = 21


@cache
def newest_opset() -> int:
    """Return the newest opset that onnxruntime loads.

    Found by loading one-node models, newest first; without onnxruntime it is the newest that the
    ``onnx`` package knows.
    """
    newest = int(onnx.defs.onnx_opset_version())
    try:
        import onnxruntime
    except ImportError:
        return newest
    refusals = tuple(
        getattr(onnxruntime.capi.onnxruntime_pybind11_state, name)
        for name in ("Fail", "InvalidArgument", "InvalidGraph", "NotImplemented")
    )
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    for version in range(newest, DEFAULT_OPSET, -1):
        model = onnx.parser.parse_model(
            f'<ir_version: 10, opset_import: ["" : {version}]> '
            "probe (float[1] x) => (float[1] y) { y = Identity(x) }"
        )
        try:
            onnxruntime.InferenceSession(
                model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
        except refusals:
            continue
        return version
    return DEFAULT_OPSET
