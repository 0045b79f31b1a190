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

__all__ = ["ShapeProof", "check_structure"]


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


class ShapeProof:
    """Compares every stated type and shape with runs.

    Args:
        prepared: The converted model.
        phases: Where findings are written.
    """

    def __init__(self, prepared: Prepared, phases: PhaseLog) -> None:
        self._prepared = prepared
        self._phases = phases
        self._said: list[tuple[Form, Sequence[Statement], Sequence[Statement]]] = []

    def add(self, run: BindingRun) -> None:
        """Takes in one run."""
        if not self._said:
            self._said = [
                (one, stated(one.model, one.inferred), inner_statements(one.model, one.inferred))
                for one in self._prepared.forms
            ]
        result = self._phases.result
        result.statements = self._said[-1][1]
        *before, last = [_proof(self._prepared, run, *each) for each in self._said]
        for one in before:
            known = {(m.value, m.static) for m in last.mismatches}
            last.mismatches += [m for m in one.mismatches if (m.value, m.static) not in known]
        result.report.shapes = merge(result.report.shapes, last)

    def tell(self) -> None:
        """Says what all runs refute."""
        for mismatch in self._phases.result.report.shapes.mismatches:
            phase = "structure" if mismatch.kind == "dtype" else "shape-match"
            self._phases.fail(phase, mismatch.message)


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
