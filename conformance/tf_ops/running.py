"""A model in onnxruntime, with bfloat16 going in and out."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime


def run_onnx(model: Any, arrays: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """Run a model in onnxruntime; bfloat16 goes in and out as its bits."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [i.name for i in session.get_inputs()]
    feeds = dict(zip(names, arrays, strict=True))
    if not any(a.dtype == ml_dtypes.bfloat16 for a in arrays) and not any(
        "bfloat16" in o.type for o in session.get_outputs()
    ):
        return list(session.run(None, feeds))
    values = {k: _feed(v) for k, v in feeds.items()}
    results = session.run_with_ort_values([o.name for o in session.get_outputs()], values)
    return [_fetch(r) for r in results]


def _feed(array: np.ndarray[Any, Any]) -> Any:
    if array.dtype == ml_dtypes.bfloat16:
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(np.uint16), 16)
    return onnxruntime.OrtValue.ortvalue_from_numpy(array) if array.dtype != object else array


def _fetch(value: Any) -> np.ndarray[Any, Any]:
    if "bfloat16" not in value.data_type():
        return np.asarray(value.numpy())
    raw = np.zeros(value.shape(), np.uint16)
    ctypes.memmove(raw.ctypes.data, value.data_ptr(), raw.nbytes)
    return raw.view(ml_dtypes.bfloat16)
