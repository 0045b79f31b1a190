import pytest

from tests.xbuilder.support import builder
from yobx.errors import GraphError


def test_alias_means_the_value() -> None:
    g = builder()
    assert g.alias("model/x:0", "X") == "X"
    y = g.op.Relu("model/x:0")
    assert g.has_name("model/x:0")
    assert str(g.get_shape("model/x:0")) == "[n, 4]"
    g.make_tensor_output("Y", source=y)
    assert list(g.to_onnx().graph.node[0].input) == ["X"]


def test_inlined_function_sees_its_own_names() -> None:
    g = builder()
    g.op.Relu("X", outputs=["relu:0"])
    with g.scope("call"):
        g.alias("inputs", "relu:0")
        inner = g.op.Neg("inputs", name="neg", outputs=[g.unique_name("call/relu:0")])
        g.alias("relu:0", inner)
        result = g.op.Abs("relu:0", name="abs")
        assert [g.has_name("inputs"), g.has_name("relu:0")] == [True, True]
    assert not g.has_name("inputs")
    g.make_tensor_output("Y", source=result)
    nodes = g.to_onnx().graph.node
    assert [node.name for node in nodes] == ["Relu", "call/neg", "call/abs"]
    assert list(nodes[2].input) == ["call/relu:0"]


def test_alias_of_an_alias() -> None:
    g = builder()
    g.alias("a", "X")
    assert g.alias("b", "a") == "X"


@pytest.mark.parametrize("name", ["Y", "Y:0"])
def test_unknown_name(name: str) -> None:
    g = builder()
    g.op.Relu("X", outputs=["Y:1"])
    with pytest.raises(GraphError, match="did you mean 'Y:1'") as caught:
        g.op.Relu(name)
    assert caught.value.value == name


def test_misuse_of_names() -> None:
    g = builder()
    g.op.Relu("X", outputs=["Y"])
    with pytest.raises(GraphError, match="defined once"):
        g.op.Relu("X", outputs=["Y"])
    with pytest.raises(GraphError, match="cannot hide"):
        g.alias("Y", "X")
    g.alias("a", "X")
    with pytest.raises(GraphError, match="is an alias here"):
        g.op.Relu("X", outputs=["a"])
    with pytest.raises(GraphError, match="non-empty str"):
        g.make_tensor_input("", "float32", ())


def test_a_refused_node_leaves_its_name_free() -> None:
    g = builder()
    g.make_tensor_input("W", "float32", (5, 3))
    with pytest.raises(GraphError):
        g.op.MatMul("X", "W", outputs=["Y"])
    assert not g.has_name("Y")
    g.op.Relu("X", outputs=["Y"])
