"""Rows of operations that few models hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from conformance.tf_ops.cases import EMPTY, Arg, Case
from conformance.tf_ops.rows import Row
from conformance.tf_ops.variations import cases_of

E: dict[str, Any] = {"bindings": EMPTY}
SPLITS = Arg("int64", (5,), values=(0, 2, 2, 5, 6))
RAGGED = [
    *(Row("RaggedBincount", {"splits": SPLITS, "values": Arg("int64", (6,), 0, 6), "size": 5,
          "weights": weights}, {"binary_output": binary}, tag=f"{tag}{binary}")
      for tag, weights in (("ones", np.zeros(0)), ("weights", Arg("float32", (6,))))
      for binary in (False, True)),
]  # fmt: skip
X = Arg("float32", ("n", 4), values=(-3.0, -1.25, 0.3, 0.5, 2.0, 7.7, 0.0, 1.5, -0.2, 99, -1.0))
LEVELS = Arg("int32", ("n", 4), values=(0, 1, 5, 127, 100, 63))
ROUGH: dict[str, Any] = {"ulps": 8, "half": 2, "options": {**E, "floor": 2.0}}
QUANTIZED = [
    *(Row("QuantizeV2", {"input": X, "min_range": low, "max_range": high},
          {"T": "quint8", "mode": mode}, tag=f"{mode}{low}", only=("T",), outputs=outputs)
      for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED")
      for low, high, outputs in ((-1.0, 2.5, None), (0.0, 6.0, None), (1.0, 1.0, None),
                                 (-4.0, -1.0, None))),
    *(Row("QuantizeV2", {"input": X, "min_range": -1.0, "max_range": 2.5},
          {"T": "qint8", "mode": "SCALED", "round_mode": how, "narrow_range": narrow},
          tag=f"{how}{narrow}", only=("T",) if how == "HALF_AWAY_FROM_ZERO" else ())
      for how in ("HALF_TO_EVEN", "HALF_AWAY_FROM_ZERO") for narrow in (False, True)),
    *(Row("QuantizeV2", {"input": X, "min_range": Arg("float32", (4,), -3, 0),
          "max_range": Arg("float32", (4,), 1, 5)}, {"T": "qint8", "mode": mode, "axis": 1},
          tag=f"axis{mode}", only=())
      for mode in ("MIN_COMBINED", "SCALED")),
    *(Row("QuantizeV2", {"input": X, "min_range": low, "max_range": 2.5},
          {"T": kind, "mode": "SCALED", "round_mode": "HALF_TO_EVEN", "narrow_range": narrow},
          tag=f"even{kind}{low}{narrow}", only=())
      for kind in ("qint8", "quint8", "qint16")
      for low in (-4.0, -1.0) for narrow in (False, True)),
    Row("QuantizeV2", {"input": X, "min_range": Arg("float32", (4,), -3, 0),
        "max_range": Arg("float32", (4,), 1, 5)}, {"T": "qint8", "mode": "SCALED", "axis": 1,
        "round_mode": "HALF_TO_EVEN"}, tag="axis-even", only=()),
    Row("UniformQuantize", {"input": X, "scales": 0.25, "zero_points": np.int32(3)},
        {"Tout": "qint8", "quantization_min_val": -128, "quantization_max_val": 127}),
    Row("UniformQuantize", {"input": X, "scales": [0.25, 0.1, 3, 1], "zero_points": np.array(
        [3, 0, -2, 1], np.int32)}, {"Tout": "qint8", "quantization_min_val": -100,
        "quantization_max_val": 100, "quantization_axis": 1}, tag="axis", only=()),
    *(Row("QuantizeAndDequantizeV4", {"input": X, "input_min": Arg("float32", (4,), -3, 0),
          "input_max": Arg("float32", (4,), 1, 5)}, {"axis": 1, "range_given": False,
          "narrow_range": narrow, "round_mode": how}, tag=f"axis{narrow}", only=(), **ROUGH)
      for narrow, how in ((False, "HALF_TO_EVEN"), (True, "HALF_UP"))),
]  # fmt: skip
UNITS = Arg("float32", (2,), -1, 1)
# TensorFlow ends the process when there is no row.
STEPS = ({"n": 2, "m": 5, "k": 3}, {"n": 1, "m": 1, "k": 1})
RECURRENT = [
    Row(kind, {"seq_len_max": np.int64(3), "x": Arg("float32", (steps, "n", 3), -1, 1),
        "cs_prev": Arg("float32", ("n", 2), -1, 1), "h_prev": Arg("float32", ("n", 2), -1, 1),
        "w": Arg("float32", (5, 8), -1, 1), "wci": UNITS, "wcf": UNITS, "wco": UNITS,
        "b": Arg("float32", (8,), -1, 1)}, {"cell_clip": clip, "use_peephole": peephole,
        **({"forget_bias": 0.5} if kind == "BlockLSTM" else {})}, tag=f"{steps}{clip}{peephole}",
        only=("T",) if peephole else (), outputs=outputs, ulps=16, half=8,
        options={"floor": 1.0, "bindings": STEPS})
    for kind in ("BlockLSTM", "BlockLSTMV2")
    # TensorFlow leaves outputs other than states and results as they are after the last step.
    for steps, clip, peephole, outputs in ((3, 0.0, True, None), (5, 0.4, False, (1, 6)))
]  # fmt: skip
ENTRIES = [[0, 1], [1, 0], [2, 2]]
SPARSE = [
    *(Row("SparseConcat", {"indices": [np.array(ENTRIES), np.array([[0, 0], [1, 2]])],
          "values": [Arg("float32", (3,)), Arg("float32", (2,))],
          "shapes": [np.array([3, 3]), np.array([3, 3])]}, {"concat_dim": axis}, tag=str(axis))
      for axis in (0, 1, -1)),
    *(Row("SparseSlice", {"indices": ENTRIES, "values": Arg("float32", (3,)), "shape": [3, 4],
          "start": start, "size": size}, tag=f"{start}{size}")
      for start, size in (([1, 0], [5, 3]), ([0, 1], [2, 1]), ([5, 0], [2, 2]))),
]  # fmt: skip
IMAGES = Arg("float32", ("n", 5, 7, 2))
FEW = ({"n": 5, "m": 7, "k": 3}, {"n": 1, "m": 2, "k": 1})
IMAGING = [
    *(Row("ExtractGlimpseV2", {"input": IMAGES, "size": np.array(size, np.int32),
          "offsets": Arg("float32", ("n", 2), low, high)}, {"noise": "zero", "centered": centered,
          "normalized": normalized, "uniform_noise": False},
          tag=f"{size}{centered}{normalized}{high}", options={"bindings": FEW},
          refuses=dict.fromkeys(("noise=gaussian", "noise=uniform"), "must be zero, not random"))
      for size in ([3, 4], [2, 9])
      for centered, normalized, low, high in ((True, True, -1.3, 1.3), (False, True, -0.3, 1.3),
                                              (True, False, -8, 8), (False, False, -3, 9))),
    Row("NonMaxSuppressionWithOverlaps", {"overlaps": Arg("float32", ("m", "m"), 0, 1),
        "scores": Arg("float32", ("m",), 0, 1), "max_output_size": np.int32(3),
        "overlap_threshold": 0.6, "score_threshold": 0.2}, options=E),
    Row("NonMaxSuppressionWithOverlaps", {"overlaps": Arg("float32", ("m", "m"), 0, 1),
        "scores": Arg("float32", ("m",), values=(0.5, 0.25, 0.5)),
        "max_output_size": Arg("int32", (), 1, 3), "overlap_threshold": Arg("float32", (), 0, 1),
        "score_threshold": Arg("float32", (), 0, 0.3)}, tag="given", only=(), options=E),
]  # fmt: skip
CHOSEN = [
    *(Row(kind, {"value": Arg("float32", ("n", 7, 9, 2), -20, 20)}, {"pooling_ratio": [
          1.0, 1.4, 1.7, 1.0], "deterministic": True, "seed": 3, "seed2": 5,
          "overlapping": overlapping, "pseudo_random": pseudo}, tag=f"{overlapping}{pseudo}",
          only=("T",) if overlapping else (), ulps=8, outputs=(0,), options={"floor": 8.0})
      for kind in ("FractionalMaxPool", "FractionalAvgPool")
      for overlapping, pseudo in ((False, True), (True, False))),
    Row("SobolSample", {"dim": np.int32(3), "num_results": np.int32(5), "skip": np.int32(2)}),
]  # fmt: skip
ROWS = [*CHOSEN, *SPARSE, *IMAGING, *RECURRENT, *RAGGED, *QUANTIZED]


def cases() -> list[Case]:
    """Return the cases of this module."""
    return cases_of(ROWS)
