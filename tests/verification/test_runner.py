"""Values of element types that numpy lacks go in and come out as they are."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest

from yobx.verification.runner import Session


@pytest.mark.parametrize("shape", [(), (1,), (4,), (5,), (3, 5), (0,)], ids=str)
@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4])
def test_two_elements_of_four_bits_share_a_byte(dtype: Any, shape: tuple[int, ...]) -> None:
    name = np.dtype(dtype).name
    sizes = ", ".join(map(str, shape))
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    model = onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : 21]> '
        f"g ({name}[{sizes}] x) => (int32[{sizes}] y, {name}[{sizes}] z) "
        f"{{ y = Cast<to = 6>(x) z = Cast<to = {kind}>(y) }}"
    )
    count = int(np.prod(shape))
    x = (np.arange(count) * 5 % 16 - (8 if name == "int4" else 0)).astype(dtype).reshape(shape)
    values = Session(model).run({"x": x}).values
    np.testing.assert_array_equal(values["y"], x.astype(np.int32))
    assert values["z"].dtype == x.dtype
    np.testing.assert_array_equal(values["z"].astype(np.int32), x.astype(np.int32))


@pytest.mark.parametrize("kind", ["float", "float16", "int64", "bool", "string", "double"])
def test_sequences_beside_values_that_numpy_lacks(kind: str) -> None:
    code = onnx.TensorProto.DataType.Value(kind.upper())
    model = onnx.parser.parse_model(
        f"""<ir_version: 10, opset_import: ["" : 21]>
        g (bfloat16[n, 2] x) => (bfloat16[n, 2] y, seq({kind}[1, 2]) s, seq({kind}[1, 2]) none) {{
            y = Identity(x)
            c = Cast<to = {code}>(x)
            s = SplitToSequence<axis = 0>(c)
            none = SequenceEmpty<dtype = {code}>()
        }}"""
    )
    x = np.array([[1, 0], [2, 3]], ml_dtypes.bfloat16)
    values = Session(model).run({"x": x}).values
    np.testing.assert_array_equal(values["y"], x)
    assert values["none"] == []
    wanted = x.astype(np.float32)
    if kind != "string":
        wanted = wanted.astype(onnx.helper.tensor_dtype_to_np_dtype(code))
    for got, row in zip(values["s"], wanted, strict=True):
        if kind == "string":
            assert got.astype(np.float32).tolist() == [row.tolist()]
        else:
            assert got.dtype == row.dtype
            np.testing.assert_array_equal(got, [row])


def test_an_empty_optional_beside_values_that_numpy_lacks() -> None:
    tensor = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [2])
    optional = onnx.helper.make_optional_type_proto(tensor)
    numbers = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.BFLOAT16, []) for name in "xy"
    ]
    graph = onnx.helper.make_graph(
        [
            onnx.helper.make_node("Identity", ["x"], ["y"]),
            onnx.helper.make_node("Optional", [], ["o"], type=tensor),
        ],
        "g",
        numbers[:1],
        [numbers[1], onnx.helper.make_value_info("o", optional)],
    )
    opset = onnx.helper.make_opsetid("", 21)
    model = onnx.helper.make_model(graph, opset_imports=[opset], ir_version=10)
    values = Session(model).run({"x": np.array(1, ml_dtypes.bfloat16)}).values
    assert values["o"] is None
    assert values["y"] == 1
