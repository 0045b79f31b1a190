"""``g.op.<OpType>(...)``: one method for every operator there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

__all__ = ["MakeNode", "OpFactory"]


class MakeNode(Protocol):
    """What makes the node in the end: ``GraphBuilder.make_node``."""

    def __call__(
        self,
        op_type: str,
        inputs: Sequence[Any],
        outputs: Sequence[str] | int | str | None = None,
        *,
        name: str | None = None,
        domain: str = "",
        **attributes: Any,
    ) -> Any: ...


class OpCall:
    """One operator, ready to be called."""

    __slots__ = ("_make_node", "_op_type")

    def __init__(self, make_node: MakeNode, op_type: str) -> None:
        self._make_node = make_node
        self._op_type = op_type

    def __call__(
        self,
        *inputs: Any,
        outputs: Sequence[str] | int | str | None = None,
        name: str | None = None,
        domain: str = "",
        **attributes: Any,
    ) -> Any:
        """Adds a node.

        Args:
            *inputs: Value names, arrays, numbers, lists of numbers, ``None`` for an omitted one.
            outputs: Names of the outputs, how many, or ``None`` for the usual number.
            name: Node name; a unique one is made from it.
            domain: Operator domain.
            **attributes: Attributes; also inputs that are named parameters, such as ``axes``.

        Returns:
            The output name, or a tuple of names when there are several.
        """
        return self._make_node(
            self._op_type, inputs, outputs, name=name, domain=domain, **attributes
        )


class OpFactory:
    """Makes ``g.op.Relu(...)`` out of ``g.make_node("Relu", ...)``."""

    __slots__ = ("_cache", "_make_node")

    def __init__(self, make_node: MakeNode) -> None:
        self._make_node = make_node
        self._cache: dict[str, OpCall] = {}

    def __getattr__(self, op_type: str) -> OpCall:
        if op_type.startswith("_"):
            raise AttributeError(op_type)
        call = self._cache.get(op_type)
        if call is None:
            call = self._cache[op_type] = OpCall(self._make_node, op_type)
        return call
