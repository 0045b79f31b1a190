"""Runs the converted model, and its source, under every binding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from numpy.typing import NDArray

from yobx.verification.arguments import as_pairs, fill, from_pairs, tensors_of
from yobx.verification.bindings import Binding, axes_of_inputs, choose_bindings, resized
from yobx.verification.boundary import Attempt
from yobx.verification.declared_shapes import unfit
from yobx.verification.evidence import BindingRun
from yobx.verification.findings import BindingReport, Outcome
from yobx.verification.frozen import FrozenSizes, Looked
from yobx.verification.options import BindingRequest
from yobx.verification.phases import EndOfCheckError, PhaseLog
from yobx.verification.preparation import Prepared
from yobx.verification.refusals import Refusals
from yobx.verification.runner import RunError, input_names
from yobx.words import counted

__all__ = ["BindingRuns"]


class BindingRuns:
    """The runs of one check.

    Args:
        prepared: The converted model.
        phases: Where findings are written; the arrays go into its result.
    """

    def __init__(self, prepared: Prepared, phases: PhaseLog) -> None:
        self._prepared = prepared
        self._phases = phases
        self._result = phases.result
        self._axes = axes_of_inputs(prepared.model)
        self._refusals = Refusals()

    def each(
        self, requests: Sequence[BindingRequest] | None, *, source: bool
    ) -> Iterator[BindingRun]:
        """Runs the converted model, and the source where it is compared, under every binding.

        Args:
            requests: Bindings asked for.
            source: Whether the source runs too.

        Yields:
            Each run, before the next one is made.

        Raises:
            EndOfCheckError: If there is no run to look at.
        """
        leaves = self._leaves()
        bindings: list[Binding] = []
        with self._phases.phase("run"):
            bindings = choose_bindings(self._prepared.model, self._axes, leaves, requests)
        for binding in bindings:
            run: BindingRun | None = None
            with self._phases.phase("run"):
                run = self._run_binding(binding, leaves, source=source)
            if run is not None:
                self._result.runs.append(run)
                yield run
        with self._phases.phase("run"):
            self._tell_refusals(leaves)
        if not self._result.runs:
            raise EndOfCheckError

    def _leaves(self) -> list[NDArray[Any]]:
        """The sample inputs, one array a graph input."""
        leaves = [as_pairs(leaf) for leaf in tensors_of(self._prepared.args)]
        names = input_names(self._prepared.model)
        if len(names) != len(leaves):
            shown = ", ".join(names) or "none"
            self._phases.fail(
                "structure",
                f"the converted model has {counted(len(names), 'input')} ({shown}), the source "
                f"was given {len(leaves)}",
            )
            raise EndOfCheckError
        wrong = unfit(self._prepared.model, leaves)
        if not self._prepared.model.graph.output:
            wrong = "the converted model has no outputs: there is nothing to compare"
        if wrong:
            self._phases.fail("run", wrong)
            raise EndOfCheckError
        return leaves

    def _run_binding(
        self, binding: Binding, leaves: list[NDArray[Any]], *, source: bool
    ) -> BindingRun | None:
        entry = BindingReport(binding.label, dict(binding.sizes))
        self._result.report.bindings.append(entry)
        if binding.impossible:
            entry.note = f"not made: {binding.impossible}"
            return None
        arrays = resized(self._axes, leaves, binding, self._result.report.seed)
        originals = tensors_of(self._prepared.args)
        own = [from_pairs(a, o.dtype) for a, o in zip(arrays, originals, strict=True)]
        args = fill(self._prepared.args, own)
        expected = []
        with Attempt() as attempt:
            # Copies: a source that works in place must not change what the other side is given.
            lent = fill(self._prepared.args, [array.copy() for array in own])
            expected = self._prepared.source.run(lent) if source else []
            expected = [(name, as_pairs(value)) for name, value in expected]
        if attempt.error is not None:
            self._refusals.add(entry, binding, attempt.error)
            if binding.softer is not None:
                return self._run_binding(binding.softer, leaves, source=True)
            return None
        feeds = dict(zip(input_names(self._prepared.model), arrays, strict=True))
        try:
            plain = self._prepared.plain.run(feeds)
            values: dict[str, Any] = {**feeds, **plain.values}
            warnings = list(plain.warnings)
            if self._prepared.everything is not None:
                every = self._prepared.everything.run(feeds)
                values.update(every.values)
                warnings += every.warnings
        except RunError as error:
            told = ""
            if source:
                told = self._told(self._frozen(leaves).of_model(binding.sizes, error))
            self._phases.fail("run", f"under {binding.describe()}{told}: {error}", error)
            return None
        entry.ran = True
        for warning in dict.fromkeys(warnings):
            self._phases.fail("shape-match", f"onnxruntime {warning}, under {binding.describe()}")
        turns = self._turns(feeds)
        return BindingRun(binding, args, feeds, expected, plain.values, values, turns)

    def _turns(self, feeds: dict[str, NDArray[Any]]) -> dict[str, list[Any]]:
        """Values inside control flow."""
        if self._prepared.inner is None:
            return {}
        found, session = self._prepared.inner
        try:
            return found.turns(session.run(feeds).values)
        except RunError as error:
            self._phases.remark(f"values inside control flow could not be collected: {error}")
            return {}

    def _tell_refusals(self, leaves: list[NDArray[Any]]) -> None:
        """Says at which sizes the source fails, where other sizes did not do in their place."""
        lost = (
            not self._result.runs and self._result.report.phase("run").outcome is not Outcome.FAILED
        )
        for refusal in self._refusals.told(failed=lost):
            first = (refusal.fatal or refusal.sizes)[0]
            fixed = self._told(self._frozen(leaves).of_source(first.sizes, refusal.error))
            message = f"the source fails under {refusal.where}{fixed}: {refusal.words}"
            self._phases.fail("run", message, refusal.error)
        if not self._result.runs and self._result.report.phase("run").outcome is not Outcome.FAILED:
            self._phases.fail("run", "the source runs under no binding: nothing can be compared")

    def _frozen(self, leaves: list[NDArray[Any]]) -> FrozenSizes:
        return FrozenSizes(self._prepared, leaves, self._result.report.seed)

    def _told(self, looked: Looked) -> str:
        """Writes what is behind a failure, unless that is known already; returns what to say."""
        if self._result.report.cause is None:
            self._result.report.cause = looked.cause
        return looked.told
