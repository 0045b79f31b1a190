"""Rows for the smallest, largest and negative values of attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from conformance.tf_ops.cases import Arg, Case
from conformance.tf_ops.rows import Row
from conformance.tf_ops.variations import cases_of

X = Arg("float32", ("n", 5))
M = Arg("float32", ("n", 3, 4))
PIXELS = Arg("float32", ("n", 6, 7, 4))
EDGE: dict[str, Any] = {"only": (), "vary": ()}
SLOPES = Arg("float32", ("n", 5), special=True)
BOXES = Arg("float32", (6, 4), values=(
    0, 0, 1, 1, 0, 0.1, 1, 1.1, 0, 0.5, 1, 1.5, 0, 2, 1, 3))  # fmt: skip
VECTOR = {k: Arg("float32", (4,), 0.5, 2) for k in ("scale", "offset", "mean", "variance")}
SUMS: dict[str, Any] = {"ulps": 16, "options": {"floor": 16.0}}
NUMBERS = [
    *(Row("LeakyRelu", {"features": SLOPES}, {"alpha": alpha}, tag=str(alpha), **EDGE)
      for alpha in (0.0, 1.0, 1.5, -0.5)),
    *(Row("LeakyReluGrad", {"gradients": X, "features": X}, {"alpha": alpha}, tag=str(alpha),
          **EDGE) for alpha in (0.0, 1.5)),
    *(Row("ApproximateEqual", {"x": X, "y": Arg("float32", ("n", 5))}, {"tolerance": tolerance},
          tag=str(tolerance), **EDGE) for tolerance in (0.0, 100.0)),
    *(Row("LRN", {"input": PIXELS}, {"depth_radius": radius, "beta": beta}, tag=f"{radius}{beta}",
          **SUMS, **EDGE) for radius, beta in ((0, 0.5), (1, 1.0), (9, 0.75), (2, 0.0), (1, -0.5))),
    Row("LRN", {"input": PIXELS}, {"depth_radius": 1, "alpha": 0.0, "bias": 2.0}, tag="flat",
        **SUMS, **EDGE),
    *(Row("FusedBatchNormV3", {"x": PIXELS, **VECTOR}, {"is_training": training, "epsilon": 0.0,
          "exponential_avg_factor": 0.0}, tag=f"{training}", outputs=(0, 1, 2), **SUMS, **EDGE)
      for training in (False, True)),
    *(Row("FakeQuantWithMinMaxArgs", {"inputs": X}, {"min": low, "max": high, "num_bits": bits},
          tag=f"{low}{high}{bits}", ulps=4, options={"atol": 1e-6}, **EDGE)
      for low, high, bits in ((-4, 4, 2), (-3, 3, 16), (1, 3, 8), (-3, -1, 8))),
    *(Row("QuantizeAndDequantizeV2", {"input": X, "input_min": -3, "input_max": 4}, {
          "num_bits": bits, "range_given": given}, tag=f"{bits}{given}", ulps=4, **EDGE)
      for bits in (1, 2, 16) for given in (False, True) if bits > 1 or not given),
    *(Row("QuantizeAndDequantizeV4", {"input": M, "input_min": -3 * np.ones(size), "input_max":
          4 * np.ones(size)}, {"axis": axis}, tag=str(axis), ulps=4, **EDGE)
      for axis, size in ((1, 3), (2, 4))),
]  # fmt: skip
POSITIONS = [
    Row("TopKV2", {"input": X, "k": 0}, tag="none", **EDGE),
    Row("InTopK", {"predictions": X, "targets": Arg("int32", ("n",), 0, 5)}, {"k": 5}, tag="all",
        **EDGE),
    Row("Bucketize", {"input": X}, {"boundaries": []}, tag="none", **EDGE),
    Row("Bucketize", {"input": SLOPES}, {"boundaries": [-1.0, 0.0, 2.0]}, tag="special", **EDGE),
    *(Row(kind, {"sorted_inputs": np.array([[-1, 0, 0, 2], [-3, 1, 1, 30]], np.float32),
          "values": Arg("float32", (2, 17), special=True)}, tag="special", **EDGE)
      for kind in ("LowerBound", "UpperBound")),
    *(Row("OneHot", {"indices": Arg("int32", ("n", 3), 0, 4), "depth": 4, "on_value": 1.0,
          "off_value": 0.0}, {"axis": axis}, tag=str(axis), **EDGE) for axis in (-1, 0, 1, 2)),
    *(Row("Pack", {"values": [X, X]}, {"axis": axis}, tag=str(axis), **EDGE)
      for axis in (-3, -1, 0, 2)),
    *(Row("Unpack", {"value": M}, {"axis": axis, "num": num}, tag=str(axis), **EDGE)
      for axis, num in ((-1, 4), (-2, 3), (2, 4))),
    *(Row("Squeeze", {"input": Arg("float32", ("n", 1, 3, 1))}, {"axis": axis}, tag=str(axis),
          **EDGE) for axis in ([-1], [1, -1], [3, 1])),
    Row("DynamicPartition", {"data": X, "partitions": Arg("int32", ("n",), 0, 1)},
        {"num_partitions": 1}, tag="one", **EDGE),
    Row("Split", {"axis": 1, "value": X}, {"num_split": 1}, tag="one", **EDGE),
    *(Row("SplitV", {"value": X, "size_splits": sizes, "axis": -1}, {"num_split": len(sizes)},
          tag=str(sizes), **EDGE) for sizes in ([5], [0, 5], [0, -1, 0])),
    *(Row("GatherV2", {"params": Arg("float32", (3, 4, 3)), "indices": Arg("int32", (3, 2), 0, 3),
          "axis": axis}, {"batch_dims": batch}, tag=f"{axis}{batch}", **EDGE)
      for axis, batch in ((1, 1), (-2, -1), (2, 0), (-1, 1))),
    *(Row("CropAndResize", {"image": PIXELS, "boxes": [[-0.5, -0.5, 0.5, 1.5]], "box_ind": [0],
          "crop_size": [3, 4]}, {"extrapolation_value": value, "method": method},
          tag=f"{value}{method}", **SUMS, **EDGE)
      for value in (-7.5, np.inf) for method in ("bilinear", "nearest")),
    *(Row("NonMaxSuppression", {"boxes": BOXES, "scores": Arg("float32", (6,), 0, 1),
          "max_output_size": 4}, {"iou_threshold": limit}, tag=str(limit), **EDGE)
      for limit in (0.0, 1.0)),
    *(Row("CombinedNonMaxSuppression", {"boxes": Arg("float32", (1, 6, 1, 4), values=BOXES.values),
          "scores": Arg("float32", (1, 6, 3), 0, 1), "max_output_size_per_class": each,
          "max_total_size": total, "iou_threshold": 0.5, "score_threshold": 0.1},
          {"pad_per_class": pad, "clip_boxes": False}, tag=f"{each}{total}{pad}", **EDGE)
      for each, total in ((1, 9), (6, 2), (2, 4)) for pad in (False, True)),
    Row("ReverseSequence", {"input": Arg("float32", (3, 5, "m")), "seq_lengths": [2, 0, 5]},
        {"seq_dim": 1, "batch_dim": 0}, tag="whole", **EDGE),
]  # fmt: skip
WINDOWS = [
    *(Row(kind, {"input": PIXELS}, {"ksize": [1, 1, 1, depth], "strides": [1, 1, 1, depth],
          "padding": padding}, tag=f"depth{depth}{padding}", **EDGE)
      for kind in ("MaxPool",) for depth in (2, 4) for padding in ("VALID", "SAME")),
    Row("MaxPoolV2", {"input": PIXELS, "ksize": [1, 1, 1, 2], "strides": [1, 1, 1, 2]},
        {"padding": "VALID"}, tag="depth", **EDGE),
    *(Row(kind, {"input" if kind == "MaxPool" else "value": PIXELS}, {"ksize": [1, *k, 1],
          "strides": [1, *s, 1], "padding": padding}, tag=f"{k}{s}{padding}", **SUMS, **EDGE)
      for kind in ("MaxPool", "AvgPool") for padding in ("VALID", "SAME")
      for k, s in (((1, 1), (1, 1)), ((1, 1), (3, 2)), ((6, 7), (1, 1)), ((5, 6), (9, 9)))),
    *(Row("MaxPool", {"input": PIXELS}, {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1],
          "padding": "EXPLICIT", "explicit_paddings": [0, 0, *edges, 0, 0]}, tag=str(edges), **EDGE)
      for edges in ([0, 0, 0, 0], [2, 2, 2, 2], [0, 2, 1, 0])),
    *(Row("ExtractImagePatches", {"images": PIXELS}, {"ksizes": [1, *k, 1], "strides": [1, *s, 1],
          "rates": [1, *r, 1], "padding": padding}, tag=f"{k}{s}{r}{padding}", **EDGE)
      for padding in ("VALID", "SAME")
      for k, s, r in (((1, 1), (1, 1), (1, 1)), ((3, 2), (5, 4), (2, 3)),
                      ((6, 7), (1, 1), (1, 1)))),
    *(Row("Conv2D", {"input": PIXELS, "filter": Arg("float32", (*k, 4, 3), -1, 1)}, {
          "strides": [1, *s, 1], "padding": padding, "dilations": [1, *d, 1]},
          tag=f"{k}{s}{d}{padding}", **SUMS, **EDGE)
      for padding in ("VALID", "SAME")
      for k, s, d in (((1, 1), (1, 1), (1, 1)), ((1, 1), (4, 3), (1, 1)), ((6, 7), (1, 1), (1, 1)),
                      ((2, 3), (1, 1), (3, 2)), ((2, 2), (5, 6), (1, 1)))),
    *(Row("Dilation2D", {"input": PIXELS, "filter": Arg("float32", (2, 3, 4))}, {
          "strides": [1, *s, 1], "rates": [1, *r, 1], "padding": padding}, tag=f"{s}{r}{padding}",
          **EDGE)
      for padding in ("VALID", "SAME") for s, r in (((1, 1), (1, 1)), ((3, 4), (3, 2)))),
]  # fmt: skip
WORDS = Arg("string", ("n", 3))
TEXT = [
    *(Row("ReduceJoin", {"inputs": WORDS, "reduction_indices": axes}, {"keep_dims": keep},
          tag=f"{axes}{keep}", options={"dynamic": False}, **EDGE)
      for axes in ([1], [0, 1], [1, 0], []) for keep in (False, True)),
    *(Row("StringJoin", {"inputs": [WORDS, WORDS]}, {"separator": text}, tag=text, **EDGE)
      for text in ("", " é ")),
    *(Row("StringNGrams", {"data": Arg("string", (5,)), "data_splits": np.array([0, 2, 2, 5])}, {
          "separator": "", "ngram_widths": widths, "left_pad": "", "right_pad": "",
          "pad_width": pad, "preserve_short_sequences": short}, tag=f"{widths}{pad}{short}", **EDGE)
      for widths in ([1], [9], [3, 1]) for pad in (-1, 0, 3) for short in (False, True)),
    *(Row("StringSplitV2", {"input": Arg("string", ("n",), values=("a,b,,c", "x", "", ",")),
          "sep": ","}, {"maxsplit": most}, tag=str(most), **EDGE) for most in (0, 1, 7)),
]  # fmt: skip
ROWS = [*NUMBERS, *POSITIONS, *WINDOWS, *TEXT]


def cases() -> list[Case]:
    """Return the cases of this module."""
    return cases_of(ROWS)
