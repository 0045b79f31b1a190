"""Reductions, products, convolutions, poolings, normalisation, resizing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from conformance.tf_ops.cases import EMPTY, Arg, Case
from conformance.tf_ops.declared import declared_dtypes

REDUCTIONS = ("Sum", "Mean", "Max", "Min", "Prod", "EuclideanNorm", "Cumsum", "Cumprod")


def reductions() -> Iterator[Case]:
    """Yield sums, products, extrema and their places for every dtype."""
    for op_type in REDUCTIONS:
        raw = getattr(tf.raw_ops, op_type)
        for dtype in declared_dtypes(op_type):
            first = "x" if op_type.startswith("Cum") else "input"
            yield Case(
                f"{op_type}-{dtype}",
                lambda x, raw=raw, first=first: raw(**{first: x, "axis": 1}),
                (Arg(dtype, ("n", "m", 3), -2, 4),),
                ulps=4,
                contraction=8,
                bindings=EMPTY,
            )
    for op_type in ("ArgMax", "ArgMin"):
        raw = getattr(tf.raw_ops, op_type)
        for dtype in declared_dtypes(op_type):
            yield Case(
                f"{op_type}-{dtype}",
                lambda x, raw=raw: raw(input=x, dimension=-1, output_type=tf.int32),
                (Arg(dtype, ("n", 5), -2, 3),),
                bindings=EMPTY,
            )


X = Arg("float32", ("n", "m", 4))
B = Arg("bool", ("n", "m", 4))
NAN = Arg("float32", ("n", 6), values=(1.0, float("nan"), 2.0, float("inf"), -1.0))
REDUCE_VARIANTS = [
    Case("sum_all", lambda x: tf.reduce_sum(x), (X,), contraction=8, bindings=EMPTY),
    Case("sum_none", lambda x: tf.reduce_sum(x, []), (X,), bindings=EMPTY),
    Case("sum_two", lambda x: tf.reduce_sum(x, [0, -1], keepdims=True), (X,), contraction=8),
    Case("sum_scalar", lambda x: tf.reduce_sum(x[0, 0, 0]), (X,)),
    Case("mean_none", lambda x: tf.reduce_mean(x, []), (X,)),
    # The empty ones were found by the property tests.
    Case("mean_empty", lambda x: tf.reduce_mean(x, 0, keepdims=True), (X,), contraction=8,
         bindings=EMPTY),
    *(Case(f"mean_large_{kind}", lambda x: tf.reduce_mean(x, 1), (Arg(kind, ("n", 7),
           low=int(np.iinfo(kind).max * 0.8), high=int(np.iinfo(kind).max)),))
      for kind in ("int8", "uint8", "int16", "uint16", "int32", "uint32")),
    Case("mean_empty_all", lambda x: tf.reduce_mean(x), (X,), contraction=8, bindings=EMPTY),
    *(Case(f"{kind}_empty_{exclusive}_{reverse}",
           lambda x, k=kind, e=exclusive, r=reverse: getattr(tf.math, k)(x, 0, e, r), (X,),
           ulps=16, floor=4, bindings=EMPTY)
      for kind in ("cumprod", "cumulative_logsumexp")
      for exclusive in (False, True) for reverse in (False, True)),
    Case("cumprod_nothing", tf.math.cumprod, (Arg("float64", (0,)),)),
    Case("max_nan", lambda x: tf.reduce_max(x, 1), (NAN,)),
    Case("min_nan", lambda x: tf.reduce_min(x, 1), (NAN,)),
    Case("max_empty", lambda x: tf.reduce_max(x, 1), (Arg("float32", ("n", 0)),)),
    Case("min_empty_int", lambda x: tf.reduce_min(x, 1), (Arg("int32", ("n", 0)),)),
    Case("max_dynamic_empty", lambda x: tf.reduce_max(x, 0), (X,), bindings=EMPTY),
    Case("argmax_nan", lambda x: tf.argmax(x, 1), (NAN,)),
    Case("argmax_ties", lambda x: tf.argmax(x, 0), (Arg("int32", ("n", 3), 0, 2),)),
    Case("all", lambda x: tf.reduce_all(x, 1), (B,), bindings=EMPTY),
    Case("any", lambda x: tf.reduce_any(x, [1, 2], keepdims=True), (B,), bindings=EMPTY),
    Case("all_everything", lambda x: tf.reduce_all(x), (B,), bindings=EMPTY),
    Case("mean_dynamic", lambda x: tf.reduce_mean(x, tf.range(tf.rank(x))), (X,), contraction=8),
    Case("cumsum_options", lambda x: tf.cumsum(x, 0, exclusive=True, reverse=True), (X,),
         contraction=8),
    Case("cumprod_options", lambda x: tf.math.cumprod(x, 1, exclusive=True, reverse=True), (X,),
         ulps=8),
    Case("cumlogsumexp", lambda x: tf.math.cumulative_logsumexp(x, 1), (X,), ulps=8, floor=1),
    Case("cumlogsumexp_options", lambda x: tf.math.cumulative_logsumexp(x, 1, True, True), (X,),
         ulps=8, floor=1),
    Case("softmax", lambda x: tf.nn.softmax(x), (X,), ulps=16),
    Case("log_softmax", lambda x: tf.nn.log_softmax(x), (X,), ulps=8, floor=1),
    Case("logsumexp", lambda x: tf.reduce_logsumexp(x, 1), (X,), ulps=8, floor=1),
    Case("moments", lambda x: tf.nn.moments(x, [1]), (X,), contraction=16),
]  # fmt: skip


def products() -> Iterator[Case]:
    """Yield matrix products and einsums."""
    for dtype in declared_dtypes("BatchMatMulV2"):
        if dtype == "int16":
            continue
        yield Case(
            f"MatMul-{dtype}",
            lambda x, y: tf.raw_ops.MatMul(a=x, b=y),
            (Arg(dtype, ("n", 3)), Arg(dtype, (3, "k"))),
            contraction=8,
            bindings=EMPTY,
        )
        yield Case(
            f"BatchMatMulV2-{dtype}",
            lambda x, y: tf.raw_ops.BatchMatMulV2(x=x, y=y, adj_y=True),
            (Arg(dtype, ("n", 1, 2, 3)), Arg(dtype, ("m", 5, 3))),
            contraction=8,
        )
    for dtype in declared_dtypes("Einsum"):
        yield Case(
            f"Einsum-{dtype}",
            lambda x, y: tf.einsum("bij,bjk->bik", x, y),
            (Arg(dtype, ("n", 2, 3)), Arg(dtype, ("n", 3, "k"))),
            contraction=8,
        )
    yield Case("matmul_transposed", lambda x, y: tf.matmul(x, y, transpose_a=True,
               transpose_b=True), (Arg("float32", (3, "n")), Arg("float32", (2, 3))),
               contraction=8)  # fmt: skip
    for equation, a, b in (
        ("...ij,jk->...ik", ("n", "m", 2, 3), (3, 4)),
        ("abc,cd->abd", ("n", 2, 3), (3, "k")),
        ("i,j->ij", ("n",), ("m",)),
        ("aecd,abcd->acbe", ("n", 5, 2, 3), ("n", 4, 2, 3)),
        ("b...,b...->b...", ("n", 3), ("n", 3)),
        ("ii->i", (3, 3), None),
        ("ij->", ("n", "m"), None),
        ("acbe,aecd->abcd", ("n", 2, 4, 5), ("n", 5, 2, 3)),
        ("abc,cde->abde", ("n", "m", 3), (3, 2, 4)),
        ("abcd,cde->abe", ("n", "m", 2, 3), (2, 3, 4)),
        ("ab,cd->ac", ("n", 2), ("m", 3)),
        ("abc,abd->dc", ("n", 2, 3), ("n", 2, 4)),
    ):
        args = tuple(Arg("float32", s) for s in (a, b) if s is not None)
        yield Case(f"einsum_{equation}", lambda *x, e=equation: tf.einsum(e, *x), args,
                   contraction=8, bindings=EMPTY)  # fmt: skip


def conv_args(dtype: str, k: tuple[int, ...], c: int, o: int) -> tuple[Arg, ...]:
    """Return an image of dynamic size and weights of a kernel of size `k`."""
    return Arg(dtype, ("n", "h", "w", c), -1, 1), Arg(dtype, (*k, c, o), -1, 1)


SIZES = ({"n": 2, "h": 7, "w": 11}, {"n": 1, "h": 5, "w": 3})


def convolutions() -> Iterator[Case]:
    """Yield convolutions by dtype, padding, stride, dilation and rank."""
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        for padding, stride, dilation in (
            ("SAME", 1, 1), ("SAME", 2, 1), ("VALID", 2, 1), ("SAME", 1, 2), ("VALID", 1, 2),
            ([[0, 0], [1, 2], [0, 1], [0, 0]], 2, 1),
        ):  # fmt: skip
            label = padding if isinstance(padding, str) else "explicit"
            yield Case(
                f"Conv2D-{dtype}-{label}-{stride}-{dilation}",
                lambda x, w, p=padding, s=stride, d=dilation: tf.nn.conv2d(x, w, s, p, dilations=d),
                conv_args(dtype, (3, 2), 4, 6),
                contraction=16,
                bindings=SIZES,
            )
        yield Case(
            f"DepthwiseConv2d-{dtype}",
            lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, 2, 2, 1], "SAME"),
            conv_args(dtype, (3, 3), 3, 2),
            contraction=16,
            bindings=SIZES,
        )
        yield Case(
            f"Conv2DBackpropInput-{dtype}",
            lambda x, w: tf.nn.conv2d_transpose(
                x, w, [tf.shape(x)[0], 2 * tf.shape(x)[1], 2 * tf.shape(x)[2], 5], 2, "SAME"
            ),
            (Arg(dtype, ("n", "h", "w", 4), -1, 1), Arg(dtype, (3, 2, 5, 4), -1, 1)),
            contraction=16,
            bindings=SIZES,
        )
        yield Case(
            f"Conv3D-{dtype}",
            lambda x, w: tf.nn.conv3d(x, w, [1, 2, 1, 1, 1], "SAME"),
            (Arg(dtype, ("n", 3, "h", "w", 2), -1, 1), Arg(dtype, (2, 3, 1, 2, 3), -1, 1)),
            contraction=16,
            bindings=SIZES,
        )
    yield Case(
        "grouped",
        lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"),
        (Arg("float32", ("n", "h", "w", 4)), Arg("float32", (3, 3, 2, 6))),
        contraction=16,
        bindings=SIZES,
    )
    for stride, padding, k in ((1, "SAME", 3), (2, "VALID", 3), (3, "SAME", 2), (2, "VALID", 1)):

        def shape(x: Any, s: int = stride, p: str = padding, k: int = k) -> Any:
            extra = max(k - s, 0) if p == "VALID" else 0
            return tf.stack([tf.shape(x)[0], s * tf.shape(x)[1] + extra,
                             s * tf.shape(x)[2] + extra, 5])  # fmt: skip

        yield Case(
            f"conv_transpose-{stride}-{padding}-{k}",
            lambda x, w, s=stride, p=padding, shape=shape: tf.nn.conv2d_transpose(
                x, w, shape(x), s, p
            ),
            (Arg("float32", ("n", "h", "w", 4)), Arg("float32", (k, k, 5, 4))),
            contraction=16,
            bindings=SIZES,
        )
    yield Case(
        "conv_transpose_odd",
        lambda x, w: tf.nn.conv2d_transpose(x, w, [2, 13, 7, 5], 2, "SAME"),
        (Arg("float32", (2, 7, 4, 4)), Arg("float32", (3, 3, 5, 4))),
        contraction=16,
    )
    yield Case(
        "conv3d_transpose",
        lambda x, w: tf.nn.conv3d_transpose(
            x, w, [tf.shape(x)[0], 6, 2 * tf.shape(x)[2], 4, 3], 2, "SAME"
        ),
        (Arg("float32", ("n", 3, "h", 2, 4)), Arg("float32", (3, 2, 3, 3, 4))),
        contraction=16,
        bindings=SIZES,
    )
    yield Case(
        "bias_add",
        lambda x, b: tf.nn.bias_add(x, b),
        (Arg("float32", ("n", 3, 4)), Arg("float32", (4,))),
    )
    yield Case(
        "bias_add_nchw",
        lambda x, b: tf.nn.bias_add(x, b, "NCHW"),
        (Arg("float32", ("n", 4, 3, 2)), Arg("float32", (4,))),
    )


def poolings() -> Iterator[Case]:
    """Yield poolings by dtype, padding, window and stride."""
    for dtype in ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "int32",
                  "int64", "uint16"):  # fmt: skip
        for padding, k, s in (("SAME", 3, 2), ("VALID", 2, 2), ("SAME", 2, 1)):
            yield Case(
                f"MaxPool-{dtype}-{padding}-{k}-{s}",
                lambda x, p=padding, k=k, s=s: tf.nn.max_pool2d(x, k, s, p),
                (Arg(dtype, ("n", "h", "w", 2)),),
                bindings=SIZES,
            )
            if dtype.startswith(("float", "bf")):
                yield Case(
                    f"AvgPool-{dtype}-{padding}-{k}-{s}",
                    lambda x, p=padding, k=k, s=s: tf.nn.avg_pool2d(x, k, s, p),
                    (Arg(dtype, ("n", "h", "w", 2)),),
                    contraction=8,
                    bindings=SIZES,
                )
    yield Case("max_pool3d", lambda x: tf.nn.max_pool3d(x, 2, 2, "SAME"),
               (Arg("float32", ("n", 3, "h", "w", 2)),), bindings=SIZES)  # fmt: skip
    yield Case("avg_pool3d", lambda x: tf.nn.avg_pool3d(x, 2, 1, "SAME"),
               (Arg("float32", ("n", 3, "h", "w", 2)),), contraction=8, bindings=SIZES)  # fmt: skip
    yield Case(
        "max_pool_argmax",
        lambda x: tf.nn.max_pool_with_argmax(x, 2, 2, "SAME", include_batch_in_index=True),
        (Arg("float32", ("n", "h", "w", 2)),),
        bindings=SIZES,
    )
    yield Case(
        "max_pool_argmax_valid",
        lambda x: tf.nn.max_pool_with_argmax(x, 3, 2, "VALID", output_dtype=tf.int32),
        (Arg("float32", ("n", "h", "w", 2)),),
        bindings=SIZES,
    )
    yield Case(
        "max_pool_explicit",
        lambda x: tf.nn.max_pool2d(x, 3, 2, [[0, 0], [1, 1], [2, 0], [0, 0]]),
        (Arg("float32", ("n", "h", "w", 2)),),
        bindings=SIZES,
    )


def images() -> Iterator[Case]:
    """Yield resizings, by every convention of coordinates, and crops."""
    sizes = ({"n": 2, "h": 7, "w": 11}, {"n": 1, "h": 4, "w": 3})
    image = Arg("float32", ("n", "h", "w", 2))
    fixed = Arg("float32", ("n", 5, 7, 2))
    for align, half in ((False, False), (True, False), (False, True)):
        keywords = {"align_corners": align, "half_pixel_centers": half}
        for size in ([8, 5], [3, 20], [1, 1], [14, 22]):
            for op_type in ("ResizeBilinear", "ResizeNearestNeighbor"):
                raw = getattr(tf.raw_ops, op_type)
                yield Case(
                    f"{op_type}-{align}-{half}-{size}",
                    lambda x, raw=raw, k=keywords, s=size: raw(images=x, size=s, **k),
                    (image,),
                    # A coordinate up to 22 is rounded, times a range of 9.
                    ulps=1,
                    floor=200 if op_type == "ResizeBilinear" else 0,
                    bindings=sizes,
                )
            yield Case(
                f"ResizeBicubic-{align}-{half}-{size}",
                lambda x, k=keywords, s=size: tf.raw_ops.ResizeBicubic(images=x, size=s, **k),
                (fixed,),
                contraction=32,
                ulps=8,
                floor=1,
            )
    for size in ([8, 5], [3, 20], [2, 3], [5, 7]):
        yield Case(
            f"ResizeArea-{size}",
            lambda x, s=size: tf.raw_ops.ResizeArea(images=x, size=s),
            (fixed,),
            contraction=32,
        )
        for method in ("bilinear", "lanczos3", "lanczos5", "bicubic", "gaussian", "mitchellcubic"):
            yield Case(
                f"antialias-{method}-{size}",
                lambda x, s=size, m=method: tf.image.resize(x, s, m, antialias=True),
                (fixed,),
                contraction=32,
                floor=1,
                ulps=16,
            )
    yield from filtered_images(image, sizes)
    yield Case("nearest_uint8", lambda x: tf.image.resize(x, [4, 9], "nearest"),
               (Arg("uint8", ("n", "h", "w", 2)),), bindings=sizes)  # fmt: skip
    yield Case("bilinear_uint8", lambda x: tf.image.resize(x, [4, 9]),
               (Arg("uint8", ("n", "h", "w", 2)),), ulps=4, floor=16, bindings=sizes)  # fmt: skip
    yield Case("upsample_dynamic", lambda x: tf.image.resize(x, 2 * tf.shape(x)[1:3], "nearest"),
               (image,), bindings=sizes)  # fmt: skip


def filtered_images(image: Arg, sizes: tuple[dict[str, int], ...]) -> Iterator[Case]:
    """Filters whose weights are computed at run time, because a size is known then only."""
    allowed: dict[str, Any] = {"contraction": 32, "floor": 1, "ulps": 16, "bindings": sizes}
    smaller = lambda x: (tf.shape(x)[1:3] + 1) // 2  # noqa: E731
    larger = lambda x: tf.shape(x)[1:3] * 2 + 1  # noqa: E731
    for label, size in (("down", smaller), ("up", larger), ("fixed", lambda x: [6, 5])):
        for align, half in ((False, False), (True, False), (False, True)):
            yield Case(
                f"bicubic-{label}-{align}-{half}",
                lambda x, size=size, a=align, h=half: tf.raw_ops.ResizeBicubic(
                    images=x, size=size(x), align_corners=a, half_pixel_centers=h
                ),
                (image,),
                **allowed,
            )
        for align in (False, True):
            yield Case(
                f"area-{label}-{align}",
                lambda x, size=size, a=align: tf.raw_ops.ResizeArea(
                    images=x, size=size(x), align_corners=a
                ),
                (image,),
                **allowed,
            )
        for kernel in (
            *("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle"),
            *("keyscubic", "mitchellcubic"),
        ):
            for antialias in (False, True):
                yield Case(
                    f"scale-{label}-{kernel}-{antialias}",
                    lambda x, size=size, k=kernel, a=antialias: tf.raw_ops.ScaleAndTranslate(
                        images=x,
                        size=size(x),
                        scale=tf.cast(size(x), tf.float32) / tf.cast(tf.shape(x)[1:3], tf.float32),
                        translation=[0.3, -0.7],
                        kernel_type=k,
                        antialias=a,
                    ),
                    (image,),
                    **allowed,
                )
    yield Case(
        "scale-given",
        lambda x, s, t: tf.raw_ops.ScaleAndTranslate(
            images=x, size=[4, 6], scale=s, translation=t, kernel_type="triangle"
        ),
        (Arg("float32", ("n", 5, 7, 2)), Arg("float32", (2,), 0.5, 2), Arg("float32", (2,))),
        contraction=32,
        floor=1,
        ulps=16,
    )


def normalisations() -> Iterator[Case]:
    """Yield batch normalisation and its relatives."""
    vector = Arg("float32", (3,), 0.5, 2)
    for dtype in ("float16", "bfloat16", "float32"):
        for training in (False, True):
            yield Case(
                f"FusedBatchNormV3-{dtype}-{training}",
                lambda x, s, b, m, v, t=training: tf.raw_ops.FusedBatchNormV3(
                    x=x, scale=s, offset=b, mean=m, variance=v, is_training=t, epsilon=0.01
                )[:3],
                (Arg(dtype, ("n", "h", "w", 3)), vector, vector, vector, vector),
                ulps=4,
                contraction=8,
                atol=1e-5,
                bindings=SIZES,
            )
    yield Case(
        "FusedBatchNorm-statistics",
        lambda x, s, b, m, v: tf.raw_ops.FusedBatchNormV3(
            x=x, scale=s, offset=b, mean=m, variance=v, is_training=True,
        )[1:3],
        (Arg("float32", ("n", "h", "w", 3)), vector, vector, vector, vector),
        atol=1e-5, bindings=SIZES,
    )  # fmt: skip
    yield Case("lrn", lambda x: tf.nn.local_response_normalization(x, 2, 1.0, 0.5, 0.75),
               (Arg("float32", ("n", "h", "w", 7)),), ulps=16, bindings=SIZES)  # fmt: skip
    yield Case("l2_loss", lambda x: tf.nn.l2_loss(x), (X,), ulps=16)


def cases() -> list[Case]:
    """Return the cases of this module."""
    return [
        *(reductions()),
        *REDUCE_VARIANTS,
        *products(),
        *convolutions(),
        *poolings(),
        *images(),
        *normalisations(),
    ]
