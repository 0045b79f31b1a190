"""The source itself in float64, as the last judge of values that differ.

A kernel of a framework may be less exact than the classes of operators allow, also where several
ONNX nodes stand for it. Such a source, computed with more bits, gives what the converted model
gives. It shares no line with the converter, so it may acquit, which a twin of the ONNX graph never
may. What it acquits is held to the same allowances, and:

* only values count: dtypes, shapes, places of NaN and infinities, integers are judged before. But
  float16 ends at 65504 and at 6e-8, and what a source leaves there on its way is its own fault:
  run times compute it in float32, and a source with that range may say what comes of it;
* the traced source, in its own types, must give what the source gives when it is called. What a
  trace has frozen is in the converted model too, and no bits make it right.

A compiler joins steps: it rounds a product and a sum once, say, or takes the reciprocal of a
divisor. The trace, run as a program and step by step, may so give two results, and the model may
give either, or be nearer to one of them than they are to each other. Which of the two the source
gives when it is called depends on the framework.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yobx.verification.arguments import as_pairs
from yobx.verification.boundary import Attempt
from yobx.verification.comparison import Allowance, compare
from yobx.verification.dtypes import is_float, ulp_distance
from yobx.verification.evidence import BindingRun
from yobx.verification.findings import Outcome, OutputReport
from yobx.verification.sources import Way, WideRun
from yobx.verification.tolerances import Tolerances, load_tolerances

__all__ = ["judged", "may_be_asked"]


def may_be_asked(reports: Sequence[OutputReport], run: BindingRun) -> bool:
    """Whether all that fails are values of tensors of floats.

    Args:
        reports: Findings of one run.
        run: Its arrays.
    """
    wanted = run.expected_by_name
    failing = [report for report in reports if report.failed]
    return bool(failing) and all(
        isinstance(wanted.get(report.name), np.ndarray)
        and is_float(wanted[report.name].dtype)
        and (
            report.category == "values"
            or report.undecided
            or _left_range(report, wanted[report.name])
        )
        for report in failing
    )


def _left_range(report: OutputReport, want: NDArray[Any]) -> bool:
    """Whether a source in float16 may have left its range, on its way to what is not finite."""
    return report.category in {"nan", "inf"} and want.dtype == np.float16


def judged(
    reports: Sequence[OutputReport],
    run: BindingRun,
    allowances: Mapping[str, Allowance],
    found: WideRun,
    *,
    table: Tolerances | None = None,
) -> list[OutputReport] | None:
    """Compares what failed with the source in float64.

    Args:
        reports: Findings of one run, of which `may_be_asked`.
        run: Its arrays.
        allowances: What outputs were compared with, by name.
        found: The source, run in float64.
        table: The tolerance table, the shipped one by default.

    Returns:
        The findings with warnings in the place of failures, if every output that failed agrees;
        ``None`` if one does not. That one gets a note.
    """
    failing, wanted = [report.name for report in reports if report.failed], run.expected_by_name
    traced = [made for way in found.own if (made := _run(way, run)) is not None]
    others = [made for made in traced if not _agree(made, wanted, allowances, failing)]
    if len(others) == len(traced):
        return None  # the trace is another function
    table = table or load_tolerances()
    for made in others:
        if _agree(run.actual, made, allowances, failing) or all(
            _is_between(name, run, made, allowances[name], table.apart) for name in failing
        ):
            return [_as_traced(r, run, allowances, made) if r.failed else r for r in reports]
    return _by_float64(reports, run, allowances, found, table.near)


def _by_float64(
    reports: Sequence[OutputReport],
    run: BindingRun,
    allowances: Mapping[str, Allowance],
    found: WideRun,
    limits: Mapping[str, float],
) -> list[OutputReport] | None:
    """The findings if all that failed agrees with one of the two computations in float64."""
    kept = f"; without a kernel for float64: {', '.join(found.kept)}" if found.kept else ""
    beyond: Mapping[str, Any] = {}
    ways: list[tuple[Way, Mapping[str, float] | None]] = [(found.wide, limits)]
    if found.rounded is not None:
        ways.insert(0, (found.rounded, None))
    if any(r.failed and r.category != "values" and not r.undecided for r in reports):
        made = _run(found.in_range, run) if found.in_range is not None else None
        if made is None:
            return None
        beyond = made
        own = list(run.expected_by_name.values())
        ways.insert(0, (lambda: own, None))
    for way, near in ways:
        exact = _run(way, run)
        if exact is None:
            continue
        again = [
            _acquitted(r, run, allowances[r.name], exact[r.name], beyond.get(r.name), near=near)
            if r.failed
            else r
            for r in reports
        ]
        settled = [report for report in again if report is not None]
        if len(settled) == len(reports):
            for report, before in zip(settled, reports, strict=True):
                if before.failed:
                    report.notes[-1] += kept
            return settled
    return None


def _paired(array: Any) -> NDArray[Any]:
    return as_pairs(np.asarray(array))


def _run(way: Way, run: BindingRun) -> dict[str, NDArray[Any]] | None:
    """Outputs by name of a run of the trace."""
    outputs: Sequence[Any] = ()
    with Attempt():  # what does not run proves nothing
        outputs = way()
    if len(outputs) != len(run.expected):
        return None
    return dict(zip(run.actual, map(_paired, outputs), strict=False))


def _agree(
    got: Mapping[str, Any],
    want: Mapping[str, Any],
    allowances: Mapping[str, Allowance],
    names: Sequence[str],
) -> bool:
    return not any(compare(name, got[name], want[name], allowances[name]).failed for name in names)


def _is_between(
    name: str, run: BindingRun, traced: Mapping[str, Any], allowance: Allowance, apart: float
) -> bool:
    """Whether the model is nearer to a run of the trace than the source is, which is near too."""
    ours, theirs = (
        compare(name, side[name], traced[name], allowance)
        for side in (run.actual, run.expected_by_name)
    )
    if {ours.category, theirs.category} - {"", "values"}:
        return False
    used = [report.budget_used or 0.0 for report in (ours, theirs)]
    return used[0] <= used[1] <= apart and (ours.rms or 0.0) <= (theirs.rms or 0.0)


def _as_traced(
    report: OutputReport,
    run: BindingRun,
    allowances: Mapping[str, Allowance],
    traced: Mapping[str, Any],
) -> OutputReport:
    """The report of an output that agrees with a run of the trace in its own types."""
    name = report.name
    again = compare(name, run.actual[name], traced[name], allowances[name])
    again.outcome = Outcome.WARNING
    again.binding, again.symbolic_shape = report.binding, report.symbolic_shape
    off = "" if report.max_abs is None else f" by up to {report.max_abs:.2g}"
    again.notes.append(
        "the trace of the source, run in its own types, gives what the converted model gives: run "
        f"step by step and as a program, whose steps a compiler joins or moves, it differs{off} by "
        "rounding"
    )
    return again


def _acquitted(
    report: OutputReport,
    run: BindingRun,
    allowance: Allowance,
    wide: Any,
    beyond: Any,
    *,
    near: Mapping[str, float] | None,
) -> OutputReport | None:
    """The report of an output that agrees with the source in float64, or ``None``.

    With limits by dtype in `near`, the source's own result has to be near that one: what a source
    rounds on its way may be what it means, as in a cast to integers. Where rounding was measured to
    move the output that far, it need not: the model, which gives the last places of what is exact,
    has decided it. What is not finite in the
    source is asked of `beyond`, if that is given.
    """
    name = report.name
    got, want = run.actual[name], run.expected_by_name[name]
    finite = np.isfinite(want.astype(np.float64))
    shapes = {want.shape, wide.shape, wide.shape if beyond is None else beyond.shape}
    if len(shapes) > 1 or not is_float(wide.dtype):
        return None
    with np.errstate(over="ignore"):
        exact = wide.astype(want.dtype)
        if beyond is not None:
            exact = np.where(finite, exact, beyond.astype(want.dtype))
    same = finite == np.isfinite(exact.astype(np.float64))
    if not same[finite].all() or (beyond is None and not same.all()):
        return None
    again = compare(name, got, exact, allowance)
    furthest = [float(ulp_distance(a, exact)[finite].max(initial=0.0)) for a in (got, want)]
    ours, theirs = map(_units, furthest)
    if again.failed:
        note = (
            f"computed in float64, the source gives its own result (max {theirs} ULP) and not that "
            f"of the converted model (max {ours} ULP)"
        )
        if note not in report.notes and not compare(name, want, exact, allowance).failed:
            report.notes.append(note)
        return None
    far = near is not None and furthest[1] > near.get(want.dtype.name, 0.0)
    if far and not (report.undecided and compare(name, want, exact, allowance).within_rounding):
        return None
    again.outcome = Outcome.WARNING
    again.rule = f"{allowance.rule}, from the source in float64"
    again.binding, again.symbolic_shape = report.binding, report.symbolic_shape
    again.notes.append(_words(want.dtype, ours, theirs, 0 if same.all() else int((~finite).sum())))
    return again


def _words(dtype: np.dtype[Any], ours: str, theirs: str, lost: int) -> str:
    if lost:
        return (
            f"the source itself leaves the range of {dtype.name} on its way to {lost} elements, "
            "which are not finite: computed in float64, with the range of float32, it gives what "
            f"the converted model gives (max {ours} ULP)"
        )
    return (
        "the source itself is off by rounding: computed in float64 it gives what the converted "
        f"model gives (max {ours} ULP), and its own {dtype.name} result is up to {theirs} ULP away"
    )


def _units(apart: float) -> str:
    """A distance in units in the last place, in words."""
    return f"{apart:.0f}" if apart < 1e6 else f"{apart:.1e}"
