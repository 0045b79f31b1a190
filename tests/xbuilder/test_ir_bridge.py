import numpy as np

from tests.xbuilder.support import builder
from yobx.xbuilder.ir_bridge import lowest_ir_version


def test_weights_are_not_copied() -> None:
    g = builder()
    weights = np.ones((4, 3), dtype=np.float32)
    g.make_tensor_output("Y", source=g.op.MatMul("X", weights))
    model = g.to_ir()
    (value,) = model.graph.initializers.values()
    assert value.const_value is not None
    assert np.shares_memory(value.const_value.numpy(), weights)


def test_known_values_are_marked() -> None:
    g = builder()
    size = g.op.Gather(g.op.Shape("X"), np.array([1]))
    g.make_tensor_output("Y", source=g.op.Reshape("X", g.op.Concat([-1], size, axis=0)))
    values = {v.name: v for node in g.to_ir().graph for v in node.outputs}
    assert values["Concat"].const_value is not None
    np.testing.assert_array_equal(values["Concat"].const_value.numpy(), [-1, 4])
    assert values["Shape"].const_value is None


def test_model_is_independent_of_the_builder() -> None:
    g = builder()
    g.make_tensor_output("Y", source=g.op.Relu("X"))
    first = g.to_ir()
    first.graph.remove(first.graph[0])
    assert len(g.to_ir().graph) == 1


def test_lowest_ir_version() -> None:
    assert lowest_ir_version({"": 18}) == 8
    assert lowest_ir_version({"": 21, "custom": 1}) == 10
