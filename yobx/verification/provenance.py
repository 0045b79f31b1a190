"""Reads what converters write about a node: where in the source model it comes from."""

from __future__ import annotations

import onnx

__all__ = ["facts_of"]

_PREFIX = "yobx."


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
