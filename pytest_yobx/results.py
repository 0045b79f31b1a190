"""What checks found, as plain data that travels with pytest's reports, across processes too."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_yobx.shards import Attendance

__all__ = [
    "ATTENDANCE",
    "GOOD",
    "PAYLOAD",
    "PROBLEMS",
    "Collected",
    "Row",
    "attach",
    "begin",
    "payloads_of",
    "safe_name",
    "short_name",
]

#: Outcomes that leave a run green.
GOOD = frozenset({"passed", "xfailed", "skipped", "unchecked"})
#: Attribute of a TestReport that holds the JSON text; xdist carries it to the controller.
PAYLOAD = "yobx_payload"
#: Attribute of a worker's first report: which checks it collected, as JSON.
ATTENDANCE = "yobx_attendance"
#: Name of the item that fails where files of expectations are not in order.
PROBLEMS = "yobx_expectations"
_RERUN = "rerun"  # outcome of pytest-rerunfailures
_PROPERTIES = ("yobx_model", "yobx_outcome")
_KEY = pytest.StashKey[list[dict[str, Any]]]()


def attach(item: pytest.Item, report: Any) -> None:
    """Remembers a `ConversionReport` with the test that made it."""
    item.stash.setdefault(_KEY, []).append(report.as_dict())
    # Properties of the test in JUnit files.
    told = report.model_name, report.failed_phase or "passed"
    item.user_properties.extend(zip(_PROPERTIES, told, strict=True))


def begin(item: pytest.Item) -> bool:
    """Forgets what a test made before it is run again, as plugins for flaky tests do.

    Returns:
        Whether there was something.
    """
    known = bool(item.stash.get(_KEY, None))
    if known:
        item.stash[_KEY] = []
        item.user_properties[:] = [p for p in item.user_properties if p[0] not in _PROPERTIES]
    return known


def payloads_of(item: pytest.Item) -> list[dict[str, Any]]:
    """The reports a test made, as JSON data."""
    return item.stash.get(_KEY, [])


def short_name(nodeid: str) -> str:
    """The name of a test without its file and class; parameters may hold any character."""
    head, bracket, parameters = nodeid.partition("::")[2].partition("[")
    return head.rpartition("::")[2] + bracket + parameters


def safe_name(nodeid: str) -> str:
    """A folder name for a test: readable, and distinct by a hash."""
    readable = re.sub(r"[^A-Za-z0-9_.-]+", "-", nodeid.rpartition("/")[2]).strip("-.")[:80]
    return f"{readable}-{hashlib.sha256(nodeid.encode()).hexdigest()[:8]}"


@dataclass
class Row:
    """One test with what its checks found.

    Attributes:
        nodeid: The test.
        outcome: ``passed``, ``failed``, ``xfailed``, ``skipped``, ``error``, ``crash``, or
            ``unchecked`` for a test that passed without having compared anything.
        seconds: Duration of the call.
        reports: JSON form of its reports.
        message: Text of a failure that left no report, or what else there is to say.
    """

    nodeid: str
    outcome: str
    seconds: float = 0.0
    reports: list[dict[str, Any]] = field(default_factory=list)
    message: str = ""


@dataclass
class Collected:
    """All results of a session, gathered where pytest reports.

    Attributes:
        rows: One row a test that made a check, or that was an item of ours.
        attendance: Which checks were planned.
        problems: What is wrong in files of expectations, each with file and line.
        deselected: How many checks a selection left out.
        selection: The flags that did, as they were given.
    """

    rows: dict[str, Row] = field(default_factory=dict)
    attendance: Attendance = field(default_factory=Attendance)
    problems: list[str] = field(default_factory=list)
    deselected: int = 0
    selection: str = ""

    def add(self, report: pytest.TestReport) -> None:
        """Takes in a report of one phase of one test."""
        told = getattr(report, ATTENDANCE, "")
        if told:
            self.attendance = Attendance.from_json(json.loads(told))
        text = getattr(report, PAYLOAD, "")
        if not text:
            if report.failed and report.nodeid.rpartition("::")[2] == PROBLEMS:
                self.problems += str(report.longreprtext).splitlines()
            return
        payload = json.loads(text)
        row = self.rows.setdefault(report.nodeid, Row(report.nodeid, "passed"))
        row.seconds += report.duration
        row.reports = payload["reports"] or row.reports
        if report.outcome == _RERUN:
            row.message = "failed before it was run again"
            return
        if report.when == "call" or report.failed or report.skipped:
            outcome: str = "error" if report.failed and report.when != "call" else report.outcome
            if hasattr(report, "wasxfail"):
                outcome = "xfailed" if report.skipped else "xpassed"
            if outcome == "passed" and not row.reports:
                outcome = "unchecked"
            row.outcome = outcome if row.outcome != "failed" else row.outcome
        if report.failed and not any(not r["passed"] for r in row.reports):
            row.message = str(report.longreprtext)[-4000:]
        elif row.outcome == "xfailed":
            row.message = str(getattr(report, "wasxfail", "")) or row.message
        elif row.outcome == "skipped" and isinstance(report.longrepr, tuple):
            row.message = str(report.longrepr[2])

    def crash(self, nodeid: str, text: str) -> None:
        """Records that the process running a test died, and what is said of it."""
        self.rows[nodeid] = Row(nodeid, "crash", message=text)

    @property
    def executed(self) -> int:
        """Number of checks that were made."""
        return sum(
            bool(row.reports) or row.outcome in {"failed", "error", "crash"}
            for row in self.rows.values()
        )
