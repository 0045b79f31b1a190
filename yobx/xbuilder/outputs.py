"""Giving values their output names."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import onnx

__all__ = ["expose_outputs"]


def expose_outputs(
    outputs: Iterable[tuple[str, str]], unique_node_name: Callable[[str], str]
) -> list[onnx.NodeProto]:
    """Makes the Identity nodes that give values their output names.

    Args:
        outputs: Pairs (output name, value that it exposes).
        unique_node_name: Makes node names.

    Returns:
        One node for each output whose name is not that of the value.
    """
    return [
        onnx.NodeProto(
            op_type="Identity", name=unique_node_name("output"), input=[source], output=[name]
        )
        for name, source in outputs
        if name != source
    ]
