"""Proof that a converted model does what its original does: comparison, shape proof, localisation."""

from __future__ import annotations

from .check import CheckResult, check_conversion, run_check
from .options import CheckKeywords, CheckOptions
from .report import PHASES, ConversionReport, Outcome
from .sources import register_source

__all__ = [
    "PHASES",
    "CheckKeywords",
    "CheckOptions",
    "CheckResult",
    "ConversionReport",
    "Outcome",
    "check_conversion",
    "register_source",
    "run_check",
]
