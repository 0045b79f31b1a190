"""Random operations: shape, dtype, range and moments, since the values cannot agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from conformance.tf_ops.running import run_onnx
from yobx.errors import UnsupportedOpsetError
from yobx.tensorflow import to_onnx

COUNT = 4000
X = np.zeros((COUNT, 2), np.float32)


def draw(function: Callable[[Any], Any], array: np.ndarray[Any, Any] = X) -> np.ndarray[Any, Any]:
    model = to_onnx(tf.function(function), (array,), dynamic_shapes=({0: "n"},))
    (got,) = run_onnx(model, [array])
    want = function(tf.constant(array)).numpy()
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    return got


def test_uniform() -> None:
    got = draw(lambda x: tf.random.uniform(tf.shape(x), 2.0, 4.0))
    assert 2.0 <= got.min() < 2.1
    assert 3.9 < got.max() <= 4.0
    assert abs(got.mean() - 3.0) < 0.05


def test_normal() -> None:
    got = draw(lambda x: tf.random.normal(tf.shape(x), 1.0, 2.0))
    assert abs(got.mean() - 1.0) < 0.15
    assert abs(got.std() - 2.0) < 0.15


def test_truncated_normal() -> None:
    got = draw(lambda x: tf.random.truncated_normal(tf.shape(x)))
    assert np.abs(got).max() <= 2.0
    assert abs(got.std() - 0.8796) < 0.05


def test_integers() -> None:
    got = draw(lambda x: tf.random.uniform(tf.shape(x), -2, 3, tf.int32))
    assert sorted(set(got.ravel().tolist())) == [-2, -1, 0, 1, 2]


def test_stateless() -> None:
    got = draw(lambda x: tf.random.stateless_normal(tf.shape(x), [1, 2]))
    assert abs(got.std() - 1.0) < 0.1


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + tf.random.stateless_normal((2, 3), [1, 2]),
        lambda x: x + tf.random.stateless_uniform((2, 3), [1, 2]),
        lambda x: x + tf.random.stateless_truncated_normal((2, 3), [3, 4]),
        lambda x: x + tf.cast(tf.random.stateless_uniform((2, 3), [5, 6], 0, 9, tf.int32), x.dtype),
    ],
    ids=["normal", "uniform", "truncated", "integers"],
)
def test_a_constant_seed_draws_a_constant(function: Callable[[Any], Any]) -> None:
    array = np.ones((2, 3), np.float32)
    model = to_onnx(tf.function(function), (array,), dynamic_shapes=({},))
    (got,) = run_onnx(model, [array])
    np.testing.assert_array_equal(got, function(tf.constant(array)).numpy())
    assert not [node for node in model.graph.node if node.op_type.startswith("Random")]


def test_shuffle() -> None:
    rows = np.arange(50, dtype=np.float32).reshape(25, 2)
    got = draw(lambda x: tf.random.shuffle(x), rows)
    assert sorted(got[:, 0].tolist()) == rows[:, 0].tolist()


def test_categorical() -> None:
    logits = np.log(np.array([[0.7, 0.2, 0.1]], np.float32))
    got = draw(lambda x: tf.random.categorical(x, 4000), logits)
    shares = np.bincount(got.ravel(), minlength=3) / got.size
    np.testing.assert_allclose(shares, [0.7, 0.2, 0.1], atol=0.05)


def test_poisson() -> None:
    got = draw(lambda x: tf.random.poisson([2000], x[0, 0] + 3.0))
    assert abs(got.mean() - 3.0) < 0.3


def test_opsets_without_random_operators_are_refused() -> None:
    with pytest.raises(UnsupportedOpsetError, match="Convert with target_opset=21") as caught:
        to_onnx(tf.function(lambda x: tf.random.uniform(tf.shape(x))), (X,), target_opset=22)
    assert (caught.value.since, caught.value.until) == (1, 21)
    assert caught.value.op_type == "RandomUniformLike"


@pytest.mark.parametrize("alpha", [0.1, 0.9, 1.0, 3.0, 50.0])
def test_gamma(alpha: float) -> None:
    got = draw(lambda x: tf.random.gamma([20000], x[0] + alpha, tf.constant([1.0, 2.0]), seed=3))
    assert got.shape == (20000, 2)
    assert got.min() >= 0
    for i, rate in enumerate((1.0, 2.0)):
        column = got[:, i].astype(np.float64)
        error = np.sqrt(alpha / len(column)) / rate
        assert abs(column.mean() - alpha / rate) < 5 * error
        # Of a gamma distribution the fourth moment gives the error of the variance.
        spread = np.sqrt((2 + 6 / alpha) / len(column))
        assert abs(column.var() * rate**2 / alpha - 1) < 5 * spread


def test_gamma_of_a_constant_seed_is_constant() -> None:
    function = tf.function(lambda x: x + tf.random.stateless_gamma([2, 3], [1, 2], [0.3, 1.0, 9.0]))
    x = np.zeros((2, 3), np.float32)
    (got,) = run_onnx(to_onnx(function, (x,)), [x])
    np.testing.assert_allclose(got, function(x))


def mean_between(low: float, high: float) -> float:
    """Mean of a normal number between two bounds, by quadrature."""
    x = np.linspace(low, min(high, low + 8) if low > 0 else high, 200001)
    weight = np.exp((x[0] ** 2 - x**2) / 2 if low > 0 else -(x**2) / 2)
    return float((x * weight).sum() / weight.sum())


@pytest.mark.parametrize("bounds", [(-1, 2), (0.5, 1.5), (2, 9), (3.5, 4), (6, 30), (-30, -6)])
@pytest.mark.parametrize("stateless", [False, True])
def test_truncated_normal_of_parameters(bounds: tuple[float, float], stateless: bool) -> None:
    low, high = bounds

    def function(x: Any) -> Any:
        limits = [x[0, 0] * 2 + 5 + 2 * bound for bound in bounds]
        if stateless:
            return tf.random.stateless_parameterized_truncated_normal(
                [20000], [1, 2], x[0, 0] + 5.0, 2.0, *limits
            )
        return tf.random.truncated_normal([1]) * 0 + tf.raw_ops.ParameterizedTruncatedNormal(
            shape=[20000], means=x[0, :1] + 5.0, stdevs=[2.0], minvals=[limits[0]],
            maxvals=[limits[1]],
        )  # fmt: skip

    got = (draw(function).astype(np.float64) - 5) / 2
    assert got.min() >= low - 1e-5
    assert got.max() <= high + 1e-5
    near = mean_between(low, high) if low > 0 or high > 0 else -mean_between(-high, -low)
    assert abs(got.mean() - near) < 5 * got.std() / np.sqrt(len(got))


def test_truncated_normal_of_parameters_for_each_row() -> None:
    def function(x: Any) -> Any:
        return tf.raw_ops.ParameterizedTruncatedNormal(
            shape=[2, 5000], means=[0.0, 7.0], stdevs=[1.0, 0.5], minvals=x[0] - 1, maxvals=[1.0, 9]
        )

    got = draw(function)
    assert np.abs(got[0]).max() <= 1
    assert abs(got[1].mean() - 7) < 0.05
