"""What is told of outputs that differ: why that may be, where it begins, where nodes come from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from yobx.verification.doubts import PHASE_OF
from yobx.verification.evidence import BindingRun, CheckResult
from yobx.verification.findings import RANDOM, UNDECIDED, Outcome, OutputReport
from yobx.verification.frozen import frozen_sizes
from yobx.verification.inner_comparison import Evidence
from yobx.verification.localize import localize
from yobx.verification.phases import PhaseLog
from yobx.verification.preparation import Prepared
from yobx.verification.provenance import facts_of
from yobx.verification.remarks import (
    changing_outputs,
    drawing_nodes,
    graph_agrees,
    sizes_looked_at,
)
from yobx.verification.verdict64 import OTHER_FUNCTION
from yobx.words import counted

__all__ = ["check_provenance", "evidence_of", "look_for_first", "tell_of_drawing", "tell_of_graph"]

_EAGER = "the model itself is another function when it is called, see"


def tell_of_graph(prepared: Prepared, phases: PhaseLog) -> bool:
    """Notes when a model gives one result in a graph, as converted, and another eagerly.

    Args:
        prepared: The converted model.
        phases: Where findings are written.

    Returns:
        Whether it does.
    """
    run = _failing_run(phases.result)
    if run is None or not graph_agrees(prepared, run):
        return False
    names = sizes_looked_at(prepared, run)
    if not names:
        phases.remark(
            "the graph that TensorFlow traces of this model gives what the converted model "
            "gives: the model itself computes something else when it is called eagerly, or "
            "where TensorFlow's optimiser has moved its constants"
        )
        return True
    phases.result.report.cause = frozen_sizes(prepared, run, names)
    return True


def tell_of_drawing(prepared: Prepared, phases: PhaseLog) -> None:
    """Notes when the source does not even agree with itself, and which nodes draw random numbers.

    Args:
        prepared: The converted model.
        phases: Where findings are written.
    """
    run = _failing_run(phases.result)
    if run is None:
        return
    changing = changing_outputs(prepared, run)
    for output in phases.result.report.outputs:
        if output.failed and output.name in changing:
            output.category = RANDOM
    if changing:
        phases.remark(
            "the source gives another result each time it is called: it draws random numbers "
            "or keeps state, and cannot be compared"
        )
    drawing = drawing_nodes(prepared.observed)
    if drawing:
        shown = ", ".join(drawing[:4])
        phases.remark(
            f"the converted model draws random numbers of its own, in {shown}: what depends on "
            "them cannot be compared"
        )


def _failing_run(result: CheckResult) -> BindingRun | None:
    under = next((output.binding for output in result.report.outputs if output.failed), None)
    return result.run_under(under)


def look_for_first(prepared: Prepared, result: CheckResult, *, eager: bool) -> None:
    """Looks for the first value that differs, when one does; not behind an element of a sequence.

    Args:
        prepared: The converted model.
        result: Where findings are written.
        eager: Whether the source alone differs, called eagerly.
    """
    apart = {*PHASE_OF, RANDOM, UNDECIDED}
    wrong = [
        o
        for o in result.report.outputs
        if o.failed and o.category not in apart and o.name in result.outputs
    ]
    if wrong and prepared.options.localize:
        _localize(prepared, result, wrong[0], eager=eager)


def _localize(prepared: Prepared, result: CheckResult, wrong: OutputReport, *, eager: bool) -> None:
    run = result.run_under(wrong.binding) or result.runs[0]
    evidence = evidence_of(prepared, run)
    located = localize(evidence, prepared.sensitivity, wrong.name)
    result.report.localization = found = located.found
    if eager and found.verdict == "converter":
        found.verdict = "source"
        told = "the cause" if result.report.cause is not None else "the note"
        found.reason = found.reason.replace(OTHER_FUNCTION, f"{_EAGER} {told}")
    own = prepared.options.extra_converters or {}
    if found.verdict == "converter" and found.source_op in own:
        found.reason += f"; {found.source_op} is converted by {_place_of(own[found.source_op])}"
    result.reduced, result.compared = located.reduced, located.compared


def _place_of(converter: Callable[..., Any]) -> str:
    """A converter that the user has given, and the line it begins at."""
    code = getattr(converter, "__code__", None)
    line = f" ({Path(code.co_filename).name}:{code.co_firstlineno})" if code is not None else ""
    return f"extra_converters, {getattr(converter, '__name__', 'a converter')}{line}"


def evidence_of(prepared: Prepared, run: BindingRun) -> Evidence:
    """A run as those need it who look at values inside.

    Args:
        prepared: The converted model.
        run: The run.

    Returns:
        The arrays and the model.
    """
    return Evidence(
        model=prepared.observed,
        source=prepared.source,
        args=run.args,
        feeds=run.feeds,
        values=run.values,
        expected=run.wanted_by_name,
        optimised=run.actual,
        options=prepared.options.conversion(),
        tolerance_class=prepared.options.tolerance_class,
        turns=run.turns,
        inner=prepared.inner[0] if prepared.inner is not None else None,
        in_float64=run.in_float64,
    )


def check_provenance(prepared: Prepared, phases: PhaseLog) -> None:
    """Warns of nodes that do not say where they come from.

    Args:
        prepared: The converted model.
        phases: Where findings are written.
    """
    entry = phases.result.report.phase("provenance")
    if prepared.source.framework == "onnx":
        entry.outcome = Outcome.NOT_APPLICABLE
        return
    nodes = prepared.model.graph.node
    bare = [node for node in nodes if not facts_of(node)]
    if bare:
        shown = ", ".join(f"{n.op_type} {n.name or n.output[0]}" for n in bare[:4])
        phases.warn(
            "provenance",
            f"{len(bare)} of {counted(len(nodes), 'node')} without a word of where it comes "
            f"from: {shown}",
        )
