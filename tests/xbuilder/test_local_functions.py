import numpy as np
import pytest

from tests.xbuilder.support import builder, run
from yobx.errors import GraphError
from yobx.passes import default_passes
from yobx.xbuilder import AttributeRef, GraphBuilder

X = np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4)


def scaled_elu(g: GraphBuilder) -> GraphBuilder:
    body = g.local_function("my", "ScaledElu", inputs=["a"], outputs=["b"], attributes=["alpha"])
    elu = body.op.Elu("a", alpha=AttributeRef("alpha"))
    body.op.Mul(elu, np.float32(2), outputs=["b"])
    return body


@pytest.mark.parametrize("passes", [(), default_passes()])
def test_calls(passes: tuple[object, ...]) -> None:
    g = builder()
    scaled_elu(g)
    y = g.make_node("ScaledElu", ["X"], domain="my", alpha=0.5)
    z = g.op.ScaledElu(y, domain="my", alpha=1.0)
    assert str(g.get_shape(z)) == "[n, 4]"
    g.make_tensor_output("Z", source=z)
    model = g.to_onnx(passes=passes)  # type: ignore[arg-type]

    def reference(x: np.ndarray, alpha: float) -> np.ndarray:
        return 2 * np.where(x > 0, x, alpha * np.expm1(x))

    np.testing.assert_allclose(run(model, X=X)[0], reference(reference(X, 0.5), 1.0), rtol=1e-5)
    assert [f.name for f in model.functions] == ["ScaledElu"]
    assert {o.domain: o.version for o in model.opset_import} == {"": 21, "my": 1}


def test_default_attribute() -> None:
    g = builder()
    body = g.local_function("my", "F", inputs=["a"], outputs=["b"], attributes={"alpha": 0.25})
    body.op.LeakyRelu("a", alpha=AttributeRef("alpha"), outputs=["b"])
    g.make_tensor_output("Y", source=g.op.F("X", domain="my"))
    np.testing.assert_allclose(run(g.to_onnx(), X=X)[0], np.where(X > 0, X, X * 0.25))


def test_function_in_a_function() -> None:
    g = builder()
    scaled_elu(g)
    outer = g.local_function("my", "Outer", inputs=["a", "c"], outputs=["b"])
    outer.op.Add(outer.op.ScaledElu("a", domain="my", alpha=1.0), "c", outputs=["b"])
    g.make_tensor_output("Y", source=g.op.Outer("X", "X", domain="my"))
    model = g.to_onnx()
    expected = 2 * np.where(X > 0, X, np.expm1(X)) + X
    np.testing.assert_allclose(run(model, X=X)[0], expected, rtol=1e-5)


def test_unused_functions_are_dropped() -> None:
    g = builder()
    scaled_elu(g)
    g.make_tensor_output("Y", source=g.op.Relu("X"))
    model = g.to_onnx()
    assert not model.functions
    assert [o.domain for o in model.opset_import] == [""]


def test_misuse() -> None:
    g = builder()
    body = scaled_elu(g)
    with pytest.raises(GraphError, match="a new name"):
        scaled_elu(g)
    with pytest.raises(GraphError, match="its own domain"):
        g.local_function("", "F", inputs=[], outputs=[])
    with pytest.raises(GraphError, match="no value of this name"):
        body.op.Relu("X")
    with pytest.raises(GraphError, match=r"without \['alpha'\]"):
        g.op.ScaledElu("X", domain="my")
    with pytest.raises(GraphError, match=r"unknown \['beta'\]"):
        g.op.ScaledElu("X", domain="my", alpha=1.0, beta=2)
    with pytest.raises(GraphError, match="Too many inputs"):
        g.op.ScaledElu("X", "X", domain="my", alpha=1.0)
    g.op.ScaledElu("X", domain="my", alpha=1.0)
    with pytest.raises(GraphError, match="cannot change"):
        body.op.Relu("a")
