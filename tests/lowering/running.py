"""Builds a small graph with a lowering and runs it in onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime

from yobx.xbuilder import GraphBuilder


def build_session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    """A session on the CPU."""
    return onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )


def run(
    build: Callable[..., Any], *arrays: np.ndarray[Any, Any], opset: int = 21
) -> list[np.ndarray[Any, Any]]:
    """Return what ``build(g, *names)`` computes; sizes are dynamic."""
    g = GraphBuilder(opset)
    names = [
        g.make_tensor_input(f"x{i}", a.dtype, [f"d{i}_{k}" for k in range(a.ndim)])
        for i, a in enumerate(arrays)
    ]
    made = build(g, *names)
    results = [made] if isinstance(made, str) else list(made)
    for i, value in enumerate(results):
        g.make_tensor_output(f"y{i}", source=value)
    return list(build_session(g.to_onnx()).run(None, dict(zip(names, arrays, strict=True))))
