"""Pooling over windows of uneven sizes, and points that TensorFlow chooses while converting."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from yobx.lowering.legalise import legal
from yobx.tensorflow.ops._op import attr, dims, require_constant, unsupported
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_POOLED = ("float32", "float64", "int32", "int64")
Edges = list[tuple[int, int]]


def _sequences(g: GraphBuilder, op: Any) -> list[npt.NDArray[np.int64]]:
    """Return where the windows of rows and of columns begin, as TensorFlow chooses them."""
    import tensorflow as tf

    known = dims(g, op, 0)
    height, width = (None, None) if known is None else known[1:3]
    if height is None or width is None:
        unsupported(op, "height and width must be static", f"shape={known}")
    if not bool(attr(op, "deterministic")):
        unsupported(
            op,
            "the windows must be the same in every run",
            "deterministic=False",
            "Give tf.nn.fractional_max_pool or fractional_avg_pool a seed that is not zero.",
        )
    names = ("pooling_ratio", "pseudo_random", "overlapping", "deterministic", "seed", "seed2")
    made = tf.raw_ops.FractionalMaxPool(
        value=np.zeros((1, height, width, 1), np.float32), **{n: op.get_attr(n) for n in names}
    )
    return [np.asarray(made[i].numpy()) for i in (1, 2)]


def _edges(sequence: npt.NDArray[np.int64], *, overlapping: bool) -> Edges:
    size = int(sequence[-1])
    more = int(overlapping)
    return [(int(start), min(int(end) + more, size)) for start, end in pairwise(sequence)]


@register_tf_op_converter(("FractionalMaxPool", "FractionalAvgPool"), dtypes=_POOLED)
def convert_fractional_pool(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Largest or mean element of windows that a seed chooses; only these, not the windows."""
    sequences = _sequences(g, op)
    overlapping, largest = bool(attr(op, "overlapping")), op.type == "FractionalMaxPool"
    x, counts = op.inputs[0].name, []
    for axis, sequence in zip((1, 2), sequences, strict=True):
        edges = _edges(sequence, overlapping=overlapping)
        counts.append(np.array([end - start for start, end in edges]))
        place = np.array([axis], np.int64)
        parts = []
        for start, end in edges:
            window = g.op.Slice(x, np.array([start]), np.array([end]), place)
            emit = legal(g).ReduceMax if largest else legal(g).ReduceSum
            parts.append(emit(window, place, keepdims=1))
        x = g.op.Concat(*parts, axis=axis)
    if largest:
        return str(g.op.Identity(x, outputs=outputs[:1], name=op.name))
    count = np.outer(*counts)[None, :, :, None].astype(op.outputs[0].dtype.as_numpy_dtype)
    return str(legal(g).Div(x, count, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("SobolSample", dtypes=("int32", "float32", "float64"))
def convert_sobol(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Points of a Sobol sequence, which are the same in every run: a constant."""
    import tensorflow as tf

    dim, count, skip = (
        int(np.ravel(require_constant(g, op, i, what))[0])
        for i, what in enumerate(("dim", "num_results", "skip"))
    )
    points = tf.raw_ops.SobolSample(
        dim=dim, num_results=count, skip=skip, dtype=op.get_attr("dtype")
    )
    return g.make_initializer(outputs[0], points.numpy())
