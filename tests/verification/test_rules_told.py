"""The rule that a passing check has compared by."""

from __future__ import annotations

import pytest

from yobx.verification.findings import Findings, Outcome, OutputReport
from yobx.verification.text import render


def told(*rules: str) -> list[str]:
    report = Findings("net")
    for phase in report.phases:
        phase.outcome = Outcome.PASSED
    names = "abcdefgh"
    report.outputs = [OutputReport(names[i], rule=rule) for i, rule in enumerate(rules)]
    assert report.passed
    lines = render(report).splitlines()
    return [line.split(maxsplit=1)[1] for line in lines if line.startswith(" allowed")]


@pytest.mark.parametrize(
    "rule",
    [
        "rtol 0.001, atol 1e-05 (rounding could not be measured)",
        "1 ULP (rounded: Relu), from the source in float64",
        "10 measured deviations (rounded)",
        "4 ULP (rounded, as asked)",
    ],
)
def test_a_rule_that_is_not_strict_is_told(rule: str) -> None:
    assert told("exact", rule, rule) == [f"b, c: {rule}"]


def test_strict_rules_are_silent() -> None:
    assert told("exact", "exact (bitwise)", "1 ULP (rounded: HardSigmoid)", "bitwise") == []
