"""Functions over signals, one of them exported with an approximation."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

WAVE = np.sin(np.linspace(0.0, 20.0, 24, dtype=np.float32)).reshape(2, 12)


@tf.function
def _envelope(x: tf.Tensor) -> dict[str, tf.Tensor]:
    level = tf.sqrt(tf.reduce_mean(tf.square(x), axis=1, keepdims=True) + 1e-6)
    return {"level": level, "scaled": tf.clip_by_value(x / level, -2.0, 2.0)}


@tf.function
def _gate(x: tf.Tensor) -> tf.Tensor:
    return x * tf.math.erf(x)


def envelope() -> tuple[Any, tuple[np.ndarray], dict[str, Any]]:
    """Level and scaled signal; batch and length are dynamic."""
    return _envelope, (WAVE,), {"dynamic_shapes": ({0: "batch", 1: "length"},)}


def fast_gate() -> tuple[Any, tuple[np.ndarray], dict[str, Any]]:
    """The device has no Erf: it is exported as Tanh, which is known to be off."""

    def convert(g: Any, sts: Any, outputs: list[str], op: Any) -> str:
        return g.op.Tanh(op.inputs[0].name, outputs=outputs, name=op.name)

    return _gate, (WAVE,), {"extra_converters": {"Erf": convert}}
