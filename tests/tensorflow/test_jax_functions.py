"""JAX functions through ``to_onnx``: how they are found, lowered and named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf

from tests.tensorflow.helpers import agree, data, dims, names_of
from yobx.errors import ArgumentError, TraceError
from yobx.tensorflow import to_onnx
from yobx.tensorflow.model_kinds import uses_jax
from yobx.tensorflow.tensorflow_helper import jax_to_concrete_function


def jax_fn(x: Any) -> Any:
    return jnp.sin(x)


def _tree(batch: Any, scale: Any) -> Any:
    return {"y": batch["b"] @ batch["a"], "s": jnp.tanh(scale)}


def _shapes(function: Any) -> list[Any]:
    return [tuple(tensor.shape) for tensor in (*function.inputs, *function.outputs)]


def test_lowering_gives_one_module_with_open_axes() -> None:
    function = jax_to_concrete_function(jax_fn, (data(5, 4),), dynamic_shapes=({0: "batch"},))
    assert isinstance(function, tf.types.experimental.ConcreteFunction)
    assert _shapes(function) == [(None, 4), (None, 4)]
    assert [op.type for op in function.graph.get_operations()].count("XlaCallModule") == 1
    np.testing.assert_allclose(function(data(3, 4)), np.sin(data(3, 4)), rtol=1e-5)


def test_default_and_static_axes() -> None:
    assert _shapes(jax_to_concrete_function(jax_fn, (data(5, 4),))) == [(None, 4)] * 2
    static = jax_to_concrete_function(jax_fn, (data(5, 4),), dynamic_shapes=({},))
    assert _shapes(static) == [(5, 4)] * 2


def test_names_of_inputs() -> None:
    args = ({"b": data(5, 4), "a": data(4, 2)}, data(3))
    shapes = ({}, {0: "n"}, {})
    function = jax_to_concrete_function(_tree, args, dynamic_shapes=shapes)
    assert [tensor.name for tensor in function.inputs] == ["a:0", "b:0", "scale:0"]
    named = jax_to_concrete_function(
        _tree, args, input_names=["u", "v", "w"], dynamic_shapes=shapes
    )
    assert [tensor.name for tensor in named.inputs] == ["u:0", "v:0", "w:0"]


def test_size_that_jax_needs_as_a_number() -> None:
    def f(x):
        return x if x.shape[0] > 3 else jnp.zeros(3)

    with pytest.raises(TraceError, match=r"'batch' are symbolic.*dynamic_shapes"):
        jax_to_concrete_function(f, (data(5),))
    assert _shapes(jax_to_concrete_function(f, (data(5),), dynamic_shapes=({},))) == [(5,)] * 2


def test_unknown_rank() -> None:
    with pytest.raises(ArgumentError, match="rank"):
        jax_to_concrete_function(jax_fn, (tf.TensorSpec(None),))


def test_which_functions_refer_to_jax() -> None:
    weight = jnp.ones((2,))
    assert uses_jax(jax_fn)
    assert uses_jax(jax.jit(jax_fn))
    assert uses_jax(lambda x: x * weight)
    assert not uses_jax(lambda x: tf.sin(x))
    assert not uses_jax(tf.sin)


@pytest.mark.parametrize("f", [jax_fn, jax.jit(jax_fn), lambda x: jax.jit(jax_fn)(x * 1.0)])
def test_function_is_recognised(f: Any) -> None:
    x = data(5, 4)
    onx = to_onnx(f, (x,))
    assert dims(onx.graph.input[0]) == ["batch", 4]
    agree(onx, [np.sin(x)], x)


class Holder:
    """Hides a function of JAX behind a method that does not mention JAX."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def call(self, x: Any) -> Any:
        return self._function(x)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (jax_fn, np.sin),
        (lambda x: x + jnp.zeros((1,), x.dtype), lambda x: x),  # refuses the dtype, not the tensor
    ],
)
def test_hidden_function_is_recognised_by_where_it_fails(
    function: Callable[[Any], Any], expected: Callable[[Any], Any]
) -> None:
    x = data(5, 4)
    method = Holder(function).call
    assert not uses_jax(method)
    agree(to_onnx(method, (x,)), [expected(x)], x)


def test_both_ways_of_the_specification() -> None:
    x = data(5, 4)
    function = jax_to_concrete_function(jax_fn, (x,), dynamic_shapes=({0: "batch"},))
    onx = to_onnx(function, (x,), dynamic_shapes=({0: "batch"},))
    assert names_of(onx)[0] == ["x"]
    assert dims(onx.graph.output[0]) == ["batch", 4]
    agree(onx, [np.sin(x)], x)


def test_trees_and_methods_of_arrays() -> None:
    a, b, s = data(4, 2), data(5, 4), data(3)
    onx = to_onnx(_tree, ({"b": b, "a": a}, s), dynamic_shapes=({}, {0: "n"}, {}))
    assert names_of(onx) == (["a", "b", "scale"], ["s", "y"])
    agree(onx, [np.tanh(s), b @ a], a, b, s, rtol=1e-4)
    onx = to_onnx(lambda x: jnp.exp(x.sum()), (s,), dynamic_shapes=({},))
    agree(onx, [np.exp(s.sum())], s)


@pytest.mark.parametrize(
    ("given", "taken", "wide"),
    [("float64", 1, 11), ("int64", 6, 7), ("float16", 10, 10), ("bool", 9, 9)],
)
def test_inputs_have_the_types_that_jax_computes_with(given: str, taken: int, wide: int) -> None:
    def function(x: Any) -> Any:
        return jnp.where(x == 0, x, x)

    args = (np.zeros(3, given),)
    assert to_onnx(function, args).graph.input[0].type.tensor_type.elem_type == taken
    with jax.enable_x64(True):
        assert to_onnx(function, args).graph.input[0].type.tensor_type.elem_type == wide


def test_x64_setting_is_untouched() -> None:
    before = jax.config.jax_enable_x64
    to_onnx(jax_fn, (data(2),))
    assert jax.config.jax_enable_x64 == before


def test_what_is_wrong_in_a_function_of_jax_is_told_in_words_of_jax() -> None:
    def scaled(x: Any) -> Any:
        return jnp.asarray(x.mean()) * x.no_such_method()

    with pytest.raises(TraceError, match=r"inside jax\.jit") as caught:
        to_onnx(scaled, (data(3, 4),), dynamic_shapes={})
    assert "tf." not in str(caught.value)
    assert "SymbolicTensor" not in str(caught.value)


def test_a_function_that_refers_to_both_fails_as_one_of_tensorflow() -> None:
    def both(x: Any) -> Any:
        return tf.sin(x) * x.no_such_method() * jnp.pi

    with pytest.raises(TraceError, match=r"inside tf\.function"):
        to_onnx(both, (data(3, 4),), dynamic_shapes={})
