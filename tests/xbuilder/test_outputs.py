import numpy as np
import pytest

from tests.xbuilder.support import builder, run
from yobx.errors import GraphError
from yobx.xbuilder.outputs import expose_outputs


def test_only_values_with_another_name_need_a_node() -> None:
    nodes = expose_outputs([("a", "a"), ("b", "a")], lambda hint: hint)
    assert [(list(n.input), list(n.output)) for n in nodes] == [(["a"], ["b"])]


def test_an_input_can_be_given_back_under_its_own_name() -> None:
    g = builder()
    g.make_tensor_output("X")
    weight = g.make_initializer("W", np.ones(2, dtype=np.float32))
    g.make_tensor_output(weight)
    model = g.to_onnx()
    assert not model.graph.node
    x = np.array([[-1, 1, 2, 3]], dtype=np.float32)
    results = run(model, X=x)
    np.testing.assert_array_equal(results[0], x)
    np.testing.assert_array_equal(results[1], [1, 1])


def test_names_are_exactly_as_asked() -> None:
    g = builder()
    y = g.op.Relu("X")
    weight = g.make_initializer("W", np.ones(2, dtype=np.float32))
    g.make_tensor_output("first", source=y)
    g.make_tensor_output("second", source=y)
    g.make_tensor_output("input", source="X")
    g.make_tensor_output("constant", source=weight)
    model = g.to_onnx()
    assert [o.name for o in model.graph.output] == ["first", "second", "input", "constant"]
    assert [n.op_type for n in model.graph.node] == ["Relu"] + ["Identity"] * 3
    x = np.array([[-1, 1, 2, 3]], dtype=np.float32)
    results = run(model, X=x)
    np.testing.assert_array_equal(results[1], np.maximum(x, 0))
    np.testing.assert_array_equal(results[2], x)
    np.testing.assert_array_equal(results[3], [1, 1])


def test_a_value_with_its_own_name_keeps_it() -> None:
    g = builder()
    g.op.Relu("X", outputs=["Y"])
    g.make_tensor_output("Z", source="Y")
    g.make_tensor_output("Y")
    model = g.to_onnx()
    assert [(n.op_type, n.output[0]) for n in model.graph.node] == [
        ("Relu", "Y"),
        ("Identity", "Z"),
    ]


def test_an_input_as_output() -> None:
    g = builder()
    g.make_tensor_output("Y", source="X")
    assert g.to_onnx().graph.node[0].op_type == "Identity"
    with pytest.raises(GraphError, match="declared once"):
        g.make_tensor_output("Y", source="X")


def test_a_taken_name() -> None:
    g = builder()
    g.op.Relu("X", outputs=["Y"])
    with pytest.raises(GraphError, match="defined once"):
        g.make_tensor_output("X", source="Y")
