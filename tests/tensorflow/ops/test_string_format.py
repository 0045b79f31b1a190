"""Tensors written into texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.tensorflow.helpers import run
from yobx.errors import UnsupportedAttributeError, UnsupportedDtypeError
from yobx.tensorflow import to_onnx

WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def check(x: np.ndarray[Any, Any], template: str = "a {} b", **keywords: Any) -> None:
    function = tf.function(lambda x: tf.strings.format(template, x, **keywords))
    (got,) = run(to_onnx(function, (x,), dynamic_shapes=({},)), x)
    assert str(got) == function(x).numpy().decode()
    assert np.shape(got) == ()


@pytest.mark.parametrize("dtype", [*WHOLE, "bool"])
@pytest.mark.parametrize("shape", [(), (3,), (9,), (2, 3)])
def test_numbers(dtype: str, shape: tuple[int, ...]) -> None:
    check((np.arange(np.prod(shape), dtype=np.int64) * 37 % 120).reshape(shape).astype(dtype))


@pytest.mark.parametrize(
    "shape", [(1,), (7,), (8, 5), (2, 2, 2), (8, 8, 7), (2, 3, 2, 9), (0,), (2, 0), (0, 2)]
)
@pytest.mark.parametrize("summarize", [1, 2, 3, 5, -1])
def test_shapes_and_lengths(shape: tuple[int, ...], summarize: int) -> None:
    check(np.arange(np.prod(shape)).reshape(shape) - 3, summarize=summarize)


@pytest.mark.parametrize(
    "words",
    ["x", ["a", "b c", ""], [["é\n", '"'], ["\\'", "\t\x01\x7f日本"]], [str(i) for i in range(9)]],
)
def test_strings(words: Any) -> None:
    check(np.array(words, object))


def test_several_tensors_and_another_placeholder() -> None:
    def function(x: Any, y: Any) -> Any:
        return tf.strings.format("%%\n%%!", [x, y], placeholder="%%")

    x, y = np.array([1, -2]), np.array(True)
    (got,) = run(to_onnx(tf.function(function), (x, y), dynamic_shapes=({}, {})), x, y)
    assert str(got) == function(x, y).numpy().decode()
    empty = tf.function(lambda x: tf.strings.format("none", []))
    (alone,) = run(to_onnx(empty, (x,)), x)
    assert str(alone) == "none"


def test_open_shapes_and_floats_are_refused() -> None:
    function = tf.function(lambda x: tf.strings.format("{}", x))
    with pytest.raises(UnsupportedAttributeError, match="its shape is known while converting"):
        to_onnx(function, (np.arange(3),), dynamic_shapes=({0: "n"},))
    with pytest.raises(UnsupportedDtypeError, match="float32"):
        to_onnx(function, (np.zeros(3, np.float32),))
