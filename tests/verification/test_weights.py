"""Forms of a large model share its weights by way of a file, and nothing of a check changes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from yobx.verification import check_conversion, weights
from yobx.verification.runner import Session, exposed
from yobx.verification.weights import byte_size, light

RNG = np.random.default_rng(0)
WEIGHTS = RNG.standard_normal((16, 16)).astype(np.float32)
X = RNG.standard_normal((3, 16)).astype(np.float32)


@pytest.fixture
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "_LARGE_MODEL", 0)
    monkeypatch.setattr(weights, "_LARGE_TENSOR", 64)


def network(factor: float = 1.0) -> onnx.ModelProto:
    """Weights of many kinds, read by nodes and by the bodies of a branch, which hold some too."""
    arrays: dict[str, Any] = {
        "w": WEIGHTS * np.float32(factor),
        "low": np.linspace(-2, 2, 64).astype(ml_dtypes.bfloat16).reshape(4, 16),
        "mask": np.arange(256) % 3 == 0,
        "turn": np.arange(16, dtype=np.int64)[::-1].copy(),
        "one": np.ones(1, np.float32),
    }
    then, other = (
        helper.make_graph(
            [
                helper.make_node(op_type, ["h", "v"], [f"{op_type}_inside"]),
                helper.make_node("MatMul", [f"{op_type}_inside", "own"], [f"{op_type}_result"]),
            ],
            op_type,
            [],
            [helper.make_tensor_value_info(f"{op_type}_result", 1, None)],
            # of one name in both bodies
            [numpy_helper.from_array(WEIGHTS * np.float32(ord(op_type[0]) / 400), "own")],
        )
        for op_type in ("Mul", "Add")
    )
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Cast", ["low"], ["wide"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["wide"], ["v"], keepdims=0),
        helper.make_node("Gather", ["mask", "turn"], ["chosen"]),
        helper.make_node("ReduceSum", ["h"], ["sum"], keepdims=0),
        helper.make_node("Greater", ["sum", "zero"], ["positive"]),
        helper.make_node("If", ["positive"], ["c"], then_branch=then, else_branch=other),
        helper.make_node("Where", ["chosen", "c", "one"], ["d"]),
        helper.make_node("Tanh", ["d"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [
            helper.make_tensor_value_info("x", 1, ["B", 16]),
            helper.make_tensor_value_info("one", 1, [1]),
        ],
        [helper.make_tensor_value_info("y", 1, ["B", 16])],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
        value_info=[helper.make_tensor_value_info("h", 1, ["B", 16])],
    )
    graph.initializer.append(helper.make_tensor("zero", TensorProto.FLOAT, [], [0.0]))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    made.metadata_props.add(key="kept", value="yes")
    return made


def test_a_small_model_is_copied_as_it_is() -> None:
    model = network()
    assert light(model) == model


@pytest.mark.usefixtures("everything_is_large")
def test_a_light_copy_has_everything_but_the_data() -> None:
    model = network()
    copy = light(model)
    assert byte_size(copy) < byte_size(model)
    stubs = {t.name: t for t in copy.graph.initializer if not t.raw_data and t.name != "zero"}
    assert set(stubs) == {"w", "low", "mask", "turn"}
    for tensor in model.graph.initializer:
        if tensor.name in stubs:
            stub = stubs[tensor.name]
            assert (stub.data_type, stub.dims) == (tensor.data_type, tensor.dims)
            stub.CopyFrom(tensor)
    branch, held = (next(n for n in m.graph.node if n.op_type == "If") for m in (copy, model))
    for body, whole in zip(branch.attribute, held.attribute, strict=True):
        assert not body.g.initializer[0].raw_data
        body.g.initializer[0].CopyFrom(whole.g.initializer[0])
    assert copy == model


@pytest.mark.usefixtures("everything_is_large")
def test_values_are_the_same_bit_by_bit_in_every_session() -> None:
    model = network()
    want = Session(exposed(model), optimise=False).run({"x": X}).values
    copy = exposed(light(model), inplace=True)
    for _ in range(2):  # the file of the first is gone
        got = Session(copy, weights=model, optimise=False).run({"x": X}).values
        assert list(got) == list(want)
        for name, value in want.items():
            assert value.dtype == got[name].dtype
            np.testing.assert_array_equal(value, got[name])


@pytest.mark.parametrize("factor", [1.0, 1.01])
def test_a_check_says_the_same(factor: float, request: pytest.FixtureRequest) -> None:
    """Right and wrong: verdicts, allowances, the place of the fault and the smallest piece."""
    said = check_conversion(network(factor), (X,), reference=network()).as_dict()
    request.getfixturevalue("everything_is_large")
    again = check_conversion(network(factor), (X,), reference=network()).as_dict()
    assert said["passed"] is (factor == 1.0), said
    for report in (said, again):
        report["seconds"] = 0.0
        for phase in report["phases"]:
            phase["seconds"] = 0.0
    assert said == again


def test_a_model_without_its_data_is_refused_and_stays_as_it_is() -> None:
    model = network()
    model.graph.initializer[0].ClearField("raw_data")
    model.graph.initializer[0].data_location = TensorProto.EXTERNAL
    model.graph.initializer[0].external_data.add(key="location", value="elsewhere.bin")
    before = onnx.ModelProto()
    before.CopyFrom(model)
    assert check_conversion(network(), (X,), reference=model).failed_phase == "run"
    report = check_conversion(model, (X,), reference=network())
    assert "elsewhere.bin" in str(report.phase("load").messages)
    assert model == before


def test_nothing_is_left_on_the_disk(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, everything_is_large: None
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert check_conversion(network(), (X,), reference=network()).passed
    assert not list(tmp_path.iterdir())
