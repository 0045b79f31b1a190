"""Rows of factorisations, special functions and rarer operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from conformance.tf_ops.cases import EMPTY, Arg, Case
from conformance.tf_ops.rows import Row
from conformance.tf_ops.variations import cases_of

TALL, FLAT = (Arg("float32", ("n", *s), -1, 1) for s in ((5, 3), (3, 5)))
SQUARE = Arg("float32", ("n", 4, 4), -1, 1)
E: dict[str, Any] = {"bindings": EMPTY}
NEAR: dict[str, Any] = {"ulps": 64, "options": {"floor": 1.0}}


MATRICES = [
    *(Row("Qr", {"input": x}, {"full_matrices": full}, tag=f"{tag}{full}", **NEAR)
      for tag, x in (("tall", TALL), ("flat", FLAT), ("square", SQUARE))
      for full in (True, False)),
    *(Row("Lu", {"input": x}, tag=tag, **NEAR) for tag, x in (("square", SQUARE),)),
    Row("SelfAdjointEigV2", {"input": SQUARE}, {"compute_v": False}, outputs=(0,), **NEAR),
    *(Row("Svd", {"input": x}, {"compute_uv": False}, outputs=(0,), tag=tag, **NEAR)
      for tag, x in (("tall", TALL), ("flat", FLAT))),
    *(Row("TridiagonalSolve", {"diagonals": Arg("float32", ("n", 3, 4), 1, 4,
          values=(1, -1, 2, 0, 5, 6, -7, 5, 0, 2, 1, -1)), "rhs": Arg("float32", ("n", 4, 2))},
          {"partial_pivoting": pivot}, tag=str(pivot),
          refuses={"perturb_singular=True": "singular matrices are not perturbed"}, **NEAR)
      for pivot in (True, False)),
]  # fmt: skip
X = Arg("float32", ("n", 7), 0.1, 6)
UNIT = Arg("float32", ("n", 7), 0.02, 0.98)
NATURAL = Arg("float32", ("n", 7), values=(0, 1, 2, 3, 5))
WIDE = Arg("float32", ("n", 9), values=(0.5, -1.5, 1e-3, 3, -3.9, 4.1, 7, 5.9, 33.5))
UP = Arg("float32", ("n", 9), values=(0.5, 1.5, 1e-3, 0.03, 2.5, 6, 9, 20, 33.5))
# How far apart two good approximations are: TensorFlow's in float32 are single precision fits.
CLOSE: dict[str, Any] = {"ulps": 64, "half": 2, "options": {**E, "floor": 0.01}}
FUNCTIONS = [
    *(Row(k, {"a": X, "x": Arg("float32", ("n", 7), 0, 9)}, **CLOSE)
      for k in ("Igamma", "Igammac")),
    Row("Betainc", {"a": X, "b": X, "x": UNIT}, **CLOSE),
    Row("Zeta", {"x": Arg("float32", ("n", 7), 1.1, 6), "q": X}, **CLOSE),
    Row("Polygamma", {"a": NATURAL, "x": X}, **CLOSE),
    *(Row(k, {"x": WIDE}, **CLOSE) for k in ("Dawsn", "BesselJ0", "BesselJ1")),
    # The angles of the quadrature are rounded: up to 60 radians each.
    *(Row(k, {"x": WIDE}, **{**CLOSE, "ulps": 256}) for k in ("FresnelCos", "FresnelSin")),
    *(Row(k, {"x": UP}, **CLOSE) for k in ("Expint", "Spence", "BesselK0", "BesselK1", "BesselK0e",
                                           "BesselK1e")),
]  # fmt: skip
ENDS = Arg("float64", (9,), values=(0, -0.0, -1, -2, 1, 2, np.inf, -np.inf, np.nan))
COLUMN = Arg("float64", (9, 1), values=(0, -0.0, -1, -2, 1, 2, np.inf, -np.inf, np.nan))
EXACT: dict[str, Any] = {"ulps": 256, "only": (), "tag": "ends"}
AT_ENDS = [
    *(Row(k, {"x": ENDS}, **EXACT) for k in ("Dawsn", "FresnelCos", "FresnelSin", "BesselJ0",
      "BesselJ1", "Expint", "BesselK0", "BesselK1", "BesselK0e", "BesselK1e")),
    *(Row(k, {"a": ENDS, "x": Arg("float64", (9, 1), values=(0, -0.0, -1, -2, 1, 2, -3, np.inf,
          np.nan))}, **EXACT) for k in ("Igammac",)),
    Row("Zeta", {"x": Arg("float64", (7,), values=(0, 1, 2, 3, 2.5, -1, np.nan)), "q": COLUMN},
        **EXACT),
]  # fmt: skip
PIXELS = Arg("float32", ("n", 5, 6, 2))
SHIFTS = ((1, 0.1, -1.3, 0.2, 0.9, 2.1, 0, 0), (-1, 0, 4.6, 0, 1.4, -3.2, 0.01, 0.02),
          (1, 0, -20.5, 0, 1, 31.25, 0, 0))  # fmt: skip
# Whole pixels are cut off from sums without rounding, so that integers cannot differ.
DYADIC = ((1, 0.125, -1.25, 0.25, 0.875, 2.125, 0, 0),)
TURNED: dict[str, Any] = {"ulps": 16, "half": 4, "options": {"floor": 16.0}}
RARE = [
    *(Row("ImageProjectiveTransformV3", {"images": Arg("float32", (3, 5, 6, 2)),
          "transforms": SHIFTS, "output_shape": [4, 7], "fill_value": 2.5},
          {"interpolation": kind, "fill_mode": mode}, tag=f"{kind}-{mode}",
          only=("dtype",) if kind == "NEAREST" else (), **TURNED)
      for kind in ("NEAREST", "BILINEAR")
      for mode in ("CONSTANT", "REFLECT", "WRAP", "NEAREST")),
    Row("ImageProjectiveTransformV2", {"images": PIXELS, "transforms": DYADIC,
        "output_shape": [4, 7]}, {"interpolation": "BILINEAR"}, **TURNED),
    Row("ImageProjectiveTransformV3", {"images": PIXELS, "transforms": DYADIC,
        "output_shape": [4, 7], "fill_value": 2.5}, {"interpolation": "BILINEAR",
        "fill_mode": "WRAP"}, tag="dyadic", **TURNED),
    *(Row("CTCGreedyDecoder", {"inputs": Arg("float32", (9, "n", 3)),
          "sequence_length": Arg("int32", ("n",), 1, 10)}, {"merge_repeated": merge,
          "blank_index": blank}, tag=f"{merge}{blank}", ulps=8)
      for merge, blank in ((True, -1), (False, 0))),
    Row("SparseFillEmptyRows", {"indices": [[1, 0], [3, 2], [3, 1]],
        "values": Arg("float32", (3,)), "dense_shape": [5, 4],
        "default_value": Arg("float32", ())}),
    Row("SparseFillEmptyRows", {"indices": [[3, 0], [1, 2], [3, 1]], "values": Arg("int32", (3,)),
        "dense_shape": [5, 4], "default_value": Arg("int32", ())}, tag="unsorted", only=()),
    Row("RaggedTensorToSparse", {"rt_nested_splits": [Arg("int32", (4,), values=(0, 2, 2, 5))],
        "rt_dense_values": Arg("float32", (5,))}),
]  # fmt: skip
ROWS = [*MATRICES, *FUNCTIONS, *AT_ENDS, *RARE]


def cases() -> list[Case]:
    """Return the cases of this module."""
    return cases_of(ROWS)
