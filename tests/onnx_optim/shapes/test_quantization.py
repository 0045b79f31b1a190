"""Quantisation against onnxruntime."""

import numpy as np
import pytest
from onnx import TensorProto as T

from yobx.onnx_optim import TensorType


def test_quantize(check, runtime_input):
    item, scale = runtime_input(["n", 3]), np.array(0.1, np.float32)
    (found,) = check("QuantizeLinear", [item, scale])
    assert found.dtype == TensorType.kUInt8
    (found,) = check("QuantizeLinear", [item, scale, np.array(0, np.int8)])
    assert found.dtype == TensorType.kInt8
    (found,) = check("QuantizeLinear", [item, scale], output_dtype=T.INT16)
    assert found.dtype == TensorType.kInt16


@pytest.mark.parametrize("opset", [10, 13, 19, 21])
def test_dequantize(check, runtime_input, opset):
    check(
        "DequantizeLinear",
        [runtime_input(["n", 3], T.UINT8), np.array(0.1, np.float32)],
        opset=opset,
    )
    if opset >= 19:
        scale = np.array(0.1, np.float16)
        (found,) = check("DequantizeLinear", [runtime_input(["n", 3], T.UINT8), scale], opset=opset)
        assert found.dtype == TensorType.kFloat16


def test_dynamic_quantize(check, runtime_input):
    check("DynamicQuantizeLinear", [runtime_input(["n", 3])], n_outputs=3)
