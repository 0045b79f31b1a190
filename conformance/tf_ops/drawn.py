"""Random operations: shape, dtype, range and moments, since the values cannot agree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from conformance.tf_ops.cases import Arg, Case, Drawn
from conformance.tf_ops.rows import Row

KEY = {"key": np.array([3], np.uint64), "counter": np.array([1, 2], np.uint64), "alg": 1}
SHAPE = {"shape": [1500]}
LOGITS = Arg("float32", (1, 3), values=(0.0, 0.0, 0.0))
MEANS = Arg("float32", (), values=(2.5,))
# op type -> (inputs, attributes, smallest value, largest value, mean)
DRAWS: dict[str, tuple[dict[str, Any], dict[str, Any], float, float, float]] = {
    "RandomUniform": (SHAPE, {}, 0, 1, 0.5),
    "StatelessRandomUniform": ({**SHAPE, "seed": [1, 2]}, {}, 0, 1, 0.5),
    "StatelessRandomUniformV2": ({**SHAPE, **KEY}, {}, 0, 1, 0.5),
    "RandomStandardNormal": (SHAPE, {}, -7, 7, 0),
    "StatelessRandomNormal": ({**SHAPE, "seed": [1, 2]}, {}, -7, 7, 0),
    "StatelessRandomNormalV2": ({**SHAPE, **KEY}, {}, -7, 7, 0),
    "TruncatedNormal": (SHAPE, {}, -2, 2, 0),
    "StatelessTruncatedNormal": ({**SHAPE, "seed": [1, 2]}, {}, -2, 2, 0),
    "StatelessTruncatedNormalV2": ({**SHAPE, **KEY}, {}, -2, 2, 0),
    "RandomUniformInt": ({**SHAPE, "minval": -3, "maxval": 6}, {}, -3, 5, 1),
    "StatelessRandomUniformInt": (
        {**SHAPE, "seed": [1, 2], "minval": -3, "maxval": 6}, {}, -3, 5, 1),
    "StatelessRandomUniformIntV2": (
        {**SHAPE, **KEY, "minval": -3, "maxval": 6}, {}, -3, 5, 1),
    "Multinomial": ({"logits": LOGITS, "num_samples": 1500}, {}, 0, 2, 1),
    "StatelessMultinomial": (
        {"logits": LOGITS, "num_samples": 1500, "seed": [1, 2]}, {}, 0, 2, 1),
    "RandomPoissonV2": ({**SHAPE, "rate": Arg("float32", (), values=(3,))}, {}, 0, 30, 3),
    "RandomGamma": ({**SHAPE, "alpha": Arg("float32", (), values=(2.5,))}, {}, 0, 40, 2.5),
    "StatelessRandomGammaV2": (
        {**SHAPE, "seed": [1, 2], "alpha": Arg("float32", (), values=(0.5,))}, {}, 0, 40, 0.5),
    "StatelessRandomGammaV3": (
        {**SHAPE, **KEY, "alpha": Arg("float32", (), values=(0.5,))}, {}, 0, 40, 0.5),
    "ParameterizedTruncatedNormal": (
        {**SHAPE, "means": MEANS, "stdevs": 1, "minvals": 1, "maxvals": 4}, {}, 1, 4, 2.5),
    "StatelessParameterizedTruncatedNormal": (
        {**SHAPE, "seed": [1, 2], "means": MEANS, "stddevs": 1, "minvals": 1, "maxvals": 4},
        {}, 1, 4, 2.5),
    "RandomShuffle": ({"value": Arg("float32", (1500,), -4, 4)}, {}, -4, 4, 0),
    "StatelessShuffle": ({"value": Arg("float32", (1500,), -4, 4), **KEY}, {}, -4, 4, 0),
}  # fmt: skip


def _keys(x: Any) -> Any:
    """Return keys and counters, which nobody may compare: their shapes are."""
    found = (
        *tf.raw_ops.StatelessRandomGetKeyCounter(seed=[1, 2]),
        tf.raw_ops.StatelessRandomGetAlg(),
    )
    return x, [tf.zeros_like(value) for value in found]


def cases() -> list[Case]:
    """Return the cases of this module."""
    drawn = [
        replace(case, drawn=Drawn(low, high, mean))
        for op_type, (inputs, attrs, low, high, mean) in DRAWS.items()
        for case in Row(op_type, inputs, attrs, options={"dynamic": False}).cases()
    ]
    return [*drawn, Case("keys", _keys, (Arg("float32", (2,)),))]
