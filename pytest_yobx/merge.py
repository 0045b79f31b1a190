"""Joins the reports of the parts of a run; a part or a check that is missing is refused."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_yobx.baseline import Changes, changes, read_report
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
        "red": list(dict.fromkeys(why for report in reports for why in report.get("red", ()))),
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
    merge.add_argument(
        "--min-cells",
        type=_count,
        default=1,
        metavar="N",
        help="fewest checks that must have been made (default: 1)",
    )
    chosen = parser.parse_args(arguments)
    try:
        data = merged_reports([read_report(path) for path in chosen.reports])
        before = read_report(chosen.baseline) if chosen.baseline else None
    except (MergeError, pytest.UsageError) as error:
        sys.stderr.write(f"merge refused: {error}\n")
        return 2
    lines = [f"{count} {outcome}" for outcome, count in sorted(data["totals"].items())]
    found = None
    if before is not None:
        found = changes(before["results"], data["results"])
        data["changes"] = found.as_data()
        changed = found.lines()
        lines += [f"changes since {chosen.baseline}:{'' if changed else ' none'}", *changed]
    data["red"] = reasons = _reasons(data, found, chosen.min_cells, chosen.baseline)
    from pytest_yobx.html import render_session

    page, text = render_session(data), json.dumps(data, indent=1) + "\n"
    try:
        chosen.output.mkdir(parents=True, exist_ok=True)
        (chosen.output / "report.json").write_text(text, encoding="utf-8")
        (chosen.output / "report.html").write_text(page, encoding="utf-8")
    except OSError as error:
        sys.stderr.write(f"merge cannot write to {chosen.output}: {error.strerror or error}\n")
        return 2
    lines += [f"written to {chosen.output}"]
    lines += [f"red: {'; '.join(reasons)}" if reasons else "green: every part and check is there"]
    sys.stdout.write("\n".join(lines) + "\n")
    return int(bool(reasons))


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a number of checks, 0 or more, not {text!r}")
    return int(text)


def _reasons(
    data: dict[str, Any], found: Changes | None, least: int, baseline: Path | None
) -> list[str]:
    """Why the whole run is red; none if it is not."""
    from yobx.words import counted

    made = data["executed"]
    bad = sum(count for outcome, count in data["totals"].items() if outcome not in GOOD)
    reasons = [f"{counted(bad, 'check')} did not pass"] if bad else []
    reasons += [f"a part: {why.removesuffix(' This run is red.')}" for why in data["red"]]
    if not made:
        reasons.append("nothing was checked")
    elif made < least:
        reasons.append(f"{counted(made, 'check')}, but --min-cells asks for {least}")
    if found is not None and found.new_failures:
        reasons.append(f"{counted(len(found.new_failures), 'new failure')} since {baseline}")
    if found is not None and found.untested:
        gone = counted(len(found.untested), "check")
        reasons.append(f"{gone} of the baseline {baseline} not made")
    return reasons
