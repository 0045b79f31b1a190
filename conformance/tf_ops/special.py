"""Special functions, losses, colours, quantisation, detection."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from conformance.tf_ops.cases import EMPTY, Arg, Case
from conformance.tf_ops.declared import declared

HALVES = ("float16", "bfloat16")
X = Arg("float32", ("n", 7), -0.99, 0.99)
WIDE = Arg("float32", ("n", 7), -12.0, 12.0)
POSITIVE = Arg("float32", ("n", 7), 0.1, 30.0)
UNIT = Arg("float32", ("n", 5, 4, 3), 0.0, 1.0)
LIMIT = Arg("float32", ("n", 9), -3.0, 7.0)


#: Op type -> its input, and what may be between the results of float32 and of float64 besides units
#: in the last place: near roots both sides round numbers of size one. Measured over 20,000 numbers:
#: Digamma 5.7e-7 and 1.1e-15, Lgamma 3.6e-15 of float64, Ndtri 3.6e-7 within 4 units.
_SPECIAL = {
    "Digamma": (WIDE, 1e-6, 8e-15), "Lgamma": (WIDE, 1e-6, 8e-15), "Erfinv": (X, 0.0, 0.0),
    "BesselI0": (WIDE, 0.0, 0.0), "BesselI1": (WIDE, 0.0, 0.0), "BesselI0e": (WIDE, 0.0, 0.0),
    "BesselI1e": (WIDE, 0.0, 0.0), "Ndtri": (Arg("float32", ("n", 7), 0.01, 0.99), 1e-6, 0.0),
}  # fmt: skip
#: Both sides are approximations. Measured over 20,000 numbers, away from roots: float64 up to 20
#: units (BesselI1), float32 up to 19 (BesselI1, near its root at zero), float16 up to 1.
_UNITS = {"float64": 32, "float32": 16}


def special_cases() -> Iterator[Case]:
    """Yield special functions by dtype.

    Raises:
        TypeError: If a converter declares no dtypes.
    """
    for op_type, (arg, single, double) in _SPECIAL.items():
        raw = getattr(tf.raw_ops, op_type)
        dtypes = declared(op_type, "T")
        if dtypes is None:
            raise TypeError(f"The converter of {op_type} declares no dtypes of T.")
        for dtype in sorted(dtypes):
            case = Case(
                f"{op_type}-{dtype}",
                lambda x, raw=raw: raw(x=x),
                (Arg(dtype, arg.shape, arg.low, arg.high),),
                ulps=_UNITS.get(dtype, 2),
                atol={"float64": double, "float32": single}.get(dtype, 0.0),
                bindings=EMPTY,
            )
            try:
                case.function(tf.constant([0.5], dtype))
            except tf.errors.OpError:
                continue
            yield case


OTHERS = [
    Case("erfinv_edges", lambda x: tf.math.erfinv(x),
         (Arg("float32", (5,), values=(1, -1, 0, 2, float("nan"))),)),
    Case("lgamma_poles", lambda x: tf.math.lgamma(x),
         (Arg("float32", (6,), values=(0, -1, 1, 2, -3, float("inf"))),), atol=1e-6),
    Case("cross_entropy", lambda x, y: tf.nn.softmax_cross_entropy_with_logits(y, x),
         (Arg("float32", ("n", 5)), Arg("float32", ("n", 5), 0, 1)), ulps=16, atol=1e-6),
    Case("sparse_cross_entropy",
         lambda x, y: tf.nn.sparse_softmax_cross_entropy_with_logits(y, x),
         (Arg("float32", ("n", 5)), Arg("int32", ("n",), 0, 5)), ulps=16, atol=1e-6),
    Case("sparse_cross_entropy_gradient",
         lambda x, y: tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(features=x, labels=y)[1],
         (Arg("float64", ("n", 5)), Arg("int64", ("n",), 0, 5)), ulps=16, atol=1e-12),
    Case("rgb_to_hsv", tf.image.rgb_to_hsv, (UNIT,), ulps=8, atol=1e-6, bindings=EMPTY),
    Case("rgb_to_hsv_f64", tf.image.rgb_to_hsv, (Arg("float64", ("n", 2, 3), 0, 1),), ulps=8,
         atol=1e-7),
    Case("hsv_to_rgb", tf.image.hsv_to_rgb, (UNIT,), ulps=8, atol=1e-6),
    Case("grey", lambda x: tf.image.rgb_to_hsv(x * 0.0 + 0.5), (UNIT,)),
    Case("contrast", lambda x: tf.image.adjust_contrast(x, 1.7), (UNIT,), atol=1e-6),
    Case("saturation", lambda x: tf.image.adjust_saturation(x, 1.7), (UNIT,), atol=2e-6),
    Case("hue", lambda x: tf.image.adjust_hue(x, 0.3), (UNIT,)),
    Case("hue_back", lambda x: tf.image.adjust_hue(x, -0.83), (UNIT,), bindings=EMPTY),
    Case("brightness", lambda x: tf.image.adjust_brightness(x, 0.3), (UNIT,)),
    Case("grayscale", tf.image.rgb_to_grayscale, (UNIT,), atol=1e-6),
    Case("fake_quant_args", lambda x: tf.quantization.fake_quant_with_min_max_args(x, -2, 5.5),
         (LIMIT,), ulps=4, atol=1e-6),
    Case("fake_quant_narrow", lambda x: tf.quantization.fake_quant_with_min_max_args(
         x, -2, 5.5, num_bits=4, narrow_range=True), (LIMIT,), ulps=4, atol=1e-6),
    Case("fake_quant_vars", lambda x, a: tf.quantization.fake_quant_with_min_max_vars(
         x, a - 1.0, a + 6.0, num_bits=7), (LIMIT, Arg("float32", (), values=(0.3,))), ulps=4,
         atol=1e-6),
    Case("fake_quant_channel", lambda x, a: tf.raw_ops.FakeQuantWithMinMaxVarsPerChannel(
         inputs=x, min=-a, max=a + 2.0), (Arg("float32", ("n", 3)), Arg("float32", (3,), 0.5, 3)),
         ulps=4, atol=1e-6),
    Case("quantize_dequantize", lambda x: tf.quantization.quantize_and_dequantize_v2(
         x, -2.0, 3.0, num_bits=5, range_given=True), (LIMIT,), ulps=4),
    Case("quantize_dequantize_found", lambda x: tf.quantization.quantize_and_dequantize_v2(
         x, 0.0, 0.0, num_bits=8), (LIMIT,), ulps=4),
    Case("quantize_dequantize_unsigned", lambda x: tf.quantization.quantize_and_dequantize_v2(
         x, 0.0, 3.0, signed_input=False, num_bits=6, range_given=True, round_mode="HALF_UP"),
         (LIMIT,), ulps=4),
]  # fmt: skip


def boxes(count: int) -> Arg:
    """Return boxes that overlap here and there."""
    rng = np.random.default_rng(5)
    first = rng.uniform(0, 0.7, (count, 2))
    both = np.concatenate([first, first + rng.uniform(0.05, 0.3, (count, 2))], 1)
    return Arg("float32", (count, 4), values=tuple(both.astype(np.float32).ravel().tolist()))


SCORES = Arg("float32", (9,), 0, 1)
DETECTION = [
    Case("nms", lambda b, s: tf.image.non_max_suppression(b, s, 5, 0.2, 0.1), (boxes(9), SCORES)),
    Case("nms_padded", lambda b, s: tf.image.non_max_suppression_padded(
         b, s, 7, 0.2, 0.1, pad_to_max_output_size=True), (boxes(9), SCORES), autograph=True),
    Case("nms_v2", lambda b, s: tf.raw_ops.NonMaxSuppressionV2(
         boxes=b, scores=s, max_output_size=4, iou_threshold=0.3), (boxes(9), SCORES)),
    Case("nms_v4", lambda b, s: tf.raw_ops.NonMaxSuppressionV4(boxes=b, scores=s,
         max_output_size=8, iou_threshold=0.1, score_threshold=0.2, pad_to_max_output_size=True),
         (boxes(9), SCORES)),
    Case("nms_with_scores", lambda b, s: tf.image.non_max_suppression_with_scores(b, s, 5, 0.2,
         0.1), (boxes(9), SCORES)),
    Case("combined_nms", lambda b, s: tf.image.combined_non_max_suppression(
         tf.reshape(b, [1, 9, 1, 4]), s, 3, 7, 0.2, 0.3), (boxes(9), Arg("float32", (1, 9, 3), 0,
         1))),
    Case("crop_and_resize", lambda x: tf.image.crop_and_resize(
         x, [[0, 0, 1, 1], [0.2, -0.1, 0.9, 1.2], [0.8, 0.7, 0.1, 0.2]], [0, 0, 0], [4, 3]),
         (Arg("float32", ("n", 6, 5, 2)),), ulps=4, atol=1e-5),
    Case("crop_nearest", lambda x: tf.image.crop_and_resize(
         x, [[0, 0, 1, 1], [0.2, -0.1, 0.9, 1.2]], [0, 0], [1, 6], "nearest", 7.0),
         (Arg("float32", ("n", 6, 5, 2)),), ulps=4),
]  # fmt: skip


def cases() -> list[Case]:
    """Return the cases of this module."""
    return [*special_cases(), *OTHERS, *DETECTION]
