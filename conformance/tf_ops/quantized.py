"""Numbers to quantised tensors and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from conformance.tf_ops.cases import BINDINGS, EMPTY, Arg, Case

KINDS = (tf.qint8, tf.quint8, tf.qint16, tf.quint16, tf.qint32)
X = Arg("float32", ("n", 4), -6, 6)
PER_SLICE = np.array([0.25, 0.1, 3, 1], np.float32), np.array([3, 0, 2, 1], np.int32)


def there_and_back() -> Iterator[Case]:
    """Yield quantisation followed by dequantisation, by kind, mode and axis."""
    for kind in KINDS:
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
            for dtype in (tf.float32, tf.bfloat16):
                if dtype == tf.bfloat16 and mode != "MIN_COMBINED":
                    continue  # TensorFlow has no such kernel
                if mode == "SCALED" and kind not in (tf.qint8, tf.quint8):
                    continue  # nor such ones, where it uses oneDNN

                def function(x: Any, kind: Any = kind, mode: str = mode, dtype: Any = dtype) -> Any:
                    levels, low, high = tf.raw_ops.QuantizeV2(
                        input=x, min_range=-2.0, max_range=3.5, T=kind, mode=mode
                    )
                    return tf.raw_ops.Dequantize(
                        input=levels, min_range=low, max_range=high, mode=mode, dtype=dtype
                    )

                yield Case(
                    f"dequantize-{kind.name}-{mode}-{dtype.name}",
                    function,
                    (Arg("float32", ("n", 4), -2, 3.4),),
                    ulps=2,
                    floor=8,
                    # TensorFlow ends the process when it makes no numbers of this mode.
                    bindings=BINDINGS if mode == "SCALED" else EMPTY,
                )
    for narrow in (False, True):

        def along_axis(x: Any, low: Any, high: Any, narrow: bool = narrow) -> Any:
            levels, low, high = tf.raw_ops.QuantizeV2(
                input=x,
                min_range=low,
                max_range=high,
                T=tf.qint8,
                mode="SCALED",
                axis=1,
                narrow_range=narrow,
            )
            return tf.raw_ops.Dequantize(
                input=levels,
                min_range=low,
                max_range=high,
                mode="SCALED",
                axis=1,
                narrow_range=narrow,
            )

        yield Case(
            f"dequantize-axis-{narrow}",
            along_axis,
            (X, Arg("float32", (4,), -3, 0), Arg("float32", (4,), 1, 5)),
            ulps=2,
            floor=8,
        )
    for kind in (tf.qint8, tf.quint8, tf.qint32):
        for axis, scales, zeros in ((-1, 0.25, 3), (1, *PER_SLICE)):

            def uniform(
                x: Any, kind: Any = kind, axis: int = axis, scales: Any = scales, zeros: Any = zeros
            ) -> Any:
                low, high = (0, 255) if kind == tf.quint8 else (-128, 127)
                if kind == tf.qint32:
                    low, high = -(2**31), 2**31 - 1
                keywords = {
                    "scales": scales,
                    "zero_points": zeros,
                    "quantization_axis": axis,
                    "quantization_min_val": low,
                    "quantization_max_val": high,
                }
                levels = tf.raw_ops.UniformQuantize(input=x, Tout=kind, **keywords)
                return tf.raw_ops.UniformDequantize(input=levels, Tout=tf.float32, **keywords)

            yield Case(
                f"uniform-{kind.name}-{axis}", uniform, (X,), ulps=2, floor=8, bindings=EMPTY
            )


def products() -> Iterator[Case]:
    """Yield products of quantised tensors."""
    for a_side, b_side in ((False, False), (True, False), (False, True)):

        def function(x: Any, y: Any, a_side: bool = a_side, b_side: bool = b_side) -> Any:
            x = tf.transpose(x) if a_side else x
            y = tf.transpose(y) if b_side else y
            first, second = (
                tf.raw_ops.QuantizeV2(input=v, min_range=low, max_range=4.5, T=tf.quint8)
                for v, low in ((x, -3.3), (y, -1.7))
            )
            product = tf.raw_ops.QuantizedMatMul(
                a=first.output,
                b=second.output,
                min_a=first.output_min,
                max_a=first.output_max,
                min_b=second.output_min,
                max_b=second.output_max,
                transpose_a=a_side,
                transpose_b=b_side,
            )
            levels, low, high = product
            return levels, low, high

        args = (Arg("float32", ("n", 4), -3, 4), Arg("float32", (4, "m"), -1, 4))
        yield Case(f"matmul-{a_side}-{b_side}", function, args, ulps=2)


def cases() -> list[Case]:
    """Return the cases of this module."""
    return [*there_and_back(), *products()]
