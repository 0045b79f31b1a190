"""From sessions to findings: run both sides, compare structure, shapes and values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yobx.errors import InternalError
from yobx.verification.arguments import as_pairs, fill, from_pairs, tensors_of
from yobx.verification.bindings import Binding, InputAxes, axes_of_inputs, choose_bindings, resized
from yobx.verification.boundary import Attempt, one_line
from yobx.verification.comparison import Allowance, compare
from yobx.verification.declared_shapes import symbolic, unfit
from yobx.verification.doubts import PHASE_OF, differ, doubtful
from yobx.verification.dtypes import is_float, widen
from yobx.verification.evidence import BindingRun, CheckResult
from yobx.verification.findings import (
    RANDOM,
    UNDECIDED,
    BindingReport,
    Outcome,
    OutputReport,
    ShapeReport,
)
from yobx.verification.frozen import FrozenSizes
from yobx.verification.localize import OTHER_FUNCTION, Evidence, localize
from yobx.verification.options import BindingRequest
from yobx.verification.phases import EndOfCheckError, PhaseLog
from yobx.verification.preparation import Prepared
from yobx.verification.provenance import facts_of
from yobx.verification.refusals import Refusals
from yobx.verification.remarks import (
    changing_outputs,
    drawing_nodes,
    graph_agrees,
    sizes_looked_at,
)
from yobx.verification.runner import RunError, input_names
from yobx.verification.shape_proof import (
    Form,
    Inner,
    Statement,
    inner_statements,
    merge,
    prove,
    stated,
)
from yobx.verification.sources import FactorSource, RewrittenSource, WideSource
from yobx.verification.wide_source import judged, may_be_asked
from yobx.words import counted

__all__ = ["judge"]

_EAGER = "the model itself is another function when it is called, see the note"


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
    judgement = _Judgement(prepared, result)
    with Attempt() as attempt:
        judgement.run(requests, source=values)
        judgement.compare(values=values)
    if attempt.error is not None and not isinstance(attempt.error, EndOfCheckError):
        raise attempt.error


class _Judgement:
    """One run of a prepared check."""

    def __init__(self, prepared: Prepared, result: CheckResult) -> None:
        self.prepared = prepared
        self.result = result
        self.report = result.report
        self.phases = PhaseLog(result)
        self.axes: list[InputAxes] = axes_of_inputs(prepared.model)
        self._graph_agrees = False  # and the source, called eagerly, does not
        self._not_acquitted = False  # by the source in float64: the check fails
        self._refusals = Refusals()

    # ---- run ---------------------------------------------------------------------------------

    def run(self, requests: Sequence[BindingRequest] | None, *, source: bool) -> None:
        """Runs the converted model, and the source where it is compared, under every binding."""
        leaves = [as_pairs(leaf) for leaf in tensors_of(self.prepared.args)]
        names = input_names(self.prepared.model)
        if len(names) != len(leaves):
            shown = ", ".join(names) or "none"
            self.phases.fail(
                "structure",
                f"the converted model has {counted(len(names), 'input')} ({shown}), the source "
                f"was given {len(leaves)}",
            )
            raise EndOfCheckError
        wrong = unfit(self.prepared.model, leaves)
        if not self.prepared.model.graph.output:
            wrong = "the converted model has no outputs: there is nothing to compare"
        if wrong:
            self.phases.fail("run", wrong)
            raise EndOfCheckError
        with self.phases.phase("run"):
            for binding in choose_bindings(self.prepared.model, self.axes, leaves, requests):
                self._run_binding(binding, leaves, source=source)
            self._tell_refusals(leaves)
        if not self.result.runs:
            raise EndOfCheckError

    def _run_binding(self, binding: Binding, leaves: list[NDArray[Any]], *, source: bool) -> None:
        entry = BindingReport(binding.label, dict(binding.sizes))
        self.report.bindings.append(entry)
        if binding.impossible:
            entry.note = f"not made: {binding.impossible}"
            return
        arrays = resized(self.axes, leaves, binding, self.report.seed)
        originals = tensors_of(self.prepared.args)
        own = [from_pairs(a, o.dtype) for a, o in zip(arrays, originals, strict=True)]
        args = fill(self.prepared.args, own)
        expected = []
        with Attempt() as attempt:
            # Copies: a source that works in place must not change what the other side is given.
            lent = fill(self.prepared.args, [array.copy() for array in own])
            expected = self.prepared.source.run(lent) if source else []
            expected = [(name, as_pairs(value)) for name, value in expected]
        if attempt.error is not None:
            self._refusals.add(entry, binding, attempt.error)
            if binding.softer is not None:
                self._run_binding(binding.softer, leaves, source=True)
            return
        feeds = dict(zip(input_names(self.prepared.model), arrays, strict=True))
        try:
            plain = self.prepared.plain.run(feeds)
            values: dict[str, Any] = {**feeds, **plain.values}
            warnings = list(plain.warnings)
            if self.prepared.everything is not None:
                every = self.prepared.everything.run(feeds)
                values.update(every.values)
                warnings += every.warnings
        except RunError as error:
            told = self._frozen(leaves).of_model(binding.sizes, error) if source else ""
            self.phases.fail("run", f"under {binding.describe()}{told}: {error}", error)
            return
        entry.ran = True
        for warning in dict.fromkeys(warnings):
            self.phases.fail("shape-match", f"onnxruntime {warning}, under {binding.describe()}")
        turns = self._turns(feeds)
        run = BindingRun(binding, args, feeds, expected, plain.values, values, turns)
        self.result.runs.append(run)

    def _turns(self, feeds: dict[str, NDArray[Any]]) -> dict[str, list[Any]]:
        """Values inside control flow."""
        if self.prepared.inner is None:
            return {}
        found, session = self.prepared.inner
        try:
            return found.turns(session.run(feeds).values)
        except RunError as error:
            note = f"values inside control flow could not be collected: {error}"
            if note not in self.report.notes:
                self.report.notes.append(note)
            return {}

    def _tell_refusals(self, leaves: list[NDArray[Any]]) -> None:
        """Says at which sizes the source fails, where other sizes did not do in their place."""
        lost = not self.result.runs and self.report.phase("run").outcome is not Outcome.FAILED
        for refusal in self._refusals.told(failed=lost):
            first = (refusal.fatal or refusal.sizes)[0]
            fixed = self._frozen(leaves).of_source(first.sizes, refusal.error)
            message = f"the source fails under {refusal.where}{fixed}: {refusal.words}"
            self.phases.fail("run", message, refusal.error)
        if not self.result.runs and self.report.phase("run").outcome is not Outcome.FAILED:
            self.phases.fail("run", "the source runs under no binding: nothing can be compared")

    def _frozen(self, leaves: list[NDArray[Any]]) -> FrozenSizes:
        return FrozenSizes(self.prepared, leaves, self.report.seed)

    # ---- compare -----------------------------------------------------------------------------

    def compare(self, *, values: bool) -> None:
        """Compares structure, shapes and values, and looks for the first difference."""
        if values:
            with self.phases.phase("structure", stops=False):
                self._check_structure()
        else:
            self.report.phase("structure").outcome = Outcome.NOT_APPLICABLE
            self.report.phase("values").outcome = Outcome.NOT_APPLICABLE
        with self.phases.phase("shape-match", stops=False):
            self._prove_shapes()
        if values:
            with self.phases.phase("values", stops=False):
                self._compare_values()
            self._ask_the_graph()
            self._ask_again()
            self._name_the_draws()
        with self.phases.phase("provenance", stops=False):
            self._look_for_first()
            self._check_provenance()

    def _check_structure(self) -> None:
        run = self.result.runs[0]
        have, want = list(run.actual), [name for name, _ in run.expected]
        if len(have) != len(want):
            listed = ", ".join(name or "?" for name in want)
            self.phases.fail(
                "structure",
                f"the converted model has {counted(len(have), 'output')} ({', '.join(have)}), "
                f"the source {len(want)} ({listed})",
            )
            for name in have[len(want) :]:
                self._absent(name, "extra", "unknown to the source")
            for position, name in enumerate(want[len(have) :], start=len(have)):
                label = name or f"output {position}"
                self._absent(label, "missing", "missing from the converted model")
        taken = set(input_names(self.prepared.model))
        for position, (got, wanted) in enumerate(zip(have, want, strict=False)):
            # ONNX has one name for one value: an output called like an input, or like an output
            # before it, gets another ending.
            stem = f"{wanted}_out" if wanted in taken else wanted
            repeated = stem in have[:position] and re.fullmatch(rf"{re.escape(stem)}_\d+", got)
            if wanted and got != stem and not repeated:
                self.phases.fail(
                    "structure",
                    f"output {position} is called {got!r}, in the source {wanted!r}",
                )

    def _absent(self, name: str, category: str, message: str) -> None:
        self.report.outputs.append(
            OutputReport(name, outcome=Outcome.FAILED, category=category, notes=[message])
        )

    def _prove_shapes(self) -> None:
        said = [
            (form, stated(form.model, form.inferred), inner_statements(form.model, form.inferred))
            for form in self.prepared.forms
        ]
        self.result.statements = said[-1][1]
        for run in self.result.runs:
            *before, last = [self._proof(run, *each) for each in said]
            for one in before:
                known = {(m.value, m.static) for m in last.mismatches}
                last.mismatches += [m for m in one.mismatches if (m.value, m.static) not in known]
            self.report.shapes = merge(self.report.shapes, last)
        for mismatch in self.report.shapes.mismatches:
            phase = "structure" if mismatch.kind == "dtype" else "shape-match"
            self.phases.fail(phase, mismatch.message)

    def _proof(
        self, run: BindingRun, form: Form, said: Sequence[Statement], inside: Sequence[Statement]
    ) -> ShapeReport:
        """Compares what is stated of one form of the model with a run."""
        bodies = self.prepared.inner[0].body if self.prepared.inner is not None else {}
        return prove(
            form.model,
            said,
            run.values,
            binding=run.binding.describe(),
            constraints=form.constraints,
            inner=Inner(run.turns, bodies, inside),
        )

    def _compare_values(self) -> None:
        for run in self.result.runs:
            self._compare_run(run)
        if not self.report.compared:
            self.phases.fail("values", "no output was compared: nothing is proven")
        elif not any(output.elements or output.failed for output in self.report.outputs):
            self.phases.warn(
                "values", "every output is empty: only dtypes and shapes were compared"
            )
        elif self._nothing_is_finite():
            self.phases.fail(
                "values",
                "no element of any output is finite, so nothing is proven: give inputs that the "
                "model has numbers for",
            )
        self._summarise()
        self.report.notes += self.prepared.sensitivity.notes

    def _nothing_is_finite(self) -> bool:
        """Whether numbers went in, and all that was compared are places of NaN and infinities.

        At sizes of one that may be right: a deviation of one element has no value.
        """
        full = [output for output in self.report.outputs if output.elements]
        labels = {run.binding.label for run in self.result.runs}
        fed = [array for run in self.result.runs for array in run.feeds.values()]
        odd = any(is_float(a.dtype) and not np.all(np.isfinite(widen(a))) for a in fed)
        return not odd and labels != {"ones"} and not any(o.failed or not o.vacuous for o in full)

    def _look_for_first(self) -> None:
        """Looks for the first value that differs, when one does."""
        apart = {*PHASE_OF, RANDOM, UNDECIDED}
        wrong = [o for o in self.report.outputs if o.failed and o.category not in apart]
        if wrong and self.prepared.options.localize:
            self._localize(wrong[0])

    def _compare_run(self, run: BindingRun) -> None:
        allowances = self._allowances(run)
        reports = self._compared(run, allowances)
        if differ(reports) and self._refactor(run):
            reports = self._compared(run, allowances)
            if differ(reports):
                reports = self._with_earlier_factors(run, allowances) or reports
        if self._measure_again(run, allowances, reports):
            reports = self._compared(run, allowances)
        if differ(reports):
            reports = self._as_written(run, allowances) or reports
        if differ(reports) and not self._not_acquitted:
            reports = self._in_float64(run, allowances, reports) or reports
            self._not_acquitted = differ(reports)
        self.report.outputs += reports

    def _as_written(
        self, run: BindingRun, allowances: dict[str, Allowance]
    ) -> list[OutputReport] | None:
        """Reports of the source as it is written, if its framework ran something else."""
        source, optimised = self.prepared.source, run.expected
        if not isinstance(source, RewrittenSource):
            return None
        written = source.run_as_written(run.args)
        if written is None:
            return None
        run.expected = [(name, as_pairs(value)) for name, value in written]
        reports = self._compared(run, allowances)
        if not differ(reports):
            self._remark(
                "the source is compared as it is written: TensorFlow's optimiser of graphs moves "
                "a constant, and what it then computes differs by rounding"
            )
            return reports
        run.expected = optimised
        return None

    def _in_float64(
        self, run: BindingRun, allowances: dict[str, Allowance], reports: list[OutputReport]
    ) -> list[OutputReport] | None:
        """Reports by the source in float64, if that agrees with the model wherever it differs."""
        source, found = self.prepared.source, None
        if not isinstance(source, WideSource) or not may_be_asked(reports, run):
            return None
        with Attempt() as attempt:
            found = source.run_in_float64(run.args, self.prepared.options.conversion())
        if attempt.error is not None:
            reason = one_line(attempt.error, 200)
            self._remark(f"the source could not be computed in float64: {reason}")
        return None if found is None else judged(reports, run, allowances, found)

    def _measure_again(
        self, run: BindingRun, allowances: dict[str, Allowance], reports: Sequence[OutputReport]
    ) -> bool:
        """Measures rounding more closely where that may decide; whether there are such outputs."""
        sensitivity = self.prepared.sensitivity
        names = doubtful(reports, allowances, sensitivity.tolerances)
        if names:
            again = sensitivity.tolerances.again
            allowances.update(sensitivity.measure(run.feeds, run.values, names, runs=again))
        return bool(names)

    def _with_earlier_factors(
        self, run: BindingRun, allowances: dict[str, Allowance]
    ) -> list[OutputReport] | None:
        """Reports with those factors that the model computes first, if all agree with them.

        The negative of an eigenvector, say, is one too, and is found before the vector itself.
        """
        later = run.with_factors
        if self._refactor(run, first=True):
            reports = self._compared(run, allowances)
            if not differ(reports):
                return reports
        run.with_factors = later
        return None

    def _allowances(self, run: BindingRun) -> dict[str, Allowance]:
        sensitivity = self.prepared.sensitivity
        wanted = run.expected_by_name
        allowances: dict[str, Allowance] = {}
        for name, want in wanted.items():
            dtype = np.dtype("O") if isinstance(want, list) else np.asarray(want).dtype
            rule = self.prepared.options.tolerance_class
            strict = sensitivity.chosen(name, dtype, rule, run.values)
            if strict is not None:
                allowances[name] = strict
        unknown = [name for name in wanted if name not in allowances]
        if unknown:
            allowances.update(sensitivity.measure(run.feeds, run.values, unknown))
        return allowances

    def _compared(self, run: BindingRun, allowances: dict[str, Allowance]) -> list[OutputReport]:
        reports = []
        for name, want in run.wanted_by_name.items():
            output = compare(name, run.actual[name], want, allowances[name])
            output.binding = run.binding.describe()
            output.symbolic_shape = symbolic(self.prepared.model, name, run.actual[name])
            reports.append(output)
        return reports

    def _refactor(self, run: BindingRun, *, first: bool = False) -> bool:
        """Whether the source ran with factors of the model: eigenvectors are free in sign.

        Args:
            run: The run; what the source gave goes there.
            first: Whether of several factors those are taken that the model computes first.
        """
        source = self.prepared.source
        inner = {name: a for name, a in run.values.items() if name not in run.actual}
        # The first result last.
        values = {**run.turns, **inner, **dict(reversed(run.actual.items()))}
        values = dict(reversed(values.items())) if first else values
        if not isinstance(source, FactorSource):
            return False
        factor = self.prepared.sensitivity.tolerances.factorisation
        options = self.prepared.options.conversion()
        found: tuple[list[Any], list[str]] | None = None
        with Attempt() as attempt:
            found = source.run_with_factors(run.args, options, values, factor)
        if attempt.error is not None:
            reason = one_line(attempt.error, 200)
            self._remark(f"factors of matrices could not be judged by reconstruction: {reason}")
        if found is None:
            return False
        if len(found[0]) != len(run.expected):
            raise InternalError(
                f"A source gives as many outputs with factors as without. Received: "
                f"{len(found[0])}, not {len(run.expected)}. Please report this."
            )
        pairs = zip(run.expected, found[0], strict=True)
        run.with_factors = [(name, as_pairs(value)) for (name, _), value in pairs]
        self._remark(
            f"factors of the model were taken for those of the source, with which they agree by "
            f"reconstruction: {', '.join(dict.fromkeys(found[1]))}"
        )
        return True

    def _remark(self, note: str) -> None:
        """Adds a note, once."""
        if note not in self.report.notes:
            self.report.notes.append(note)

    def _summarise(self) -> None:
        """Sends what the outputs say to the phases they belong to."""
        for output in self.report.outputs:
            if output.outcome is Outcome.WARNING:
                self.phases.warn("values", f"{output.name}: {output.notes[-1]}")
            if not output.failed or output.category in {"missing", "extra"}:
                continue
            phase = PHASE_OF.get(output.category, "values")
            where = f"{output.name} {output.symbolic_shape} under {output.binding}"
            told = _count(output) if phase == "values" else output.notes[0]
            self.phases.fail(phase, f"{where}: {told}")

    def _localize(self, wrong: OutputReport) -> None:
        runs = (r for r in self.result.runs if r.binding.describe() == wrong.binding)
        run = next(runs, self.result.runs[0])
        evidence = Evidence(
            model=self.prepared.observed,
            source=self.prepared.source,
            args=run.args,
            feeds=run.feeds,
            values=run.values,
            expected=run.wanted_by_name,
            optimised=run.actual,
            options=self.prepared.options.conversion(),
            tolerance_class=self.prepared.options.tolerance_class,
            turns=run.turns,
            inner=self.prepared.inner[0] if self.prepared.inner is not None else None,
        )
        located = localize(evidence, self.prepared.sensitivity, wrong.name)
        self.report.localization = found = located.found
        if self._graph_agrees and found.verdict == "converter":
            found.verdict = "source"
            found.reason = found.reason.replace(OTHER_FUNCTION, _EAGER)
        self.result.reduced, self.result.compared = located.reduced, located.compared

    def _ask_the_graph(self) -> None:
        """Notes when a model gives one result in a graph, as converted, and another eagerly."""
        run = self._failing_run()
        if run is None or not graph_agrees(self.prepared, run):
            return
        self._graph_agrees = True
        names = sizes_looked_at(self.prepared, run)
        if not names:
            self._remark(
                "the graph that TensorFlow traces of this model gives what the converted model "
                "gives: the model itself computes something else when it is called eagerly, or "
                "where TensorFlow's optimiser has moved its constants"
            )
            return
        from yobx.tensorflow.tracing import SIZES_OF_A_RUN

        sizes = " or ".join(f"{name}={run.binding.sizes[name]}" for name in names)
        self._remark(
            f"a size was frozen while the model was traced: traced with {sizes} it gives what it "
            f"gives when it is called, traced with a dynamic {' or '.join(names)} it gives what "
            f"the converted model gives. Write {SIZES_OF_A_RUN}"
        )

    def _ask_again(self) -> None:
        """Notes when the source does not even agree with itself."""
        run = self._failing_run()
        changing = changing_outputs(self.prepared, run) if run is not None else set()
        for output in self.report.outputs:
            if output.failed and output.name in changing:
                output.category = RANDOM
        if changing:
            self._remark(
                "the source gives another result each time it is called: it draws random numbers "
                "or keeps state, and cannot be compared"
            )

    def _name_the_draws(self) -> None:
        """Notes which nodes of the model draw random numbers, if something is wrong."""
        if self._failing_run() is None:
            return
        drawing = drawing_nodes(self.prepared.observed)
        if drawing:
            shown = ", ".join(drawing[:4])
            self._remark(
                f"the converted model draws random numbers of its own, in {shown}: what depends on "
                "them cannot be compared"
            )

    def _failing_run(self) -> BindingRun | None:
        under = next((output.binding for output in self.report.outputs if output.failed), None)
        return next((r for r in self.result.runs if r.binding.describe() == under), None)

    def _check_provenance(self) -> None:
        entry = self.report.phase("provenance")
        if self.prepared.source.framework == "onnx":
            entry.outcome = Outcome.NOT_APPLICABLE
            return
        nodes = self.prepared.model.graph.node
        bare = [node for node in nodes if not facts_of(node)]
        if bare:
            shown = ", ".join(f"{n.op_type} {n.name or n.output[0]}" for n in bare[:4])
            self.phases.warn(
                "provenance",
                f"{len(bare)} of {counted(len(nodes), 'node')} without a word of where it comes "
                f"from: {shown}",
            )


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
