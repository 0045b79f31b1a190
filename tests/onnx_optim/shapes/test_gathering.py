"""Gather, Scatter and their relatives against onnxruntime."""

import numpy as np
import pytest
from onnx import TensorProto as T
from onnx import helper

from yobx.errors import ShapeError
from yobx.onnx_optim import OptimTensor, ShapesContext, compute_shapes


def ints(*values):
    return np.array(values, np.int64)


def test_gather(check, runtime_input):
    (found,) = check("Gather", [runtime_input([4, "n"]), runtime_input(["m", 2], T.INT64)])
    assert found.shape == ["m", 2, "n"]
    (found,) = check("Gather", [runtime_input(["n", 5, "m"]), np.array(1)], axis=1)
    assert found.shape == ["n", "m"]
    (found,) = check("Gather", [ints(7, 8, 9), ints(-1, 0)])
    assert found.constant.tolist() == [9, 7]
    (found,) = check("Gather", [np.arange(6).reshape(2, 3), np.array([1])], axis=1)
    assert found.constant.tolist() == [[1], [4]]
    with pytest.raises(ShapeError):
        check("Gather", [runtime_input([4]), np.array(0)], axis=3)


def test_gather_nd(check, runtime_input):
    (found,) = check("GatherND", [runtime_input([3, 4, "n"]), runtime_input(["m", 2], T.INT64)])
    assert found.shape == ["m", "n"]
    check(
        "GatherND", [runtime_input(["n", 3, 4]), runtime_input(["n", 2, 1], T.INT64)], batch_dims=1
    )
    (found,) = check("GatherND", [ints(7, 8, 9), np.array([[2], [0]])])
    assert found.constant.tolist() == [9, 7]
    (found,) = check("GatherND", [ints(7, 8, 9), np.array([1])])
    assert found.constant.tolist() == 8


def test_gather_elements(check, runtime_input):
    check("GatherElements", [runtime_input([3, "n"]), runtime_input([5, "n"], T.INT64)])


@pytest.mark.parametrize("op_type", ["Scatter", "ScatterElements"])
def test_scatter_elements(check, runtime_input, op_type):
    opset = 10 if op_type == "Scatter" else 18
    inputs = [runtime_input([3, "n"]), runtime_input([2, "n"], T.INT64), runtime_input([2, "n"])]
    check(op_type, inputs, opset=opset)


def test_scatter_nd(check, runtime_input):
    check(
        "ScatterND",
        [runtime_input([3, "n"]), runtime_input(["m", 1], T.INT64), runtime_input(["m", "n"])],
    )
    (found,) = check("ScatterND", [ints(1, 2, 3), np.array([[1]]), ints(9)])
    assert found.constant.tolist() == [1, 9, 3]


def test_compress(check, runtime_input):
    condition = np.array([True, False, True])
    (found,) = check("Compress", [runtime_input([4, "n"]), condition], axis=0)
    assert found.shape == [2, "n"]
    (found,) = check("Compress", [runtime_input(["n+3", 4]), condition], axis=0)
    assert found.shape == [2, 4]
    check("Compress", [runtime_input(["n", 4]), condition], axis=0, exact=False, need_runs=2)
    check("Compress", [runtime_input([2, 4]), condition], axis=0)
    check(
        "Compress",
        [runtime_input(["n", 4]), runtime_input(["m"], T.BOOL)],
        axis=1,
        exact=False,
        sizes=[{"n": 5, "m": 3}, {"n": 1, "m": 4}],
    )
    check("Compress", [runtime_input(["n", 4]), runtime_input([4], T.BOOL)], exact=False)


def test_one_hot(check, runtime_input):
    values = np.array([0, 1], np.float32)
    (found,) = check("OneHot", [runtime_input(["n", 3], T.INT64), np.array(5), values])
    assert found.shape == ["n", 3, 5]
    (found,) = check("OneHot", [runtime_input(["n", 3], T.INT64), np.array([5]), values], axis=0)
    assert found.shape == [5, "n", 3]
    check("OneHot", [runtime_input(["n"]), np.array(4.0, np.float32), values])
    check(
        "OneHot",
        [runtime_input(["n"], T.INT64), runtime_input([], T.INT64, 3, 5), values],
        exact=False,
    )


def test_compress_needs_a_vector_of_conditions():
    context = ShapesContext({"": 21})
    context.set("x", OptimTensor(T.FLOAT, [3]))
    context.set("c", OptimTensor(T.BOOL, [], value=[1]))
    with pytest.raises(ShapeError, match="vector"):
        compute_shapes(context, helper.make_node("Compress", ["x", "c"], ["y"]))
