"""One self-contained page: data, style and script inside, no network."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pytest_yobx.results import GOOD, short_name
from pytest_yobx.telling import reason

if TYPE_CHECKING:
    from jinja2 import Template

    from yobx.verification import ConversionReport

__all__ = ["render_page", "render_session"]

# Characters of a reason in the table.
_MOST = 140
# Behind what separates the words of a name.
_WORD_END = re.compile(r"(?<=[_:./\-\[\]])(?=[^_:./\-\[\]])")


def render_page(reports: Iterable[ConversionReport]) -> str:
    """Writes the page for some reports.

    Args:
        reports: Findings of `check_conversion`.

    Returns:
        HTML.
    """
    rows = []
    for report in reports:
        data = report.as_dict()
        rows.append(
            {
                "nodeid": report.model_name,
                "outcome": "passed" if report.passed else "failed",
                "seconds": report.seconds,
                "reports": [data],
                "message": "",
            }
        )
    totals: dict[str, int] = {}
    for row in rows:
        totals[str(row["outcome"])] = totals.get(str(row["outcome"]), 0) + 1
    environment = rows[0]["reports"][0]["environment"] if rows else {}  # type: ignore[index]
    return render_session({"environment": environment, "totals": totals, "results": rows})


def render_session(data: dict[str, Any]) -> str:
    """Writes the page for a session.

    Args:
        data: As ``report.json`` holds it.

    Returns:
        HTML.
    """
    from yobx.verification import ConversionReport

    results = []
    for number, row in enumerate(sorted(data["results"], key=_worst_first)):
        reports = []
        for report in row["reports"]:
            text = ConversionReport.from_dict(report).text()
            reports.append({**report, "text": text, "bars": [_bars(o) for o in report["outputs"]]})
        results.append({**row, "id": f"result-{number}", "reports": reports, **_overview(row)})
    return _template().render(
        results=results,
        totals=data["totals"],
        environment=data["environment"],
        red=data.get("red", []),
        changes=[(n.replace("_", " "), c) for n, c in data.get("changes", {}).items() if c],
        style=_text("report.css"),
        script=_text("report.js"),
    )


def _worst_first(row: dict[str, Any]) -> bool:
    return row["outcome"] in GOOD


@functools.cache
def _template() -> Template:
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["breakable"] = _breakable
    return environment.from_string(_text("report.html"))


def _breakable(name: str) -> str:
    """A name that a narrow column breaks between its words, not inside them."""
    import markupsafe

    parts = (markupsafe.escape(part) for part in _WORD_END.split(name))
    return markupsafe.Markup("<wbr>").join(parts)


def _text(name: str) -> str:
    return files("pytest_yobx").joinpath(name).read_text(encoding="utf-8")


def _overview(row: dict[str, Any]) -> dict[str, Any]:
    """What the table shows of one test."""
    reports = row["reports"]
    chosen = next((r for r in reports if not r["passed"]), reports[-1] if reports else None)
    why = " ".join(row["message"].split()).removeprefix("Skipped: ")
    if row["outcome"] != "passed" and chosen is not None and not chosen["passed"]:
        why = reason(chosen)
    blank = {"model": short_name(row["nodeid"]), "framework": "", "opset": "", "phase": ""}
    blank["why"] = why if len(why) <= _MOST else f"{why[:_MOST]}…"
    if chosen is None:
        return {**blank, "nodes": 0, "max_abs": None, "budget": None}
    numbers = {}
    for key in ("max_abs", "budget_used"):
        values = [o[key] for o in chosen["outputs"] if isinstance(o[key], (int, float))]
        numbers[key] = max(values) if values else None
    return {
        **blank,
        "framework": chosen["framework"],
        "opset": chosen["opset"],
        "phase": chosen["failed_phase"],
        "nodes": chosen["nodes"],
        "max_abs": numbers["max_abs"],
        "budget": numbers["budget_used"],
    }


def _bars(output: dict[str, Any]) -> list[dict[str, Any]]:
    """Buckets of the histogram with their share of the largest, for a bar each."""
    rows = output["histogram"]
    most = max((count for _, count in rows), default=0)
    return [
        {"label": label, "count": count, "share": round(100 * count / most, 1) if most else 0}
        for label, count in rows
    ]
