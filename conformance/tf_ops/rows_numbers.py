"""Rows of operations that compute: how far apart two correct results may be is in each row."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from conformance.tf_ops.cases import EMPTY, Arg, Case
from conformance.tf_ops.rows import Row
from conformance.tf_ops.variations import cases_of

X = Arg("float32", ("n", 5))
M = Arg("float32", ("n", 3, 4))
PIXELS = Arg("float32", ("n", 4, 7, 2))
VOLUME = Arg("float32", ("n", 3, 4, 2, 2))
COLOURS = Arg("float32", ("n", 2, 3), 0, 1)
E: dict[str, Any] = {"bindings": EMPTY}


def sums(terms: int, size: float = 16.0) -> dict[str, Any]:
    """Return the allowance for a sum of products: rounding of its terms, not of its result."""
    return {"ulps": terms / 2, "half": terms / 4, "options": {"floor": size}}


def square(count: int = 3) -> Arg:
    """Return well conditioned matrices: small numbers beside a constant diagonal."""
    rng = np.random.default_rng(4)
    values = rng.uniform(-1, 1, (2, count, count)) + 4 * np.eye(count)[::-1]
    return Arg("float32", ("n", count, count), values=tuple(values.ravel().tolist()))


POSITIVE = Arg("float32", ("n", 3, 3), values=(4, 1, -1, 1, 5, 2, -1, 2, 6))
FILTER = Arg("float32", (2, 3, 2, 3))
NN = [
    Row("Softmax", {"logits": X}, ulps=4, half=4, options=E),
    Row("LogSoftmax", {"logits": X}, ulps=4, half=2, options={**E, "floor": 1.0}),
    Row("L2Loss", {"t": X}, ulps=8, half=4),
    Row("LRN", {"input": PIXELS}, {"depth_radius": 1}, ulps=16, half=4),
    Row("BiasAdd", {"value": PIXELS, "bias": Arg("float32", (2,))}, options=E),
    Row("BiasAddV1", {"value": PIXELS, "bias": Arg("float32", (2,))}, options=E),
    Row("BiasAddGrad", {"out_backprop": PIXELS}, **sums(60)),
    Row("SoftmaxCrossEntropyWithLogits", {"features": X, "labels": Arg("float32", ("n", 5), 0, 1)},
        ulps=8, half=4, options={"floor": 4.0}),
    Row("SparseSoftmaxCrossEntropyWithLogits", {"features": X,
        "labels": Arg("int32", ("n",), 0, 5)}, ulps=8, half=4, options={"floor": 2.0}),
    Row("LSTMBlockCell", {"x": Arg("float32", ("n", 3)), "cs_prev": Arg("float32", ("n", 2), -1, 1),
        "h_prev": Arg("float32", ("n", 2), -1, 1), "w": Arg("float32", (5, 8), -1, 1),
        "wci": Arg("float32", (2,), -1, 1), "wcf": Arg("float32", (2,), -1, 1),
        "wco": Arg("float32", (2,), -1, 1), "b": Arg("float32", (8,), -1, 1)},
        {"forget_bias": 0.5, "use_peephole": True, "cell_clip": 0.9}, ulps=16, half=6,
        options={"floor": 1.0}),
    Row("FusedBatchNorm", {"x": PIXELS, "scale": Arg("float32", (2,)),
        "offset": Arg("float32", (2,)), "mean": Arg("float32", (2,)),
        "variance": Arg("float32", (2,), 0.5, 3)}, {"is_training": False}, ulps=8, outputs=(0,),
        options={"floor": 8.0}),
    Row("FusedBatchNormV2", {"x": PIXELS, "scale": Arg("float32", (2,)),
        "offset": Arg("float32", (2,)), "mean": Arg("float32", (2,)),
        "variance": Arg("float32", (2,), 0.5, 3)}, {"is_training": False}, ulps=8, half=2,
        outputs=(0,), options={"floor": 8.0}),
    Row("AvgPool3D", {"input": VOLUME}, {"ksize": [1, 2, 2, 1, 1], "strides": [1, 1, 2, 1, 1],
        "padding": "SAME"}, ulps=4, half=2, options={"floor": 4.0}),
    Row("Dilation2D", {"input": PIXELS, "filter": Arg("float32", (2, 3, 2))},
        {"strides": [1, 1, 2, 1], "rates": [1, 2, 1, 1], "padding": "SAME"}),
    Row("Conv2D", {"input": PIXELS, "filter": FILTER}, {"strides": [1, 1, 2, 1],
        "padding": "SAME"}, **sums(24, 100.0)),
    Row("Conv", {"input": PIXELS, "filter": FILTER}, {"strides": [1, 1, 2, 1], "padding": "VALID"},
        **sums(24, 100.0)),
    Row("Conv2DBackpropInput", {"input_sizes": [2, 4, 7, 2], "filter": FILTER,
        "out_backprop": Arg("float32", (2, 4, 4, 3))}, {"strides": [1, 1, 2, 1],
        "padding": "SAME"}, **sums(24, 100.0)),
    Row("Conv3DBackpropInputV2", {"input_sizes": [2, 3, 4, 2, 2],
        "filter": Arg("float32", (2, 2, 1, 2, 3)), "out_backprop": Arg("float32", (2, 3, 2, 2, 3))},
        {"strides": [1, 1, 2, 1, 1], "padding": "SAME"}, **sums(24, 100.0)),
    Row("DepthwiseConv2dNativeBackpropInput", {"input_sizes": [2, 4, 7, 2],
        "filter": Arg("float32", (2, 3, 2, 2)), "out_backprop": Arg("float32", (2, 4, 7, 4))},
        {"strides": [1, 1, 1, 1], "padding": "SAME"}, **sums(24, 100.0)),
]  # fmt: skip
ELEMENTS = [
    Row("Pow", {"x": Arg("float32", ("n", 5), 1, 4), "y": Arg("float32", (1, 5), 0, 3)}, ulps=4,
        half=2, options=E, elsewhere=("complex64", "complex128")),
    Row("Square", {"x": X}, ulps=4, only=("T",), half=1),
    Row("ClipByValue", {"t": X, "clip_value_min": 1, "clip_value_max": 3}, options=E),
    Row("AddN", {"inputs": [X, X, X]}, ulps=1, half=2, options={**E, "floor": 4.0}),
    Row("AccumulateNV2", {"inputs": [X, X, X]}, {"shape": [3, 5]},
        ulps=1, half=2, options={"dynamic": False, "floor": 4.0},
        reference=lambda inputs, shape: tf.raw_ops.AddN(inputs=inputs)),
    *(Row(k, {"x": X}, ulps=8, options={"floor": 8.0}) for k in ("Exp", "Log", "Neg")),
    *(Row(k, {"x": X, "y": Arg("float32", ("n", 5), 1, 3)}, ulps=8, options={"floor": 8.0})
      for k in ("RealDiv", "Sub", "AddV2", "Mul")),
    Row("Add", {"x": X, "y": X}, only=("T",)),
    Row("LinSpace", {"start": Arg("float32", (), -2, -1), "stop": 5, "num": 7}, ulps=2,
        options={"floor": 4.0}),
    Row("RGBToHSV", {"images": COLOURS}, ulps=8, half=4, options={"floor": 0.5}),
    Row("HSVToRGB", {"images": COLOURS}, ulps=8, half=4, options={"floor": 0.5}),
    *(Row(k, {"input": M, "axis": [1]}, only=("Tidx",), **sums(8))
      for k in ("Max", "Min", "Prod", "EuclideanNorm")),
    *(Row(k, {"input": M, "axis": [1]}, **sums(8, 8.0)) for k in ("Sum", "Mean")),
    *(Row(k, {"x": M, "axis": 1}, only=("Tidx",), **sums(8)) for k in ("Cumsum", "Cumprod")),
    Row("CumulativeLogsumexp", {"x": M, "axis": 1}, ulps=8, half=4, options={"floor": 2.0}),
    Row("Cast", {"x": X}, {"DstT": "complex128"}),
    Row("Cast", {"x": X}, {"SrcT": "complex128", "DstT": "complex64"}, tag="parts",
        only=("DstT", "SrcT")),
    Row("Conj", {"input": X}, {"T": "complex64"}),
    Row("ComplexAbs", {"x": X}, {"T": "complex64"}, ulps=4),
]  # fmt: skip
SCORES = Arg("float32", (9,), values=tuple(np.linspace(0.9, 0.1, 9).tolist()))


def boxes() -> Arg:
    """Return nine boxes that overlap here and there."""
    rng = np.random.default_rng(5)
    first = rng.uniform(0, 0.7, (9, 2))
    both = np.concatenate([first, first + rng.uniform(0.05, 0.3, (9, 2))], 1)
    return Arg("float32", (9, 4), values=tuple(both.ravel().tolist()))


def resize(kind: str) -> Row:
    """Return the row of a resizing."""
    floor = {"floor": 8.0}
    return Row(f"Resize{kind}", {"images": PIXELS, "size": [5, 3]}, ulps=8, half=8, options=floor)


IMAGES = [
    Row("NonMaxSuppression", {"boxes": boxes(), "scores": SCORES, "max_output_size": 4},
        {"iou_threshold": 0.3}),
    Row("NonMaxSuppressionV2", {"boxes": boxes(), "scores": SCORES, "max_output_size": 4,
        "iou_threshold": 0.3}),
    *(Row(f"NonMaxSuppressionV{k}", {"boxes": boxes(), "scores": SCORES, "max_output_size": 6,
          "iou_threshold": 0.3, "score_threshold": 0.25}) for k in (3, 4)),
    Row("NonMaxSuppressionV5", {"boxes": boxes(), "scores": SCORES, "max_output_size": 6,
        "iou_threshold": 0.3, "score_threshold": 0.25, "soft_nms_sigma": 0.0}),
    Row("CropAndResize", {"image": PIXELS, "boxes": [[0, 0, 1, 1], [0.2, -0.1, 0.9, 1.2]],
        "box_ind": [0, 0], "crop_size": [4, 3]}, ulps=8, half=8, options={"floor": 8.0}),
    *(resize(k) for k in ("Bilinear", "Bicubic", "Area")),
    Row("ScaleAndTranslate", {"images": PIXELS, "size": [5, 3], "scale": [1.2, 0.5],
        "translation": [0.5, -0.3]}, ulps=16, half=16, options={"floor": 8.0}),
    *(Row(f"QuantizeAndDequantizeV{k}", {"input": Arg("float32", ("n", 3), -3, 4),
          "input_min": -2, "input_max": 3}, {"num_bits": 5, "range_given": True}, ulps=4)
      for k in (2, 4)),
    Row("QuantizeAndDequantizeV3", {"input": Arg("float32", ("n", 3), -3, 4), "input_min": -2,
        "input_max": 3, "num_bits": 5}, {"range_given": True}, ulps=4),
]  # fmt: skip
LINEAR = [
    *(Row(k, {"input": square()}, ulps=32, options={"floor": 1.0},
          reference=tf.raw_ops.MatrixInverse) for k in ("MatrixInverse", "BatchMatrixInverse")),
    Row("BatchMatrixTriangularSolve", {"matrix": POSITIVE, "rhs": Arg("float32", ("n", 3, 2))},
        ulps=32, options={"floor": 1.0}, reference=tf.raw_ops.MatrixTriangularSolve),
    Row("BatchCholesky", {"input": POSITIVE}, ulps=16, options={"floor": 1.0},
        reference=tf.raw_ops.Cholesky),
    Row("MatrixSolveLs", {"matrix": Arg("float32", ("n", 3, 2), values=(4, 1, 2, -5, 1, 3)),
        "rhs": Arg("float32", ("n", 3, 2)), "l2_regularizer": np.float64(0.5)}, ulps=64,
        options={"floor": 1.0}),
    Row("BatchMatMulV3", {"x": M, "y": Arg("float32", ("n", 4, 2))}, **sums(4)),
    *(Row("BatchMatMulV3", {"x": Arg(k, ("n", 3, 4)), "y": Arg(k, ("n", 4, 2))},
          {"Tout": "int32"}, only=(), tag=k) for k in ("int8", "uint8")),
    Row("BatchMatMulV2", {"x": M, "y": Arg("float32", (1, 4, 2))}, **sums(4)),
    Row("BatchMatMul", {"x": M, "y": Arg("float32", ("n", 4, 2))}, **sums(4)),
    Row("SparseMatMul", {"a": X, "b": Arg("float32", (5, 2))}, **sums(5)),
    Row("Cross", {"a": Arg("float32", ("n", 3)), "b": Arg("float32", ("n", 3))}, ulps=1, half=4,
        options={**E, "floor": 32.0}),
    Row("SparseTensorDenseMatMul", {"a_indices": [[0, 1], [2, 0]],
        "a_values": Arg("float32", (2,)), "a_shape": [3, 2], "b": Arg("float32", (2, "n"))},
        **sums(2)),
    Row("SparseReduceSum", {"input_indices": [[0, 1], [2, 0], [2, 1]],
        "input_values": Arg("float32", (3,)), "input_shape": [3, 2], "reduction_axes": [1]},
        **sums(2)),
]  # fmt: skip
# One transform sums as many products as it has elements.
WAVES: dict[str, Any] = {"options": {"atol": 6e-5}}
LINE, PLANE, CUBE = (Arg("float32", s) for s in (("n", 8), ("n", 4, 6), ("n", 2, 3, 4)))
SPECTRA = [
    *(Row(f"{way}FFT{rank}", {"input": x}, {"Tcomplex": "complex64"}, **WAVES)
      for way in ("", "I") for rank, x in (("", LINE), ("2D", PLANE), ("3D", CUBE))),
    Row("RFFT", {"input": LINE, "fft_length": [8]}, **WAVES),
    Row("RFFT2D", {"input": PLANE, "fft_length": [4, 6]}, **WAVES),
    Row("RFFT3D", {"input": CUBE, "fft_length": [2, 3, 4]}, **WAVES),
    *(Row(f"IRFFT{rank}", {"input": x, "fft_length": sizes}, {"Tcomplex": "complex64"}, **WAVES)
      for rank, x, sizes in (("", Arg("float32", ("n", 5)), [8]),
                             ("2D", Arg("float32", ("n", 4, 4)), [4, 6]),
                             ("3D", Arg("float32", ("n", 2, 3, 3)), [2, 3, 4]))),
]  # fmt: skip
ROWS = [*NN, *ELEMENTS, *IMAGES, *LINEAR, *SPECTRA]


def cases() -> list[Case]:
    """Return the cases of this module."""
    return cases_of(ROWS)
