from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.passes.support import apply, kinds
from tests.tensorflow.helpers import run
from yobx.passes.dead_code import remove_dead_code
from yobx.passes.recurrent import merge_directions

UNITS, WIDTH = 3, 2


def weights(kind: str, seed: int) -> list[np.ndarray[Any, Any]]:
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind] * UNITS
    rng = np.random.default_rng(seed)
    shapes = ((1, gates, WIDTH), (1, gates, UNITS), (1, 2 * gates))
    return [rng.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]


def model_of(
    kind: str, second: str = "reverse", *, lengths: bool = False, activation: str = ""
) -> onnx.ModelProto:
    """Two nodes that read `x`, the outputs of both as outputs of the graph."""
    nodes: list[onnx.NodeProto] = []
    initializers: list[onnx.TensorProto] = []
    outputs: list[onnx.ValueInfoProto] = []
    count = 3 if kind == "LSTM" else 2
    for i, direction in enumerate(("forward", second)):
        names = [f"w{i}", f"r{i}", f"b{i}"]
        initializers += [
            onnx.numpy_helper.from_array(array, name)
            for array, name in zip(weights(kind, i), names, strict=True)
        ]
        made = [f"{label}{i}" for label in ("y", "h", "c")[:count]]
        extra: dict[str, Any] = {"activations": [activation]} if activation and i else {}
        read = ["x", *names, *(["lengths"] if lengths else [])]
        nodes.append(
            helper.make_node(kind, read, made, hidden_size=UNITS, direction=direction, **extra)
        )
        outputs += [
            helper.make_tensor_value_info(n, TensorProto.FLOAT, [None] * (4 if n[0] == "y" else 3))
            for n in made
        ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["t", "n", WIDTH])]
    if lengths:
        inputs.append(helper.make_tensor_value_info("lengths", TensorProto.INT32, ["n"]))
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_merged(kind: str) -> None:
    before = model_of(kind)
    after = apply(before, merge_directions, remove_dead_code)
    assert kinds(after)[kind] == 1
    x = np.random.default_rng(5).normal(size=(5, 4, WIDTH)).astype(np.float32)
    for got, wanted in zip(run(after, x), run(before, x), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "options", [{"second": "forward"}, {"lengths": True}, {"activation": "Relu"}]
)
def test_kept(options: dict[str, Any]) -> None:
    assert kinds(apply(model_of("RNN", **options), merge_directions, remove_dead_code))["RNN"] == 2
