"""What changed since an earlier run: a cell that is no longer tested is a change too."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

__all__ = ["Changes", "changes", "read_report"]

SCHEMA = 1
_GOOD = frozenset({"passed"})
_KNOWN = frozenset({"xfailed"})
_UNTESTED = frozenset({"", "skipped", "unchecked"})
_LISTED = 20


@dataclass
class Changes:
    """Cells by what became of them.

    Attributes:
        fixed: Failed, or were expected to, and pass now.
        new_failures: Did not fail and do now.
        other_phase: Failed and still do, in another phase.
        untested: Were tested and are not any more.
        added: Are new.
    """

    fixed: list[str] = field(default_factory=list)
    new_failures: list[str] = field(default_factory=list)
    other_phase: list[str] = field(default_factory=list)
    untested: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)

    @property
    def bad(self) -> bool:
        """Whether the run is worse than its baseline."""
        return bool(self.new_failures or self.untested)

    def as_data(self) -> dict[str, list[str]]:
        """JSON data."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The changes, a line each; long lists are cut."""
        result = []
        for name, cells in self.as_data().items():
            words = name.replace("_", " ")
            result += [f"  {words}: {cell}" for cell in cells[:_LISTED]]
            if len(cells) > _LISTED:
                result.append(f"  {words}: … and {len(cells) - _LISTED} more")
        return result


def read_report(path: Path) -> dict[str, Any]:
    """Reads a ``report.json``.

    Raises:
        pytest.UsageError: If it cannot be read, or is not such a report.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or error
        raise pytest.UsageError(f"yobx: {path} is no report that can be read: {why}") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or "results" not in data:
        raise pytest.UsageError(
            f"yobx: {path} is no report of schema {SCHEMA}, as pytest --yobx writes it"
        )
    return data


def changes(
    before: Sequence[Mapping[str, Any]],
    now: Sequence[Mapping[str, Any]],
    elsewhere: frozenset[str] = frozenset(),
) -> Changes:
    """Compares two runs cell by cell.

    Args:
        before: ``results`` of the baseline.
        now: ``results`` of this run.
        elsewhere: Cells that another part of this run tests.

    Returns:
        The changes.
    """
    old = {row["nodeid"]: (row["outcome"], _phase(row)) for row in before}
    new = {row["nodeid"]: (row["outcome"], _phase(row)) for row in now}
    # A model that could not be loaded or converted was told once; its other cells were skipped.
    told = {(_model(cell), phase) for cell, (is_, phase) in old.items() if is_ not in _UNTESTED}
    found = Changes()
    for cell in sorted({*old, *new} - elsewhere):
        (was, was_phase), (is_, phase) = old.get(cell, ("", "")), new.get(cell, ("", ""))
        if is_ in _UNTESTED:
            if was not in _UNTESTED:
                found.untested.append(cell)
        elif is_ in _GOOD:
            if was not in _GOOD | _UNTESTED:
                found.fixed.append(cell)
        elif is_ not in _KNOWN:
            if was in _UNTESTED and (_model(cell), phase) in told:
                continue
            if was in _GOOD | _KNOWN | _UNTESTED:
                found.new_failures.append(cell)
            elif phase != was_phase:
                found.other_phase.append(f"{cell}: {was_phase} → {phase}")
        if cell not in old and is_ in _GOOD | _KNOWN:
            found.added.append(cell)
    return found


def _model(cell: str) -> str:
    """The cell without opset and binding."""
    file, separator, rest = cell.partition("::")
    return file + separator + rest.partition("[")[0]


def _phase(row: Mapping[str, Any]) -> str:
    failed = (r["failed_phase"] for r in row["reports"] if not r["passed"])
    return next(failed, str(row["outcome"]))
