import numpy as np

from tests.xbuilder.support import builder
from yobx.xbuilder.skeleton import skeleton


def test_only_large_weights_are_left_out() -> None:
    g = builder()
    y = g.op.MatMul("X", g.make_initializer("W", np.ones((4, 2000), dtype=np.float32)))
    g.make_tensor_output("Y", source=g.op.Add(y, g.make_initializer("b", np.float32(1))))
    model = g.to_ir()
    proto, hidden = skeleton(model)
    assert hidden == {"W"}
    assert [t.name for t in proto.graph.initializer] == ["b"]
    assert [i.name for i in proto.graph.input] == ["X", "W"]
    assert list(model.graph.initializers) == ["W", "b"]
    restored = model.graph.initializers["W"].const_value
    assert restored is not None
    np.testing.assert_array_equal(restored.numpy(), 1)
