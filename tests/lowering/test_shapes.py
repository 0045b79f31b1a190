import numpy as np

from yobx.lowering import shapes
from yobx.xbuilder import GraphBuilder


def test_a_small_constant_is_reshaped_at_once() -> None:
    g = GraphBuilder(21)
    weight = g.make_initializer("weight", np.arange(6, dtype=np.float32))
    turned = shapes.reshape(g, weight, [2, -1], outputs=["turned"])
    assert turned == "turned"
    np.testing.assert_array_equal(g.get_constant("turned"), np.arange(6.0).reshape(2, 3))
    g.make_tensor_output("turned")
    assert not [node for node in g.to_onnx().graph.node if node.op_type == "Reshape"]


def test_a_large_constant_and_a_value_are_reshaped_in_the_model() -> None:
    g = GraphBuilder(21)
    large = g.make_initializer("large", np.zeros((1 << 15,), np.float32))
    x = g.make_tensor_input("x", np.float32, ("n", 4))
    for name, value, parts in (("a", large, [2, -1]), ("b", x, [-1, 2])):
        shapes.reshape(g, value, parts, outputs=[name])
        g.make_tensor_output(name)
    assert [node.op_type for node in g.to_onnx().graph.node] == ["Reshape", "Reshape"]
