"""Complex numbers in lists, loops and branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.tensorflow.helpers import data, run
from yobx.tensorflow import to_onnx


def grown(x: Any) -> Any:
    found = tf.TensorArray(x.dtype, 0, dynamic_size=True, element_shape=None)
    for i in tf.range(3):
        found = found.write(i, x * tf.cast(tf.complex(tf.cast(i, tf.float32), 1.0), x.dtype))
    return found.stack()


def joined(x: Any) -> Any:
    found = tf.TensorArray(x.dtype, 2, infer_shape=False)
    found = found.write(0, x).write(1, x[:1] * 2)
    return found.concat()


def cut(x: Any) -> Any:
    found = tf.TensorArray(x.dtype, 0, dynamic_size=True).unstack(x)
    return found.gather([1, 0]) + found.read(1)


def turned(x: Any) -> Any:
    i = tf.constant(0)
    turn = tf.constant(0.6 + 0.8j, x.dtype)
    return tf.while_loop(lambda i, z: i < 4, lambda i, z: (i + 1, z * turn), (i, x))[1]


def longer(x: Any) -> Any:
    def body(i: Any, z: Any) -> Any:
        return i + 1, tf.concat([z, z[:1] * 2], 0)

    shapes = (tf.TensorShape([]), tf.TensorShape([None, 3]))
    return tf.while_loop(lambda i, z: i < 2, body, (tf.constant(0), x), shapes)[1]


def unwritten(x: Any) -> Any:
    found = tf.TensorArray(x.dtype, 3, element_shape=[3])
    for i in tf.range(tf.shape(x)[0] - 1):
        found = found.write(i, x[i])
    return found.stack()


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "map": lambda x: tf.map_fn(lambda row: row * row[0] + 1, x),
    "map to real": lambda x: tf.map_fn(tf.abs, x, fn_output_signature=x.dtype.real_dtype),
    "map of scalars": lambda x: tf.map_fn(lambda row: row[1] * 1j, x),
    "scan": lambda x: tf.scan(lambda a, b: a * b, x),
    "fold": lambda x: tf.foldl(lambda a, b: a * 2 + b, x),
    "vectorized": lambda x: tf.vectorized_map(lambda row: tf.reduce_sum(row) * row, x),
    "branch": lambda x: tf.cond(tf.abs(x[0, 0]) > 1, lambda: x * 2, lambda: tf.math.conj(x)),
    "loop": turned,
    "longer": longer,
    "grown": grown,
    "joined": joined,
    "cut": cut,
    "unwritten": unwritten,
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_lists_and_loops(name: str, dtype: str) -> None:
    def parts(x: Any) -> Any:
        found = FUNCTIONS[name](tf.complex(x, tf.reverse(x, [-1]) * 0.5))
        if not found.dtype.is_complex:
            return found
        return tf.stack([tf.math.real(found), tf.math.imag(found)], -1)

    function = tf.function(parts, input_signature=[tf.TensorSpec([None, 3], dtype)])
    model = to_onnx(function)
    for count in (2, 4):
        x = data(count, 3, seed=count).astype(dtype)
        (got,) = run(model, x)
        want = function(tf.constant(x)).numpy()
        assert got.dtype == want.dtype
        assert got.shape == want.shape
        rtol = 1e-5 if dtype == "float32" else 1e-13
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)
