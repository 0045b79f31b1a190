"""The cases of single operations: every dtype and every value of an attribute."""

from __future__ import annotations

import pytest

from conformance.tf_ops import SUBJECTS, subject_cases
from conformance.tf_ops.cases import Case, check

CASES = [(subject, case) for subject in SUBJECTS for case in subject_cases(subject)]


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{subject}/{case.name}") for subject, case in CASES]
)
def test_case(case: Case) -> None:
    check(case)
