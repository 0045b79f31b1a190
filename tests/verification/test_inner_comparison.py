"""Values inside a model, compared with those of its source by name."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from yobx.verification import run_check


def wrong(g: Any, sts: Any, outputs: Any, op: Any, verbose: int = 0) -> Any:
    made = g.op.Relu(op.inputs[0].name)
    return g.op.Mul(made, np.float32(1.01), outputs=outputs)


def tower(side: int) -> keras.Model:
    keras.utils.set_random_seed(0)
    layers = keras.layers
    x = inputs = keras.Input((side, side, 3))
    for index in range(3):
        x = layers.Conv2D(8, 3, padding="same")(x)
        x = layers.BatchNormalization()(x)
        x = layers.Activation("relu" if index == 1 else "tanh", name=f"bend{index}")(x)
    return keras.Model(inputs, layers.GlobalAveragePooling2D()(x))


def localised(side: int) -> Any:
    image = np.random.default_rng(0).standard_normal((2, side, side, 3)).astype(np.float32)
    result = run_check(tower(side), (image,), extra_converters={"Relu": wrong}, bindings="primes")
    return result.report.localization


def test_channels_first_values_are_compared() -> None:
    found = localised(12)
    assert found.source_op == "Relu"
    assert found.layer.endswith("bend1")
    assert found.compared == 3  # the output of every bend
    assert found.verdict == "converter"
    line = wrong.__code__.co_firstlineno
    told = f"Relu is converted by extra_converters, wrong (test_inner_comparison.py:{line})"
    assert found.reason.endswith(told)


def test_equal_sizes_do_not_hide_the_order_of_axes() -> None:
    found = localised(8)  # as many channels as rows
    assert found.layer.endswith("bend1")
