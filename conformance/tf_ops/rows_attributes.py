"""Rows for attributes: a second value of what has no list of values, layouts, paddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from conformance.tf_ops.cases import Arg, Case
from conformance.tf_ops.rows import Row
from conformance.tf_ops.variations import cases_of

X = Arg("float32", ("n", 5))
M = Arg("float32", ("n", 3, 3))
PIXELS = Arg("float32", ("n", 6, 7, 2))
FOUR = Arg("float32", ("n", 6, 8, 4))
VOLUME = Arg("float32", ("n", 4, 5, 3, 2))
ONE: dict[str, Any] = {"only": ()}
SUMS: dict[str, Any] = {"only": (), "ulps": 16, "half": 2, "options": {"floor": 16.0}}
PADDED = [0, 0, 1, 0, 2, 1, 0, 0]
#: Begin, end, shape of the slice of `(1, 3, 4)` or `(2, 3, 4)`, and a mask.
MASKED_SLICES: tuple[tuple[list[int], list[int], tuple[int, ...], dict[str, int]], ...] = (
    ([0, 1, 2], [1, 9, 3], (1, 2, 3), {"begin_mask": 4}),
    ([0, 1, 2], [1, 2, 3], (1, 2, 1), {"end_mask": 2}),
    ([0, 0, 1], [1, 0, 3], (1, 3, 2), {"ellipsis_mask": 2}),
    ([0, 0, 1], [1, 0, 3], (1, 1, 2, 4), {"new_axis_mask": 2}),
    ([0, 1, 2], [1, 2, 4], (1, 2), {"shrink_axis_mask": 2}),
)
WINDOWS = [
    Row("AvgPool", {"value": PIXELS}, {"ksize": [1, 2, 3, 1], "strides": [1, 1, 2, 1],
        "padding": "SAME"}, **SUMS),
    Row("AvgPool3D", {"input": VOLUME}, {"ksize": [1, 2, 2, 2, 1], "strides": [1, 1, 2, 1, 1],
        "padding": "SAME"}, **SUMS),
    Row("MaxPool", {"input": PIXELS}, {"ksize": [1, 2, 3, 1], "strides": [1, 1, 2, 1],
        "padding": "SAME"}, **ONE),
    # Only devices that are not CPUs have this layout; TensorFlow refuses it here when it runs.
    *(Row(kind, {"input": Arg("int32", (3, 4, 6, 8, 4))}, {"data_format": "NCHW_VECT_C", **attrs},
          tag="by4", vary=(), options={"refused": "the layout must be NHWC or NCHW"}, **ONE)
      for kind, attrs in (("DepthToSpace", {"block_size": 2}), ("SpaceToDepth", {"block_size": 2}),
                          ("MaxPool", {"ksize": [1, 1, 2, 2], "strides": [1, 1, 2, 2],
                                       "padding": "VALID"}))),
    Row("MaxPoolV2", {"input": Arg("int32", (3, 4, 6, 8, 4)), "ksize": [1, 1, 2, 2],
        "strides": [1, 1, 2, 2]}, {"padding": "VALID", "data_format": "NCHW_VECT_C"}, tag="by4",
        vary=(), options={"refused": "the layout must be NHWC or NCHW"}, **ONE),
    Row("ExtractVolumePatches", {"input": VOLUME}, {"ksizes": [1, 2, 1, 3, 1],
        "strides": [1, 2, 1, 1, 1], "padding": "SAME"}, **ONE),
    *(Row(kind, {"input": FOUR}, {"block_size": 2}, **ONE)
      for kind in ("DepthToSpace", "SpaceToDepth")),
    Row("DepthToSpace", {"input": Arg("float32", ("n", 2, 3, 9))}, {"block_size": 3}, tag="3",
        **ONE),
    Row("SpaceToDepth", {"input": Arg("float32", ("n", 3, 6, 2))}, {"block_size": 3}, tag="3",
        **ONE),
    Row("SpaceToBatch", {"input": FOUR, "paddings": [[0, 0], [1, 0]]}, {"block_size": 3},
        tag="3", **ONE),
    Row("BatchToSpace", {"input": Arg("float32", (9, "n", 3, 2)), "crops": [[1, 0], [0, 2]]},
        {"block_size": 3}, tag="3", **ONE),
    Row("FusedBatchNormV3", {"x": PIXELS, **{k: Arg("float32", (2,), 0.5, 2) for k in (
        "scale", "offset", "mean", "variance")}}, {"is_training": False}, outputs=(0, 1, 2),
        **SUMS),
    *(Row(f"FusedBatchNorm{v}", {"x": PIXELS, **{k: Arg("float32", (2,), 0.5, 2) for k in (
          "scale", "offset", "mean", "variance")}}, {"is_training": True, "epsilon": 0.25,
          "exponential_avg_factor": 0.3}, outputs=(0, 1, 2), tag="averaged", **SUMS)
      for v in ("", "V2", "V3")),
    Row("FusedBatchNormV3", {"x": VOLUME, **{k: Arg("float32", (2,), 0.5, 2) for k in (
        "scale", "offset", "mean", "variance")}}, {"is_training": False, "data_format": "NDHWC"},
        outputs=(0,), tag="volume", **SUMS),
    Row("FusedBatchNormV3", {"x": Arg("float32", ("n", 2, 3, 4, 5)), **{k: Arg("float32", (2,),
        0.5, 2) for k in ("scale", "offset", "mean", "variance")}}, {"is_training": False,
        "data_format": "NCDHW"}, outputs=(0,), tag="volume-first", compiled=True, **SUMS),
    Row("LRN", {"input": FOUR}, {"bias": 2.5, "alpha": 0.5}, tag="bias", **SUMS),
]  # fmt: skip
KERNEL = Arg("float32", (2, 3, 2, 3), -1, 1)
CUBES = Arg("float32", (2, 3, 1, 2, 3), -1, 1)


def back(op_type: str, kernel: Arg, sizes: list[int], rows: tuple[int, ...], **attrs: Any) -> Row:
    """Return the row of the adjoint of a convolution.

    Args:
        op_type: TensorFlow op type.
        kernel: The filter.
        sizes: Shape of the result.
        rows: Shape of what comes back.
        **attrs: Attributes.
    """
    tag = "-".join(f"{key}{value}" for key, value in attrs.items() if key != "strides")
    inputs = {"input_sizes": sizes, "filter": kernel, "out_backprop": Arg("float32", rows, -1, 1)}
    ready = {"strides": [1] * len(sizes), "padding": "SAME", **attrs}
    compiled = "dilations" in attrs
    return Row(op_type, inputs, ready, tag=tag, vary=(), compiled=compiled, **SUMS)


CONVOLUTIONS = [
    Row("Conv2D", {"input": PIXELS, "filter": KERNEL}, {"strides": [1, 1, 2, 1],
        "padding": "SAME"}, **SUMS),
    Row("Conv3D", {"input": VOLUME, "filter": CUBES}, {"strides": [1, 1, 2, 1, 1],
        "padding": "SAME"}, **SUMS),
    Row("Conv3D", {"input": VOLUME, "filter": CUBES}, {"strides": [1] * 5, "padding": "VALID",
        "dilations": [1, 2, 2, 2, 1]}, tag="dilated", compiled=True, **SUMS),
    Row("DepthwiseConv2dNative", {"input": PIXELS, "filter": KERNEL}, {"strides": [1, 1, 1, 1],
        "padding": "SAME"}, **SUMS),
    Row("DepthwiseConv2dNative", {"input": PIXELS, "filter": KERNEL}, {"strides": [1, 1, 1, 1],
        "padding": "SAME", "dilations": [1, 2, 2, 1]}, tag="dilated", compiled=True, **SUMS),
    *(Row("Conv", {"input": PIXELS, "filter": KERNEL}, {"strides": [1, 2, 2, 1], **attrs},
          tag="-".join(attrs), **SUMS)
      for attrs in ({"padding": "SAME", "dilations": [1, 1, 1, 1]},
                    {"padding": "EXPLICIT", "explicit_paddings": PADDED})),
    Row("Conv", {"input": PIXELS, "filter": KERNEL}, {"strides": [1, 1, 1, 1], "padding": "SAME",
        "dilations": [1, 1, 2, 1]}, tag="dilated", compiled=True, **SUMS),
    Row("Conv", {"input": FOUR, "filter": Arg("float32", (2, 3, 2, 6), -1, 1)}, {
        "strides": [1, 1, 1, 1], "padding": "SAME", "groups": 2}, tag="groups", compiled=True,
        **SUMS),
    Row("Conv", {"input": Arg("float32", ("n", 2, 6, 7, 2)), "filter": KERNEL}, {
        "strides": [1, 1, 1, 1], "padding": "SAME", "batch_dims": 2}, tag="batch", **SUMS),
    Row("Conv", {"input": VOLUME, "filter": CUBES}, {"strides": [1, 1, 2, 1, 1],
        "padding": "SAME"}, tag="volume", **SUMS),
    back("Conv2DBackpropInput", KERNEL, [2, 6, 9, 2], (2, 5, 4, 3), padding="VALID",
         strides=[1, 1, 2, 1]),
    back("Conv2DBackpropInput", KERNEL, [2, 6, 7, 2], (2, 6, 8, 3), padding="EXPLICIT",
         explicit_paddings=PADDED),
    back("Conv2DBackpropInput", KERNEL, [2, 6, 7, 2], (2, 6, 7, 3), dilations=[1, 2, 2, 1]),
    Row("Conv2DBackpropInput", {"input_sizes": [2, 6, 7, 2], "filter": KERNEL, "out_backprop": Arg(
        "float32", (2, 6, 7, 3), -1, 1)}, {"strides": [1, 1, 1, 1], "padding": "SAME"},
        vary=("data_format",), tag="layout", **SUMS),
    back("Conv3DBackpropInputV2", CUBES, [2, 4, 5, 3, 2], (2, 3, 3, 3, 3), padding="VALID"),
    back("Conv3DBackpropInputV2", CUBES, [2, 4, 5, 3, 2], (2, 4, 5, 3, 3),
         dilations=[1, 2, 1, 1, 1]),
    back("DepthwiseConv2dNativeBackpropInput", KERNEL, [2, 6, 7, 2], (2, 5, 5, 6),
         padding="VALID"),
    back("DepthwiseConv2dNativeBackpropInput", KERNEL, [2, 6, 7, 2], (2, 6, 8, 6),
         padding="EXPLICIT", explicit_paddings=PADDED),
    back("DepthwiseConv2dNativeBackpropInput", KERNEL, [2, 6, 7, 2], (2, 6, 7, 6),
         dilations=[1, 2, 2, 1]),
]  # fmt: skip
ELEMENTS = [
    Row("ApproximateEqual", {"x": X, "y": Arg("float32", ("n", 5))}, {"tolerance": 0.75}, **ONE),
    *(Row(kind, {"gradients": X, "features": X}, {"alpha": 0.7}, **ONE)
      for kind in ("LeakyReluGrad",)),
    Row("LeakyRelu", {"features": X}, {"alpha": 0.7}, **ONE),
    Row("Bucketize", {"input": X}, {"boundaries": [0.0, 1.5]}, **ONE),
    *(Row("Cast", {"x": Arg(kind, ("n", 9), special=True)}, {"DstT": to, "Truncate": True},
          tag=f"truncated-{kind}-{to}", **ONE)
      for kind in ("float64", "float32", "float16", "bfloat16")
      for to in ("float32", "float16", "bfloat16", "float8_e5m2", "float8_e4m3fn", "int32")
      if to != kind),
    Row("Cast", {"x": Arg("float64", ("n", 4))}, {"SrcT": "complex128", "DstT": "complex64",
        "Truncate": True}, tag="truncated-pairs", **ONE),
    Row("InTopK", {"predictions": X, "targets": Arg("int32", ("n",), 0, 5)}, {"k": 1}, **ONE),
    Row("TopK", {"input": X}, {"k": 1}, reference=lambda input, k: _top(input, k), **ONE),
    Row("DynamicPartition", {"data": X, "partitions": Arg("int32", ("n",), 0, 2)},
        {"num_partitions": 2}, **ONE),
    Row("EnsureShape", {"input": X}, {"shape": [None, 5]}, **ONE),
    Row("EnsureShape", {"input": X}, {"shape": [None, None]}, tag="any", **ONE),
    *(Row("AsString", {"input": Arg(kind, (9,), values=tuple(np.clip([
          0, 9, 10, -1, -99, -12345, 99999, 10**18, -(2**63)], np.iinfo(kind).min,
          np.iinfo(kind).max).tolist()))}, {"width": width, "fill": fill},
          tag=f"{kind}-{width}-{fill}", vary=(), **ONE)
      for kind in ("int32", "int64", "uint8", "uint64", "int8") for width in (-1, 6)
      for fill in ("", "0", "-", "+", " ") if kind in ("int64", "uint8") or fill == "0"),
    Row("AsString", {"input": Arg("bool", ("n",))}, {"width": 6, "fill": "0"}, tag="bool", vary=(),
        **ONE),
    Row("AsString", {"input": Arg("float32", ("n", 3))}, {"precision": 3}, tag="precision",
        vary=("scientific", "shortest"), options={"refused": "which dtypes it takes"}, **ONE),
    Row("BlockLSTM", {"seq_len_max": np.int64(3), "x": Arg("float32", (3, "n", 3), -1, 1),
        "cs_prev": Arg("float32", ("n", 2), -1, 1), "h_prev": Arg("float32", ("n", 2), -1, 1),
        "w": Arg("float32", (5, 8), -1, 1), **{k: Arg("float32", (2,), -1, 1) for k in (
        "wci", "wcf", "wco")}, "b": Arg("float32", (8,), -1, 1)}, {"forget_bias": 1.25}, ulps=16,
        half=8, tag="bias", options={"floor": 1.0, "bindings": ({"n": 2},)}, **ONE),
    *(Row("FakeQuantWithMinMaxArgs", {"inputs": X}, {"min": -4.0, "max": 3.0, **attrs}, ulps=4,
          options={"atol": 1e-6}, tag=str(i), **ONE)
      for i, attrs in enumerate(({}, {"num_bits": 5}))),
    Row("FakeQuantWithMinMaxVars", {"inputs": X, "min": -3.0, "max": 4.0}, {"num_bits": 4}, ulps=4,
        options={"atol": 1e-6}, **ONE),
    Row("FakeQuantWithMinMaxVarsPerChannel", {"inputs": X, "min": np.linspace(-5, -1, 5),
        "max": np.linspace(1, 6, 5)}, {"num_bits": 4}, ulps=4, options={"atol": 1e-6}, **ONE),
    *(Row(f"QuantizeAndDequantizeV{v}", {"input": X, "input_min": Arg("float32", (5,), -3, 0),
          "input_max": Arg("float32", (5,), 1, 5)}, {"num_bits": 6, "axis": 1}, tag="axis", ulps=8,
          options={"floor": 2.0}, **ONE) for v in (2, 4)),
    Row("QuantizeAndDequantizeV3", {"input": X, "input_min": Arg("float32", (5,), -3, 0),
        "input_max": Arg("float32", (5,), 1, 5), "num_bits": 6}, {"axis": 1}, tag="axis", ulps=8,
        options={"floor": 2.0}, **ONE),
    *(Row("QuantizeV2", {"input": X, "min_range": 1.0, "max_range": 1.0}, {"T": kind, "mode": mode,
          "ensure_minimum_range": 0.5}, tag=f"least-{kind}-{mode}", vary=(), **ONE)
      for kind, mode in (("quint8", "MIN_COMBINED"), ("qint8", "MIN_COMBINED"),
                         ("quint8", "MIN_FIRST"), ("quint8", "SCALED"))),
]  # fmt: skip
SQUARE = Arg("float32", ("n", 3, 3), values=(4, 1, 0.5, 2, -5, 1, 1, 0.25, 3))
COMPLEX_SQUARE = Arg("float32", (2, 3, 3))
BANDS = Arg("float32", ("n", 3, 4))
PAIR: dict[str, Any] = {"x": M, "y": Arg("float32", ("n", 3, 3))}
MATRICES = [
    *(Row(kind, PAIR, **SUMS) for kind in ("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")),
    *(Row(kind, PAIR, {"adj_x": True, "adj_y": True}, tag="both", vary=(), **SUMS)
      for kind in ("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")),
    *(Row(kind, PAIR, {"T": dtype}, tag=dtype, vary=("adj_x", "adj_y"), **SUMS)
      for kind in ("BatchMatMul", "BatchMatMulV2") for dtype in ("complex64", "complex128")),
    *(Row("BatchMatMulV3", PAIR, {"Ta": a, "Tb": b, "Tout": out}, tag=out, vary=(), **SUMS)
      for a, b, out in (("complex64", "complex64", "complex64"),
                        ("complex128", "complex128", "complex128"))),
    *(Row("MatMul", {"a": Arg("float32", (3, 3)), "b": Arg("float32", (3, 3))}, {"T": dtype},
          tag=dtype, vary=("transpose_a", "transpose_b"), **SUMS)
      for dtype in ("complex64", "complex128")),
    *(Row("Einsum", {"inputs": inputs}, {"equation": equation, "T": dtype}, tag=equation + dtype,
          **SUMS) for dtype in ("complex64", "complex128")
      for equation, inputs in (("bij,bjk->bki", list(PAIR.values())), ("bij->bj", [M]))),
    Row("SparseMatMul", {"a": Arg("float32", (4, 4)), "b": Arg("float32", (4, 4))}, **SUMS),
    Row("SparseTensorDenseMatMul", {"a_indices": [[0, 1], [2, 0]], "a_shape": [3, 3],
        "a_values": Arg("float32", (2,)), "b": Arg("float32", (3, 3))}, **SUMS),
    Row("MatrixSolve", {"matrix": SQUARE, "rhs": Arg("float32", ("n", 3, 2))}, **SUMS),
    *(Row("MatrixSolve", {"matrix": COMPLEX_SQUARE, "rhs": Arg("float32", (2, 3, 2))},
          {"T": kind, "adjoint": flag}, tag=f"{kind}-{flag}", **SUMS)
      for kind in ("complex64", "complex128") for flag in (False, True)),
    *(Row("MatrixInverse", {"input": COMPLEX_SQUARE}, {"T": kind, "adjoint": flag},
          tag=f"{kind}-{flag}", **SUMS)
      for kind in ("complex64", "complex128") for flag in (False, True)),
    *(Row("MatrixDiagPartV3", {"input": Arg("float32", shape), "k": k, "padding_value": 7},
          tag=f"{shape[1:]}{k}", **ONE)
      for shape in (("n", 3, 4), ("n", 5, 2), ("n", "m", "k"))
      for k in ([-2, 1], [-1, 0], [1, 1], [0, 1]) if shape[1] != "m" or k == [-1, 0]),
    Row("MatrixDiagPartV2", {"input": BANDS, "k": [-1, 2], "padding_value": 7}, **ONE),
    *(Row(f"MatrixDiagV{v}", {"diagonal": Arg("float32", ("n", 4, 3)), "k": [-1, 2],
          "num_rows": rows, "num_cols": columns, "padding_value": 7}, tag=f"{rows}{columns}",
          vary=None if v == 3 and rows < 0 else (), **ONE)
      for v, rows, columns in ((3, -1, -1), (3, 4, -1), (3, -1, 5), (2, 3, 5), (2, -1, -1))),
    *(Row("MatrixDiagV3", {"diagonal": Arg("float32", ("n", 2, 3)), "k": k, "num_rows": -1,
          "num_cols": -1, "padding_value": 7}, tag=str(k), vary=("align",), **ONE)
      for k in ([1, 2], [-3, -2])),
    # TensorFlow does not trace these with a batch of unknown size.
    *(Row("MatrixSetDiagV3", {"input": Arg("float32", shape), "diagonal": Arg("float32", ("n", *d)),
          "k": k}, tag=str(k), vary=("align",), options={"dynamic": False}, **ONE)
      for shape, k, d in ((("n", 3, 4), [-1, 2], (4, 3)), (("n", 5, 2), [-3, -1], (3, 2)))),
    Row("MatrixSetDiagV2", {"input": BANDS, "diagonal": Arg("float32", ("n", 4, 3)),
        "k": [-1, 2]}, tag="band", options={"dynamic": False}, **ONE),
]  # fmt: skip
TWO = Arg("float32", (3, 4, "n"))
CHOSEN = [
    *(Row(kind, {"value": Arg("float32", ("n", 8, 9, 2), -20, 20)}, {"pooling_ratio": [
          1.0, 2.0, 1.5, 1.0], "deterministic": True, "seed": 7, "seed2": 2, "pseudo_random": True},
          tag="ratio", vary=(), ulps=8, outputs=(0,), options={"floor": 8.0}, **ONE)
      for kind in ("FractionalMaxPool", "FractionalAvgPool")),
    *(Row("GatherNd", {"params": TWO, "indices": Arg("int32", (3, 2), values=indices)},
          {"bad_indices_policy": policy}, tag=f"{policy}-{tag}", vary=(), **ONE)
      for policy in ("IGNORE", "ERROR")
      for tag, indices in (("outside", (2, 1, 3, 0, -1, 2)), ("inside", (2, 1, 1, 0, 0, 2)))
      if policy == "IGNORE" or tag == "inside"),
    *(Row(kind, {data: TWO, "indices": Arg("int64", (4, 2), values=(
          2, 1, 3, 0, -1, 2, 0, 3)), "updates": Arg("float32", (4, "n"))},
          {"bad_indices_policy": "IGNORE"}, tag="outside", vary=(),
          only=("T",) if kind.endswith("Update") else ())
      for kind, data in (("ScatterNdNonAliasingAdd", "input"), *((f"TensorScatter{k}", "tensor")
                         for k in ("Add", "Max", "Min", "Sub", "Update")))),
    Row("ScatterNd", {"indices": Arg("int64", (4, 1), values=(1, 3, -1, 1)),
        "updates": Arg("float32", (4, 3)), "shape": [3, 3]}, {"bad_indices_policy": "IGNORE"},
        tag="outside", vary=(), **ONE),
    Row("ReverseSequence", {"input": Arg("float32", ("m", 3, 5)),
        "seq_lengths": [2, 0, 5]}, {"seq_dim": 2, "batch_dim": 1}, tag="batch", **ONE),
    *(Row("TensorStridedSliceUpdate", {"input": BANDS, "begin": begin, "end": end,
          "strides": [1] * len(begin), "value": Arg("float32", shape)}, masks,
          tag="-".join(masks), **ONE)
      for begin, end, shape, masks in MASKED_SLICES),
    *(Row("DataFormatDimMap", {"x": Arg("int32", ("n",), -len(a), len(a))}, {"src_format": a,
          "dst_format": b}, tag=a + b, **ONE) for a, b in (("NDHWC", "NCDHW"), ("NCHW", "NHWC"))),
    Row("DataFormatVecPermute", {"x": Arg("int32", (4,))}, {"src_format": "NCHW",
        "dst_format": "NHWC"}, tag="back", **ONE),
    Row("NonMaxSuppression", {"boxes": Arg("float32", (6, 4), values=(
        0, 0, 1, 1, 0, 0.1, 1, 1.1, 0, 0.5, 1, 1.5, 0, 2, 1, 3)), "scores": Arg("float32", (6,), 0,
        1), "max_output_size": 4}, {"iou_threshold": 0.6}, **ONE),
    Row("CombinedNonMaxSuppression", {"boxes": Arg("float32", (1, 4, 1, 4), values=(
        0, 0, 1, 1, 0, 0.1, 1, 1.1, 0, 0.5, 1, 1.5, 0, 2, 1, 3)), "scores": Arg("float32",
        (1, 4, 3), 0, 1), "max_output_size_per_class": 3, "max_total_size": 7,
        "iou_threshold": 0.6, "score_threshold": 0.2}, **ONE),
]  # fmt: skip
WORDS = Arg("string", ("n", 3))
TEXT = [
    Row("ReduceJoin", {"inputs": WORDS, "reduction_indices": [1]}, {"separator": "--"}, **ONE),
    Row("RegexReplace", {"input": WORDS, "pattern": "a", "rewrite": "xy"}, **ONE),
    Row("StaticRegexFullMatch", {"input": WORDS}, {"pattern": "bc|"}, **ONE),
    *(Row(kind, {"input": WORDS}, **ONE) for kind in ("StringUpper", "StringLower")),
    Row("StringNGrams", {"data": Arg("string", (5,)), "data_splits": np.array([0, 2, 5])}, {
        "separator": " ", "ngram_widths": [2], "left_pad": "L", "right_pad": "RR", "pad_width": 1,
        "preserve_short_sequences": False}, **ONE),
]  # fmt: skip
ROWS = [*WINDOWS, *CONVOLUTIONS, *ELEMENTS, *MATRICES, *CHOSEN, *TEXT]


def _top(values: Any, k: int) -> Any:
    import tensorflow as tf

    return tf.raw_ops.TopKV2(input=values, k=k)


def cases() -> list[Case]:
    """Return the cases of this module."""
    return cases_of(ROWS)
