"""Edit distances of many random sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import tensorflow as tf

from yobx.tensorflow import to_onnx


def sparse(rng: np.random.Generator, rows: int, width: int) -> tuple[Any, Any, Any]:
    places = np.argwhere(rng.random((rows, width)) < rng.random())
    values = rng.integers(0, 3, len(places))
    return places.astype(np.int64), values, np.array([rows, width], np.int64)


def test_distances_are_those_of_tensorflow() -> None:
    def distances(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
        return tf.edit_distance(tf.SparseTensor(a, b, c), tf.SparseTensor(d, e, f), normalize=False)

    one = [tf.TensorSpec([None, 2], tf.int64), tf.TensorSpec([None], tf.int64)]
    one.append(tf.TensorSpec([2], tf.int64))
    dynamic = ({0: "p"}, {0: "p"}, {}, {0: "q"}, {0: "q"}, {})
    model = to_onnx(tf.function(distances), (*one, *one), dynamic_shapes=dynamic)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    names = [value.name for value in session.get_inputs()]
    rng = np.random.default_rng(0)
    for _ in range(20):
        feeds = (*sparse(rng, 4, 9), *sparse(rng, 4, 12))
        got = session.run(None, dict(zip(names, feeds, strict=True)))[0]
        assert np.array_equal(got, distances(*map(tf.constant, feeds)))
