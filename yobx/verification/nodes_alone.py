"""Looks for the side that is off without values of the source.

The whole graph in float64 tells which side is wrong; each node in float64, on its own inputs,
separates the run time from the converter.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx

from yobx.verification.comparison import compare
from yobx.verification.dtypes import is_float
from yobx.verification.evidence import Reduction
from yobx.verification.findings import Localization, OutputReport
from yobx.verification.inner_comparison import Evidence
from yobx.verification.reference64 import evaluate, piece
from yobx.verification.sensitivity import Sensitivity
from yobx.verification.shape_proof import describe_node
from yobx.verification.verdict64 import (
    ROUNDS,
    as_reduction,
    describe_origin,
    rounds_alone,
    verdict_of,
)
from yobx.verification.wide_functions import MOST_NODES

__all__ = ["without_values"]

_UNSTABLE = (
    "the same nodes, computed in float64, agree with the source, and every node is right on its "
    "own inputs → the converted graph loses in its own precision what the source keeps"
)


def without_values(
    found: Localization,
    evidence: Evidence,
    sensitivity: Sensitivity,
    output: str,
    reduced: list[Reduction],
) -> None:
    """Evaluates the whole graph in float64: whom it agrees with is right.

    Args:
        found: What comes out is written there.
        evidence: The failing run.
        sensitivity: Allowances of the model.
        output: Name of a wrong output.
        reduced: The node that is off, as a model, is added to it.
    """
    model = evidence.model
    found.value, found.node = output, describe_node(model, output)
    describe_origin(found, model, output)
    if found.compared:
        found.reason += "every intermediate value that could be compared agrees; "
    count = len(model.graph.node)
    if count > MOST_NODES:
        found.reason += f"{count} nodes are too many to evaluate in float64"
        return
    found.method = found.method or "the whole graph in float64"
    whole = piece(model, list(evidence.feeds), output, evidence.feeds)
    exact = evaluate(whole, evidence.feeds)
    ours, theirs = evidence.values.get(output), evidence.expected[output]
    if exact is None or np.shape(exact) != np.shape(theirs):
        found.reason += "the graph cannot be computed in float64"
        return
    found.verdict, words = verdict_of(exact, ours, theirs, evidence.source.framework)
    if found.verdict == "runtime" and rounds_alone(whole, evidence.feeds, ours, theirs):
        found.verdict, words = "converter", ROUNDS
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
            describe_origin(found, evidence.model, name)
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
    return compare(name, ours, want, allowance), as_reduction(part, feeds, name, want)
