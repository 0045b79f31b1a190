"""Finds the first value that differs, and says which side is wrong.

With values of the source that go by the name of an ONNX value, the first one that differs is found
in topological order. The piece of the graph that leads to it from values that still agree is then
evaluated in float64: if that agrees with the source, the run time is off; if it agrees with
    onnxruntime, the converter wrote another function.
Without such values every node is checked against float64 on its own inputs, which separates the
run time from the converter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper

from yobx.verification.boundary import Attempt, one_line
from yobx.verification.comparison import Allowance, compare
from yobx.verification.dtypes import dtype_name, is_float, widen
from yobx.verification.evidence import Reduction
from yobx.verification.findings import Localization, OutputReport
from yobx.verification.inner_values import Collector, body_of, values_in_order
from yobx.verification.provenance import facts_of
from yobx.verification.reference64 import evaluate, piece
from yobx.verification.runner import LoadError, RunError, Session
from yobx.verification.sensitivity import Sensitivity
from yobx.verification.shape_proof import describe_node
from yobx.verification.sources import Origin, Source, TracedSource
from yobx.words import counted

__all__ = ["OTHER_FUNCTION", "Evidence", "Located", "inner_values", "localize"]

_MOST_NODES_ALONE = 400
_UNSTABLE = (
    "the same nodes, computed in float64, agree with the source, and every node is right on its "
    "own inputs → the converted graph loses in its own precision what the source keeps"
)
_ROUNDS = (
    "the same nodes, computed in float64, agree with onnxruntime where casts round as written → "
    "the converted graph casts to a narrower type than the source"
)


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

    def ours(self, name: str) -> Any:
        """Value of the converted model; a list for one inside control flow."""
        return self.turns[name] if name in self.turns else self.values[name]


@dataclass(frozen=True)
class Located:
    """What came out of the search.

    Attributes:
        found: The first differing value; its ``reason`` says what could not be told.
        reduced: The smallest piece that still fails, if there is a smaller one than the model.
        compared: Every value that could be compared, in topological order.
    """

    found: Localization
    reduced: Reduction | None
    compared: Mapping[str, OutputReport]


def localize(evidence: Evidence, sensitivity: Sensitivity, output: str) -> Located:
    """Looks for the first differing value.

    Args:
        evidence: The failing run.
        sensitivity: Allowances of the model.
        output: Name of a wrong output.

    Returns:
        What was found.
    """
    found, reduced = Localization(), list[Reduction]()
    compared = _look(found, evidence, sensitivity, output, reduced)
    if found.source_name and not found.user_line and isinstance(evidence.source, TracedSource):
        origin = Origin(found.value, found.source_name)
        with Attempt():  # a line is a help, not a finding
            found.user_line = evidence.source.user_line(origin, evidence.args, evidence.options)
    return Located(found, reduced[0] if reduced else None, compared)


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
    theirs = _source_values(evidence, names, Localization())
    compared = _compared(evidence, sensitivity, names, theirs)
    return {name: one for name, one in compared.items() if name not in evidence.expected}


def _look(
    found: Localization,
    evidence: Evidence,
    sensitivity: Sensitivity,
    output: str,
    reduced: list[Reduction],
) -> dict[str, OutputReport]:
    """Fills in what is found; returns the comparisons of intermediate values."""
    if _only_optimised(evidence, sensitivity, output):
        found.value, found.node = output, describe_node(evidence.model, output)
        found.verdict, found.method = "runtime", "onnxruntime without graph optimisation"
        found.reason = (
            "without graph optimisation onnxruntime agrees with the source → an optimisation of "
            "the run time is off"
        )
        _describe_origin(found, evidence.model, output)
        return {}
    everywhere = values_in_order(evidence.model)
    names = [name for name in everywhere if name in evidence.values or name in evidence.turns]
    theirs = _source_values(evidence, names, found)
    compared = _compared(evidence, sensitivity, names, theirs)
    found.compared = len([name for name in compared if name not in evidence.expected])
    differing, agreeing = _first_difference(compared, evidence, found)
    if differing is None:
        _without_values(found, evidence, sensitivity, output, reduced)
    else:
        reduced += _describe(found, evidence, differing, agreeing, theirs)
    return compared


def _only_optimised(evidence: Evidence, sensitivity: Sensitivity, output: str) -> bool:
    """Whether the unoptimised model agrees with the source."""
    if output not in evidence.values or output not in evidence.expected:
        return False
    report = _judge(evidence, sensitivity, output, evidence.expected[output])
    return not report.failed


def _judge(evidence: Evidence, sensitivity: Sensitivity, name: str, want: Any) -> OutputReport:
    """Judges an output by the rule that found it wrong."""
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


def _source_values(evidence: Evidence, names: list[str], found: Localization) -> dict[str, Any]:
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
    return min(fitting, key=lambda order: _distance(ours, order))


def _compared(
    evidence: Evidence, sensitivity: Sensitivity, names: list[str], theirs: Mapping[str, Any]
) -> dict[str, OutputReport]:
    """Compares every value that both sides have, in topological order."""
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


def _first_difference(
    compared: Mapping[str, OutputReport], evidence: Evidence, found: Localization
) -> tuple[str | None, list[str]]:
    """The first value that differs, and those before it that agree.

    In a loop an earlier turn comes first: a value may be wrong because another one was wrong in
    the turn before.
    """
    agreeing: list[str] = []
    for name, report in compared.items():
        if not report.failed:
            agreeing.append(name)
            continue
        first = name
        if evidence.inner is not None and name in evidence.turns:
            bodies = evidence.inner.body
            beside = [n for n in compared if bodies.get(n) == bodies.get(name)]
            wrong = [n for n in beside if compared[n].failed]
            first = min(wrong, key=lambda n: _turn_of(n, compared[n]))
            agreeing += [n for n in beside[: beside.index(first)] if n not in agreeing]
        found.difference = compared[first]
        return first, agreeing
    return None, agreeing


def _same_kind(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, list) and isinstance(theirs, list):
        pairs = zip(ours, theirs, strict=False)
        return 0 < len(ours) == len(theirs) and all(_same_kind(a, b) for a, b in pairs)
    if isinstance(ours, list) or isinstance(theirs, list) or ours is None or theirs is None:
        return False
    return np.shape(ours) == np.shape(theirs) and dtype_name(np.asarray(ours).dtype) == dtype_name(
        np.asarray(theirs).dtype
    )


@dataclass(frozen=True)
class _View:
    """The graph around one value: the main graph, or the body it is in at one turn.

    Attributes:
        model: The nodes as the main graph of a model.
        given: Values that are taken as right, ours or the source's.
        agreeing: Those of them that both sides have.
        ours: The value in the converted model.
        theirs: The value in the source.
    """

    model: onnx.ModelProto
    given: Mapping[str, Any]
    agreeing: frozenset[str]
    ours: Any
    theirs: Any


def _view(
    evidence: Evidence,
    name: str,
    difference: OutputReport,
    agreeing: list[str],
    theirs: Mapping[str, Any],
) -> _View:
    feeds = {n: evidence.values[n] for n in evidence.feeds}
    known = {n: theirs[n] for n in agreeing if n not in evidence.turns}
    if name not in evidence.turns:
        given = {**feeds, **known}
        return _View(evidence.model, given, frozenset(given), evidence.values[name], theirs[name])
    body, turn = body_of(evidence.model, name), _turn_of(name, difference)
    part = onnx.ModelProto()
    part.CopyFrom(evidence.model)
    if body is not None:  # what it reads of the main graph is computed there
        part.graph.node.extend(body.node)
        part.graph.initializer.extend(body.initializer)
    beside = set() if body is None else {n for node in body.node for n in node.output}
    beside = {n for n in beside if len(evidence.turns.get(n, ())) > turn}
    known |= {n: theirs[n][turn] for n in agreeing if n in beside}
    # What a loop hands from turn to turn has no name in the source; no earlier turn differs.
    state = {} if body is None else {value.name for value in body.input}
    handed = {n: evidence.turns[n][turn] for n in state if len(evidence.turns.get(n, ())) > turn}
    return _View(
        part,
        {**feeds, **handed, **known},
        frozenset({*feeds, *known}),
        evidence.turns[name][turn],
        theirs[name][turn],
    )


def _turn_of(name: str, difference: OutputReport) -> int:
    """The turn in ``value[3]``."""
    return int(difference.name[len(name) + 1 : -1])


def _describe(
    found: Localization,
    evidence: Evidence,
    name: str,
    agreeing: list[str],
    theirs: Mapping[str, Any],
) -> list[Reduction]:
    if found.difference is None:
        return []
    view = _view(evidence, name, found.difference, agreeing, theirs)
    node = next(n for n in view.model.graph.node if name in n.output)
    found.value, found.node, found.op_type = name, describe_node(evidence.model, name), node.op_type
    _describe_origin(found, view.model, name)
    initial = {t.name for t in view.model.graph.initializer}
    states = []
    for source in filter(None, node.input):
        known = "agrees" if source in view.agreeing | initial else "not comparable"
        states.append(f"%{source} {known}")
    found.inputs = states
    found.inputs_agree = all("not comparable" not in state for state in states) or None
    part = piece(view.model, list(view.given), name, view.given)
    feeds = {value.name: view.given[value.name] for value in part.graph.input}
    exact = evaluate(part, feeds)
    prefix = (
        "the inputs of that node still agree"
        if found.inputs_agree
        else f"from the last values that agree to this one: {counted(len(part.graph.node), 'node')}"
    )
    found.verdict, words = _verdict(exact, view.ours, view.theirs, evidence.source.framework)
    if found.verdict == "runtime" and _rounds(part, feeds, view.ours, view.theirs):
        found.verdict, words = "converter", _ROUNDS
    found.reason += f"{prefix}; {words}"
    found.reduced_nodes = _still_fails(part, feeds, view.theirs, found)
    return [_reduction(part, feeds, name, view.theirs)] if found.reduced_nodes else []


def _describe_origin(found: Localization, model: onnx.ModelProto, value: str) -> None:
    node = next((n for n in model.graph.node if value in n.output), None)
    if node is None:
        return
    found.op_type = node.op_type
    facts = facts_of(node)
    found.source_op = facts.get("op", "")
    found.source_name = facts.get("name", "")
    found.layer = facts.get("layer", "")
    found.user_line = facts.get("line", facts.get("location", ""))


#: What is wrong where float64 sides with onnxruntime, unless the traced graph does so too.
OTHER_FUNCTION = "the converted graph is another function"


def _verdict(exact: Any, ours: Any, theirs: Any, framework: str) -> tuple[str, str]:
    """Which side a float64 evaluation of the piece supports."""
    if framework == "onnx":  # a ready model, whose source is what it is compared with
        framework = "the reference"
    if exact is None or np.shape(exact) != np.shape(ours):
        return "undecided", "this piece cannot be computed in float64"
    if not is_float(np.asarray(ours).dtype):
        same_ours, same_theirs = np.array_equal(exact, ours), np.array_equal(exact, theirs)
        near, far = (0.0 if same_ours else 1.0), (0.0 if same_theirs else 1.0)
    else:
        near, far = _distance(exact, ours), _distance(exact, theirs)
    if near < 0.2 * far:
        return (
            "converter",
            f"the same nodes, computed in float64, agree with onnxruntime → {OTHER_FUNCTION}",
        )
    if far < 0.2 * near:
        return (
            "runtime",
            f"the same nodes, computed in float64, agree with {framework} → the runtime is off, "
            "not the converter",
        )
    return (
        "undecided",
        f"the same nodes, computed in float64, lie between both (onnxruntime {near:.1e}, "
        f"{framework} {far:.1e} away)",
    )


def _rounds(part: onnx.ModelProto, feeds: Mapping[str, Any], ours: Any, theirs: Any) -> bool:
    """Whether casts of the graph alone explain what the run time gives."""
    exact = evaluate(part, feeds, casts=True)
    return _verdict(exact, ours, theirs, "")[0] == "converter"


def _distance(exact: Any, other: Any) -> float:
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(widen(np.asarray(exact)) - widen(np.asarray(other)))
    same = (np.asarray(exact) == np.asarray(other)) | (np.isnan(exact) & np.isnan(other))
    error = np.where(same, 0.0, error)
    if not np.all(np.isfinite(error)):
        return float("inf")
    with np.errstate(over="ignore"):
        return float(np.sqrt(np.mean(np.square(error)))) if error.size else 0.0


def _still_fails(
    part: onnx.ModelProto, feeds: Mapping[str, Any], want: Any, found: Localization
) -> int:
    """Number of nodes of the piece if it alone still shows the difference, else 0."""
    try:
        got = (
            Session(part, optimise=False)
            .run({n: np.asarray(v) for n, v in feeds.items()})
            .values[found.value]
        )
    except (LoadError, RunError):
        return 0
    difference = found.difference
    if difference is None or np.shape(got) != np.shape(want):
        return 0
    if not is_float(np.asarray(want).dtype):
        return len(part.graph.node) if not np.array_equal(got, want) else 0
    error = _distance(want, got)
    return len(part.graph.node) if error > 0.1 * (difference.rms or 0.0) else 0


def _reduction(part: onnx.ModelProto, feeds: Mapping[str, Any], name: str, want: Any) -> Reduction:
    """A piece that a checker accepts: its output has a type."""
    array = np.asarray(want)
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    del part.graph.output[:]
    part.graph.output.append(helper.make_tensor_value_info(name, kind, [None] * array.ndim))
    return Reduction(part, dict(feeds), {name: want})


# ---- without values of the source ----------------------------------------------------------------


def _without_values(
    found: Localization,
    evidence: Evidence,
    sensitivity: Sensitivity,
    output: str,
    reduced: list[Reduction],
) -> None:
    """Evaluates the whole graph in float64: whom it agrees with is right."""
    model = evidence.model
    found.value, found.node = output, describe_node(model, output)
    _describe_origin(found, model, output)
    if found.compared:
        found.reason += "every intermediate value that could be compared agrees; "
    count = len(model.graph.node)
    if count > _MOST_NODES_ALONE:
        found.reason += f"{count} nodes are too many to evaluate in float64"
        return
    found.method = found.method or "the whole graph in float64"
    whole = piece(model, list(evidence.feeds), output, evidence.feeds)
    exact = evaluate(whole, evidence.feeds)
    ours, theirs = evidence.values.get(output), evidence.expected[output]
    if exact is None or np.shape(exact) != np.shape(theirs):
        found.reason += "the graph cannot be computed in float64"
        return
    found.verdict, words = _verdict(exact, ours, theirs, evidence.source.framework)
    if found.verdict == "runtime" and _rounds(whole, evidence.feeds, ours, theirs):
        found.verdict, words = "converter", _ROUNDS
    found.reason += words
    if found.verdict == "runtime":
        first, all_right = _first_inexact_node(found, evidence, sensitivity)
        reduced += first
        if all_right:
            found.verdict = "converter"
            found.reason = found.reason.removesuffix(words) + _UNSTABLE


def _first_inexact_node(
    found: Localization, evidence: Evidence, sensitivity: Sensitivity
) -> tuple[list[Reduction], bool]:
    """The first node that is off on its own inputs, without any documented exception.

    Returns:
        The node as a model, and whether there is none since all of them are right.
    """
    all_right = True
    for node in evidence.model.graph.node:
        name = next((o for o in node.output if o), "")
        alone = _node_alone(evidence, sensitivity, node, name)
        if alone is None:
            ours = evidence.values.get(name)
            all_right = all_right and isinstance(ours, np.ndarray) and not is_float(ours.dtype)
        elif alone[0].failed:
            report, piece_alone = alone
            found.value, found.node = name, describe_node(evidence.model, name)
            found.difference, found.inputs_agree = report, True
            found.reason += "; this node is the first that is off on its own inputs"
            _describe_origin(found, evidence.model, name)
            found.reduced_nodes = len(piece_alone.model.graph.node)
            return [piece_alone], False
    return [], all_right


def _node_alone(
    evidence: Evidence, sensitivity: Sensitivity, node: onnx.NodeProto, name: str
) -> tuple[OutputReport, Reduction] | None:
    ours = evidence.values.get(name)
    if not isinstance(ours, np.ndarray) or not is_float(ours.dtype):
        return None
    known = {*evidence.values, *(t.name for t in evidence.model.graph.initializer), ""}
    if not known.issuperset(node.input):
        return None
    starts = [value for value in evidence.values if value != name]
    part = piece(evidence.model, starts, name, evidence.values)
    feeds = {v.name: np.asarray(evidence.values[v.name]) for v in part.graph.input}
    exact = evaluate(part, feeds)
    if exact is None or np.shape(exact) != ours.shape:
        return None
    plain = replace(sensitivity.tolerances, exceptions=())
    alone = Sensitivity(part, plain, sensitivity.provider, sensitivity.seed)
    allowance = alone.strict(name, ours.dtype)
    if allowance is None:
        allowance = alone.measure(feeds, {name: ours}, [name])[name]
    want = np.asarray(exact).astype(ours.dtype)
    return compare(name, ours, want, allowance), _reduction(part, feeds, name, want)
