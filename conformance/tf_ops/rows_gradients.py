"""Rows of gradients of operations that move, repeat or pool elements."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from conformance.tf_ops.cases import Arg, Case
from conformance.tf_ops.rows import Row
from conformance.tf_ops.rows_attributes import MASKED_SLICES
from conformance.tf_ops.variations import cases_of

ONE: dict[str, Any] = {"only": ()}
SUMS: dict[str, Any] = {"ulps": 16, "half": 2, "options": {"floor": 16.0}}
PAIRS = (
    ((3, 1), (3, 4)), ((1, 1), (1, 4)), ((4,), (3, 4)), ((1,), (3, 4)), ((), (2, 3)), ((2, 3), ()),
    ((2, 1, 3), (1, 3)), ((1, 1), (1, 1)), ((1,), (1, 1)), ((0, 1), (0, 4)), ((1, 0), (5, 0)),
    ((2, 1, 1, 3), (1, 4, 1, 1)), ((2, 3), (2, 3)),
)  # fmt: skip
SHAPES = [
    Row("BroadcastGradientArgs", {"s0": [3, 1], "s1": [3, 4]}, tag="known"),
    *(Row("BroadcastGradientArgs", {"s0": Arg("int32", (len(a),), values=a or (1,)),
          "s1": Arg("int32", (len(b),), values=b or (1,))}, tag=f"{a}{b}", **ONE)
      for a, b in PAIRS),
    Row("ConcatOffset", {"concat_dim": 1, "shape": [Arg("int32", (3,), values=(2, 4, 1)),
        Arg("int32", (3,), values=(2, 3, 1)), Arg("int32", (3,), values=(2, 0, 1))]}),
    Row("ConcatOffset", {"concat_dim": -1, "shape": [Arg("int32", (2,), values=(2, 4)),
        Arg("int32", (2,), values=(2, 3))]}, tag="from the end", **ONE),
]  # fmt: skip
PARTS = [
    Row("StridedSliceGrad", {"shape": [3, 5], "begin": [0, 1], "end": [3, 5], "strides": [2, 3],
        "dy": Arg("float32", (2, 2))}),
    *(Row("StridedSliceGrad", {"shape": [2, 3, 4], "begin": begin, "end": end,
          "strides": [1] * len(begin), "dy": Arg("float32", shape)}, masks, tag="-".join(masks),
          **ONE)
      for begin, end, shape, masks in MASKED_SLICES),
    *(Row("StridedSliceGrad", {"shape": [size, 3], "begin": [begin], "end": [end],
          "strides": [step], "dy": Arg("float32", (count, 3))}, tag=f"{size} {begin} {end} {step}",
          **ONE)
      for size, begin, end, step, count in (
          (4, -1, -9, -2, 2), (4, -3, -9, -1, 2), (5, -4, 4, 2, 2), (1, -2, 3, 1, 1),
          (3, 2, -4, -1, 3), (4, 3, 0, -2, 2))),
]  # fmt: skip
POOLS = [
    *(Row("AvgPoolGrad", {"orig_input_shape": [3, 6, 7, 2], "grad": Arg("float32", shape)},
          {"ksize": kernel, "strides": strides, "padding": padding}, tag=f"{padding}{kernel}",
          only=None if shape == (3, 6, 4, 2) else (), vary=("data_format",), **SUMS)
      for shape, kernel, strides, padding in (
          ((3, 6, 4, 2), [1, 2, 3, 1], [1, 1, 2, 1], "SAME"),
          ((3, 5, 3, 2), [1, 2, 3, 1], [1, 1, 2, 1], "VALID"),
          ((3, 2, 2, 2), [1, 2, 2, 1], [1, 3, 4, 1], "SAME"),
          ((3, 2, 2, 2), [1, 2, 2, 1], [1, 3, 4, 1], "VALID"))),
    *(Row("AvgPool3DGrad", {"orig_input_shape": [2, 4, 5, 3, 2], "grad": Arg("float32", shape)},
          {"ksize": [1, 2, 2, 2, 1], "strides": [1, 1, 2, 1, 1], "padding": padding}, tag=padding,
          only=None if padding == "SAME" else (), vary=("data_format",), **SUMS)
      for shape, padding in (((2, 4, 3, 3, 2), "SAME"), ((2, 3, 2, 2, 2), "VALID"))),
    *(Row("MaxPoolGrad", {"orig_input": Arg("float32", ("n", 6, 7, 2), values=values),
          "orig_output": Arg("float32", ("n", *shape, 2)),
          "grad": Arg("float32", ("n", *shape, 2), 0, 5)}, {"ksize": kernel, "strides": strides,
          "padding": padding}, tag=f"{padding}{kernel}{'ties' if values else ''}",
          only=None if shape == (6, 4) and values is None else (), vary=("data_format",), **SUMS)
      for values in (None, (1, 2, 2, 0, 1, 3, 3))
      for shape, kernel, strides, padding in (
          ((6, 4), [1, 2, 3, 1], [1, 1, 2, 1], "SAME"),
          ((5, 3), [1, 2, 3, 1], [1, 1, 2, 1], "VALID"),
          ((3, 3), [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
          ((2, 2), [1, 2, 2, 1], [1, 3, 4, 1], "SAME"))),
    Row("MaxPoolGrad", {"orig_input": Arg("float32", ("n", 6, 7, 2)),
        "orig_output": Arg("float32", ("n", 6, 4, 2)), "grad": Arg("float32", ("n", 6, 4, 2))},
        {"ksize": [1, 2, 3, 1], "strides": [1, 1, 2, 1], "padding": "EXPLICIT",
         "explicit_paddings": [0, 0, 1, 0, 1, 1, 0, 0]}, tag="padded", vary=(), only=(), **SUMS),
]  # fmt: skip


def _saliency(x: Any, w: Any) -> Any:
    """Two gradients of a small network with poolings, slices and sums over batches and channels."""
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, w, 1, "SAME")), 2, 2, "VALID")
        y = tf.nn.avg_pool2d(
            tf.concat([y[:, 1:, ::2], tf.reverse(y, [1])[:, 1:, ::2]], 3), 2, 1, "SAME"
        )
        score = tf.reduce_max(tf.reduce_mean(y * y + y, [1, 2]), -1)
    return tape.gradient(score, x), tape.gradient(score, y)


WHOLE = [
    Case("saliency", _saliency, (Arg("float32", ("n", "h", 9, 2)), Arg("float32", (3, 3, 2, 3))),
         ulps=16, floor=256.0, bindings=({"n": 5, "h": 8}, {"n": 1, "h": 5})),
]  # fmt: skip


def cases() -> list[Case]:
    """Return the cases of this module."""
    return [*cases_of([*SHAPES, *PARTS, *POOLS]), *WHOLE]
