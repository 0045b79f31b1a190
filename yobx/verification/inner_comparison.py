"""Compares the values inside a model that its source has by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from yobx.verification.boundary import Attempt, one_line
from yobx.verification.comparison import Allowance, compare
from yobx.verification.dtypes import dtype_name, is_float
from yobx.verification.findings import Localization, OutputReport
from yobx.verification.inner_values import Collector, values_in_order
from yobx.verification.sensitivity import Sensitivity
from yobx.verification.sources import Source, WideRun
from yobx.verification.verdict64 import distance

__all__ = ["Evidence", "compared_values", "inner_values", "judge", "source_values", "turn_of"]


@dataclass(frozen=True)
class Evidence:
    """What is known of the failing run.

    Attributes:
        model: Converted model.
        source: The original.
        args: Inputs of the source.
        feeds: Inputs of the model.
        values: Values of the unoptimised model.
        expected: Outputs of the source by ONNX name.
        optimised: Outputs of the optimised model.
        options: Options of the conversion.
        tolerance_class: Rule that the outputs were judged by.
        turns: Values inside control flow: one array for each time that it was computed.
        inner: What collects them, or ``None``.
        in_float64: The source in float64, if it was asked already.
    """

    model: onnx.ModelProto
    source: Source
    args: tuple[Any, ...]
    feeds: Mapping[str, NDArray[Any]]
    values: Mapping[str, Any]
    expected: Mapping[str, Any]
    optimised: Mapping[str, Any]
    options: Mapping[str, Any]
    tolerance_class: str = "auto"
    turns: Mapping[str, list[Any]] = field(default_factory=dict)
    inner: Collector | None = None
    in_float64: WideRun | None = None

    def ours(self, name: str) -> Any:
        """Value of the converted model; a list for one inside control flow."""
        return self.turns[name] if name in self.turns else self.values[name]


def inner_values(evidence: Evidence, sensitivity: Sensitivity) -> dict[str, OutputReport]:
    """Compares the values inside a model that both sides have.

    Args:
        evidence: A run.
        sensitivity: Allowances of the model.

    Returns:
        Name -> what was found, but for results of the model.
    """
    everywhere = values_in_order(evidence.model)
    names = [name for name in everywhere if name in evidence.values or name in evidence.turns]
    theirs = source_values(evidence, names, Localization())
    compared = compared_values(evidence, sensitivity, names, theirs)
    return {name: one for name, one in compared.items() if name not in evidence.expected}


def judge(evidence: Evidence, sensitivity: Sensitivity, name: str, want: Any) -> OutputReport:
    """Judges an output by the rule that found it wrong.

    Args:
        evidence: The failing run.
        sensitivity: Allowances of the model.
        name: The output.
        want: What it should be.

    Returns:
        What was found.
    """
    value = evidence.values[name]
    dtype = np.dtype("O") if isinstance(value, list) else np.asarray(value).dtype
    allowance = sensitivity.chosen(name, dtype, evidence.tolerance_class, evidence.values)
    if allowance is None:
        allowance = sensitivity.measure(evidence.feeds, evidence.values, [name])[name]
    return compare(name, value, want, allowance)


def _allowances(
    evidence: Evidence, sensitivity: Sensitivity, names: list[str]
) -> dict[str, Allowance]:
    result: dict[str, Allowance] = {}
    unknown = []
    for name in names:
        value = evidence.values[name]
        strict = (
            sensitivity.strict(name, np.asarray(value).dtype, evidence.values)
            if not isinstance(value, list)
            else None
        )
        if strict is None:
            unknown.append(name)
        else:
            result[name] = strict
    if unknown:
        measured = sensitivity.measure(evidence.feeds, evidence.values, unknown)
        result.update({name: _inside(found, sensitivity) for name, found in measured.items()})
    return result


def _inside(allowance: Allowance, sensitivity: Sensitivity) -> Allowance:
    """What a value inside may be off before it is named as the place of a fault."""
    if allowance.absolute is None:
        return allowance
    return replace(allowance, absolute=allowance.absolute * sensitivity.tolerances.inside)


def source_values(evidence: Evidence, names: list[str], found: Localization) -> dict[str, Any]:
    """Values of the source that go by names of the converted model, with axes in its order.

    Args:
        evidence: A run.
        names: The values of the model.
        found: How they were had, or why not, is written there.

    Returns:
        Name -> value, outputs too.
    """
    theirs: dict[str, Any] = {}
    with Attempt() as attempt:
        theirs = dict(evidence.source.intermediates(evidence.args, names, evidence.options))
    if attempt.error is not None:
        found.reason += f"its values cannot be had: {one_line(attempt.error, 200)}; "
    found.method = f"values of the {evidence.source.framework} model by name" if theirs else ""
    theirs = {
        name: _aligned(evidence.ours(name), value)
        for name, value in theirs.items()
        if name in names
    }
    for name, value in evidence.expected.items():
        theirs.setdefault(name, value)
    return theirs


def _aligned(ours: Any, theirs: Any) -> Any:
    """The source's value with its axes in the order of ours.

    A converter may keep images with their channels first between convolutions, under the name that
    the value has in the source, where channels are last. Where sizes do not tell, values do.
    """
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [_aligned(got, want) for got, want in zip(ours, theirs, strict=True)]
    if not isinstance(ours, np.ndarray) or not isinstance(theirs, np.ndarray) or theirs.ndim < 3:
        return theirs
    orders = [theirs, np.moveaxis(theirs, -1, 1), np.moveaxis(theirs, 1, -1)]
    fitting = [order for order in orders if order.shape == ours.shape]
    if len(fitting) < 2 or ours.dtype != theirs.dtype or not is_float(ours.dtype):
        return fitting[0] if fitting else theirs
    return min(fitting, key=lambda order: distance(ours, order))


def compared_values(
    evidence: Evidence, sensitivity: Sensitivity, names: list[str], theirs: Mapping[str, Any]
) -> dict[str, OutputReport]:
    """Compares every value that both sides have, in topological order.

    Args:
        evidence: A run.
        sensitivity: Allowances of the model.
        names: Values of the model, in that order.
        theirs: Values of the source.

    Returns:
        Name -> what was found; nothing where both have outputs alone.
    """
    comparable = [
        name for name in names if name in theirs and _same_kind(evidence.ours(name), theirs[name])
    ]
    if all(name in evidence.expected for name in comparable):
        return {}  # outputs alone tell no place
    inner = [name for name in comparable if name in evidence.turns]
    allowances = _allowances(
        evidence, sensitivity, [name for name in comparable if name not in evidence.turns]
    )
    turns = _turn_allowances(evidence, sensitivity, inner)
    return {
        name: _compared_turns(name, evidence.turns[name], theirs[name], turns[name])
        if name in turns
        else compare(name, evidence.values[name], theirs[name], allowances[name])
        for name in comparable
    }


def _turn_allowances(
    evidence: Evidence, sensitivity: Sensitivity, names: list[str]
) -> dict[str, list[Allowance]]:
    if evidence.inner is None or not names:
        return {}
    wanted = {name: evidence.turns[name] for name in names}
    known = {**evidence.values, **evidence.turns}
    measured = sensitivity.measure_turns(evidence.feeds, evidence.inner, wanted, known)
    return {name: [_inside(one, sensitivity) for one in turns] for name, turns in measured.items()}


def _compared_turns(
    name: str, ours: list[Any], theirs: list[Any], allowances: list[Allowance]
) -> OutputReport:
    """The first turn that differs, or the last one."""
    report = OutputReport(name)
    for turn, (got, want) in enumerate(zip(ours, theirs, strict=True)):
        report = compare(f"{name}[{turn}]", got, want, allowances[turn])
        if report.failed:
            break
    return report


def _same_kind(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, list) and isinstance(theirs, list):
        pairs = zip(ours, theirs, strict=False)
        return 0 < len(ours) == len(theirs) and all(_same_kind(a, b) for a, b in pairs)
    if isinstance(ours, list) or isinstance(theirs, list) or ours is None or theirs is None:
        return False
    return np.shape(ours) == np.shape(theirs) and dtype_name(np.asarray(ours).dtype) == dtype_name(
        np.asarray(theirs).dtype
    )


def turn_of(name: str, difference: OutputReport) -> int:
    """The turn in ``value[3]``.

    Args:
        name: A value inside a loop.
        difference: What was found of it.
    """
    return int(difference.name[len(name) + 1 : -1])
