"""Advice in the words of a framework."""

from __future__ import annotations

import pytest

from yobx.advice import factory_hint, hint_of, sizes_of_a_run, without_colours


def test_every_framework_has_words_of_its_own() -> None:
    assert "tf." not in sizes_of_a_run("jax") + sizes_of_a_run("keras")
    assert "keras.ops.shape" in sizes_of_a_run("keras")
    assert sizes_of_a_run("onnx") == ""


def test_a_size_that_keras_does_not_know_while_a_model_is_built() -> None:
    keras = pytest.importorskip("keras")

    class Wide(keras.layers.Layer):  # type: ignore[misc]
        def call(self, x):  # type: ignore[no-untyped-def]
            return keras.ops.reshape(x, (-1, x.shape[1] * 4))

    class Broken(keras.layers.Layer):  # type: ignore[misc]
        def call(self, x):  # type: ignore[no-untyped-def]
            return x.size["rows"]

    x = keras.Input((None, 4))
    with pytest.raises(TypeError) as refused:
        Wide()(x)
    assert "\x1b" in str(refused.value)
    assert "\x1b" not in without_colours(str(refused.value))
    assert hint_of(refused.value) == (
        "a dynamic size is None in x.shape: write keras.ops.shape(x)[0] in place of x.shape[0]"
    )
    with pytest.raises(AttributeError, match="size") as broken:
        Broken()(x)
    assert hint_of(broken.value) == ""
    assert hint_of(ValueError("None of these")) == ""


def test_what_may_be_a_factory() -> None:
    def needs(size: int, *, seed: int = 0) -> None: ...
    def model(*arrays: object) -> None: ...

    assert factory_hint(needs) == (
        "If needs makes the model: a factory takes no parameters, and this one needs size. Give it "
        "a default."
    )
    assert factory_hint(model) == factory_hint(3) == ""
