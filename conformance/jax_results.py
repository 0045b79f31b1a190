"""JAX's cases counted by primitive: what `python -m conformance merge --write` writes.

The documentation shows it, with the counts of every way in which the cases are run.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from conformance.cells import Cell, Known, Verdict, declared
from conformance.jax_harnesses import source

__all__ = ["KINDS", "OUTCOMES", "RESULTS", "primitives", "write"]

RESULTS = Path(__file__).with_name("jax_results.json")

#: Ways to run the cases, with what the names of their cells begin with.
KINDS = {
    "static": source(),
    "symbolic": source(symbolic=True),
    "x64": source(x64=True),
}
#: What becomes of a cell, in this order: it may be declared to differ, refused with a clear error,
#: not be run by JAX itself, or fail.
OUTCOMES = ("pass", "declared", "refused", "source", "fail")


def primitives(cells: Iterable[Cell], known: Mapping[str, Known]) -> dict[str, dict[str, Any]]:
    """Count the cells by primitive.

    Args:
        cells: Results; those of other cases than JAX's are left out.
        known: Declared cells.

    Returns:
        For each primitive, in alphabetical order, the counts of every kind and the reasons.
    """
    kinds = {prefix: kind for kind, prefix in KINDS.items()}
    found: dict[str, dict[str, Any]] = {}
    for cell in cells:
        kind = kinds.get(cell.name.partition("/")[0])
        if kind is None:
            continue
        row = found.setdefault(cell.group, {"reasons": []})
        entry = declared(cell.name, known)
        row.setdefault(kind, Counter())[_outcome(cell, entry)] += 1
        if entry is not None and entry.reason not in row["reasons"]:
            row["reasons"].append(entry.reason)
    return {name: found[name] for name in sorted(found)}


def _outcome(cell: Cell, entry: Known | None) -> str:
    if cell.verdict is Verdict.UNSUPPORTED:
        return "refused"
    if cell.verdict in {Verdict.PASS, Verdict.SOURCE}:
        return cell.verdict.value
    return "fail" if entry is None else "declared"


def write(cells: Iterable[Cell], known: Mapping[str, Known], versions: Mapping[str, str]) -> None:
    """Write the results that the documentation shows.

    Args:
        cells: Results of all cases of JAX, of every kind.
        known: Declared cells.
        versions: Versions of what they were made with.
    """
    data = {"schema": 1, "versions": versions, "primitives": primitives(cells, known)}
    RESULTS.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")
