"""Conditions of TensorFlow 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from conformance.tf_ops.cases import Arg, Case

KINDS = (
    *("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64", "bool", "string"),
)


def switched(x: Any, p: Any) -> Any:
    """The graph of a condition of TensorFlow 1."""
    other, one = tf.raw_ops.Switch(data=x, pred=p)
    return tf.raw_ops.Merge(inputs=[tf.concat([other, other], 0), tf.identity(one)])


def chosen(x: Any, p: Any) -> Any:
    """What that condition computes, without a graph."""
    return (x, np.int32(1)) if p else (tf.concat([x, x], 0), np.int32(0))


CASES = [
    Case(
        f"switch-{kind}-{side}",
        switched,
        (Arg(kind, ("n", 2)), Arg("bool", (), values=(side,))),
        eager=chosen,
    )
    for kind in KINDS
    for side in (False, True)
]


def cases() -> list[Case]:
    """Return the cases of this module."""
    return CASES
