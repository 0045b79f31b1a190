"""Reads what converters write about a node: where in the source model it comes from."""

from __future__ import annotations

from typing import NamedTuple

import onnx

__all__ = ["Operation", "facts_of", "operation_of", "origin_of"]

_PREFIX = "yobx."
_OF_JAX = ("stablehlo.", "chlo.")


class Operation(NamedTuple):
    """One operation of the source, which a node came of.

    Attributes:
        kind: What it does: the type of a TensorFlow operation, the primitive of JAX.
        place: Which of them it is: its name in the graph, or its name stack.
    """

    kind: str
    place: str


def facts_of(node: onnx.NodeProto) -> dict[str, str]:
    """Reads what a converter or a pass says about a node.

    Args:
        node: Node of a converted model.

    Returns:
        Facts by key, such as ``op``, ``name``, ``layer`` and ``line``; empty for other nodes.
    """
    return {
        prop.key.removeprefix(_PREFIX): prop.value
        for prop in node.metadata_props
        if prop.key.startswith(_PREFIX)
    }


def operation_of(node: onnx.NodeProto) -> Operation | None:
    """The operation of the source that a node came of.

    JAX lowers a primitive to several operations of StableHLO; all have its name stack, which ends
    in the name of the primitive. Of primitives under one name stack, as in ``atanh(atanh(x))``, a
    converter says which is which where each is one operation.
    """
    facts = facts_of(node)
    op, layer, name = (facts.get(key, "") for key in ("op", "layer", "name"))
    if op.startswith(_OF_JAX):
        primitive, again = layer.rpartition("/")[2], facts.get("repeat", "")
        place = f"{layer}#{again}" if again else layer
        return Operation(primitive, place) if primitive else None
    return Operation(op, name) if op and name else None


def origin_of(node: onnx.NodeProto) -> tuple[str, ...]:
    """Name stack or layer, and operation, that a converter says a node came of."""
    facts = facts_of(node)
    found = tuple(facts.get(key, "") for key in ("layer", "op", "name"))
    return found if any(found) else ()
