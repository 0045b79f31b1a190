"""Rows of operations that few models hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.tensorflow.ops.op_cases import Arg
from tests.tensorflow.ops.sweep import EMPTY, Row

E: dict[str, Any] = {"bindings": EMPTY}
SPLITS = Arg("int64", (5,), values=(0, 2, 2, 5, 6))
RAGGED = [
    *(Row("RaggedBincount", {"splits": SPLITS, "values": Arg("int64", (6,), 0, 6), "size": 5,
          "weights": weights}, {"binary_output": binary}, tag=f"{tag}{binary}")
      for tag, weights in (("ones", np.zeros(0)), ("weights", Arg("float32", (6,))))
      for binary in (False, True)),
]  # fmt: skip
ROWS = [*RAGGED]
