"""From sessions to findings: run both sides, compare structure, shapes and values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from yobx.verification.binding_runs import BindingRuns
from yobx.verification.boundary import Attempt
from yobx.verification.evidence import BindingRun, CheckResult
from yobx.verification.findings import Outcome, OutputReport
from yobx.verification.options import BindingRequest
from yobx.verification.output_values import OutputValues
from yobx.verification.phases import EndOfCheckError, PhaseLog
from yobx.verification.preparation import Prepared
from yobx.verification.structure import ShapeProof, check_structure
from yobx.verification.telling import (
    check_provenance,
    look_for_first,
    tell_of_drawing,
    tell_of_graph,
)

__all__ = ["judge"]


def judge(
    prepared: Prepared,
    result: CheckResult,
    requests: Sequence[BindingRequest] | None,
    *,
    values: bool,
) -> None:
    """Runs and compares.

    Args:
        prepared: The converted model.
        result: Where findings are written.
        requests: Bindings asked for.
        values: Whether outputs are compared with the source.
    """
    with Attempt() as attempt:
        _Judgement(prepared, PhaseLog(result), values=values).run(requests)
    if attempt.error is not None and not isinstance(attempt.error, EndOfCheckError):
        raise attempt.error


class _Judgement:
    """The order of one check: each run is looked at before the next one is made."""

    def __init__(self, prepared: Prepared, phases: PhaseLog, *, values: bool) -> None:
        self._prepared = prepared
        self._phases = phases
        self._values = values
        self._broken: set[str] = set()  # phases that an exception ended

    def run(self, requests: Sequence[BindingRequest] | None) -> None:
        prepared, phases, eager = self._prepared, self._phases, False
        shapes, outputs = ShapeProof(prepared, phases), OutputValues(prepared, phases)
        for run in BindingRuns(prepared, phases).each(requests, source=self._values):
            if self._values and len(phases.result.runs) == 1:
                self._within("structure", check_structure, prepared, phases)
            self._within("shape-match", shapes.add, run)
            if self._values:
                self._within("values", outputs.add, run)
            first = run is phases.result.runs[0]  # of which what is left of a failure may tell
            if not first and not self._broken and not _differs(run, phases.result.report.outputs):
                run.release()
        self._within("shape-match", shapes.tell)
        if self._values:
            self._within("values", outputs.tell)
            eager = tell_of_graph(prepared, phases)
            tell_of_drawing(prepared, phases)
        else:
            for name in ("structure", "values"):
                phases.result.report.phase(name).outcome = Outcome.NOT_APPLICABLE
        with phases.phase("provenance", stops=False):
            look_for_first(prepared, phases.result, eager=eager)
            check_provenance(prepared, phases)

    def _within(self, name: str, action: Callable[..., None], *given: Any) -> None:
        """Does something in a phase, unless an exception has ended that one."""
        if name in self._broken:
            return
        self._broken.add(name)
        with self._phases.phase(name, stops=False):
            action(*given)
            self._broken.discard(name)


def _differs(run: BindingRun, outputs: Sequence[OutputReport]) -> bool:
    return any(o.failed and o.binding == run.binding.describe() for o in outputs)
