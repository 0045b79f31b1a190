"""Compares the outputs of one run, each within what it may be off."""

from __future__ import annotations

import numpy as np

from yobx.verification.comparison import Allowance, compare
from yobx.verification.declared_shapes import symbolic
from yobx.verification.doubts import differ, doubtful, off
from yobx.verification.evidence import BindingRun
from yobx.verification.findings import OutputReport
from yobx.verification.preparation import Prepared

__all__ = ["RunComparison"]


class RunComparison:
    """The outputs of one run beside those of the source.

    Args:
        prepared: The converted model.
        run: The run.

    Attributes:
        prepared: The converted model.
        run: The run.
        allowances: What its outputs may be off, by name.
        reports: What was found last, one entry an output.
    """

    def __init__(self, prepared: Prepared, run: BindingRun) -> None:
        self.prepared = prepared
        self.run = run
        self.allowances = self._allowances()
        self.reports: list[OutputReport] = []
        self.compare()

    def differs(self) -> bool:
        """Whether values differ, and not only their types and shapes."""
        return differ(self.reports)

    def compare(self) -> None:
        """Compares all outputs with what the run now holds of the source."""
        self.reports = []
        for name, want in self.run.wanted_by_name.items():
            output = compare(name, self.run.actual[name], want, self.allowances[name])
            output.binding = self.run.binding.describe()
            output.symbolic_shape = symbolic(self.prepared.model, name, self.run.actual[name])
            self.reports.append(output)

    def measure_again(self) -> None:
        """Measures rounding more closely, and compares again, where that may decide."""
        sensitivity, run = self.prepared.sensitivity, self.run
        names = doubtful(self.reports, self.allowances, sensitivity.tolerances)
        if names:
            again = sensitivity.tolerances.again
            self.allowances.update(sensitivity.measure(run.feeds, run.values, names, runs=again))
            self.compare()
        # Small noise moves a value at most as many times as far as the large noise is larger.
        near = [r for r in self.reports if (r.budget_used or 0.0) <= sensitivity.most_bent]
        names = off(near, self.allowances)
        if names:
            self.allowances.update(sensitivity.measure_small(run.feeds, run.values, names))
            self.compare()

    def _allowances(self) -> dict[str, Allowance]:
        sensitivity, run = self.prepared.sensitivity, self.run
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
