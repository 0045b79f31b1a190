"""Batches of no elements, and other axes of size 0, beside sizes that are primes and 1.

Convolutions are not among them: TensorFlow's own, by oneDNN, gives the shape of its input where the
batch is empty, and the addition of a bias after it then fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from conformance.tf_ops.cases import Arg, Case

__all__ = ["cases"]

BATCHES = (
    {"n": 5, "m": 7, "h": 7, "w": 11},
    {"n": 1, "m": 1, "h": 1, "w": 2},
    {"n": 0, "m": 3, "h": 4, "w": 3},
)
#: The size of the second axis is 0 as well, with a batch and without one.
AXES = (*BATCHES, {"n": 3, "m": 0, "h": 0, "w": 3}, {"n": 0, "m": 0, "h": 0, "w": 3})
_STEPS, _MATRIX, _SQUARE = ("n", "m", 4), ("n", 3, 4), ("n", 3, 3)
_OPEN, _IMAGE, _LINE = ("n", "h", "w", 4), ("n", 8, 9, 4), ("n", 12)
_LENGTHS = ("n", "m")


def _size(x: Any, axis: int) -> Any:
    return tf.shape(x)[axis]


def _heads(x: Any) -> Any:
    parts = tf.reshape(x, [_size(x, 0), _size(x, 1), 2, 2])
    turned = tf.transpose(parts, [0, 2, 1, 3])
    return tf.reshape(tf.transpose(turned, [0, 2, 1, 3]), [_size(x, 0), -1, 4])


def _eye(x: Any) -> Any:
    return tf.matmul(x, x, transpose_b=True) + 4 * tf.eye(3)


#: Name, function, shape of its input; sizes are those of `AXES`.
OPEN_AXES: tuple[tuple[str, Callable[..., Any], tuple[int | str, ...]], ...] = (
    ("flat", lambda x: tf.reshape(x, [-1]), _STEPS),
    ("rows", lambda x: tf.reshape(x, [-1, 4]), _STEPS),
    ("counted rows", lambda x: tf.reshape(x, [_size(x, 0) * _size(x, 1), 4]), _STEPS),
    ("times weights", lambda x: tf.matmul(x, tf.ones((4, 5))), _STEPS),
    ("products of rows", lambda x: tf.matmul(x, x, transpose_b=True), _STEPS),
    ("images", lambda x: tf.matmul(x, x, transpose_b=True), _OPEN),
    ("tensordot", lambda x: tf.tensordot(x, tf.ones((4, 5)), 1), _STEPS),
    ("tensordot, two", lambda x: tf.tensordot(x, x, [[0, 2], [0, 2]]), _STEPS),
    ("einsum, heads", lambda x: tf.einsum("btd,dhk->bhtk", x, tf.ones((4, 2, 3))), _STEPS),
    ("einsum, images", lambda x: tf.einsum("bhwc,cd->bd", x, tf.ones((4, 2))), _OPEN),
    ("einsum, pairs", lambda x: tf.einsum("bhwc,bijc->bhwij", x, x), _OPEN),
    ("blocks", lambda x: tf.nn.depth_to_space(x, 2), _OPEN),
    ("softmax", tf.nn.softmax, _OPEN),
    ("stacked", lambda x: tf.stack([x, x], 1), _STEPS),
    ("broadcast", lambda x: tf.broadcast_to(x[:, None], [_size(x, 0), 3, _size(x, 1), 4]), _STEPS),
    ("distances", lambda x: tf.reduce_sum(tf.square(x[:, :, None] - x[:, None]), -1), _STEPS),
    ("overlapped", lambda x: tf.signal.overlap_and_add(x, 2), _STEPS),
    ("diagonals", tf.linalg.diag, _STEPS),
    ("diagonal above", lambda x: tf.linalg.diag(x, k=1), _LENGTHS),
    ("diagonal below", lambda x: tf.linalg.diag(x, k=-2), _LENGTHS),
    ("largest", lambda x: tf.math.top_k(x, 2)[0], _STEPS),
    ("one hot", lambda x: tf.one_hot(tf.cast(x, tf.int32), 5), _STEPS),
    ("cumulated", lambda x: tf.cumsum(x, 1), _STEPS),
)
#: Those that TensorFlow refuses, or gives a size of 1, where more axes than the first are empty.
OPEN_BATCHES: tuple[tuple[str, Callable[..., Any], tuple[int | str, ...]], ...] = (
    ("columns", lambda x: tf.reshape(x, [_size(x, 0), -1]), _MATRIX),
    ("joined columns", lambda x: tf.reshape(x, [_size(x, 0), -1]), _STEPS),
    ("halved columns", lambda x: tf.reshape(x, [_size(x, 0), -1, 2]), _STEPS),
    ("split columns", lambda x: tf.reshape(x, [_size(x, 0), -1, 2, 2]), _STEPS),
    ("heads", _heads, _STEPS),
    ("pixels", lambda x: tf.reshape(x, [_size(x, 0), -1, 4]), _OPEN),
    ("lines", lambda x: tf.reshape(x, [_size(x, 0), _size(x, 1), -1]), _OPEN),
    ("einsum, two", lambda x: tf.einsum("bhc,hcd->bd", x, tf.ones((3, 4, 2))), _MATRIX),
    ("to batch", lambda x: tf.space_to_batch(x, [2, 3], [[0, 0], [0, 0]]), _IMAGE),
    ("largest pooled", lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID"), _IMAGE),
    ("mean pooled", lambda x: tf.nn.avg_pool2d(x, 2, 2, "SAME"), _IMAGE),
    ("neighbours", tf.nn.local_response_normalization, _IMAGE),
    ("moments", lambda x: tf.nn.moments(x, [1, 2])[1], _IMAGE),
    ("patches", lambda x: tf.image.extract_patches(
        x, [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME"), _OPEN),
    ("inverse", lambda x: tf.linalg.inv(_eye(x)), _SQUARE),
    ("determinant", lambda x: tf.linalg.det(_eye(x)), _SQUARE),
    ("cholesky", lambda x: tf.linalg.cholesky(_eye(x)), _SQUARE),
    ("frames", lambda x: tf.signal.frame(x, 4, 2), _LINE),
    ("spectrum", lambda x: tf.abs(tf.signal.rfft(x)), _LINE),
    ("resized", lambda x: tf.image.resize(x, (4, 3), "nearest"), _IMAGE),
    ("bilinear", lambda x: tf.image.resize(x, (16, 18)), _IMAGE),
    ("sorted", lambda x: tf.sort(x, -1), _STEPS),
    ("positions", lambda x: tf.where(x > 0), _STEPS),
    ("vectorised", lambda x: tf.vectorized_map(
        lambda row: tf.matmul(row, row, transpose_b=True), x), _MATRIX),
    ("segments", lambda x: tf.math.segment_sum(x, tf.range(_size(x, 0))), _MATRIX),
    ("updated", lambda x: tf.tensor_scatter_nd_update(
        x, tf.range(_size(x, 0))[:, None], x * 2), _MATRIX),
    ("gathered", lambda x: tf.gather(x, tf.argsort(x, 1)[:, :2, 0], batch_dims=1), _MATRIX),
)  # fmt: skip


def cases() -> Iterator[Case]:
    """Every case: the same function with sizes that are primes, 1 and 0."""
    for rows, sizes in ((OPEN_AXES, AXES), (OPEN_BATCHES, BATCHES)):
        for name, function, shape in rows:
            yield Case(
                f"empty: {name}",
                function,
                (Arg("float32", shape),),
                contraction=32,
                ulps=32,
                floor=1,
                bindings=sizes,
            )
