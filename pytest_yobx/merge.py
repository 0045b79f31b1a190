"""Joins the reports of the parts of a run; a part or a check that is missing is refused."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_yobx.baseline import changes, read_report
from pytest_yobx.results import GOOD

__all__ = ["MergeError", "main", "merged_reports"]

_SHOWN = 5


class MergeError(Exception):
    """The reports do not make a whole run; the message says what is missing."""


def merged_reports(reports: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Joins reports.

    Args:
        reports: Contents of the ``report-*.json`` of all parts, in any order.

    Returns:
        The report of the whole run.

    Raises:
        MergeError: If a part is missing or there twice, if the parts saw different checks, or if
            a check has no result.
    """
    parts = [report["attendance"] for report in reports]
    if not parts or any(part["shard"] is None for part in parts):
        raise MergeError("reports of pytest --yobx-shard i/n are expected")
    counts = {part["shard"][1] for part in parts}
    if len(counts) > 1:
        raise MergeError(f"parts of different runs: of {', '.join(map(str, sorted(counts)))}")
    count, have = counts.pop(), sorted(part["shard"][0] for part in parts)
    if have != list(range(1, count + 1)):
        raise MergeError(f"parts 1 to {count} are expected once each; there are {have}")
    planned = parts[0]["planned"]
    for part in parts[1:]:
        odd = set(part["planned"]) ^ set(planned)
        if odd:
            raise MergeError(f"the parts saw different checks: {_some(sorted(odd))}")
    assigned = [nodeid for part in parts for nodeid in part["assigned"]]
    rows = {row["nodeid"]: row for report in reports for row in report["results"]}
    lost = sorted((set(planned) - set(assigned)) | (set(assigned) - set(rows)))
    from yobx.words import counted  # nothing but pytest is loaded with the plugin

    if lost or len(assigned) != len(set(assigned)):
        raise MergeError(f"{counted(len(lost), 'check')} without a result: {_some(lost)}")
    totals: dict[str, int] = {}
    for row in rows.values():
        totals[row["outcome"]] = totals.get(row["outcome"], 0) + 1
    environments = [report["environment"] for report in reports if report["environment"]]
    return {
        **reports[0],
        "environment": environments[0] if environments else {},
        "totals": totals,
        "executed": sum(report["executed"] for report in reports),
        "attendance": {"planned": planned, "assigned": planned, "shard": None},
        "results": sorted(rows.values(), key=lambda row: str(row["nodeid"])),
    }


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line.

    Args:
        arguments: Without the name of the program; those of the process by default.

    Returns:
        0 if everything passed, 1 if something failed or is tested no more, 2 if it was refused.
    """
    parser = argparse.ArgumentParser(prog="python -m pytest_yobx", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    merge = commands.add_parser("merge", help="join the reports of pytest --yobx-shard")
    merge.add_argument("reports", nargs="+", type=Path, metavar="report-1of4.json")
    merge.add_argument("--output", type=Path, default=Path(".yobx"), metavar="DIR")
    merge.add_argument("--baseline", type=Path, metavar="FILE", help="report to compare with")
    chosen = parser.parse_args(arguments)
    try:
        data = merged_reports([read_report(path) for path in chosen.reports])
        before = read_report(chosen.baseline) if chosen.baseline else None
    except (MergeError, pytest.UsageError) as error:
        sys.stderr.write(f"merge refused: {error}\n")
        return 2
    lines = [f"{count} {outcome}" for outcome, count in sorted(data["totals"].items())]
    worse = any(outcome not in GOOD for outcome in data["totals"]) or not data["executed"]
    if before is not None:
        found = changes(before["results"], data["results"])
        data["changes"] = found.as_data()
        lines += found.lines()
        worse = worse or found.bad
    from pytest_yobx.html import render_session

    page, text = render_session(data), json.dumps(data, indent=1) + "\n"
    try:
        chosen.output.mkdir(parents=True, exist_ok=True)
        (chosen.output / "report.json").write_text(text, encoding="utf-8")
        (chosen.output / "report.html").write_text(page, encoding="utf-8")
    except OSError as error:
        sys.stderr.write(f"merge cannot write to {chosen.output}: {error.strerror or error}\n")
        return 2
    sys.stdout.write("\n".join([*lines, f"written to {chosen.output}"]) + "\n")
    return int(worse)
