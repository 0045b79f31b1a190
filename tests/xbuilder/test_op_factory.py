import numpy as np
import pytest

from tests.xbuilder.support import builder, run
from yobx.xbuilder.op_factory import OpFactory


def test_any_operator_is_a_method() -> None:
    g = builder()
    y = g.op.Mul(g.op.Add("X", 1.5), np.float32(2))
    z = g.op.Clip(y, min=0, max=4.0)
    g.make_tensor_output("Y", source=z)
    x = np.linspace(-3, 3, 8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_allclose(run(g.to_onnx(), X=x)[0], np.clip((x + 1.5) * 2, 0, 4))


def test_calls_are_made_once() -> None:
    factory = OpFactory(lambda *args, **kwargs: (args, kwargs))
    assert factory.Relu is factory.Relu
    with pytest.raises(AttributeError):
        _ = factory._private


def test_several_outputs() -> None:
    g = builder()
    assert len(g.op.TopK("X", k=2)) == 2
    assert g.op.Split("X", axis=1, outputs=["a", "b"]) == ("a", "b")
    assert len(g.op.Split("X", [1, 1, 2], axis=1)) == 3
    assert str(g.get_shape("b")) == "[n, 2]"
