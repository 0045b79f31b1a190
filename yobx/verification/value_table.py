"""Every value of a run as a table: what is stated of it, what came out, how far it is off."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from yobx.verification.called_functions import place_of
from yobx.verification.dtypes import dtype_name
from yobx.verification.provenance import facts_of

if TYPE_CHECKING:
    import onnx

    from yobx.verification.evidence import BindingRun, CheckResult

__all__ = ["value_table"]


def value_table(result: CheckResult, run: BindingRun) -> list[dict[str, Any]]:
    """Lists the values of one run in topological order.

    Args:
        result: The check.
        run: One of its runs.

    Returns:
        One row of JSON data a value. ``compared`` is ``agrees``, ``differs`` or ``no``; errors are
        those of the binding that was searched for the first difference.
    """
    if result.observed is None:
        return []
    stated = {statement.value: str(statement) for statement in result.statements}
    return [
        {
            "value": name,
            "node": place_of(node, index),
            "op_type": node.op_type,
            "stated": stated.get(name, ""),
            **_seen(run.values.get(name)),
            **_error(result, name),
            **_origin(node),
        }
        for index, node in enumerate(result.observed.graph.node)
        for name in filter(None, node.output)
    ]


def _seen(value: Any) -> dict[str, Any]:
    if not isinstance(value, (np.ndarray, np.generic)):
        return {"dtype": "", "shape": None}
    return {"dtype": dtype_name(value.dtype), "shape": list(np.shape(value))}


def _error(result: CheckResult, name: str) -> dict[str, Any]:
    report = result.compared.get(name)
    if report is None:
        return {"compared": "no"}
    errors = {"max_abs": report.max_abs, "max_rel": report.max_rel, "budget": report.budget_used}
    found = {key: value for key, value in errors.items() if value is not None}
    plain = {key: value if math.isfinite(value) else str(value) for key, value in found.items()}
    verdict = "differs" if report.failed else "agrees"
    return {"compared": verdict, "wrong": report.wrong, "elements": report.elements, **plain}


def _origin(node: onnx.NodeProto) -> dict[str, str]:
    facts = facts_of(node)
    names = {"source_op": "op", "source_name": "name", "layer": "layer"}
    return {name: facts[key] for name, key in names.items() if facts.get(key)}
