import numpy as np
import pytest

from tests.xbuilder.support import builder, run
from yobx.errors import GraphError
from yobx.onnx_optim import TensorType
from yobx.xbuilder import GraphBuilder


def test_numbers_take_the_type_of_their_sibling() -> None:
    g = GraphBuilder(21)
    g.make_tensor_input("H", np.float16, ("n",))
    g.make_tensor_input("I", np.int32, ("n",))
    assert g.get_type(g.op.Add("H", 1)) == g.get_type("H")
    assert g.get_type(g.op.Mul(2, "I")) == g.get_type("I")
    with pytest.raises(GraphError, match="does not fit"):
        g.op.Mul("I", 0.5)


def test_tensors_of_frameworks_keep_their_type() -> None:
    class Tensor:
        def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
            return np.array([1, 2], dtype=np.int32)

    g = GraphBuilder(21)
    g.make_tensor_input("F", np.float32, ("n",))
    assert g.get_type(g.op.Neg(Tensor())) == TensorType.kInt32
    with pytest.raises(GraphError, match="must have one element type"):
        g.op.Add("F", Tensor())


def test_equal_constants_are_one_initializer() -> None:
    g = builder()
    y = g.op.Add(g.op.Add("X", 1.0), np.float32(1.0))
    g.make_tensor_output("Y", source=g.op.Mul(y, np.array(1, dtype=np.float32)))
    assert len(g.to_onnx().graph.initializer) == 1


def test_optional_inputs_and_outputs() -> None:
    g = GraphBuilder(21)
    g.make_tensor_input("X", np.float32, ("t", "b", 3))
    weights = np.ones((1, 8, 3), dtype=np.float32) / 4
    recurrent = np.ones((1, 8, 2), dtype=np.float32) / 4
    start = np.ones((1, 2, 2), dtype=np.float32)
    made = g.op.LSTM("X", weights, recurrent, None, None, start, hidden_size=2, outputs=["", "H"])
    assert made == ("", "H")
    g.make_tensor_output("H")
    (result,) = run(g.to_onnx(), X=np.ones((4, 2, 3), dtype=np.float32))
    assert result.shape == (1, 2, 2)


def test_wrong_shapes_fail_where_they_are_made() -> None:
    g = builder()
    with pytest.raises(GraphError, match="MatMul") as caught:
        g.op.MatMul("X", np.zeros((5, 3), dtype=np.float32))
    assert caught.value.op_type == "MatMul"


def test_wrong_types_fail_where_they_are_made() -> None:
    g = builder()
    with pytest.raises(GraphError, match="Try a Cast of one of them"):
        g.op.Add("X", np.array([1], dtype=np.int64))
    with pytest.raises(GraphError, match="does not take this element type"):
        g.op.Not("X")


def test_domains() -> None:
    g = GraphBuilder({"": 21, "com.microsoft": 1})
    g.make_tensor_input("X", np.float32, ("n", 4))
    y = g.op.Gelu("X", domain="com.microsoft")
    g.declare(y, np.float32, ("n", 4))
    g.make_tensor_output("Y", source=y)
    model = g.to_onnx()
    assert {o.domain: o.version for o in model.opset_import} == {"": 21, "com.microsoft": 1}
    np.testing.assert_allclose(run(model, X=np.zeros((1, 4), dtype=np.float32))[0], 0)
    with pytest.raises(GraphError, match=r"Try target_opset=\{'': 21, 'nobody': 1\}"):
        g.op.Gelu("X", domain="nobody")


def test_standard_domains_need_no_opset() -> None:
    g = GraphBuilder(21)
    g.make_tensor_input("X", np.str_, ("n",))
    y = g.op.LabelEncoder(
        "X", domain="ai.onnx.ml", keys_strings=["a", "b"], values_int64s=[1, 2], default_int64=-1
    )
    g.make_tensor_output("Y", source=y)
    model = g.to_onnx()
    assert {o.domain: o.version for o in model.opset_import} == {"": 21, "ai.onnx.ml": 5}
    result = run(model, X=np.array(["b", "c", "a"], dtype=object))[0]
    np.testing.assert_array_equal(result, [2, -1, 1])


def test_split_counts() -> None:
    g = builder()
    first, second = g.op.Split("X", axis=1, outputs=2)
    g.make_tensor_output("A", source=first)
    g.make_tensor_output("B", source=second)
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    results = run(g.to_onnx(), X=x)
    np.testing.assert_array_equal(np.concatenate(results, axis=1), x)


@pytest.mark.parametrize("opset", [13, 17, 18, 21])
def test_one_call_fits_every_opset(opset: int) -> None:
    g = builder(opset)
    mean = g.op.ReduceMean("X", axes=[1], keepdims=0)
    top = g.op.ReduceMax("X", np.array([1]), keepdims=1)
    g.make_tensor_output("Y", source=g.op.Squeeze(top, axes=1))
    g.make_tensor_output("M", source=mean)
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    results = run(g.to_onnx(), X=x)
    np.testing.assert_allclose(results[0], x.max(axis=1))
    np.testing.assert_allclose(results[1], x.mean(axis=1))


def test_an_empty_name_omits_an_input() -> None:
    g = builder()
    with pytest.raises(GraphError, match="cannot be omitted"):
        g.op.Relu("")
    assert g.get_type(g.op.Clip("X", "", 1.0)) == g.get_type("X")
