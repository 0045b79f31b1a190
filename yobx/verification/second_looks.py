"""What may be right all the same: the source, asked in another way, when outputs of a run differ.

Factors of a matrix are free in sign and order; an optimiser of graphs moves constants; a source may
itself be off by rounding, which it is not in float64, and may give the same whatever it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from yobx.errors import InternalError
from yobx.verification.arguments import as_pairs
from yobx.verification.boundary import Attempt, one_line
from yobx.verification.constants import constant_outputs, varied
from yobx.verification.findings import UNDECIDED
from yobx.verification.inner_comparison import inner_values
from yobx.verification.phases import PhaseLog
from yobx.verification.run_comparison import RunComparison
from yobx.verification.sources import FactorSource, RewrittenSource, WideSource
from yobx.verification.telling import evidence_of
from yobx.verification.wide_source import judged, may_be_asked

__all__ = ["ask_as_written", "ask_in_float64", "ask_whether_constant", "ask_with_factors"]


def ask_with_factors(found: RunComparison, phases: PhaseLog) -> None:
    """Compares with the source, given factors of the model in the place of its own.

    If some output differs still, with those factors that the model computes first: the negative of
    an eigenvector, say, is one too, and is found before the vector itself.

    Args:
        found: A run whose outputs differ.
        phases: Where remarks are written.
    """
    if not _refactor(found, phases):
        return
    found.compare()
    if not found.differs():
        return
    later, reports = found.run.with_factors, found.reports
    if _refactor(found, phases, first=True):
        found.compare()
        if not found.differs():
            return
    found.run.with_factors, found.reports = later, reports


def _refactor(found: RunComparison, phases: PhaseLog, *, first: bool = False) -> bool:
    """Whether the source ran with factors of the model: eigenvectors are free in sign.

    Args:
        found: The run; what the source gave goes there.
        phases: Where remarks are written.
        first: Whether of several factors those are taken that the model computes first.
    """
    source, run = found.prepared.source, found.run
    if not isinstance(source, FactorSource):
        return False
    inner = {name: a for name, a in run.values.items() if name not in run.actual}
    # The first result last.
    values = {**run.turns, **inner, **dict(reversed(run.actual.items()))}
    values = dict(reversed(values.items())) if first else values
    factor = found.prepared.sensitivity.tolerances.factorisation
    options = found.prepared.options.conversion()
    made: tuple[list[Any], list[str]] | None = None
    with Attempt() as attempt:
        made = source.run_with_factors(run.args, options, values, factor)
    if attempt.error is not None:
        reason = one_line(attempt.error, 200)
        phases.remark(f"factors of matrices could not be judged by reconstruction: {reason}")
    if made is None:
        return False
    if len(made[0]) != len(run.expected):
        raise InternalError(
            f"A source gives as many outputs with factors as without. Received: "
            f"{len(made[0])}, not {len(run.expected)}. Please report this."
        )
    pairs = zip(run.expected, made[0], strict=True)
    run.with_factors = [(name, as_pairs(value)) for (name, _), value in pairs]
    phases.remark(
        f"factors of the model were taken for those of the source, with which they agree by "
        f"reconstruction: {', '.join(dict.fromkeys(made[1]))}"
    )
    return True


def ask_as_written(found: RunComparison, phases: PhaseLog) -> None:
    """Compares with the source as it is written, if its framework ran something else.

    Args:
        found: A run whose outputs differ; it is changed if none does then.
        phases: Where remarks are written.
    """
    source, run = found.prepared.source, found.run
    if not isinstance(source, RewrittenSource):
        return
    written = source.run_as_written(run.args)
    if written is None:
        return
    optimised, reports = run.expected, found.reports
    run.expected = [(name, as_pairs(value)) for name, value in written]
    found.compare()
    if not found.differs():
        phases.remark(
            "the source is compared as it is written: TensorFlow's optimiser of graphs moves a "
            "constant, and what it then computes differs by rounding"
        )
        return
    run.expected, found.reports = optimised, reports


def ask_in_float64(found: RunComparison, phases: PhaseLog) -> None:
    """Lets the source in float64 acquit, if it agrees with the model wherever outputs differ.

    Args:
        found: A run whose outputs differ.
        phases: Where remarks are written.
    """
    source, run, made = found.prepared.source, found.run, None
    if not isinstance(source, WideSource) or not may_be_asked(found.reports, run):
        return
    with Attempt() as attempt:
        made = source.run_in_float64(run.args, found.prepared.options.conversion())
    if attempt.error is not None:
        reason = one_line(attempt.error, 200)
        phases.remark(f"the source could not be computed in float64: {reason}")
    run.in_float64 = made
    if made is not None:
        table = found.prepared.sensitivity.tolerances
        acquitted = judged(found.reports, run, found.allowances, made, table=table)
        found.reports = acquitted or found.reports


def ask_whether_constant(found: RunComparison, phases: PhaseLog) -> None:
    """Lets outputs pass that nothing but rounding moves, if the source in float64 says so.

    They show nothing of the model, so the values inside have to agree.

    Args:
        found: A run, of which outputs that are not decidable may be such.
        phases: Where remarks are written.
    """
    source, run, made = found.prepared.source, found.run, list[Sequence[Any]]()
    undecided = [report for report in found.reports if report.undecided]
    if not undecided or not isinstance(source, WideSource):
        return
    inside = inner_values(evidence_of(found.prepared, run), found.prepared.sensitivity)
    if any(r.failed and r.category != UNDECIDED for r in inside.values()):
        return
    options, others = found.prepared.options.conversion(), varied(run.args)
    if others is None:
        return
    with Attempt() as attempt:
        ways = [source.run_in_float64(a, options) for a in (run.args, others)]
        made = [one.wide() for one in ways if one is not None]
    if attempt.error is not None:
        reason = one_line(attempt.error, 200)
        phases.remark(f"the source could not be computed in float64: {reason}")
    if len(made) == 2:
        constant_outputs(undecided, found, *([np.asarray(a) for a in one] for one in made))
