"""What makes a run red although every test in it passed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pytest_yobx.baseline import Changes, changes
from pytest_yobx.options import Settings
from pytest_yobx.results import GOOD, Collected

__all__ = ["Verdict", "judge"]


@dataclass
class Verdict:
    """The judgement of a whole run.

    Attributes:
        reasons: Why it is red; none if it is not.
        changes: What changed since the baseline, if there is one.
        known: Number of failing checks that failed in the baseline too, where these are accepted.
    """

    reasons: list[str] = field(default_factory=list)
    changes: Changes | None = None
    known: int = 0


def judge(
    collected: Collected,
    settings: Settings,
    results: list[dict[str, Any]],
    before: dict[str, Any] | None,
) -> Verdict:
    """Judges a run.

    Args:
        collected: Its results.
        settings: Settings of the session.
        results: The results as JSON data.
        before: The baseline, or ``None``.

    Returns:
        The verdict.
    """
    from yobx.words import counted  # nothing but pytest is loaded with the plugin

    verdict = Verdict()
    attendance, made = collected.attendance, collected.executed
    empty_part = attendance.shard is not None and not attendance.assigned
    if not made and not empty_part and collected.deselected and not attendance.planned:
        how = f" by {collected.selection}" if collected.selection else ""
        verdict.reasons.append(
            f"nothing was checked: {counted(collected.deselected, 'check')} collected, and all "
            f"deselected{how}. This run is red."
        )
    elif not made and not empty_part:
        verdict.reasons.append(
            "nothing was checked: no entry of yobx_models, no function marked yobx and no test "
            "using assert_converts ran. This run is red."
        )
    cells = made if attendance.shard is None else len(attendance.planned)
    if made and cells < settings.min_cells:
        verdict.reasons.append(
            f"{counted(cells, 'check')}, but yobx_min_cells asks for {settings.min_cells}. "
            "This run is red."
        )
    lost = attendance.missing(collected.rows)
    if lost and made:
        verdict.reasons.append(
            f"{counted(len(lost), 'check')} not made, {lost[0]} first: the run ended before. "
            "This run is red."
        )
    if collected.problems:
        more = len(collected.problems) - 1
        verdict.reasons.append(
            f"the expectations are not in order: {collected.problems[0]}"
            f"{f' (and {more} more)' if more else ''}. This run is red."
        )
    if before is not None:
        elsewhere = frozenset(attendance.planned) - frozenset(attendance.assigned)
        verdict.changes = changes(before["results"], results, elsewhere)
        gone = len(verdict.changes.untested)
        if gone:
            verdict.reasons.append(
                f"{counted(gone, 'check')} of the baseline {settings.baseline} "
                f"{'was' if gone == 1 else 'were'} not made. This run is red."
            )
    _fail_on(verdict, settings, results)
    return verdict


def _is_idle(row: dict[str, Any]) -> bool:
    """Whether a check was skipped, or nothing but emptiness and NaN agreed."""
    if row["outcome"] != "passed":
        return row["outcome"] in {"skipped", "unchecked"}
    outputs = [output for report in row["reports"] for output in report["outputs"]]
    return bool(outputs) and all(output.get("vacuous") for output in outputs)


def _fail_on(verdict: Verdict, settings: Settings, results: list[dict[str, Any]]) -> None:
    """Applies what the user wants to be red."""
    from yobx.words import counted

    if settings.fail_on == "untested":
        idle = [row["nodeid"] for row in results if _is_idle(row)]
        if idle:
            verdict.reasons.append(
                f"{counted(len(idle), 'check')} skipped or comparing nothing, {idle[0]} first, and "
                "yobx_fail_on is untested. This run is red."
            )
    elif settings.fail_on == "regressions" and verdict.changes is not None:
        fresh = verdict.changes.new_failures
        failing = [row["nodeid"] for row in results if row["outcome"] not in GOOD]
        verdict.known = len(set(failing) - set(fresh))
        if fresh:
            verdict.reasons.append(
                f"{counted(len(fresh), 'new failure')} since {settings.baseline}. This run is red."
            )
