"""What checks of single operations found: the data file beside this module, as it was written.

``python -m conformance tf-ops --write`` renews it; ``yobx ops`` and the documentation show it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["OpResult", "OpResults", "load_op_results"]

_FILE = Path(__file__).with_name("op_results.json")


@dataclass(frozen=True)
class OpResult:
    """What checks found about one op type.

    Attributes:
        op_type: TensorFlow op type.
        passed: Opset -> checks that passed.
        dtypes: Dtypes that passed at the usual opset.
        without: Opset -> those of them that did not pass there.
        refused: ``"attribute=value"`` that is refused at every opset.
    """

    op_type: str
    passed: Mapping[int, int]
    dtypes: tuple[str, ...]
    without: Mapping[int, tuple[str, ...]]
    refused: tuple[str, ...]

    def limits(self) -> str:
        """What does not work, in words; empty if all of it does."""
        found = []
        for opset, count in self.passed.items():
            lacking = self.without.get(opset, ())
            if not count:
                found.append(f"not at opset {opset}")
            elif lacking:
                found.append(f"not at opset {opset}: {', '.join(lacking)}")
        if self.refused:
            found.append(f"refused: {', '.join(self.refused)}")
        return "; ".join(found)


@dataclass(frozen=True)
class OpResults:
    """All results.

    Attributes:
        versions: Versions of the packages they were made with.
        ops: Op type -> its results.
    """

    versions: Mapping[str, str]
    ops: Mapping[str, OpResult]


@cache
def load_op_results() -> OpResults:
    """Reads the results."""
    data = json.loads(_FILE.read_text(encoding="utf-8"))
    return OpResults(data["versions"], {k: _result(k, row) for k, row in data["ops"].items()})


def _result(op_type: str, row: Mapping[str, Any]) -> OpResult:
    return OpResult(
        op_type,
        {int(opset): cells.get("pass", 0) for opset, cells in row["cells"].items()},
        tuple(row["dtypes"]),
        {int(opset): tuple(dtypes) for opset, dtypes in row["without"].items()},
        tuple(row["refused"]),
    )
