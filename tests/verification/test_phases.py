"""What ends a phase: a message written for the user, or a fault of yobx with its class."""

from __future__ import annotations

import numpy as np
import pytest

from tests.verification.models import unary
from yobx.errors import GraphError
from yobx.verification import check_conversion
from yobx.verification.evidence import CheckResult
from yobx.verification.phases import EndOfCheckError, PhaseLog
from yobx.verification.report import ConversionReport

X = np.ones((2, 4), np.float32)


def ended(name, error):
    log = PhaseLog(CheckResult(ConversionReport()))
    with pytest.raises(EndOfCheckError), log.phase(name):
        raise error
    return log.result.report


def test_a_fault_of_yobx_is_told_with_class_and_place():
    report = ended("values", KeyError("tail"))
    assert report.internal
    said = "\n".join(report.phase("values").messages)
    assert "internal error of yobx, please report it: KeyError: 'tail'" in said
    assert __file__ in said
    assert report.text().startswith("yobx: INTERNAL ERROR in the phase values")


def test_a_message_for_the_user_stays_as_it_is():
    report = ended("load", GraphError("too many inputs"))
    assert not report.internal
    assert report.phase("load").messages == ["too many inputs"]


def test_an_error_of_the_users_code_has_its_class():
    report = ended("import", KeyError("weights"))
    assert not report.internal
    assert report.phase("import").messages[0] == "KeyError: 'weights'"


@pytest.mark.parametrize("broken", ["run_comparison.compare", "telling.localize"])
def test_a_broken_comparison_is_not_a_difference(monkeypatch, broken):
    def misspelt(*args, **keywords):
        return undefined  # noqa: F821

    monkeypatch.setattr(f"yobx.verification.{broken}", misspelt)
    report = check_conversion(
        unary("Neg"), (X,), reference=np.negative if broken.endswith("compare") else np.abs
    )
    assert "NameError: name 'undefined' is not defined" in report.text()
    assert report.failed_phase == "values"
    assert report.internal == broken.endswith("compare")


def test_a_source_that_raises_is_told_with_the_class():
    report = check_conversion(unary("Neg"), (X,), reference=lambda x: {}["weights"])
    assert "KeyError: 'weights'" in report.text()
    assert not report.internal
