"""Shapes, slices, gathers, scatters, paddings: bitwise equal for every declared dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf
from tensorflow.compiler.tf2xla.python.xla import dynamic_update_slice

from conformance.tf_ops.cases import BINDINGS, EMPTY, PRIMARY, Arg, Case
from conformance.tf_ops.declared import declared_dtypes

# op type -> (function, shape): run for each declared dtype.
BY_DTYPE: dict[str, tuple[Callable[..., Any], tuple[int | str, ...]]] = {
    "Shape": (lambda x: tf.raw_ops.Shape(input=x, out_type=tf.int64), ("n", 3)),
    "Size": (lambda x: tf.size(x), ("n", 3)),
    "Rank": (lambda x: tf.raw_ops.Rank(input=x), ("n", 3)),
    "Reshape": (lambda x: tf.reshape(x, [-1, 2]), ("n", 4)),
    "Transpose": (lambda x: tf.transpose(x, [2, 0, 1]), ("n", 2, "m")),
    "ExpandDims": (lambda x: tf.expand_dims(x, -2), ("n", 3)),
    "Squeeze": (lambda x: tf.squeeze(x, [1]), ("n", 1, 3)),
    "ConcatV2": (lambda x: tf.concat([x, x, x], -1), ("n", 3)),
    "Pack": (lambda x: tf.stack([x, x], 1), ("n", 3)),
    "Unpack": (lambda x: tf.unstack(x, axis=1), ("n", 3)),
    "Split": (lambda x: tf.split(x, 3, axis=1), ("n", 6)),
    "SplitV": (lambda x: tf.split(x, [1, -1, 2], axis=1), ("n", 6)),
    "Tile": (lambda x: tf.tile(x, [2, 3]), ("n", 3)),
    "ReverseV2": (lambda x: tf.reverse(x, [0, -1]), ("n", 3)),
    "Roll": (lambda x: tf.roll(x, [4, -1], [0, 1]), ("n", 3)),
    "DepthToSpace": (lambda x: tf.nn.depth_to_space(x, 2), ("n", 2, 3, 8)),
    "SpaceToDepth": (lambda x: tf.nn.space_to_depth(x, 2), ("n", 4, 6, 2)),
    "Diag": (lambda x: tf.linalg.tensor_diag(x), ("n", 2)),
    "DiagPart": (lambda x: tf.raw_ops.DiagPart(input=x), (2, 3, 2, 3)),
    "Fill": (lambda x: tf.fill([3, 2], x[0]), ("n",)),
    "BroadcastTo": (lambda x: tf.broadcast_to(x, [4, tf.shape(x)[0], 3]), ("n", 1)),
    "ZerosLike": (lambda x: tf.raw_ops.ZerosLike(x=x), ("n", 3)),
    "OnesLike": (lambda x: tf.raw_ops.OnesLike(x=x), ("n", 3)),
    "StridedSlice": (lambda x: x[..., ::-2, 1], ("n", 5, 2)),
    "Slice": (lambda x: tf.slice(x, [0, 1], [-1, 2]), ("n", 4)),
    "TensorStridedSliceUpdate": (
        lambda x: tf.raw_ops.TensorStridedSliceUpdate(
            input=x, begin=[0, 1], end=[9, 3], strides=[1, 1], value=x[:, :2]
        ),
        ("n", 4),
    ),
    "XlaDynamicUpdateSlice": (
        lambda x: dynamic_update_slice(
            dynamic_update_slice(x, x[:, :2], tf.constant([7, 1])),
            x[:, 3:],
            tf.constant([0, -3], tf.int64),
        ),
        ("n", 4),
    ),
    "GatherV2": (lambda x: tf.gather(x, [[0, 2], [1, 1]], axis=1), ("n", 3)),
    "GatherNd": (lambda x: tf.gather_nd(x, [[0, 2], [0, 1]]), ("n", 3)),
    "TensorScatterUpdate": (
        lambda x: tf.tensor_scatter_nd_update(x, [[0, 1], [0, 0]], x[0, 1:3]),
        ("n", 3),
    ),
    "SelectV2": (lambda x: tf.where([[True], [False]], x, x[:1]), (2, 3)),
    "Select": (lambda x: tf.raw_ops.Select(condition=[True, False], x=x, y=x[::-1]), (2, 3)),
    "Where": (lambda x: tf.where(x), ("n", 3)),
    "OneHot": (
        lambda x: tf.one_hot([[0, -1], [2, 9]], 3, x[0, 0], x[0, 1], axis=1),
        ("n", 3),
    ),
    "Pad": (lambda x: tf.pad(x, [[1, 2], [0, 3]]), ("n", 3)),
    "PadV2": (lambda x: tf.pad(x, [[1, 2], [0, 3]], constant_values=x[0, 0]), ("n", 3)),
    "MirrorPad": (lambda x: tf.pad(x, [[0, 0], [2, 1]], "SYMMETRIC"), ("n", 3)),
    "InvertPermutation": (lambda x: tf.math.invert_permutation(x), (4,)),
}
VALUES: dict[str, tuple[int, ...]] = {"InvertPermutation": (2, 0, 3, 1)}
NEEDS_ONE = {"Fill", "PadV2", "GatherNd", "TensorScatterUpdate", "OneHot"}


def by_dtype() -> Iterator[Case]:
    """Yield the operations of `BY_DTYPE` for every dtype."""
    for op_type, (function, shape) in BY_DTYPE.items():
        for dtype in declared_dtypes(op_type):
            arg = Arg(dtype, shape, values=VALUES.get(op_type))
            yield Case(
                f"{op_type}-{dtype}",
                function,
                (arg,),
                bindings=BINDINGS if op_type in NEEDS_ONE else EMPTY,
                dynamic=dtype in PRIMARY,
            )


X = Arg("float32", ("n", "m", 4))
I = Arg("int32", ("n", "m", 4))  # noqa: E741
INDEX = Arg("int32", (), values=(0,))
VARIANTS = [
    Case("shape_n", lambda x, y: tf.shape_n([x, y]), (X, X)),
    Case("reshape_dynamic", lambda x: tf.reshape(x, [tf.shape(x)[1], -1]), (X,)),
    Case("reshape_zero", lambda x: tf.reshape(x, [0, 3]), (Arg("float32", (0, 5)),)),
    Case("reshape_scalar", lambda x: tf.reshape(x[:1], []), (Arg("int32", (3,)),)),
    Case("transpose_none", lambda x: tf.transpose(x), (X,)),
    Case("squeeze_all", lambda x: tf.squeeze(x), (Arg("float32", (1, 3, 1)),), dynamic=False),
    Case("concat_axis0", lambda x, y: tf.concat([x, y], 0), (X, X)),
    Case("concat_one", lambda x: tf.raw_ops.ConcatV2(values=[x, x], axis=-3), (X,)),
    Case("stack_last", lambda x: tf.stack([x, x], -1), (X,)),
    Case("stack_scalars", lambda x: tf.stack([tf.shape(x)[0], 2, tf.shape(x)[1]]), (X,)),
    Case("unstack_first", lambda x: tf.unstack(x, axis=0), (Arg("float32", (3, "n")),)),
    Case("split_one", lambda x: tf.split(x, 1, axis=1), (X,)),
    Case("tile_dynamic", lambda x: tf.tile(x, [1, tf.shape(x)[0], 1]), (X,)),
    Case("tile_zero", lambda x: tf.tile(x, [1, 0, 1]), (X,)),
    Case("reverse_none", lambda x: tf.reverse(x, []), (X,)),
    Case("roll_scalar", lambda x: tf.roll(x, 3, 1), (X,)),
    Case("strided_all", lambda x: x[:, ::2, ::-1], (X,)),
    Case("strided_neg", lambda x: x[-1, 1:-1, -3:], (X,), bindings=({"n": 2, "m": 5},)),
    Case("strided_new", lambda x: x[tf.newaxis, ..., tf.newaxis, 0], (X,)),
    Case("strided_mix", lambda x: x[0, tf.newaxis, ..., ::2], (X,)),
    Case("strided_ellipsis", lambda x: x[..., 1], (X,)),
    Case("strided_dynamic", lambda x, i: x[i], (X, INDEX)),
    Case("strided_dynamic_range", lambda x, i: x[i : i + 2, :, i], (X, INDEX)),
    Case("strided_last_dynamic", lambda x, i: x[:, i - 1], (X, INDEX)),
    Case("strided_beyond", lambda x: x[5:, -9:9, 9::-1], (X,)),
    Case("strided_backwards", lambda x: x[::-1, 3:0:-2, -1:-4:-1], (X,)),
    Case("strided_dynamic_step", lambda x, i: x[:: i - 1], (X, INDEX)),
    # Found by the property tests: going down from before the first element.
    Case(
        "strided_before",
        lambda x: x[..., -4::-2],
        (Arg("float32", ("n", "m")),),
        bindings=({"n": 2, "m": 3}, {"n": 2, "m": 4}, {"n": 1, "m": 6}, {"n": 1, "m": 0}),
    ),
    Case("strided_before_static", lambda x: x[-4::-1, -2::-1], (Arg("float32", (3, 5)),)),
    Case("strided_before_given", lambda x, i: x[-i :: 1 - i], (X, INDEX)),
    Case("strided_full", lambda x: x[:], (X,)),
    Case("slice_dynamic", lambda x, i: tf.slice(x, [i, i, 1], [1, -1, 2]), (X, INDEX)),
    Case("gather_scalar", lambda x, i: tf.gather(x, i, axis=-1), (X, INDEX)),
    Case(
        "gather_batch",
        lambda x, i: tf.gather(x, i, axis=1, batch_dims=1),
        (Arg("float32", ("n", 5, 2)), Arg("int32", ("n", 3), 0, 5)),
    ),
    Case(
        "gather_batch_far",
        lambda x, i: tf.gather(x, i, axis=2, batch_dims=1),
        (Arg("float32", ("n", 2, 5, 3)), Arg("int64", ("n", 3, 2), 0, 5)),
    ),
    Case(
        "gather_nd_batch",
        lambda x, i: tf.gather_nd(x, i, batch_dims=1),
        (Arg("float32", ("n", 5, 2)), Arg("int32", ("n", 3, 1), 0, 5)),
    ),
    Case(
        "scatter_nd_many",
        lambda i, u: tf.scatter_nd(i, u, [6, 2]),
        (Arg("int32", ("n", 1), 0, 6), Arg("int32", ("n", 2))),
    ),
    Case(
        "one_hot_last",
        lambda i: tf.one_hot(i, 4),
        (Arg("int32", ("n", "m"), -2, 6),),
        bindings=EMPTY,
    ),
    Case("one_hot_depth", lambda i, d: tf.one_hot(i, d + 3, axis=0), (Arg("int64", ("n",)), INDEX)),
    Case("pad_dynamic", lambda x, i: tf.pad(x, [[i, 1], [0, i + 1], [0, 0]]), (X, INDEX)),
    Case("pad_reflect", lambda x: tf.pad(x, [[0, 0], [0, 0], [3, 2]], "REFLECT"), (X,)),
    Case(
        "pad_symmetric_dynamic",
        lambda x, i: tf.pad(x, [[0, 0], [i + 1, i], [4, 4]], "SYMMETRIC"),
        (X, INDEX),
    ),
    Case("where_3", lambda x: tf.where(x > 0), (X,), bindings=EMPTY),
    Case("select_scalar", lambda x: tf.where(tf.shape(x)[0] > 2, x, -x), (X,)),
    Case("range", lambda i: tf.range(i, 7, 2), (INDEX,)),
    Case("range_back", lambda i: tf.range(i + 5, -3, -2), (INDEX,)),
    Case("linspace", lambda i: tf.linspace(-1.0, 2.0, i + 7), (INDEX,), ulps=2),
    Case("linspace_one", lambda i: tf.linspace(-1.0, 2.0, i + 1), (INDEX,)),
    Case(
        "broadcast_args",
        lambda x, y: tf.raw_ops.BroadcastArgs(s0=tf.shape(x), s1=tf.shape(y)),
        (Arg("float32", ("n", 1)), Arg("float32", (3, 1, 4))),
    ),
    Case("ensure_shape", lambda x: tf.ensure_shape(x, [None, None, 4]) + 1.0, (X,)),
    Case("identity", lambda x: tf.identity(x), (X,)),
    Case(
        "depth_to_space_nchw",
        lambda x: tf.reshape(tf.nn.depth_to_space(x, 2), [-1]),
        (Arg("float32", ("n", 2, "m", 12)),),
    ),
]


def range_cases() -> Iterator[Case]:
    """Yield ranges by dtype."""
    for dtype in declared_dtypes("Range"):
        yield Case(
            f"Range-{dtype}",
            lambda x: tf.raw_ops.Range(start=x[0], limit=x[1], delta=x[2]),
            (Arg(dtype, (3,), values=(1, 9, 2)),),
        )


def scatter_cases() -> Iterator[Case]:
    """Yield scatter operations by dtype."""
    index = Arg("int32", (5, 1), values=(0, 2, 2, 1, 0))
    for op_type in ("TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin"):
        for dtype in declared_dtypes(op_type):
            raw = getattr(tf.raw_ops, op_type)
            yield Case(
                f"{op_type}-{dtype}",
                lambda x, i, u, raw=raw: raw(tensor=x, indices=i, updates=u),
                (Arg(dtype, (3, "n")), index, Arg(dtype, (5, "n"))),
                ulps=4,
                floor=16,
            )
    for dtype in declared_dtypes("ScatterNd"):
        yield Case(
            f"ScatterNd-{dtype}",
            lambda i, u: tf.scatter_nd(i, u, [4, tf.shape(u)[1]]),
            (index, Arg(dtype, (5, "n"))),
            ulps=4,
            floor=16,
        )


def cases() -> list[Case]:
    """Return the cases of this module."""
    return [*by_dtype(), *VARIANTS, *range_cases(), *scatter_cases()]
