"""Runs a pass over a model and compares the numbers before and after in onnxruntime."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import onnx_ir as ir
import onnxruntime

from yobx.onnx_optim import infer_shapes

__all__ = ["apply", "compare", "kinds", "parse", "run"]

Pass = Callable[[ir.Model], Any]


def parse(body: str, *, opset: int = 21) -> onnx.ModelProto:
    """Reads a graph in ONNX text and writes the inferred shapes into it."""
    head = f'<ir_version: 10, opset_import: ["" : {opset}]>\n'
    model = onnx.parser.parse_model(head + body)
    return infer_shapes(model)


def run(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[npt.NDArray[Any]]:
    """Runs a model with the optimisations of onnxruntime switched off."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return list(session.run(None, dict(feeds)))


def random_feeds(model: onnx.ModelProto, size: int, seed: int) -> dict[str, npt.NDArray[Any]]:
    """One random array for each input; every named size is ``size``."""
    rng = np.random.default_rng(seed)
    feeds = {}
    constants = {tensor.name for tensor in model.graph.initializer}
    for info in model.graph.input:
        if info.name in constants:
            continue
        tensor = info.type.tensor_type
        shape = [dim.dim_value or size for dim in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        feeds[info.name] = np.asarray(rng.standard_normal(shape) * 2).astype(dtype)
    return feeds


def compare(
    before: onnx.ModelProto, after: onnx.ModelProto, *, size: int = 3, rtol: float = 1e-5
) -> None:
    """Requires both models to have the same interface and to compute the same numbers."""
    assert [i.name for i in before.graph.input] == [i.name for i in after.graph.input]
    assert [o.name for o in before.graph.output] == [o.name for o in after.graph.output]
    onnx.checker.check_model(after, full_check=True)
    for seed in (0, 1):
        feeds = random_feeds(before, size + seed, seed)
        for expected, got in zip(run(before, feeds), run(after, feeds), strict=True):
            assert expected.dtype == got.dtype
            assert expected.shape == got.shape
            np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol)


def apply(before: onnx.ModelProto, *passes: Pass, **options: Any) -> onnx.ModelProto:
    """Applies passes, compares the numbers, and checks that stated shapes are still right."""
    model = ir.from_proto(before)
    for one in passes:
        one(model)
    after = ir.to_proto(model)
    # A shape that a pass left behind wrongly contradicts what is inferred from scratch.
    bare = onnx.ModelProto()
    bare.CopyFrom(after)
    del bare.graph.value_info[:]
    fresh = {info.name: info for info in infer_shapes(bare).graph.value_info}
    for info in after.graph.value_info:
        if info.name in fresh and info.type.tensor_type.HasField("shape"):
            mine = [d.dim_value for d in info.type.tensor_type.shape.dim]
            theirs = [d.dim_value for d in fresh[info.name].type.tensor_type.shape.dim]
            assert len(mine) == len(theirs), info.name
            assert all(a == b or 0 in (a, b) for a, b in zip(mine, theirs, strict=True)), info.name
    compare(before, after, **options)
    return after


def kinds(model: onnx.ModelProto) -> dict[str, int]:
    """Number of nodes by operator."""
    return dict(Counter(node.op_type for node in model.graph.node))
