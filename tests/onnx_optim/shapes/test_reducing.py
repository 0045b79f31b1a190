"""Reductions against onnxruntime, with axes as attribute and as input."""

import numpy as np
import pytest
from onnx import TensorProto as T

REDUCTIONS = [
    "ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceL1", "ReduceL2",
    "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare",
]  # fmt: skip


@pytest.mark.parametrize("op_type", REDUCTIONS)
@pytest.mark.parametrize("keepdims", [0, 1])
def test_reductions(check, runtime_input, op_type, keepdims):
    item = runtime_input(["n", 3, "m"], T.FLOAT, 1, 2)
    (found,) = check(op_type, [item, np.array([1, -1])], keepdims=keepdims)
    assert found.shape == (["n", 1, 1] if keepdims else ["n"])
    check(op_type, [item], opset=11, axes=[0, 2], keepdims=keepdims)
    check(op_type, [item], keepdims=keepdims)
    check(op_type, [item], opset=11, keepdims=keepdims)


def test_no_axes(check, runtime_input):
    item = runtime_input(["n", 3])
    (found,) = check("ReduceSum", [item], noop_with_empty_axes=1)
    assert found.shape == ["n", 3]
    (found,) = check("ReduceSum", [item, np.array([], np.int64)])
    assert found.shape == [1, 1]
    (found,) = check("ReduceSum", [item, np.array([], np.int64)], noop_with_empty_axes=1)
    assert found.shape == ["n", 3]


def test_unknown_axes(check, runtime_input):
    item, axes = runtime_input(["n", 3]), runtime_input([1], T.INT64, 0, 2)
    (found,) = check("ReduceSum", [item, axes], exact=False)
    assert found.shape.rank() == 2
    (found,) = check("ReduceSum", [item, axes], exact=False, keepdims=0)
    assert not found.shape.has_rank()


@pytest.mark.parametrize("op_type", ["ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin"])
def test_values(check, op_type):
    (found,) = check(op_type, [np.array([[1, 2], [3, 4]]), np.array([0])], keepdims=0)
    assert found.constant is not None


@pytest.mark.parametrize("op_type", ["ArgMax", "ArgMin"])
def test_arg_extreme(check, runtime_input, op_type):
    check(op_type, [runtime_input(["n", 3, "m"])], axis=-1, keepdims=0)
    check(op_type, [runtime_input(["n", 3, "m"])])


@pytest.mark.parametrize("op_type", ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
def test_global_pools(check, runtime_input, op_type):
    (found,) = check(op_type, [runtime_input(["n", 3, "h", "w"])])
    assert found.shape == ["n", 3, 1, 1]


def test_size(check, runtime_input):
    check(
        "Size",
        [runtime_input(["n", 3, "m"])],
        sizes=[{"n": 2, "m": 5}, {"n": 0, "m": 3}],
        need_runs=2,
    )
