"""Where shape rules come from, and rules of users."""

from __future__ import annotations

import subprocess
import sys

import pytest

from yobx.errors import ArgumentError
from yobx.onnx_optim.registry import Registry, load_rules


def in_new_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_rare_rules_are_read_when_a_model_needs_them() -> None:
    code = """
import sys, onnx
from yobx.onnx_optim import infer_shapes
def loaded(name): return f"yobx.onnx_optim.shapes.{name}" in sys.modules
def run(text):
    infer_shapes(onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 21]>' + text))
run("g (float[n, 3] x) => (y) { a = MatMul (x, x)  y = Relu (a) }")
print(loaded("matrix"), loaded("sequences"), loaded("microsoft"))
run("g (float[n, 3] x) => (y) { y = SequenceConstruct (x) }")
print(loaded("sequences"), loaded("microsoft"))
"""
    assert in_new_process(code).splitlines() == ["True False False", "True False"]


def test_a_rule_of_a_user_replaces_ours_before_any_inference() -> None:
    code = """
import onnx
from yobx.onnx_optim import OptimTensor, infer_shapes, register_shape_function
@register_shape_function("", "Relu", 1, replace=True)
def relu(node): return OptimTensor(node.tensor(0).dtype, [7])
text = '<ir_version: 10, opset_import: ["" : 13]> g (float[n, 3] x) => (y) { y = Relu (x) }'
found = infer_shapes(onnx.parser.parse_model(text)).graph.output[0]
print(found.type.tensor_type.shape.dim[0].dim_value)
"""
    assert in_new_process(code) == "7"


def test_a_second_rule_of_one_version_is_refused_unless_it_replaces() -> None:
    registry = Registry()
    rule = load_rules().find("", "Relu", 21)
    assert rule is not None
    registry.register("mine", ("A", "B"), 1, rule.function)
    with pytest.raises(ArgumentError, match="One shape rule"):
        registry.register("mine", "A", 1, rule.function)
    registry.register("mine", "A", 1, rule.function, replace=True)
    assert [found.op_type for found in registry] == ["A", "B"]
