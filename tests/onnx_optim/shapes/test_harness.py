"""The harness itself must refuse wrong statements."""

import pytest
from onnx import TensorProto as T

from yobx.onnx_optim import OptimShape, OptimTensor
from yobx.onnx_optim.registry import REGISTRY, load_rules


@pytest.mark.parametrize(
    "wrong",
    [
        OptimTensor(T.FLOAT, ["n", 4]),
        OptimTensor(T.FLOAT, ["n"]),
        OptimTensor(T.DOUBLE, ["n", 3]),
        OptimTensor(T.FLOAT, ["2*n", 3]),
        OptimTensor(T.FLOAT, OptimShape(None)),
    ],
)
def test_a_wrong_or_missing_statement_is_refused(check, runtime_input, monkeypatch, wrong):
    load_rules()
    rule = REGISTRY.find("", "Relu", 21)
    broken = type(rule)("", "Relu", 1, lambda node: wrong)
    monkeypatch.setitem(REGISTRY._rules, ("", "Relu"), [broken])
    monkeypatch.setattr(REGISTRY, "memo", {})  # what it says is for this test alone
    with pytest.raises(AssertionError):
        check("Relu", [runtime_input(["n", 3])])


def test_a_node_that_never_runs_is_refused(check, runtime_input):
    with pytest.raises(AssertionError, match="no run succeeded"):
        check("Gather", [runtime_input(["n"]), runtime_input([2], T.INT64, 50, 60)])
