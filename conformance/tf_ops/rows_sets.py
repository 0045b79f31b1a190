"""Rows of operations on sets and sequences in sparse tensors, boxes in images, parts of text."""

from __future__ import annotations

from typing import Any

import numpy as np

from conformance.tf_ops.cases import EMPTY, Arg, Case
from conformance.tf_ops.rows import Row
from conformance.tf_ops.variations import cases_of

_ACTIONS = ("a-b", "b-a", "intersection", "union")
_SIZES = (*EMPTY, {"n": 2, "m": 0, "k": 3}, {"n": 2, "m": 0, "k": 0})
_E: dict[str, Any] = {"bindings": EMPTY}
SET1 = Arg("int32", ("n", "m"), 0, 6)
SET2 = Arg("int32", ("n", "k"), 0, 6)
#: Entries of a sparse tensor of three rows, of which the second is empty.
PLACES = np.array([[0, 0], [0, 2], [2, 0], [2, 1], [2, 4]])
FEW = np.array([[0, 1], [1, 0], [2, 3]])
DEEP = np.array([[0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 1, 2]])
NOWHERE = np.zeros((0, 2), np.int64)
SHAPE = np.array([3, 5])


def _values(places: Any) -> Arg:
    return Arg("int32", (len(places),), 0, 4)


SETS = [
    *(Row("DenseToDenseSetOperation", {"set1": SET1, "set2": SET2}, {"set_operation": action},
          tag=action, only=("T",) if action == "union" else (), options={"bindings": _SIZES})
      for action in reversed(_ACTIONS)),
    Row("DenseToDenseSetOperation", {"set1": Arg("int64", ("n", 2, "m"), 0, 4),
        "set2": Arg("int64", ("n", 2, "k"), 0, 4)}, {"set_operation": "union"}, tag="deep",
        only=(), options={"bindings": _SIZES}),
    *(Row("DenseToSparseSetOperation", {"set1": Arg("int32", (3, "m"), 0, 4),
          "set2_indices": PLACES, "set2_values": _values(PLACES), "set2_shape": SHAPE},
          {"set_operation": action}, tag=action, only=("T",) if action == "union" else (),
          options=_E)
      for action in reversed(_ACTIONS)),
    *(Row("SparseToSparseSetOperation", {"set1_indices": one, "set1_values": _values(one),
          "set1_shape": SHAPE, "set2_indices": other, "set2_values": _values(other),
          "set2_shape": SHAPE}, {"set_operation": action}, tag=f"{action}{len(one)}{len(other)}",
          only=("T",) if action == "union" and one is PLACES else (), options=_E)
      for action in reversed(_ACTIONS)
      for one, other in ((PLACES, FEW), (FEW, PLACES), (NOWHERE, FEW), (NOWHERE, NOWHERE))),
    *(Row("SetSize", {"set_indices": places, "set_values": _values(places),
          "set_shape": shape}, tag=str(len(places)), only=("T",) if places is PLACES else (),
          options=_E)
      for places, shape in ((PLACES, SHAPE), (DEEP, np.array([2, 2, 3])), (NOWHERE, SHAPE))),
]  # fmt: skip
DISTANCES = [
    *(Row("EditDistance", {"hypothesis_indices": one, "hypothesis_values": _values(one),
          "hypothesis_shape": SHAPE, "truth_indices": other, "truth_values": _values(other),
          "truth_shape": shape}, {"normalize": normalize},
          tag=f"{len(one)}{len(other)}{normalize}",
          only=("T",) if normalize and one is PLACES else (), options=_E)
      for normalize in (True, False)
      for one, other, shape in ((PLACES, FEW, SHAPE), (FEW, PLACES, np.array([4, 5])),
                                (NOWHERE, FEW, SHAPE), (FEW, NOWHERE, SHAPE),
                                (NOWHERE, NOWHERE, SHAPE))),
    Row("EditDistance", {"hypothesis_indices": DEEP, "hypothesis_values": _values(DEEP),
        "hypothesis_shape": np.array([2, 2, 3]), "truth_indices": DEEP[::2],
        "truth_values": _values(DEEP[::2]), "truth_shape": np.array([2, 2, 3])},
        {"normalize": False}, tag="deep", only=(), options=_E),
]  # fmt: skip
_SOME = ({"n": 2, "m": 12, "k": 6}, {"n": 1, "m": 1, "k": 1}, {"n": 0, "m": 2, "k": 3},
         {"n": 2, "m": 0, "k": 3})  # fmt: skip
CORNERS = Arg("float32", ("n", "m", 4), values=(
    0.1, 0.2, 0.6, 0.9, -0.3, 0.5, 0.5, 1.4, 0.0, 0.0, 1.0, 1.0, 0.7, 0.2, 0.1, 0.9, 2.0, 2.0, 3.0,
    3.0, 0.5, 0.5, 0.5, 0.5, -2.0, -2.0, -1.0, -1.0))  # fmt: skip
BOXES = [
    *(Row("DrawBoundingBoxes", {"images": Arg("float32", ("n", "k", 7, depth)), "boxes": CORNERS},
          tag=str(depth), only=("T",) if depth == 3 else (), options={"bindings": _SOME})
      for depth in (3, 1, 4)),
    *(Row("DrawBoundingBoxesV2", {"images": Arg("float32", ("n", "k", 7, depth)),
          "boxes": CORNERS, "colors": Arg("float32", (count, 4), 0, 1)}, tag=f"{depth}{count}",
          only=("T",) if depth == 3 and count == 2 else (), options={"bindings": _SOME})
      for depth in (3, 1, 4) for count in (2, 0)),
]  # fmt: skip
_OWN: dict[str, Any] = {"bindings": EMPTY, "domains": ("com.microsoft",)}
TEXT = Arg("string", ("n", 3), values=("hello", "d\u00e9j\u00e0 vu", "xy z", "\u65e5\u672c\u8a9e"))
PLAIN = Arg("string", ("n", 3), values=("hello", "a\nb cd", "xyz", "0123456789"))
PARTS = [
    Row("StringLength", {"input": TEXT}, {"unit": "BYTE"}, options=_OWN),
    *(Row("Substr", {"input": PLAIN, "pos": Arg("int32", (3,), values=(0, 1, -2)),
          "len": Arg("int32", (3,), values=(2, 0, 9))}, {"unit": unit}, tag=unit, options=_OWN)
      for unit in ("BYTE", "UTF8_CHAR")),
    *(Row("Substr", {"input": TEXT, "pos": np.int64(start), "len": np.int64(size)},
          {"unit": "UTF8_CHAR"}, tag=f"{start}{size}", only=(), options=_OWN)
      for start, size in ((0, 2), (1, 100), (-3, 2), (2, -1))),
    *(Row("Substr", {"input": Arg("string", ("n", 1), values=("hello", "xyz")),
          "pos": np.int32(start), "len": np.int32(-1)}, {"unit": "BYTE"}, tag=f"all{start}",
          only=(), options=_OWN)
      for start in (0, 3)),
]  # fmt: skip
ROWS = [*SETS, *DISTANCES, *BOXES, *PARTS]


def cases() -> list[Case]:
    """Return the cases of this module."""
    return cases_of(ROWS)
