"""Applies expectations to tests, and rewrites the entries that no longer hold."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_yobx.expectations import Book, Entry, lines_of
from pytest_yobx.results import Row, short_name

__all__ = [
    "ProblemsItem",
    "entry_of",
    "judge_report",
    "remember_entry",
    "scale_of",
    "skip_if_told",
    "update",
]

_ENTRY = pytest.StashKey[Entry | None]()


class ProblemsItem(pytest.Item):
    """Fails when the files of expectations are not in order."""

    def __init__(self, *, book: Book, complete: bool, **rest: Any) -> None:
        super().__init__(**rest)
        self.book, self.complete = book, complete

    def problems(self) -> list[str]:
        """What is wrong, each with file and line."""
        return [*self.book.problems, *(self.book.unmatched() if self.complete else [])]

    def runtest(self) -> None:
        """Fails with the list."""
        problems = self.problems()
        if problems:
            pytest.fail("\n".join(problems), pytrace=False)

    def reportinfo(self) -> tuple[Path, None, str]:
        """The name of the item is all there is."""
        return self.path, None, self.name


def remember_entry(item: pytest.Item, entry: Entry | None) -> None:
    """Notes what is expected of a test."""
    item.stash[_ENTRY] = entry


def entry_of(item: pytest.Item) -> Entry | None:
    """What is expected of a test."""
    return item.stash.get(_ENTRY, None)


def scale_of(item: pytest.Item) -> float:
    """Factor on every float allowance of a test."""
    entry = entry_of(item)
    return entry.scale if entry is not None and entry.kind == "tolerance" else 1.0


def skip_if_told(item: pytest.Item) -> None:
    """Leaves a test out that would crash."""
    entry = entry_of(item)
    if entry is not None and entry.kind == "skip":
        pytest.skip(f"{entry.place}: {entry.words()}")


def judge_report(item: pytest.Item, report: pytest.TestReport, found: list[Any]) -> None:
    """Turns an expected failure into one, and an unexpected pass into a failure.

    Args:
        item: The test.
        report: Its report, which is changed.
        found: JSON form of the reports of its checks.
    """
    entry = entry_of(item)
    if entry is None or entry.kind not in {"xfail", "flaky"} or report.when != "call":
        return
    failed = next((r for r in found if not r["passed"]), None)
    opset = (failed or (found[-1] if found else {})).get("opset", 0)
    if opset and not entry.applies({"opset": opset}):
        return
    phase = failed["failed_phase"] if failed else "import" if report.failed and not found else ""
    internal = failed is not None and failed["internal"]  # a fault of yobx is nobody's expectation
    if report.failed and internal:
        return
    if report.failed and phase == entry.phase:
        report.outcome = "skipped"
        report.wasxfail = f"{entry.place}: {entry.words()}"
    elif report.failed and phase:
        report.longrepr = (
            f"{entry.place}: {entry.phase!r} was expected to fail, {phase!r} failed: change the "
            f"entry or the model\n{report.longreprtext}"
        )
    elif report.passed and found and entry.kind == "xfail":
        report.outcome = "failed"
        report.longrepr = (
            f"{entry.place}: {entry.phase!r} was expected to fail, but the check passes: remove "
            f"the entry\nThe entry says: {entry.words()}"
        )


def update(book: Book, rows: dict[str, Row], root: Path, *, complete: bool) -> list[str]:
    """Rewrites entries that no longer hold; no entry is added, as a reason is needed.

    Args:
        book: The entries.
        rows: Results of the session.
        root: pytest's root folder.
        complete: Whether the session had all checks, so that an unmatched entry is an old one.

    Returns:
        The changes, as lines of a diff.
    """
    moved: dict[str, str] = {}
    gone: set[str] = set()
    for entry in book.entries:
        if entry.kind != "xfail":
            continue
        names = {short_name(row.nodeid): row for row in rows.values()}
        matched = [row for name, row in names.items() if entry.matches(name, row.nodeid)]
        phases = {phase for row in matched for phase in _failed_phases(row)}
        if (not matched and complete and entry.place not in book.used) or (matched and not phases):
            gone.add(entry.place)
        elif matched and entry.phase not in phases and len(phases) == 1:
            moved[entry.place] = phases.pop()
    diff: list[str] = []
    for name in sorted({place.rpartition(":")[0] for place in {*moved, *gone}}):
        path = root / name
        before = path.read_text(encoding="utf-8")
        after = _rewritten(before, name, moved, gone)
        path.write_text(after, encoding="utf-8")
        old, new = before.splitlines(), after.splitlines()
        diff += difflib.unified_diff(old, new, name, name, lineterm="", n=2)
    return diff


def _failed_phases(row: Row) -> set[str]:
    phases = {r["failed_phase"] for r in row.reports if not r["passed"]}
    if not row.reports and row.outcome not in {"passed", "skipped"}:
        phases.add("import" if row.outcome in {"failed", "error"} else row.outcome)
    return phases


def _rewritten(text: str, name: str, moved: dict[str, str], gone: set[str]) -> str:
    lines = text.splitlines(keepends=True)
    starts = lines_of(text)
    ends = [*(start - 1 for start in starts[1:]), len(lines)]
    result = lines[: starts[0] - 1]
    for start, end in zip(starts, ends, strict=True):
        block, place = lines[start - 1 : end], f"{name}:{start}"
        if place in gone:
            continue
        if place in moved:
            pattern = re.compile(r'^(\s*phase\s*=\s*)(["\'])[^"\']*\2')
            block = [pattern.sub(rf"\g<1>\g<2>{moved[place]}\g<2>", line) for line in block]
        result += block
    return "".join(result).rstrip("\n") + "\n"
