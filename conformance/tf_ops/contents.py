"""What occurs in the graph of a case: op types, their dtypes and the values of their attributes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from conformance.tf_ops.attributes import Value, given_values
from conformance.tf_ops.cases import STATIC, Case
from conformance.tf_ops.declared import Pair, shown

__all__ = ["Content", "content_of", "traces"]


@dataclass(frozen=True)
class Content:
    """What occurs, by op type.

    Attributes:
        dtypes: Type attributes with their dtypes.
        values: Other attributes with their values.
    """

    dtypes: dict[str, set[Pair]]
    values: dict[str, set[Value]]

    def add(self, other: Content) -> None:
        """Take in what occurs elsewhere.

        Args:
            other: It.
        """
        for mine, more in ((self.dtypes, other.dtypes), (self.values, other.values)):
            for op_type, found in more.items():
                mine[op_type] |= found


def content_of(case: Case) -> Content:
    """Trace a case and read its graph.

    Args:
        case: The case.
    """
    found = Content(defaultdict(set), defaultdict(set))
    graph = _graph(case)
    for nodes in (graph.node, *(function.node_def for function in graph.library.function)):
        for op_type, pair in shown(nodes):
            found.dtypes[op_type] |= {pair} if pair is not None else set()
        for op_type, value in given_values(nodes):
            found.values[op_type].add(value)
    return found


def traces(case: Case) -> bool:
    """Tell whether a graph may hold a case: it is stricter than a call.

    Args:
        case: The case.
    """
    try:
        _graph(case)
    except (tf.errors.OpError, TypeError, ValueError):
        return False
    return True


def _graph(case: Case) -> Any:
    sizes = {**STATIC, **case.bindings[0]}
    specs = [
        tf.TensorSpec([sizes[d] if isinstance(d, str) else d for d in a.shape], a.dtype)
        for a in case.args
    ]
    traced = tf.function(case.function, autograph=case.autograph).get_concrete_function(*specs)
    return traced.graph.as_graph_def()
