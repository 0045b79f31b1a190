"""Runs what a builder makes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime

from yobx.xbuilder import GraphBuilder

__all__ = ["builder", "run"]


def run(model: onnx.ModelProto, **feeds: Any) -> list[npt.NDArray[Any]]:
    """Runs a model in onnxruntime, its own optimisations switched off."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return list(session.run(None, feeds))


def builder(opset: int = 21) -> GraphBuilder:
    """A builder with the input ``X`` of shape ``(n, 4)``, float32."""
    g = GraphBuilder(opset)
    g.make_tensor_input("X", np.float32, ("n", 4))
    return g
