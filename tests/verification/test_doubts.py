"""A closer look is taken where a few elements decide."""

from __future__ import annotations

from typing import Any

import pytest

from yobx.verification.comparison import Allowance
from yobx.verification.doubts import differ, doubtful
from yobx.verification.findings import Outcome, OutputReport
from yobx.verification.tolerances import load_tolerances

TABLE = load_tolerances()


def report(**facts: Any) -> OutputReport:
    usual: dict[str, Any] = {
        "outcome": Outcome.FAILED,
        "category": "values",
        "elements": 10_000,
        "wrong": 3,
    }
    return OutputReport("y", **(usual | facts))


@pytest.mark.parametrize(
    ("facts", "wanted"),
    [
        ({}, True),
        ({"wrong": 10}, True),
        ({"wrong": 11}, False),
        ({"wrong": 0}, False),
        ({"wrong": 0, "elements": 2}, True),
        ({"wrong": 0, "elements": 3}, False),
        ({"wrong": 1, "elements": 3}, True),
        ({"category": "nan"}, False),
        ({"outcome": Outcome.PASSED}, False),
    ],
)
def test_few_elements_are_a_doubt(facts: dict[str, Any], wanted: bool) -> None:
    allowance = Allowance("measured", rms=1.0)
    assert doubtful([report(**facts)], {"y": allowance}, TABLE) == (["y"] if wanted else [])


def test_a_rule_that_nothing_measured_leaves_no_doubt() -> None:
    assert doubtful([report()], {"y": Allowance("exact")}, TABLE) == []


@pytest.mark.parametrize(
    ("category", "wanted"), [("values", True), ("nan", True), ("shape", False)]
)
def test_shapes_and_types_are_no_values(category: str, wanted: bool) -> None:
    assert differ([report(category=category)]) == wanted
