"""The end of a run: a table in the terminal, and the reports."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict
from typing import Any

import pytest

from pytest_yobx.baseline import SCHEMA
from pytest_yobx.cases import shown_path
from pytest_yobx.collection import is_complete
from pytest_yobx.options import Settings
from pytest_yobx.results import GOOD, Collected, Row, safe_name, short_name
from pytest_yobx.telling import failures
from pytest_yobx.verdict import Verdict, judge
from pytest_yobx.writable import report_file
from yobx.words import counted

__all__ = ["as_data", "conclude", "remove_stale", "show"]

_WRITTEN = pytest.StashKey[list[str]]()
_MOST_WARNINGS = 10
_TAIL = 20  # of a name that is cut: the end tells the cases of one model apart
_VERDICT = pytest.StashKey[Verdict]()


def as_data(collected: Collected, settings: Settings) -> dict[str, Any]:
    """The session as JSON data."""
    rows = sorted(collected.rows.values(), key=lambda row: row.nodeid)
    environment: dict[str, str] = next((r["environment"] for row in rows for r in row.reports), {})
    totals: dict[str, int] = {}
    for row in rows:
        totals[row.outcome] = totals.get(row.outcome, 0) + 1
    return {
        "schema": SCHEMA,
        "environment": environment,
        "seed": settings.seed if isinstance(settings.seed, int) else list(settings.seed),
        "totals": totals,
        "executed": collected.executed,
        "attendance": asdict(collected.attendance),
        "results": [asdict(row) for row in rows],
    }


def remove_stale(config: pytest.Config, collected: Collected, settings: Settings) -> None:
    """Removes what earlier runs left of checks that left nothing now, or are there no more.

    Args:
        config: Tells whether everything was asked for.
        collected: The results.
        settings: Where artifacts are.
    """
    from yobx.verification.artifacts import remove_artifacts

    kept = {
        safe_name(nodeid)
        for nodeid, row in collected.rows.items()
        if row.outcome == "crash" or any(report["artifacts"] for report in row.reports)
    }
    stale = {safe_name(nodeid) for nodeid in collected.rows} - kept
    some = any(config.getoption(name, None) for name in ("keyword", "markexpr", "lf", "deselect"))
    attendance = collected.attendance
    if is_complete(config) and not some and attendance.shard is None and collected.rows:
        planned = {safe_name(nodeid) for nodeid in attendance.planned}
        there = settings.folder.iterdir() if settings.folder.is_dir() else ()
        stale |= {entry.name for entry in there if entry.is_dir()} - planned - kept
    for name in stale:
        with contextlib.suppress(OSError):  # an old folder hides no result
            remove_artifacts(settings.folder / name)


def conclude(
    config: pytest.Config,
    collected: Collected,
    settings: Settings,
    before: dict[str, Any] | None,
) -> Verdict:
    """Judges the run and writes the reports asked for.

    A folder that cannot be written makes the run red: a baseline would be missing unnoticed.

    Args:
        config: Where what the summary shows is kept.
        collected: The results.
        settings: Kinds and folder.
        before: The baseline, or ``None``.

    Returns:
        Whether the run is red although its tests passed.
    """
    data = as_data(collected, settings)
    verdict = config.stash[_VERDICT] = judge(collected, settings, data["results"], before)
    if verdict.changes is not None:
        data["changes"] = verdict.changes.as_data()
    data["red"] = verdict.reasons
    lost = _write(config, data, settings)
    if lost:
        verdict.reasons.append(lost)
    return verdict


def _write(config: pytest.Config, data: dict[str, Any], settings: Settings) -> str:
    """Writes the reports asked for; what stops that is returned, as it makes the run red."""
    lines: list[str] = []
    config.stash[_WRITTEN] = lines
    kinds = [kind for kind in settings.report if kind != "none"]
    if not kinds:
        return ""
    try:
        settings.folder.mkdir(parents=True, exist_ok=True)
        ignore = settings.folder / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
        if "json" in kinds:
            target = report_file(settings, "json")
            target.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
            lines.append(f"json report  {shown_path(target).rstrip('/')}")
        if "html" in kinds:
            target = report_file(settings, "html")
            target.write_text(_page(data), encoding="utf-8")
            lines.append(f"html report  {shown_path(target).rstrip('/')}")
    except OSError as error:
        why = error.strerror or error
        return f"reports could not be written to {settings.folder}: {why}. This run is red."
    except ModuleNotFoundError as error:
        lines.append(
            f"no html report: {error.name} is not installed (in a clone of yobx: "
            "pip install '.[pytest]')"
        )
    return ""


def _page(data: dict[str, Any]) -> str:
    from pytest_yobx.html import render_session

    return render_session(data)


def show(reporter: Any, config: pytest.Config, collected: Collected, settings: Settings) -> None:
    """Writes the table.

    Args:
        reporter: pytest's terminal reporter.
        config: Holds the names of the reports written.
        collected: The results.
        settings: Settings of the session.
    """
    reporter.section("yobx", sep="=")
    rows = sorted(collected.rows.values(), key=lambda row: row.nodeid)
    if rows:
        table = [_cells(row) for row in rows]
        header = (
            "model",
            "opset",
            "sizes",
            "nodes",
            "max abs err",
            "budget",
            "shapes",
            "time",
            "result",
        )
        _write_table(reporter, header, table, [row.outcome for row in rows])
    for line in failures(rows):
        reporter.write_line(line, red=True)
    for line in _warnings(rows):
        reporter.write_line(line, yellow=True)
    verdict = config.stash.get(_VERDICT, Verdict())
    if verdict.changes is not None:
        changed = verdict.changes.lines()
        reporter.write_line(f"changes since {settings.baseline}:{'' if changed else ' none'}")
        for line in changed:
            reporter.write_line(line)
    if verdict.known and not verdict.reasons:
        reporter.write_line(
            f"{counted(verdict.known, 'failing check')} failed in {settings.baseline} too: "
            "accepted, as yobx_fail_on is regressions"
        )
    for reason in verdict.reasons:
        reporter.write_line(reason, red=True, bold=True)
    if collected.executed and not _models_selected(config):
        count = len(config.getini("yobx_models"))
        if count:
            entries = counted(count, "entry", "entries")
            reporter.write_line(f"{entries} of yobx_models not selected: paths were given")
    totals = as_data(collected, settings)["totals"]
    if totals:
        counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(totals.items()))
        reporter.write_line(f"{counted(sum(totals.values()), 'check')}: {counts}")
    for line in config.stash.get(_WRITTEN, []):
        reporter.write_line(line)


def _warnings(rows: list[Row]) -> list[str]:
    """What checks that passed have to say, each sentence once: failing ones say it themselves."""
    said: dict[str, list[str]] = {}
    for row in rows:
        if row.outcome != "passed":
            continue
        swallowed = next((r["failed_phase"] for r in row.reports if not r["passed"]), "")
        if swallowed:
            message = f"a check failed in the phase {swallowed}, and the test passed"
            said.setdefault(message, []).append(short_name(row.nodeid))
        if row.message:
            said.setdefault(row.message, []).append(short_name(row.nodeid))
        for report in filter(lambda report: report["passed"], row.reports):
            told = [m for p in report["phases"] if p["outcome"] == "warning" for m in p["messages"]]
            for message in dict.fromkeys([*told, *report["notes"]]):
                said.setdefault(message, []).append(short_name(row.nodeid))
    lines = []
    for message, names in list(said.items())[:_MOST_WARNINGS]:
        distinct = list(dict.fromkeys(names))
        more = f" and {len(distinct) - 1} more" if len(distinct) > 1 else ""
        lines.append(f"warning: {distinct[0]}{more}: {message}")
    if len(said) > _MOST_WARNINGS:
        lines.append(f"warning: … and {len(said) - _MOST_WARNINGS} more")
    return lines


def _models_selected(config: pytest.Config) -> bool:
    from pytest_yobx.collection import models_wanted

    return models_wanted(config)


def _cells(row: Row) -> tuple[str, ...]:
    name = short_name(row.nodeid)
    if not row.reports:
        return (name, "", "", "", "", "", "", f"{row.seconds:.1f} s", row.outcome)
    report = row.reports[-1] if row.outcome == "passed" else _worst(row.reports)
    errors = [o["max_abs"] for o in report["outputs"] if isinstance(o["max_abs"], (int, float))]
    used = [
        o["budget_used"] for o in report["outputs"] if isinstance(o["budget_used"], (int, float))
    ]
    shapes = report["shapes"]
    sizes = "; ".join(
        ",".join(f"{k}={v}" for k, v in b["sizes"].items()) or "static"
        for b in report["bindings"]
        if b["ran"]
    )
    phase = report["failed_phase"]
    outcome = row.outcome if row.outcome == "passed" or not phase else f"{row.outcome}: {phase}"
    return (
        name,
        str(report["opset"] or ""),
        sizes,
        str(report["nodes"] or ""),
        f"{max(errors):.1e}" if errors else "exact" if report["outputs"] else "",
        _share(max(used)) if used else "",
        f"{shapes['checked']}/{shapes['values']}" if shapes["values"] else "",
        f"{row.seconds:.1f} s",
        outcome,
    )


def _share(used: float) -> str:
    return f"{used:.0%}" if used < 10 else ">999%"


def _worst(reports: list[dict[str, Any]]) -> dict[str, Any]:
    return next((r for r in reports if not r["passed"]), reports[-1])


def _write_table(
    reporter: Any, header: tuple[str, ...], table: list[tuple[str, ...]], outcomes: list[str]
) -> None:
    widths = [max(len(row[i]) for row in [header, *table]) for i in range(len(header))]
    widths[0] = min(widths[0], 60)
    reporter.write_line(_line(header, widths))
    for row, outcome in zip(table, outcomes, strict=True):
        good = outcome in {"passed", "xfailed"}
        reporter.write_line(_line(row, widths), green=good, red=outcome not in GOOD)


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    shown = []
    for i, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        text = cell if len(cell) <= width else f"{cell[: width - 1 - _TAIL]}…{cell[-_TAIL:]}"
        shown.append(text.rjust(width) if 3 <= i <= 7 else text.ljust(width))
    return "  ".join(shown).rstrip()
