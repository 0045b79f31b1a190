"""Models that compute in 16-bit floats, for which onnxruntime has few kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import keras
import ml_dtypes
import numpy as np
import onnx
import pytest
import tensorflow as tf
from onnx import TensorProto

from yobx.tensorflow import to_onnx
from yobx.verification import check_conversion
from yobx.verification.noise import narrows
from yobx.verification.source_jax import JaxSource
from yobx.verification.source_tensorflow import TensorFlowSource

X = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)


@pytest.fixture
def policy(request: pytest.FixtureRequest) -> Iterator[str]:
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(request.param)
    yield request.param
    keras.config.set_dtype_policy(before)


def network(activation: str) -> Any:
    keras.utils.set_random_seed(1)
    layers = keras.layers
    return keras.Sequential(
        [keras.Input((8,)), layers.Dense(16, activation=activation), layers.Dense(4)]
    )


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"], indirect=True)
@pytest.mark.parametrize(
    "activation", ["elu", "selu", "gelu", "silu", "softplus", "tanh", "mish", "sigmoid"]
)
def test_networks_of_mixed_precision(policy: str, activation: str) -> None:
    report = check_conversion(network(activation), (X,))
    assert report.passed, report


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("function", [tf.nn.elu, tf.nn.selu, tf.nn.gelu])
def test_functions_whose_source_is_less_exact(function: Callable[..., Any], dtype: Any) -> None:
    x = np.random.default_rng(0).normal(size=500).astype(dtype)
    report = check_conversion(tf.function(lambda v: function(v)), (x,))
    assert report.passed, report


def scaled(weights: float) -> Callable[..., onnx.ModelProto]:
    def convert(model: Any, args: Any, **options: Any) -> onnx.ModelProto:
        found = to_onnx(model, args, **options)
        for tensor in found.graph.initializer:
            array = onnx.numpy_helper.to_array(tensor)
            if array.ndim == 2 and array.shape == (16, 4):
                tensor.CopyFrom(
                    onnx.numpy_helper.from_array((array * weights).astype(array.dtype), tensor.name)
                )
        return found

    return convert


@pytest.mark.parametrize("policy", ["mixed_bfloat16"], indirect=True)
def test_wrong_weights_are_seen_behind_the_rounding(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import yobx.tensorflow

    model = network("sigmoid")
    monkeypatch.setattr(yobx.tensorflow, "to_onnx", scaled(1.05))
    assert check_conversion(model, (X,)).failed_phase == "values"
    monkeypatch.setattr(yobx.tensorflow, "to_onnx", scaled(1.0))
    assert check_conversion(model, (X,)).passed


def hidden(dtype: int) -> Callable[..., Any]:
    """A converter of `Sigmoid` that rounds to a 16-bit type on the way."""

    def convert(g: Any, sts: Any, outputs: list[str], op: Any) -> Any:
        narrow = g.op.Cast(g.op.Sigmoid(op.inputs[0].name), to=dtype)
        return g.op.Cast(narrow, to=TensorProto.FLOAT, outputs=outputs)

    return convert


@pytest.mark.parametrize("dtype", [TensorProto.FLOAT16, TensorProto.BFLOAT16])
def test_a_type_that_the_source_does_not_compute_in_is_a_fault(dtype: int) -> None:
    w = np.random.default_rng(3).normal(size=(8, 4)).astype(np.float32)

    @tf.function
    def function(x: Any) -> Any:
        return tf.matmul(tf.sigmoid(x), w)

    right = check_conversion(function, (X,))
    assert right.passed, right
    wrong = check_conversion(function, (X,), extra_converters={"Sigmoid": hidden(dtype)})
    assert wrong.failed_phase == "values"


def test_types_that_a_source_computes_in() -> None:
    inner = tf.function(lambda x: tf.cast(tf.cast(x, tf.bfloat16) * 2, tf.float32))
    outer = tf.function(lambda x: inner(x) + 1.0)
    source = TensorFlowSource(outer)
    source.convert((X,), {})
    assert source.narrow_dtypes((X,), {}) == {"bfloat16"}
    plain = TensorFlowSource(tf.function(lambda x: x + 1.0))
    plain.convert((X,), {})
    assert plain.narrow_dtypes((X,), {}) == frozenset()


def test_types_that_a_jax_function_computes_in() -> None:
    import jax.numpy as jnp

    half = JaxSource(lambda x: jnp.tanh(x.astype(jnp.float16)).astype(jnp.float32))
    both = JaxSource(lambda x: x.astype(jnp.float16) + x.astype(jnp.bfloat16))
    assert half.narrow_dtypes((X,), {}) == {"float16"}
    assert both.narrow_dtypes((X,), {}) == {"float16", "bfloat16"}
    assert JaxSource(jnp.tanh).narrow_dtypes((X,), {}) == frozenset()


def test_casts_inside_control_flow_count() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 21]>
        g (float[n] x, bool c) => (float[n] y) {
            y = If (c) <
                then_branch = t () => (float[n] a) { h = Cast<to=10>(x) a = Cast<to=1>(h) },
                else_branch = e () => (float[n] b) { b = Neg(x) }>
        }"""
    )
    assert narrows(model)
    del model.graph.node[0].attribute[0].g.node[0].attribute[:]
    assert not narrows(model)
