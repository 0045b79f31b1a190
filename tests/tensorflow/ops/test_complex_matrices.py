"""Complex matrices as pairs of real ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.tensorflow.helpers import data, run
from yobx.tensorflow import to_onnx


def pair(x: Any) -> Any:
    return tf.complex(x, tf.reverse(x, [-1]) * 0.5)


def turned(x: Any) -> Any:
    return tf.argsort(x, axis=-1)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "expm": lambda x: tf.linalg.expm(pair(x)),
    "solve": lambda x: tf.linalg.solve(pair(x), pair(x[..., :2])),
    "adjoint": lambda x: tf.linalg.solve(pair(x), pair(x[..., :2]), adjoint=True),
    "inverse": lambda x: tf.linalg.inv(pair(x)),
    "eye": lambda x: tf.eye(3, batch_shape=tf.shape(x)[:1], dtype=pair(x).dtype) + pair(x),
    "diag": lambda x: tf.linalg.diag(pair(x[:, 0]), k=1),
    "likes": lambda x: tf.ones_like(pair(x)) * 2 + tf.zeros_like(pair(x)),
    "fill": lambda x: tf.fill(tf.shape(x), pair(x)[0, 0, 0]),
    "broadcast": lambda x: tf.broadcast_to(pair(x[:1]), tf.shape(x)),
    "gather last": lambda x: tf.gather(pair(x), [2, 0], axis=-1),
    "gather middle": lambda x: tf.gather(pair(x), [[0], [1]], axis=-2),
    "gather in batches": lambda x: tf.gather(pair(x), turned(x)[:, 0], axis=-1, batch_dims=1),
    "gather in rows": lambda x: tf.gather(pair(x), turned(x), axis=-1, batch_dims=2),
    "ignored": lambda x: tf.gather_nd(pair(x), [[0, 1], [9, 0]], bad_indices_policy="IGNORE"),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str, dtype: str) -> None:
    function = FUNCTIONS[name]

    def parts(x: Any) -> Any:
        found = function(x)
        return tf.stack([tf.math.real(found), tf.math.imag(found)], -1)

    spec = tf.TensorSpec([2, 3, 3] if name == "expm" else [None, 3, 3], dtype)
    model = to_onnx(tf.function(parts, input_signature=[spec]))
    for count in (2,) if name == "expm" else (1, 4):
        x = data(count, 3, 3, seed=count).astype(dtype)
        (got,) = run(model, x)
        want = parts(tf.constant(x)).numpy()
        assert got.dtype == want.dtype
        rtol = 1e-5 if dtype == "float32" else 1e-13
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * np.abs(want).max())


@pytest.mark.parametrize("shape", [(4, 3), None])
def test_variables(shape: tuple[int, ...] | None) -> None:
    value = data(4, 3) + 1j * data(4, 3, seed=1)
    variable = tf.Variable(value.astype(np.complex64), shape=tf.TensorShape(shape))

    @tf.function(input_signature=[tf.TensorSpec([2], "int32")])
    def function(index: Any) -> Any:
        sizes = tf.raw_ops.VariableShape(input=variable.handle)
        rows = tf.gather(variable, index)
        return sizes, tf.math.imag(rows), tf.math.real(variable * 2.0 - rows[:1])

    index = np.array([3, 1], np.int32)
    for got, want in zip(run(to_onnx(function), index), function(index), strict=True):
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-6)
