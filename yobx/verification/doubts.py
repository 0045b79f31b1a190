"""Which outputs differ, and of which of them a closer look may say otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from yobx.verification.comparison import Allowance
from yobx.verification.findings import OutputReport
from yobx.verification.tolerances import Tolerances

__all__ = ["PHASE_OF", "differ", "doubtful", "off"]

#: Phase that tells of an output, by its category; `values` for all others.
PHASE_OF = {
    "dtype": "structure",
    "missing": "structure",
    "extra": "structure",
    "rank": "shape-match",
    "shape": "shape-match",
}


def differ(reports: Sequence[OutputReport]) -> bool:
    """Whether values differ, and not only their types and shapes."""
    return any(o.failed and o.category not in PHASE_OF for o in reports)


def off(reports: Sequence[OutputReport], allowances: Mapping[str, Allowance]) -> list[str]:
    """Names of outputs that differ by more than rounding explains, as it was measured.

    Args:
        reports: Findings of one run.
        allowances: What they were compared with, by name; an element of a sequence has none.
    """
    return [
        report.name
        for report in reports
        if report.failed
        and report.category in {"values", "nan"}
        and report.name in allowances
        and allowances[report.name].rms is not None
    ]


def doubtful(
    reports: Sequence[OutputReport], allowances: Mapping[str, Allowance], table: Tolerances
) -> list[str]:
    """Outputs that differ where rounding, measured a few times, may have been taken for too small.

    Args:
        reports: Findings of one run.
        allowances: What they were compared with, by name.
        table: The tolerance table.

    Returns:
        Names of outputs of which a few elements are off, and of those that have only a few.
    """
    return [
        report.name
        for report in reports
        if report.failed
        and report.category == "values"
        and (allowance := allowances.get(report.name)) is not None
        and (allowance.rms is not None or allowance.unstable is not None)
        and (
            0 < report.wrong <= _few(report, allowance, table)
            or report.elements <= len(table.rms_of_few)
        )
    ]


def _few(report: OutputReport, allowance: Allowance, table: Tolerances) -> float:
    """How many elements may be off for a doubt.

    Where rounding turns many integers over, a few runs do not turn all of them over.
    """
    few = max(1.0, table.few * report.elements)
    if allowance.rms is None and allowance.unstable is not None:
        few = max(few, float(allowance.unstable.sum()))
    return few
