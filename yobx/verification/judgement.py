"""From sessions to findings: run both sides, compare structure, shapes and values."""

from __future__ import annotations

from collections.abc import Sequence

from yobx.verification.binding_runs import BindingRuns
from yobx.verification.boundary import Attempt
from yobx.verification.evidence import CheckResult
from yobx.verification.findings import Outcome
from yobx.verification.options import BindingRequest
from yobx.verification.output_values import compare_values
from yobx.verification.phases import EndOfCheckError, PhaseLog
from yobx.verification.preparation import Prepared
from yobx.verification.structure import check_structure, prove_shapes
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
    phases = PhaseLog(result)
    with Attempt() as attempt:
        BindingRuns(prepared, phases).make(requests, source=values)
        _compare(prepared, phases, values=values)
    if attempt.error is not None and not isinstance(attempt.error, EndOfCheckError):
        raise attempt.error


def _compare(prepared: Prepared, phases: PhaseLog, *, values: bool) -> None:
    """Compares structure, shapes and values, and looks for the first difference."""
    report, eager = phases.result.report, False
    if values:
        with phases.phase("structure", stops=False):
            check_structure(prepared, phases)
    else:
        report.phase("structure").outcome = Outcome.NOT_APPLICABLE
        report.phase("values").outcome = Outcome.NOT_APPLICABLE
    with phases.phase("shape-match", stops=False):
        prove_shapes(prepared, phases)
    if values:
        with phases.phase("values", stops=False):
            compare_values(prepared, phases)
        eager = tell_of_graph(prepared, phases)
        tell_of_drawing(prepared, phases)
    with phases.phase("provenance", stops=False):
        look_for_first(prepared, phases.result, eager=eager)
        check_provenance(prepared, phases)
