"""Compares the values of all outputs under all bindings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from yobx.verification.doubts import PHASE_OF
from yobx.verification.dtypes import is_float, widen
from yobx.verification.evidence import BindingRun
from yobx.verification.findings import UNDECIDED, Outcome, OutputReport
from yobx.verification.phases import PhaseLog
from yobx.verification.preparation import Prepared
from yobx.verification.run_comparison import RunComparison
from yobx.verification.second_looks import (
    ask_as_written,
    ask_in_float64,
    ask_whether_constant,
    ask_with_factors,
)

__all__ = ["OutputValues"]


class OutputValues:
    """Compares all outputs of all runs.

    Args:
        prepared: The converted model.
        phases: Where findings are written.
    """

    def __init__(self, prepared: Prepared, phases: PhaseLog) -> None:
        self._prepared = prepared
        self._phases = phases
        self._acquits = True  # the source in float64; a check that it does not acquit fails anyway

    def add(self, run: BindingRun) -> None:
        """Compares the outputs of one run."""
        found = RunComparison(self._prepared, run)
        _look_again(found, self._phases, acquits=self._acquits)
        if run.binding.label == "ones":
            _pass_what_is_alone(found.reports)
        self._acquits = self._acquits and not found.differs()
        self._phases.result.report.outputs += found.reports

    def tell(self) -> None:
        """Says which outputs differ, and whether nothing is proven."""
        phases, report = self._phases, self._phases.result.report
        if not report.compared:
            phases.fail("values", "no output was compared: nothing is proven")
        elif not any(output.elements or output.failed for output in report.outputs):
            phases.warn("values", "every output is empty: only dtypes and shapes were compared")
        elif _nothing_is_finite(report.outputs, phases.result.runs):
            phases.fail(
                "values",
                "no element of any output is finite, so nothing is proven: give inputs that the "
                "model has numbers for",
            )
        _summarise(report.outputs, phases)
        report.notes += self._prepared.sensitivity.notes


def _pass_what_is_alone(reports: Sequence[OutputReport]) -> None:
    """Lets pass what rounding alone makes of sizes of one, where both sides agree within it.

    The distance of a point from itself and the deviation of one element are zero, but for rounding.
    Other sizes decide.
    """
    for report in reports:
        if report.undecided:
            report.outcome, report.category, report.vacuous = Outcome.WARNING, "", True
            report.notes.append(
                f"{report.notes[-1]}: sizes of one leave nothing else, others decide"
            )


def _look_again(found: RunComparison, phases: PhaseLog, *, acquits: bool) -> None:
    if found.differs():
        ask_with_factors(found, phases)
    found.measure_again()
    if found.differs():
        ask_as_written(found, phases)
    if found.differs():
        ask_whether_constant(found, phases)
    if found.differs() and acquits:
        ask_in_float64(found, phases)


def _nothing_is_finite(outputs: Sequence[OutputReport], runs: Sequence[BindingRun]) -> bool:
    """Whether numbers went in, and all that was compared are places of NaN and infinities.

    At sizes of one that may be right: a deviation of one element has no value.
    """
    full = [output for output in outputs if output.elements]
    labels = {run.binding.label for run in runs}
    fed = [array for run in runs for array in run.feeds.values()]
    odd = any(is_float(a.dtype) and not np.all(np.isfinite(widen(a))) for a in fed)
    return not odd and labels != {"ones"} and not any(o.failed or not o.vacuous for o in full)


def _summarise(outputs: Sequence[OutputReport], phases: PhaseLog) -> None:
    """Sends what the outputs say to the phases they belong to."""
    for output in outputs:
        if output.outcome is Outcome.WARNING:
            phases.warn("values", f"{output.name}: {output.notes[-1]}")
        if not output.failed or output.category in {"missing", "extra"}:
            continue
        phase = PHASE_OF.get(output.category, "values")
        where = f"{output.name} {output.symbolic_shape} under {output.binding}"
        told = _count(output) if phase == "values" else output.notes[0]
        phases.fail(phase, f"{where}: {told}")


def _count(output: OutputReport) -> str:
    if output.category in {"values", UNDECIDED} and not output.wrong:
        return output.notes[-1] if output.notes else "systematically off"
    kinds = {
        "nan": "NaN in other places",
        "inf": "infinities differ",
        "zero sign": "signs of zeros differ",
    }
    what = kinds.get(output.category, "elements differ")
    return f"{output.wrong} of {output.elements} elements: {what}"
