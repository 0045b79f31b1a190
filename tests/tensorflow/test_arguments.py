from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest

from yobx.errors import ArgumentError
from yobx.tensorflow.arguments import normalise_arguments


def _one(value: Any) -> str:
    (leaf,) = normalise_arguments((value,)).leaves
    return str(leaf)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.zeros((2, 3), np.float32), "float32[2, 3]"),
        (np.zeros((2,), ml_dtypes.bfloat16), "bfloat16[2]"),
        (np.int64(3), "int64[]"),
        (np.array(["a", "bc"]), "string[2]"),
        (np.array([b"a"]), "string[1]"),
        (np.array(["a", b"b"], object), "string[2]"),
        (np.array([], object), "string[0]"),
        (np.zeros((1,), np.complex64), "complex64[1]"),
    ],
)
def test_arrays(value: Any, text: str) -> None:
    assert _one(value) == text


def test_framework_tensors_and_specs() -> None:
    import jax
    import keras
    import tensorflow as tf

    assert _one(tf.constant([1, 2])) == "int32[2]"
    assert _one(tf.Variable([1.0])) == "float32[1]"
    assert _one(tf.TensorSpec((None, 3), tf.string)) == "string[?, 3]"
    assert _one(tf.TensorSpec(None)) == "float32[rank unknown]"
    assert _one(keras.KerasTensor((None, 3), "int8")) == "int8[?, 3]"
    assert _one(jax.numpy.zeros((2, 2), "bfloat16")) == "bfloat16[2, 2]"
    assert _one(jax.ShapeDtypeStruct((4,), "float16")) == "float16[4]"
    assert normalise_arguments((tf.TensorSpec((), name="t"),)).leaves[0].name == "t"


def test_value_info() -> None:
    make = onnx.helper.make_tensor_value_info
    assert _one(make("x", onnx.TensorProto.FLOAT16, ["n", 3, None])) == "float16[n, 3, ?]"
    assert _one(make("x", onnx.TensorProto.STRING, None)) == "string[rank unknown]"
    (leaf,) = normalise_arguments((make("pixels", onnx.TensorProto.UINT8, [1]),)).leaves
    assert leaf.name == "pixels"
    with pytest.raises(ArgumentError, match="with a dtype"):
        normalise_arguments((onnx.ValueInfoProto(name="x"),))


def test_nesting_constants_and_order() -> None:
    a, b, c = (np.zeros((n,), np.float32) for n in (1, 2, 3))
    call = normalise_arguments(({"y": a, "x": [b, None]}, True), {"mask": c, "mode": "full"})
    assert [str(leaf) for leaf in call.leaves] == ["float32[2]", "float32[1]", "float32[3]"]
    assert call.leaves[0].where == "args[0]['x'][0]"
    args, kwargs = call.fill(["B", "A", "C"])
    assert args == ({"y": "A", "x": ["B", None]}, True)
    assert list(args[0]) == ["y", "x"]
    assert kwargs == {"mask": "C", "mode": "full"}


def test_one_argument_needs_no_tuple() -> None:
    x = np.zeros((2,), np.float32)
    assert len(normalise_arguments(x).leaves) == 1
    assert normalise_arguments({"a": x}).args[0].keys() == {"a"}
    assert len(normalise_arguments([x, x]).args) == 2


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.array([object()]), "strings"),
        (np.array(["2020-01-01"], "datetime64[D]"), "dtype that TensorFlow knows"),
    ],
)
def test_arrays_that_cannot_be_inputs(value: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        normalise_arguments((value,))


def test_ragged_and_sparse_are_refused() -> None:
    import tensorflow as tf

    for value in (tf.ragged.constant([[1], []]), tf.sparse.from_dense([[1, 0]])):
        with pytest.raises(ArgumentError, match="dense"):
            normalise_arguments((value,))
