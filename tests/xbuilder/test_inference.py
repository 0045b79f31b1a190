import numpy as np
import pytest

from tests.xbuilder.support import builder
from yobx.errors import GraphError
from yobx.onnx_optim import OptimDim, TensorType
from yobx.xbuilder import GraphBuilder


def test_every_node_is_inferred_at_once() -> None:
    g = builder()
    y = g.op.MatMul("X", np.zeros((4, 6), dtype=np.float32))
    assert (g.get_type(y), g.get_rank(y), str(g.get_shape(y))) == (TensorType.kFloat, 2, "[n, 6]")


def test_shape_arithmetic_is_known() -> None:
    g = builder()
    shape = g.op.Shape("X")
    doubled = g.op.Mul(shape, 2)
    assert g.get_value(doubled) == [OptimDim("2*n"), OptimDim(8)]
    assert g.get_constant(doubled) is None
    columns = g.op.Gather(doubled, np.array([1]))
    constant = g.get_constant(columns)
    assert constant is not None
    np.testing.assert_array_equal(constant, [8])


def test_initializers_are_given_back_as_they_came() -> None:
    g = builder()
    large = np.zeros((300, 300), dtype=np.float32)
    assert g.get_constant(g.make_initializer("W", large)) is large
    assert g.get_constant("X") is None
    assert g.get_value("X") is None


def test_sizes_without_a_name_get_one() -> None:
    g = GraphBuilder(21)
    g.make_tensor_input("A", np.float32, (None, 3))
    g.make_tensor_input("B", np.float32, None)
    assert str(g.get_shape("A")) == "[A_d0, 3]"
    assert g.get_rank("B") is None


def test_declared_facts() -> None:
    g = GraphBuilder({"": 21, "custom": 1})
    g.make_tensor_input("X", np.float32, ("n", 4))
    y = g.op.Thing("X", domain="custom")
    assert g.get_type(y) == TensorType.kUndefined
    g.declare(y, np.float32, ("n", 4))
    g.declare(y, shape=("n", 4))
    assert str(g.get_shape(g.op.Relu(y))) == "[n, 4]"
    with pytest.raises(GraphError, match="contradicts the inferred one"):
        g.declare(y, np.int64)
    with pytest.raises(GraphError, match=r"declared \[n, 5\], inferred \[n, 4\]"):
        g.declare(y, shape=("n", 5))
    with pytest.raises(GraphError, match="contradicts the inferred one"):
        g.declare(y, shape=("n",))


def test_subgraph_sees_outer_facts() -> None:
    g = builder()
    sub = g.subgraph("sub")
    assert str(sub.get_shape("X")) == "[n, 4]"
    constant = g.make_initializer(None, np.array([3, 4]))
    found = sub.get_constant(constant)
    assert found is not None
    np.testing.assert_array_equal(found, [3, 4])


def test_two_nodes_with_graphs_keep_their_contexts_apart() -> None:
    g = builder()
    flag = g.op.Greater(g.op.ReduceSum("X", keepdims=0), np.float32(0))
    results = []
    for axis in (0, 1):
        branches = []
        for name in ("yes", "no"):
            branch = g.subgraph(f"{name}_{axis}", inputs=[])
            made = branch.op.Concat("X", "X", axis=axis, outputs=[f"{name}_{axis}_value"])
            branch.make_tensor_output(str(made))
            branches.append(branch)
        results.append(g.op.If(flag, then_branch=branches[0], else_branch=branches[1]))
    keys = g.context.subgraph_context_keys()
    assert len(keys) == 4
    for index, axis in zip(sorted({index for index, _ in keys}), (0, 1), strict=True):
        child = g.context.subgraph_context(index, "then_branch")
        assert child.has(f"yes_{axis}_value")
    assert [str(g.get_shape(str(r))) for r in results] == ["[2*n, 4]", "[n, 8]"]
    assert "If" in str(g.context.explain(str(results[0])))
