"""Random shapes and attributes: convolutions, pooling, resizing, segments, contractions."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.tensorflow.ops.property_checks import agrees, arrays, family, open_axes, shapes, sizes

data = st.data()
Draw = st.DataObject
PADDINGS = st.sampled_from(("SAME", "VALID"))
STEPS = st.integers(1, 3)


def fits(sizes: Sequence[int], kernel: Sequence[int], rates: Sequence[int]) -> bool:
    """Whether there is a whole window; without one onnxruntime and TensorFlow refuse or differ."""
    return all((k - 1) * r < s for s, k, r in zip(sizes, kernel, rates, strict=True))


@family
@given(data)
def test_convolution(d: Draw) -> None:
    n = d.draw(st.integers(1, 3))
    groups = d.draw(st.sampled_from((1, 1, 2)))
    channels = groups * d.draw(st.integers(1, 2))
    # Of no images at all TensorFlow gives the input back when channels are in groups.
    x = d.draw(arrays("float32", (d.draw(sizes(3, 1)), *[d.draw(sizes(9, 1)) for _ in range(n)],
                                  channels)))  # fmt: skip
    kernel = [d.draw(st.integers(1, 4)) for _ in range(n)]
    w = d.draw(arrays("float32", (*kernel, channels // groups, groups * d.draw(STEPS))))
    # TensorFlow reads beyond an image of one channel when its strides differ.
    strides = [d.draw(STEPS)] * n
    dilations = [d.draw(STEPS) if max(strides) == 1 else 1 for _ in range(n)]
    padding = d.draw(PADDINGS)
    assume(padding == "SAME" or fits(x.shape[1:-1], kernel, dilations))
    agrees(
        lambda x, w: tf.nn.convolution(x, w, strides, padding, dilations=dilations),
        [x, w],
        (d.draw(open_axes([x[..., 0]]))[0], {}),
        contraction=64,
    )


@family
@given(data)
def test_depthwise(d: Draw) -> None:
    x = d.draw(
        arrays("float32", (d.draw(sizes(2, 1)), d.draw(sizes(8, 1)), d.draw(sizes(8, 1)), 2))
    )
    w = d.draw(arrays("float32", (d.draw(STEPS), d.draw(STEPS), 2, d.draw(STEPS))))
    step, padding = d.draw(STEPS), d.draw(PADDINGS)
    rates = [d.draw(STEPS), d.draw(STEPS)] if step == 1 else [1, 1]
    assume(padding == "SAME" or fits(x.shape[1:-1], w.shape[:2], rates))
    agrees(
        lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, step, step, 1], padding, dilations=rates),
        [x, w],
        (d.draw(open_axes([x[..., 0]]))[0], {}),
        contraction=64,
    )


@family
@given(data)
def test_transposed_convolution(d: Draw) -> None:
    n = d.draw(st.integers(1, 3))
    batch, places = d.draw(sizes(2, 1)), [d.draw(sizes(5, 1)) for _ in range(n)]
    x = d.draw(arrays("float32", (batch, *places, 2)))
    kernel = [d.draw(st.integers(1, 4)) for _ in range(n)]
    w = d.draw(arrays("float32", (*kernel, d.draw(STEPS), 2)))
    strides, padding = [d.draw(STEPS) for _ in range(n)], d.draw(PADDINGS)
    more = [d.draw(st.integers(0, s - 1)) for s in strides]
    wanted = [
        (p * s - m if padding == "SAME" else max((p - 1) * s + k, 0) + m)
        for p, s, k, m in zip(places, strides, kernel, more, strict=True)
    ]
    agrees(
        lambda x, w: tf.nn.conv_transpose(
            x, w, tf.stack([tf.shape(x)[0], *wanted, w.shape[-2]]), strides, padding
        ),
        [x, w],
        ({0: "n"} if d.draw(st.booleans()) else {}, {}),
        contraction=64,
    )


@family
@given(data)
def test_pooling(d: Draw) -> None:
    n = d.draw(st.integers(1, 3))
    x = d.draw(arrays("float32", (d.draw(sizes(2)), *[d.draw(sizes(9, 1)) for _ in range(n)], 2)))
    # Of places fewer than the kernel's, onnxruntime finds one window where TensorFlow finds none.
    kernel = [d.draw(st.integers(1, min(3, s))) for s in x.shape[1:-1]]
    strides = [d.draw(STEPS) for _ in range(n)]
    kind, padding = d.draw(st.sampled_from(("MAX", "AVG"))), d.draw(PADDINGS)
    agrees(
        lambda x: tf.nn.pool(x, kernel, kind, strides, padding),
        [x],
        (d.draw(open_axes([x[..., 0]]))[0],),
        contraction=16,
    )


METHODS = (
    *("bilinear", "nearest", "bicubic", "area", "lanczos3", "gaussian", "mitchellcubic"),
    "lanczos5",
)


@family
@given(data)
def test_resize(d: Draw) -> None:
    shape = (d.draw(sizes(2, 1)), d.draw(sizes(9, 1)), d.draw(sizes(9, 1)), 2)
    x = d.draw(arrays(d.draw(st.sampled_from(("float32", "uint8", "float16"))), shape))
    method, antialias = d.draw(st.sampled_from(METHODS)), d.draw(st.booleans())
    wanted = [d.draw(st.integers(1, 12)), d.draw(st.integers(1, 12))]
    relative = d.draw(st.booleans())

    def function(x: Any) -> Any:
        size = tf.shape(x)[1:3] * 2 - 1 if relative else wanted
        return tf.image.resize(x, size, method, antialias=antialias)

    agrees(function, [x], (d.draw(open_axes([x[..., 0]]))[0],), ulps=16, floor=16, contraction=16)


SEGMENTS = (tf.math.segment_sum, tf.math.segment_mean, tf.math.segment_max, tf.math.segment_min)
UNSORTED = (
    *(tf.math.unsorted_segment_sum, tf.math.unsorted_segment_max, tf.math.unsorted_segment_min),
    *(tf.math.unsorted_segment_mean, tf.math.unsorted_segment_prod),
)


@family
@given(data)
def test_segments(d: Draw) -> None:
    dtype = d.draw(st.sampled_from(("float32", "int32", "int64", "float64")))
    x = d.draw(arrays(dtype, d.draw(shapes(1, 3))))
    ids = d.draw(arrays(d.draw(st.sampled_from(("int32", "int64"))), x.shape[:1], low=-1, high=5))
    exact = {"ulps": 8, "floor": 4}
    if d.draw(st.booleans()):
        function, count = d.draw(st.sampled_from(UNSORTED)), d.draw(st.integers(0, 6))
        ids = np.where(ids < count, ids, -1).astype(ids.dtype)
        agrees(lambda x, i: function(x, i, count), [x, ids], d.draw(open_axes([x, ids])), **exact)
        return
    ids = np.sort(np.maximum(ids, 0))
    function = d.draw(st.sampled_from(SEGMENTS))
    agrees(function, [x, ids], d.draw(open_axes([x, ids])), **exact)


@family
@given(data)
def test_matmul(d: Draw) -> None:
    rows, inner, columns = d.draw(sizes(4)), d.draw(sizes(4)), d.draw(sizes(4))
    batch = d.draw(shapes(0, 2, sizes(3)))
    left, right = ([1 if d.draw(st.booleans()) else s for s in batch] for _ in range(2))
    left = left[d.draw(st.integers(0, len(left))) :]
    across = d.draw(st.booleans()), d.draw(st.booleans())
    a_shape = (inner, rows) if across[0] else (rows, inner)
    b_shape = (columns, inner) if across[1] else (inner, columns)
    dtype = d.draw(st.sampled_from(("float32", "float64", "int32", "int64", "float16")))
    a, b = d.draw(arrays(dtype, (*left, *a_shape))), d.draw(arrays(dtype, (*right, *b_shape)))
    agrees(
        lambda a, b: tf.matmul(a, b, transpose_a=across[0], transpose_b=across[1]),
        [a, b],
        d.draw(open_axes([a, b])),
        contraction=16,
    )


@family
@given(data)
def test_einsum(d: Draw) -> None:
    letters = string.ascii_lowercase[:5]
    size = {c: d.draw(sizes(4, 1)) for c in letters}
    terms = [
        "".join(d.draw(st.lists(st.sampled_from(letters), unique=True, min_size=1, max_size=4)))
        for _ in range(d.draw(st.integers(1, 2)))
    ]
    known = sorted(set("".join(terms)))
    result = "".join(d.draw(st.permutations(d.draw(st.lists(st.sampled_from(known), unique=True)))))
    equation = f"{','.join(terms)}->{result}"
    inputs = [d.draw(arrays("float32", tuple(size[c] for c in t))) for t in terms]
    agrees(lambda *x: tf.einsum(equation, *x), inputs, d.draw(open_axes(inputs)), contraction=64)


@family
@given(data)
def test_top_k(d: Draw) -> None:
    dtype = d.draw(st.sampled_from(("float32", "int32", "int64", "uint8", "float16")))
    x = d.draw(arrays(dtype, d.draw(shapes(1, 3))))
    assume(x.shape[-1])
    k = d.draw(st.integers(0, x.shape[-1]))
    kind = d.draw(st.sampled_from(("top", "sort", "argsort", "descending")))
    functions = {
        "top": lambda x: tf.math.top_k(x, k),
        "sort": lambda x: tf.sort(x, -1),
        "argsort": lambda x: tf.argsort(x, -1, stable=True),
        "descending": lambda x: tf.sort(x, 0, "DESCENDING"),
    }
    agrees(functions[kind], [x], d.draw(open_axes([x])))
