"""Every dtype of every type attribute of raw operations."""

from __future__ import annotations

import pytest

from tests.tensorflow.ops import sweep_added, sweep_moves, sweep_numbers, sweep_rare
from tests.tensorflow.ops.op_cases import Case, check

MOVES = [case for row in sweep_moves.ROWS for case in row.cases()]
ADDED = [case for row in sweep_added.ROWS for case in row.cases()]
RARE = [case for row in sweep_rare.ROWS for case in row.cases()]
NUMBERS = [case for row in sweep_numbers.ROWS for case in row.cases()]


@pytest.mark.parametrize("case", MOVES, ids=lambda c: c.name)
def test_moves(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", NUMBERS, ids=lambda c: c.name)
def test_numbers(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", ADDED, ids=lambda c: c.name)
def test_added(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", RARE, ids=lambda c: c.name)
def test_rare(case: Case) -> None:
    check(case)
