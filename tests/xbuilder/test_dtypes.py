import ml_dtypes
import numpy as np
import onnx
import pytest

from yobx.errors import GraphError
from yobx.onnx_optim import TensorType
from yobx.xbuilder.dtypes import as_array, element_type


@pytest.mark.parametrize(
    ("spelling", "number"),
    [
        (np.float32, onnx.TensorProto.FLOAT),
        ("float16", onnx.TensorProto.FLOAT16),
        ("BFLOAT16", onnx.TensorProto.BFLOAT16),
        (ml_dtypes.bfloat16, onnx.TensorProto.BFLOAT16),
        (np.dtype("int8"), onnx.TensorProto.INT8),
        (onnx.TensorProto.DOUBLE, onnx.TensorProto.DOUBLE),
        (TensorType.kBool, onnx.TensorProto.BOOL),
        (np.str_, onnx.TensorProto.STRING),
        (object, onnx.TensorProto.STRING),
    ],
)
def test_every_spelling(spelling: object, number: int) -> None:
    assert int(element_type(spelling)) == number  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [True, 999, "no such type", np.dtype("datetime64[s]")])
def test_unknown_types_are_refused(wrong: object) -> None:
    with pytest.raises(GraphError, match="element type"):
        element_type(wrong)  # type: ignore[arg-type]


def test_numbers_take_the_usual_types() -> None:
    assert as_array(1).dtype == np.int64
    assert as_array([1.5]).dtype == np.float32
    assert as_array(np.float64(1.5)).dtype == np.float64
    assert as_array(True).dtype == np.bool_
    assert as_array(2.0, TensorType.kFloat16).dtype == np.float16
    assert as_array(3, TensorType.kBFloat16).dtype == ml_dtypes.bfloat16


def test_arrays_pass_through() -> None:
    array = np.zeros(3, dtype=np.float64)
    assert as_array(array) is array


def test_other_forms_of_arrays() -> None:
    array = np.arange(3, dtype=np.int16)
    swapped = as_array(array.astype(">i2"))
    assert swapped.dtype.isnative
    np.testing.assert_array_equal(swapped, array)
    np.testing.assert_array_equal(as_array(onnx.numpy_helper.from_array(array)), array)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(1.5, TensorType.kInt64), (300, TensorType.kUInt8), (-1, TensorType.kUInt16)],
)
def test_values_that_do_not_fit_are_refused(value: float, dtype: TensorType) -> None:
    with pytest.raises(GraphError, match="does not fit"):
        as_array(value, dtype)


def test_objects_are_no_constants() -> None:
    for wrong in (object(), np.array([object()]), [1, object()]):
        with pytest.raises(GraphError, match="numbers, booleans or strings"):
            as_array(wrong)  # type: ignore[arg-type]
    assert as_array(np.array(["a", b"b"], dtype=object)).tolist() == ["a", b"b"]


def test_tensors_that_are_traced_have_no_values() -> None:
    class Traced:
        name = "model/relu:0"

        def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
            raise NotImplementedError("symbolic")

    with pytest.raises(GraphError, match="Pass its name, 'model/relu:0'"):
        as_array(Traced())
