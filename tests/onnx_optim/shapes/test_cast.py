"""Casts against onnxruntime."""

import numpy as np
import pytest
from onnx import TensorProto as T

from yobx.onnx_optim import OptimDim, TensorType


@pytest.mark.parametrize("target", [T.FLOAT16, T.DOUBLE, T.INT32, T.INT64, T.BOOL, T.STRING])
def test_cast(check, runtime_input, target):
    (found,) = check("Cast", [runtime_input(["n", 3])], to=target)
    assert found.dtype == target


@pytest.mark.parametrize("target", [T.INT8, T.UINT8, T.INT32, T.INT64, T.BOOL, T.FLOAT, T.UINT32])
def test_constant_integers(check, target):
    (found,) = check("Cast", [np.array([0, 1, -3, 200, 70000])], to=target)
    assert found.constant is not None


def test_floats_that_overflow_are_left_to_the_run(check):
    (found,) = check("Cast", [np.array([1e30, np.nan], np.float32)], to=T.INT64)
    assert found.constant is None
    (found,) = check("Cast", [np.array([-2.7, 2.7], np.float32)], to=T.INT64)
    assert found.value == (OptimDim(-2), OptimDim(2))


def test_cast_like(check, runtime_input):
    (found,) = check("CastLike", [runtime_input(["n"]), runtime_input([1], T.INT32)])
    assert found.dtype == TensorType.kInt32


def test_bit_cast(check, runtime_input):
    (found,) = check("BitCast", [runtime_input(["n", 2])], to=T.INT32, opset=26)
    assert found.dtype == TensorType.kInt32


def test_identity_keeps_the_value(check):
    (found,) = check("Identity", [np.array([4, 5])])
    assert found.constant.tolist() == [4, 5]
