import numpy as np
import onnx_ir as ir
import pytest

from tests.passes.support import parse
from yobx.passes.graph_edit import (
    GraphEditor,
    constant,
    int_constant,
    known_dims,
    rank_of,
    scalar_constant,
)


@pytest.fixture
def model() -> ir.Model:
    return ir.from_proto(
        parse(
            """g (float[n, 3] x, float default) => (float[n, 3] y, float[n, 3] z)
            <int64[2] pair = {1, 2}, float one = {1.5}, float default = {2.0}> {
                c = Constant <value = int64[1] {7}> ()
                y = Relu (x)
                z = Neg (y)
            }"""
        )
    )


def test_reading_constants(model: ir.Model) -> None:
    values = {**model.graph.initializers}
    assert int_constant(values["pair"]) == (1, 2)
    assert scalar_constant(values["one"]) == 1.5
    assert scalar_constant(values["pair"]) is None
    assert int_constant(values["one"]) is None
    assert int_constant(model.graph[0].outputs[0]) == (7,)
    assert constant(model.graph.inputs[0]) is None
    assert constant(None) is None


def test_a_default_that_a_run_may_override_is_no_constant(model: ir.Model) -> None:
    assert constant(model.graph.initializers["default"]) is None


def test_shapes(model: ir.Model) -> None:
    x = model.graph.inputs[0]
    assert (rank_of(x), known_dims(x)) == (2, ("n", 3))
    assert (rank_of(None), known_dims(None)) == (None, None)


def test_constants_are_made_once(model: ir.Model) -> None:
    editor = GraphEditor(model)
    first = editor.add_constant(np.array([1, 2]), "x")
    assert first.name == "x_1"
    assert editor.add_constant(np.array([1, 2]), "x") is first
    assert editor.add_constant(np.array([1.0, 2.0]), "x") is not first


def test_an_output_keeps_its_name(model: ir.Model) -> None:
    relu, neg = model.graph[1], model.graph[2]
    assert not GraphEditor.replace(neg.outputs[0], relu.outputs[0])
    assert not GraphEditor.replace(neg.outputs[0], model.graph.inputs[0])
    editor = GraphEditor(model)
    node = editor.make_node("Abs", [relu.outputs[0]], like=neg)
    model.graph.insert_before(neg, node)
    assert GraphEditor.replace(neg.outputs[0], node.outputs[0])
    assert [value.name for value in model.graph.outputs] == ["y", "z"]
    assert model.graph.outputs[1] is node.outputs[0]
