"""What is compared before values: outputs by name and number, and stated types and shapes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from yobx.verification.evidence import BindingRun
from yobx.verification.findings import Outcome, OutputReport, ShapeReport
from yobx.verification.phases import PhaseLog
from yobx.verification.preparation import Prepared
from yobx.verification.runner import input_names
from yobx.verification.shape_proof import (
    Form,
    Inner,
    Statement,
    inner_statements,
    merge,
    prove,
    stated,
)
from yobx.words import counted

__all__ = ["check_structure", "prove_shapes"]


def check_structure(prepared: Prepared, phases: PhaseLog) -> None:
    """Compares names and number of the outputs of the first run.

    Args:
        prepared: The converted model.
        phases: Where findings are written.
    """
    run = phases.result.runs[0]
    have, want = list(run.actual), [name for name, _ in run.expected]
    if len(have) != len(want):
        listed = ", ".join(name or "?" for name in want)
        phases.fail(
            "structure",
            f"the converted model has {counted(len(have), 'output')} ({', '.join(have)}), "
            f"the source {len(want)} ({listed})",
        )
        for name in have[len(want) :]:
            _absent(phases, name, "extra", "unknown to the source")
        for position, name in enumerate(want[len(have) :], start=len(have)):
            label = name or f"output {position}"
            _absent(phases, label, "missing", "missing from the converted model")
    taken = set(input_names(prepared.model))
    for position, (got, wanted) in enumerate(zip(have, want, strict=False)):
        # ONNX has one name for one value: an output called like an input, or like an output
        # before it, gets another ending.
        stem = f"{wanted}_out" if wanted in taken else wanted
        repeated = stem in have[:position] and re.fullmatch(rf"{re.escape(stem)}_\d+", got)
        if wanted and got != stem and not repeated:
            phases.fail(
                "structure",
                f"output {position} is called {got!r}, in the source {wanted!r}",
            )


def _absent(phases: PhaseLog, name: str, category: str, message: str) -> None:
    phases.result.report.outputs.append(
        OutputReport(name, outcome=Outcome.FAILED, category=category, notes=[message])
    )


def prove_shapes(prepared: Prepared, phases: PhaseLog) -> None:
    """Compares every stated type and shape with all runs.

    Args:
        prepared: The converted model.
        phases: Where findings are written.
    """
    said = [
        (form, stated(form.model, form.inferred), inner_statements(form.model, form.inferred))
        for form in prepared.forms
    ]
    phases.result.statements = said[-1][1]
    for run in phases.result.runs:
        *before, last = [_proof(prepared, run, *each) for each in said]
        for one in before:
            known = {(m.value, m.static) for m in last.mismatches}
            last.mismatches += [m for m in one.mismatches if (m.value, m.static) not in known]
        phases.result.report.shapes = merge(phases.result.report.shapes, last)
    for mismatch in phases.result.report.shapes.mismatches:
        phase = "structure" if mismatch.kind == "dtype" else "shape-match"
        phases.fail(phase, mismatch.message)


def _proof(
    prepared: Prepared,
    run: BindingRun,
    form: Form,
    said: Sequence[Statement],
    inside: Sequence[Statement],
) -> ShapeReport:
    """Compares what is stated of one form of the model with a run."""
    bodies = prepared.inner[0].body if prepared.inner is not None else {}
    return prove(
        form.model,
        said,
        run.values,
        binding=run.binding.describe(),
        constraints=form.constraints,
        inner=Inner(run.turns, bodies, inside),
    )
