"""A conversion leaves no trace with open sizes in the functions of the user, nor takes one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.tensorflow.helpers import data
from yobx.tensorflow import to_onnx
from yobx.verification import check_conversion

X = data(4, 5, 3)


def frozen(x: Any) -> Any:
    n = x.shape[0] or 6
    return tf.reduce_sum(x, axis=0) / float(n)


class Module(tf.Module):
    def __init__(self) -> None:
        self.inner = tf.function(frozen)

    @tf.function
    def __call__(self, x: Any) -> Any:
        return self.inner(x) * 2.0


def outer() -> Any:
    inner = tf.function(frozen)
    return tf.function(lambda x: inner(x) + 1.0)


@pytest.mark.parametrize("make", [lambda: tf.function(frozen), outer, Module])
def test_a_size_that_python_looked_at_is_told(make: Any) -> None:
    report = check_conversion(make(), (X,), dynamic_shapes=({0: "b"},))
    assert not report.passed
    assert report.failed_phase == "values"


@pytest.mark.parametrize("make", [lambda: tf.function(frozen), outer, Module])
def test_the_function_gives_what_it_gave(make: Any) -> None:
    wanted, model = make()(X), make()
    to_onnx(model, (X,), dynamic_shapes=({0: "b"},))
    np.testing.assert_array_equal(model(X), wanted)


def test_variables_that_the_first_call_makes() -> None:
    class Lazy(tf.Module):
        def __init__(self) -> None:
            self.w: Any = None

        @tf.function
        def __call__(self, x: Any) -> Any:
            if self.w is None:
                self.w = tf.Variable(np.float32(3.0))
            return x * self.w

    model = Lazy()
    model(X)
    report = check_conversion(model, (X,), dynamic_shapes=({0: "b"},))
    assert report.passed, report.text()
