"""Rows of factorisations, special functions and rarer operations."""

from __future__ import annotations

from typing import Any

from tests.tensorflow.ops.op_cases import Arg
from tests.tensorflow.ops.sweep import EMPTY, Row

TALL, FLAT = (Arg("float32", ("n", *s), -1, 1) for s in ((5, 3), (3, 5)))
SQUARE = Arg("float32", ("n", 4, 4), -1, 1)
E: dict[str, Any] = {"bindings": EMPTY}
NEAR = {"ulps": 64, "options": {"floor": 1.0}}


def sizes_of(index: int, raw: Any) -> Any:
    """Return a reference whose vectors are compared without their signs."""

    def run(**given: Any) -> Any:
        return [abs(t) if i >= index else t for i, t in enumerate(raw(**given))]

    return run


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
          {"partial_pivoting": pivot}, tag=str(pivot), **NEAR) for pivot in (True, False)),
]  # fmt: skip
ROWS = [*MATRICES]
