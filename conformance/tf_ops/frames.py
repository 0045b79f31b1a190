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


def listed(x: Any, p: Any) -> Any:
    """A condition about a list."""
    made = tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=[2])
    other, one = tf.raw_ops.Switch(data=made, pred=p)
    grown = tf.raw_ops.TensorListPushBack(input_handle=other, tensor=tf.constant([7.0, 8.0]))
    found = tf.raw_ops.Merge(inputs=[grown, tf.identity(one)])[0]
    return tf.raw_ops.TensorListStack(
        input_handle=found, element_shape=[2], element_dtype=tf.float32
    )


def chosen_list(x: Any, p: Any) -> Any:
    """What that condition computes, without a graph."""
    return x if p else tf.concat([x, [[7.0, 8.0]]], 0)


CASES = [
    *(
        Case(
            f"switch-list-{side}",
            listed,
            (Arg("float32", ("n", 2)), Arg("bool", (), values=(side,))),
            eager=chosen_list,
        )
        for side in (False, True)
    ),
    *(
        Case(
            f"switch-{kind}-{side}",
            switched,
            (Arg(kind, ("n", 2)), Arg("bool", (), values=(side,))),
            eager=chosen,
        )
        for kind in KINDS
        for side in (False, True)
    ),
]


def cases() -> list[Case]:
    """Return the cases of this module."""
    return CASES
