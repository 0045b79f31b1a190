"""Random shapes, dtypes, axes and attributes for each family of operations."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from tests.tensorflow.ops.property_checks import (
    FLOATS,
    INTS,
    agrees,
    arrays,
    family,
    open_axes,
    shapes,
    sizes,
)

data = st.data()
Draw = st.DataObject
UNARY = {
    "float": (
        *(tf.abs, tf.negative, tf.sign, tf.floor, tf.math.ceil, tf.round, tf.math.rint, tf.square),
        *(tf.nn.relu, tf.nn.relu6, tf.math.is_nan, tf.math.is_inf, tf.math.is_finite),
    ),
    "int": (tf.abs, tf.negative, tf.sign, tf.square, tf.bitwise.invert),
}
BINARY = {
    "float": (
        *(tf.add, tf.subtract, tf.multiply, tf.divide, tf.maximum, tf.minimum, tf.math.floordiv),
        *(tf.math.floormod, tf.truncatemod, tf.math.divide_no_nan, tf.math.multiply_no_nan),
        *(tf.less, tf.less_equal, tf.equal, tf.not_equal, tf.greater, tf.math.squared_difference),
    ),
    "int": (
        *(tf.add, tf.subtract, tf.multiply, tf.maximum, tf.minimum, tf.less, tf.greater_equal),
        *(tf.equal, tf.not_equal, tf.bitwise.bitwise_and, tf.bitwise.bitwise_or),
        *(tf.bitwise.bitwise_xor, tf.math.squared_difference),
    ),
}


@family
@given(data)
def test_unary(d: Draw) -> None:
    kind = d.draw(st.sampled_from(sorted(UNARY)))
    function = d.draw(st.sampled_from(UNARY[kind]))
    dtype = d.draw(st.sampled_from(FLOATS if kind == "float" else INTS))
    x = d.draw(arrays(dtype, d.draw(shapes()), special=True))
    agrees(function, [x], d.draw(open_axes([x])))


@family
@given(data)
def test_binary(d: Draw) -> None:
    kind = d.draw(st.sampled_from(sorted(BINARY)))
    function = d.draw(st.sampled_from(BINARY[kind]))
    dtype = d.draw(st.sampled_from(FLOATS if kind == "float" else INTS))
    pair = d.draw(mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=4, min_side=0))
    x, y = (d.draw(arrays(dtype, s, special=True)) for s in pair.input_shapes)
    agrees(function, [x, y], d.draw(open_axes([x, y])), ulps=1)


@family
@given(data)
def test_integer_division(d: Draw) -> None:
    function = d.draw(
        st.sampled_from(
            (tf.math.floordiv, tf.math.floormod, tf.truncatediv, tf.truncatemod, tf.divide)
        )
    )
    dtype = d.draw(st.sampled_from(("int32", "int64", "int8", "uint8", "int16", "uint16")))
    pair = d.draw(mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=4, min_side=0))
    x = d.draw(arrays(dtype, pair.input_shapes[0], low=-100, high=100))
    y = d.draw(arrays(dtype, pair.input_shapes[1], low=-4, high=5))
    y[y == 0] = 3
    agrees(function, [x, y], d.draw(open_axes([x, y])))


@family
@given(data)
def test_choice(d: Draw) -> None:
    three = d.draw(mutually_broadcastable_shapes(num_shapes=3, max_dims=3, max_side=4, min_side=0))
    dtype = d.draw(st.sampled_from((*FLOATS, *INTS, "bool")))
    c = d.draw(arrays("bool", three.input_shapes[0]))
    x, y = (d.draw(arrays(dtype, s, special=True)) for s in three.input_shapes[1:])
    agrees(tf.where, [c, x, y], d.draw(open_axes([c, x, y])))


SUMS = (tf.reduce_sum, tf.reduce_mean, tf.reduce_prod, tf.reduce_logsumexp, tf.norm)
CHOICES = (tf.reduce_max, tf.reduce_min, tf.argmax, tf.argmin, tf.math.count_nonzero)


@st.composite
def axes_of(draw: st.DrawFn, rank: int) -> Any:
    """No axis, one, or several, some of them counted from the back."""
    if rank == 0 or draw(st.booleans()):
        return draw(st.sampled_from((None, []))) if rank == 0 else None
    chosen = draw(st.lists(st.integers(0, rank - 1), unique=True, max_size=rank))
    return [a - rank if draw(st.booleans()) else a for a in chosen]


@family
@given(data)
def test_reductions(d: Draw) -> None:
    dtype = d.draw(st.sampled_from((*FLOATS, "int32", "int64", "uint8", "int8")))
    x = d.draw(arrays(dtype, d.draw(shapes(most=4)), special=False))
    exact = np.dtype(dtype).kind in "iu"
    function = d.draw(st.sampled_from(CHOICES if exact else (*SUMS, *CHOICES)))
    keep, axes = d.draw(st.booleans()), d.draw(axes_of(x.ndim))
    if function in (tf.argmax, tf.argmin):
        assume(x.ndim > 0)
        axis = d.draw(st.integers(-x.ndim, x.ndim - 1))
        agrees(lambda x: function(x, axis=axis), [x], d.draw(open_axes([x])))
        return
    agrees(
        lambda x: function(x, axis=axes, keepdims=keep),
        [x],
        d.draw(open_axes([x])),
        ulps=0 if exact or function in CHOICES else 32,
        floor=0 if exact or function in CHOICES else 4,
        contraction=0 if exact or function is not tf.reduce_sum else 16,
    )


@family
@given(data)
def test_integer_sums(d: Draw) -> None:
    dtype = d.draw(st.sampled_from(INTS))
    x = d.draw(arrays(dtype, d.draw(shapes(most=4)), low=-100, high=100))
    function = d.draw(st.sampled_from((tf.reduce_sum, tf.reduce_prod, tf.reduce_mean)))
    if function is tf.reduce_prod:
        # onnxruntime reduces integers by way of floats: what does not fit does not wrap around.
        x = np.asarray(np.sign(x) + (x % 7 == 0), x.dtype)
        assume(np.prod(np.abs(x.astype(np.float64))) < 2**31)
    keep, axes = d.draw(st.booleans()), d.draw(axes_of(x.ndim))
    if function is tf.reduce_mean:
        places = range(x.ndim) if axes is None else axes
        assume(all(x.shape[a] for a in places))
    agrees(lambda x: function(x, axis=axes, keepdims=keep), [x], d.draw(open_axes([x])))


@family
@given(data)
def test_gather(d: Draw) -> None:
    dtype = d.draw(st.sampled_from(("float32", "int8", "bool", "uint64", "float16")))
    x = d.draw(arrays(dtype, d.draw(shapes(1, 4, sizes(4, 1)))))
    batch = d.draw(st.integers(0, x.ndim - 1))
    axis = d.draw(st.integers(batch, x.ndim - 1))
    inner = d.draw(shapes(0, 2))
    index = d.draw(arrays(d.draw(st.sampled_from(("int32", "int64"))), (*x.shape[:batch], *inner),
                          low=0, high=x.shape[axis]))  # fmt: skip
    signed = axis - x.ndim if d.draw(st.booleans()) else axis
    agrees(
        lambda x, i: tf.gather(x, i, axis=signed, batch_dims=batch),
        [x, index],
        d.draw(open_axes([x, index])),
    )


@st.composite
def places(draw: st.DrawFn, shape: tuple[int, ...], depth: int, batch: int = 0) -> Any:
    """Indices `(*batch, *inner, depth)` into the axes after the batch."""
    inner = draw(shapes(0 if batch else 1, 2))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    limits = np.array(shape[batch : batch + depth])
    raw = rng.integers(0, 2**16, (*shape[:batch], *inner, depth))
    return (raw % limits).astype(np.int32)


@family
@given(data)
def test_gather_nd(d: Draw) -> None:
    x = d.draw(arrays("float32", d.draw(shapes(1, 4, sizes(4, 1)))))
    batch = d.draw(st.integers(0, x.ndim - 1))
    depth = d.draw(st.integers(1, x.ndim - batch))
    index = d.draw(places(x.shape, depth, batch))
    # How many axes an index has must be known: the rank of the result depends on it.
    dynamic = d.draw(open_axes([x, index[..., 0]]))
    agrees(lambda x, i: tf.gather_nd(x, i, batch_dims=batch), [x, index], dynamic)


SCATTERS = (
    *(tf.tensor_scatter_nd_add, tf.tensor_scatter_nd_sub, tf.tensor_scatter_nd_max),
    *(tf.tensor_scatter_nd_min,),
)


@family
@given(data)
def test_scatter(d: Draw) -> None:
    dtype = d.draw(st.sampled_from(("int32", "int64", "int8", "uint8", "uint16")))
    x = d.draw(arrays(dtype, d.draw(shapes(1, 3, sizes(4, 1)))))
    depth = d.draw(st.integers(1, x.ndim))
    index = d.draw(places(x.shape, depth))
    updates = d.draw(arrays(dtype, (*index.shape[:-1], *x.shape[depth:])))
    function = d.draw(st.sampled_from(SCATTERS))
    agrees(function, [x, index, updates], d.draw(open_axes([x, index[..., 0], updates])))


@st.composite
def indexing(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """What may stand between brackets: slices, integers, new axes, an ellipsis."""
    parts: list[Any] = []
    for size in shape[: draw(st.integers(0, len(shape)))]:
        kind = draw(st.sampled_from(("slice", "slice", "slice", "integer", "all")))
        if kind == "integer" and size:
            parts.append(draw(st.integers(-size, size - 1)))
        elif kind == "slice":
            ends = st.none() | st.integers(-size - 2, size + 2)
            step = draw(st.none() | st.sampled_from((1, 2, 3, -1, -2)))
            parts.append(slice(draw(ends), draw(ends), step))
        else:
            parts.append(slice(None))
    if draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), Ellipsis)
    if draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), tf.newaxis)
    return tuple(parts)


@family
@given(data)
def test_strided_slice(d: Draw) -> None:
    dtype = d.draw(st.sampled_from(("float32", "int16", "bool", "uint64")))
    x = d.draw(arrays(dtype, d.draw(shapes(1, 4, sizes(5)))))
    index = d.draw(indexing(x.shape))
    agrees(lambda x: x[index], [x], d.draw(open_axes([x])))


@family
@given(data)
def test_moves(d: Draw) -> None:
    x = d.draw(arrays(d.draw(st.sampled_from(("float32", "int8", "bool"))), d.draw(shapes(1, 4))))
    axis = d.draw(st.integers(-x.ndim, x.ndim - 1))
    order = d.draw(st.permutations(range(x.ndim)))
    pads = [[d.draw(st.integers(0, 3)), d.draw(st.integers(0, 3))] for _ in range(x.ndim)]
    repeats = [d.draw(st.integers(0, 3)) for _ in range(x.ndim)]
    shift = d.draw(st.integers(-7, 7))
    function = d.draw(
        st.sampled_from(
            (
                lambda x: tf.transpose(x, order),
                lambda x: tf.reverse(x, [axis]),
                lambda x: tf.concat([x, x[..., :1], x], -1),
                lambda x: tf.stack([x, x], axis),
                lambda x: tf.unstack(tf.stack([x, x], axis), axis=axis),
                lambda x: tf.tile(x, repeats),
                lambda x: tf.pad(x, pads),
                lambda x: tf.pad(x, pads, "REFLECT"),
                lambda x: tf.pad(x, pads, "SYMMETRIC"),
                lambda x: tf.roll(x, shift, axis),
                lambda x: tf.repeat(x, 2, axis=axis),
                lambda x: tf.reshape(x, [-1]),
                lambda x: tf.expand_dims(x, axis),
                lambda x: tf.broadcast_to(x, tf.concat([[2], tf.shape(x)], 0)),
                tf.size,
                tf.where,
            )
        )
    )
    agrees(function, [x], d.draw(open_axes([x])))


@family
@given(data)
def test_cumulative(d: Draw) -> None:
    dtype = d.draw(st.sampled_from(("float32", "int32", "int64", "float64")))
    x = d.draw(arrays(dtype, d.draw(shapes(1, 3))))
    axis, exclusive, reverse = (
        d.draw(st.integers(-x.ndim, x.ndim - 1)), d.draw(st.booleans()), d.draw(st.booleans())
    )  # fmt: skip
    function = d.draw(st.sampled_from((tf.cumsum, tf.math.cumprod)))
    agrees(
        lambda x: function(x, axis=axis, exclusive=exclusive, reverse=reverse),
        [x],
        d.draw(open_axes([x])),
        ulps=8,
        contraction=8,
    )
