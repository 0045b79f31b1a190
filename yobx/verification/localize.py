"""Finds the first value that differs, and says which side is wrong.

With values of the source that go by the name of an ONNX value, the first one that differs is found
in topological order, and the piece of the graph that leads to it from values that still agree is
computed in float64. Without such values every node is, on its own inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import onnx

from yobx.verification.boundary import Attempt
from yobx.verification.evidence import Reduction
from yobx.verification.findings import Localization, OutputReport
from yobx.verification.inner_comparison import (
    Evidence,
    compared_values,
    judge,
    source_values,
    turn_of,
)
from yobx.verification.inner_values import body_of, values_in_order
from yobx.verification.nodes_alone import without_values
from yobx.verification.own_inputs import unequal, what_follows
from yobx.verification.reference64 import evaluate, piece
from yobx.verification.sensitivity import Sensitivity
from yobx.verification.shape_proof import describe_node
from yobx.verification.sources import Origin, TracedSource
from yobx.verification.verdict64 import (
    BETWEEN,
    OTHER_FUNCTION,
    ROUNDS,
    as_reduction,
    describe_origin,
    rounds_alone,
    still_fails,
    verdict_of,
)
from yobx.verification.wide_functions import graph_is_off, source_is_off
from yobx.words import counted

__all__ = ["Located", "localize"]


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
    if found.verdict == "converter" and OTHER_FUNCTION in found.reason:
        why = source_is_off(evidence, output)
        if why:
            found.verdict = "source"
            found.reason = found.reason.replace(f" → {OTHER_FUNCTION}", f"; {why}")
    if found.verdict == "undecided" and BETWEEN in found.reason:
        why = graph_is_off(evidence, output)
        if why:
            found.verdict, found.reason = "converter", f"{found.reason}; {why}"
    if found.source_name and not found.user_line and isinstance(evidence.source, TracedSource):
        origin = Origin(found.value, found.source_name)
        with Attempt():  # a line is a help, not a finding
            found.user_line = evidence.source.user_line(origin, evidence.args, evidence.options)
    return Located(found, reduced[0] if reduced else None, compared)


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
        describe_origin(found, evidence.model, output)
        return {}
    everywhere = values_in_order(evidence.model)
    names = [name for name in everywhere if name in evidence.values or name in evidence.turns]
    theirs = source_values(evidence, names, found)
    compared = compared_values(evidence, sensitivity, names, theirs)
    found.compared = len([name for name in compared if name not in evidence.expected])
    differing, agreeing = _first_difference(compared, evidence, found)
    if differing is None:
        without_values(found, evidence, sensitivity, output, reduced)
    else:
        reduced += _describe(found, evidence, differing, agreeing, theirs)
    return compared


def _only_optimised(evidence: Evidence, sensitivity: Sensitivity, output: str) -> bool:
    """Whether the unoptimised model agrees with the source."""
    if output not in evidence.values or output not in evidence.expected:
        return False
    report = judge(evidence, sensitivity, output, evidence.expected[output])
    return not report.failed


def _first_difference(
    compared: Mapping[str, OutputReport], evidence: Evidence, found: Localization
) -> tuple[str | None, list[str]]:
    """The first value that differs, and those before it that agree.

    In a loop an earlier turn comes first: a value may be wrong because another one was wrong in
    the turn before.
    """
    agreeing: list[str] = []
    for name, report in compared.items():
        if report.within_rounding:
            agreeing.append(name)
            continue
        first = name
        if evidence.inner is not None and name in evidence.turns:
            bodies = evidence.inner.body
            beside = [n for n in compared if bodies.get(n) == bodies.get(name)]
            wrong = [n for n in beside if not compared[n].within_rounding]
            first = min(wrong, key=lambda n: turn_of(n, compared[n]))
            agreeing += [n for n in beside[: beside.index(first)] if n not in agreeing]
        found.difference = compared[first]
        return first, agreeing
    return None, agreeing


@dataclass(frozen=True)
class _View:
    """The graph around one value: the main graph, or the body it is in at one turn.

    Attributes:
        model: The nodes as the main graph of a model.
        given: Values that are taken as right, ours or the source's.
        agreeing: Those of them that both sides have.
        ours: The value in the converted model.
        theirs: The value in the source.
        own: The given values as the converted model has them.
    """

    model: onnx.ModelProto
    given: Mapping[str, Any]
    agreeing: frozenset[str]
    ours: Any
    theirs: Any
    own: Mapping[str, Any]


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
        own = {n: evidence.values[n] for n in given}
        ours = evidence.values[name]
        return _View(evidence.model, given, frozenset(given), ours, theirs[name], own)
    body, turn = body_of(evidence.model, name), turn_of(name, difference)
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
    given = {**feeds, **handed, **known}
    return _View(
        part,
        given,
        frozenset({*feeds, *known}),
        evidence.turns[name][turn],
        theirs[name][turn],
        {n: evidence.turns[n][turn] if n in beside else evidence.values[n] for n in known}
        | {**feeds, **handed},
    )


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
    describe_origin(found, view.model, name)
    initial = {t.name for t in view.model.graph.initializer}
    states = []
    for source in filter(None, node.input):
        known = "agrees" if source in view.agreeing | initial else "not comparable"
        states.append(f"%{source} {known}")
    found.inputs = states
    found.inputs_agree = all("not comparable" not in state for state in states) or None
    part = piece(view.model, list(view.given), name, view.given)
    feeds = {value.name: view.given[value.name] for value in part.graph.input}
    exact, own = evaluate(part, feeds), {n: view.own[n] for n in feeds}
    equal = not unequal(own, feeds)
    prefix = (
        f"the inputs of that node still agree{'' if equal else ' within rounding'}"
        if found.inputs_agree
        else f"from the last values that agree to this one: {counted(len(part.graph.node), 'node')}"
    )
    found.verdict, words = verdict_of(exact, view.ours, view.theirs, evidence.source.framework)
    if found.verdict == "runtime" and rounds_alone(part, feeds, view.ours, view.theirs):
        found.verdict, words = "converter", ROUNDS
    if found.verdict != "converter":
        followed = what_follows(part, own, feeds, view.ours, view.theirs)
        found.verdict, words = followed or (found.verdict, words)
    found.reason += f"{prefix}; {words}"
    found.reduced_nodes = still_fails(part, feeds, view.theirs, found)
    return [as_reduction(part, feeds, name, view.theirs)] if found.reduced_nodes else []
