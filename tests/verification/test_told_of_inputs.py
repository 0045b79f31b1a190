"""A check says which sizes are one because nobody named them."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import keras
import numpy as np
import pytest
import tensorflow as tf

from yobx.verification import check_conversion

X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
NOTE = "inputs of equal size on axis 0 share it: "


def _tensorflow(x: Any, y: Any) -> Any:
    return tf.sin(x), tf.cos(y)


def _jax(x: Any, y: Any) -> Any:
    return jnp.sin(x), jnp.cos(y)


def _told(model: Any, args: Any = None, **options: Any) -> list[str]:
    report = check_conversion(model, args, bindings="primes", **options)
    report.raise_if_failed()
    return [note for note in report.notes if note.startswith(NOTE)]


@pytest.mark.parametrize("function", [_tensorflow, _jax])
def test_sizes_that_are_shared_by_default_are_told(function: Any) -> None:
    assert _told(function, (X, X)) == [
        f"{NOTE}x, y by batch; other sizes of each are told apart by dynamic_shapes, as in "
        "({0: 'n'}, {0: 'm'})"
    ]
    assert _told(function, (X, X[:2])) == []
    assert _told(function, (X, X), dynamic_shapes=({0: "n"}, {0: "m"})) == []
    assert _told(function, (X, X), dynamic_shapes=({0: "batch"}, {0: "batch"})) == []


def test_inputs_of_a_keras_model_have_one_batch() -> None:
    inputs = [keras.Input((4,), name=name) for name in "ab"]
    model = keras.Model(inputs, keras.layers.Add()(inputs))
    assert _told(model) == []


def test_a_single_input_shares_nothing() -> None:
    assert _told(tf.sin, (X,)) == []


def test_inputs_of_a_signature_share_their_size() -> None:
    spec = tf.TensorSpec((None, 4), tf.float32)
    (note,) = _told(tf.function(_tensorflow, input_signature=[spec, spec]))
    assert note.startswith(f"{NOTE}x, y by batch")


def _named(x: Any, names: Any) -> Any:
    return tf.sin(x), names[0]


@pytest.mark.parametrize("names", [["a", "b"], (["a"], ["b"]), [["a"], ["b"]]])
def test_strings_beside_a_tensor_are_told_to_be_constants(names: Any) -> None:
    report = check_conversion(_named, (X, names), bindings="primes")
    report.raise_if_failed()
    (note,) = report.notes
    assert "is a constant of the converted model, as every Python value is in tf.function" in note


def test_an_array_of_strings_is_an_input_and_a_single_string_an_option() -> None:
    spelt = np.array(["a", "b", "c"], object)
    for args in ((X, spelt), (X, "ab")):
        report = check_conversion(_named, args, bindings="sample")
        report.raise_if_failed()
        assert not any("is a constant" in note for note in report.notes)
