"""The log of what inference stated, in which order and where."""

from __future__ import annotations

import enum
from dataclasses import asdict, dataclass
from typing import Any

from yobx.onnx_optim.tensor_type import TensorType

__all__ = ["ShapeEvent", "ShapeEventAction"]

# ruff: noqa: N815 - names of the specification


class ShapeEventAction(enum.IntEnum):
    """What happened."""

    kAdd = 0
    kReplace = 1
    kComputeNode = 2
    kConstraint = 3
    kConstraintMax = 4

    @property
    def label(self) -> str:
        """Lower-case label, such as ``compute_node``."""
        return ("add", "replace", "compute_node", "constraint", "constraint_max")[self]


@dataclass(frozen=True, slots=True)
class ShapeEvent:
    """One entry of the log.

    Attributes:
        action: What happened.
        name: Value concerned, for ``add`` and ``replace``.
        data_type: Its element type.
        shape: Its dimensions as text; ``None`` for an unknown rank.
        op_domain: Domain of the node, ``ai.onnx`` for the default one.
        op_type: Operator of the node.
        inputs: Inputs of the node, or both sides of a constraint.
        node_index: Position of the node; -1 for a graph input, -2 for an initializer.
        subgraph_node_index: Position of the node that owns the subgraph, -1 in the main graph.
        subgraph_attr_name: Attribute that holds the subgraph, ``""`` in the main graph.
        path: All owners from the main graph down, as ``(node index, attribute)``.
        detail: More words: kind of value, contents, rung of the fallback ladder.
    """

    action: ShapeEventAction
    name: str = ""
    data_type: TensorType = TensorType.kUndefined
    shape: tuple[str, ...] | None = None
    op_domain: str = ""
    op_type: str = ""
    inputs: tuple[str, ...] = ()
    node_index: int = -1
    subgraph_node_index: int = -1
    subgraph_attr_name: str = ""
    path: tuple[tuple[int, str], ...] = ()
    detail: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Fields by name, the action as its label."""
        return asdict(self) | {"action": self.action.label, "data_type": self.data_type.name}
