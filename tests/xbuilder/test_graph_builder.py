import inspect

import numpy as np
import pytest

from tests.xbuilder.support import builder, run
from yobx.errors import GraphError
from yobx.xbuilder import GraphBuilder


def test_few_public_methods() -> None:
    public = [name for name, _ in inspect.getmembers(GraphBuilder) if not name.startswith("_")]
    assert len(public) <= 25, public


def test_opsets() -> None:
    assert GraphBuilder(18).opset() == 18
    assert GraphBuilder({"ai.onnx": 20}).opset("") == 20
    for wrong in (0, 1000, {"com.microsoft": 1}):
        with pytest.raises(GraphError, match="opset of the standard domain"):
            GraphBuilder(wrong)  # type: ignore[arg-type]


def test_inputs_and_outputs() -> None:
    g = builder()
    g.make_tensor_output("Y", source=g.op.Relu("X"))
    assert (g.input_names, g.output_names) == (("X",), ("Y",))


def test_named_initializers() -> None:
    g = builder()
    assert g.make_initializer("W", 2.0) == "W"
    assert g.make_initializer(None, [1, 2]) == "cst"
    assert g.make_initializer(None, np.array([1, 2])) == "cst"
    with pytest.raises(GraphError, match="defined once"):
        g.make_initializer("W", 3.0)
    with pytest.raises(GraphError, match="no element type"):
        g.make_initializer("D", np.zeros(2, dtype="datetime64[s]"))


def test_the_specification_by_the_letter() -> None:
    g = GraphBuilder(21)
    g.make_tensor_input("x", np.float32, ("n", 3))
    g.make_tensor_input("axes", np.int32, ())
    wide = g.op.Cast("axes", to=7, name="sum_cast")
    axes = g.op.Reshape(wide, np.array([-1], dtype=np.int64), name="sum_axes")
    outputs = ["sum:0"]
    assert g.op.ReduceSum("x", axes, keepdims=1, outputs=outputs, name="sum") == "sum:0"
    clipped = g.op.Clip(
        "sum:0",
        np.array(0.0, dtype=np.float32),
        np.array(1.0, dtype=np.float32),
        outputs=["clip:0"],
        name="clip",
    )
    g.declare(clipped, shape=("a", "b"))
    g.make_tensor_output(clipped)
    x = np.array([[0.25, 0.5, -0.5], [1, 1, 1]], dtype=np.float32)
    result = run(g.to_onnx(), x=x, axes=np.array(1, dtype=np.int32))[0]
    np.testing.assert_allclose(result, [[0.25], [1.0]])


@pytest.mark.parametrize("copies", [1, 2])
def test_building_is_repeatable(copies: int) -> None:
    g = builder()
    g.make_tensor_output("Y", source=g.op.Relu("X"))
    assert len({g.to_onnx().SerializeToString() for _ in range(copies)}) == 1
