"""Layers that surely compute each sample from that sample alone, and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import pytest

from yobx.tensorflow.separate_samples import keeps_samples_apart

LAYERS = keras.layers


def built(make: Callable[[], Any], *shape: int) -> Any:
    layer = make()
    layer(keras.ops.ones((2, *shape)))
    return layer


def network(**arguments: Any) -> Any:
    rows = keras.Input((4,))
    return keras.Model(rows, LAYERS.BatchNormalization()(LAYERS.Dense(4)(rows), **arguments))


def with_constant() -> Any:
    rows = keras.Input((4,))
    return keras.Model(rows, LAYERS.Add()([rows, keras.ops.ones((2, 4))]))


def quantised() -> Any:
    layer = built(lambda: LAYERS.Dense(4), 4)
    layer.quantize("int8")
    return layer


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: LAYERS.Dense(3, activation="gelu"), (4,)),
        (lambda: LAYERS.Bidirectional(LAYERS.LSTM(3)), (5, 4)),
        (lambda: LAYERS.RNN([LAYERS.LSTMCell(3), LAYERS.GRUCell(2)]), (5, 4)),
        (lambda: LAYERS.EinsumDense("ab,bc->ac", 3), (4,)),
        (lambda: LAYERS.EinsumDense("...x,xy->...y", 3), (5, 4)),
        (lambda: LAYERS.Softmax(axis=1), (4,)),
        (lambda: LAYERS.ConvLSTM1D(2, 3), (5, 6, 4)),
        (lambda: keras.Sequential([LAYERS.Dropout(0.5), LAYERS.Rescaling(2.0)]), (4,)),
        (network, (4,)),
        (lambda: network(training=False), (4,)),
    ],
)
def test_layers_of_single_samples(make: Callable[[], Any], shape: tuple[int, ...]) -> None:
    assert keeps_samples_apart(built(make, *shape))


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: LAYERS.EinsumDense("...ab,ca->...cb", (3, 4)), (4, 4)),
        (lambda: LAYERS.LayerNormalization(axis=[-2, -1]), (4,)),
        (lambda: LAYERS.Softmax(axis=0), (4,)),
        (lambda: LAYERS.Dense(3, activation=lambda x: x - x[:1]), (4,)),
        (lambda: keras.Sequential([LAYERS.Lambda(lambda x: x[::-1])]), (4,)),
        (lambda: network(training=True), (4,)),
        (with_constant, (4,)),
        (lambda: LAYERS.LSTM(3, stateful=True), (5, 4)),
        (quantised, (4,)),
    ],
)
def test_layers_that_may_mix_samples(make: Callable[[], Any], shape: tuple[int, ...]) -> None:
    assert not keeps_samples_apart(built(make, *shape))
