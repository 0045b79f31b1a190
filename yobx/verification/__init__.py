"""Proof that a converted model does what its original does."""

from __future__ import annotations

from yobx.phases import PHASES
from yobx.verification.check import (
    PreparedCheck,
    check_conversion,
    check_shapes,
    prepare_check,
    run_check,
)
from yobx.verification.evidence import CheckResult
from yobx.verification.findings import Outcome
from yobx.verification.options import CheckKeywords, CheckOptions
from yobx.verification.recognition import register_source
from yobx.verification.report import ConversionReport

__all__ = [
    "PHASES",
    "CheckKeywords",
    "CheckOptions",
    "CheckResult",
    "ConversionReport",
    "Outcome",
    "PreparedCheck",
    "check_conversion",
    "check_shapes",
    "prepare_check",
    "register_source",
    "run_check",
]
