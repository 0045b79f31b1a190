"""What the tests of the front end share: running a model and comparing it with its original."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime


def names_of(model: onnx.ModelProto) -> tuple[list[str], list[str]]:
    """Names of the inputs and of the outputs."""
    return [i.name for i in model.graph.input], [o.name for o in model.graph.output]


def dims(value: onnx.ValueInfoProto) -> list[int | str]:
    """Sizes and names of the axes."""
    return [
        dim.dim_value if dim.HasField("dim_value") else dim.dim_param
        for dim in value.type.tensor_type.shape.dim
    ]


def run(model: onnx.ModelProto, *feeds: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Runs a model on its inputs, in order."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [i.name for i in session.get_inputs()]
    assert len(names) == len(feeds)
    return session.run(None, dict(zip(names, feeds, strict=True)))


def agree(
    model: onnx.ModelProto, wanted: list[Any], *feeds: np.ndarray[Any, Any], rtol: float = 1e-5
) -> None:
    """Compares a run with what the framework computes."""
    got = run(model, *feeds)
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted, strict=True):
        array = np.asarray(other)
        assert one.dtype == array.dtype
        np.testing.assert_allclose(one, array, rtol=rtol, atol=1e-6)


def data(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Float32 numbers around zero."""
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)
