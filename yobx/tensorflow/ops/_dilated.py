"""Dilated convolutions that TensorFlow writes as plain ones of every d-th position.

The positions of a block become batch entries, are convolved, and go back: ``SpaceToBatchND``, a
convolution without padding, ``BatchToSpaceND``. What is padded in front of it and not cropped after
it is the padding of the dilated convolution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.tensorflow.ops._convolution import WEIGHT_FORMAT, convolution
from yobx.tensorflow.ops._op import attr, constant, data_format, int_list, rank
from yobx.xbuilder import GraphBuilder

__all__ = ["dilated_convolution"]

_CONVOLUTIONS = ("Conv2D", "Conv3D", "DepthwiseConv2dNative")


@dataclass(frozen=True)
class _Found:
    """The three operations; the axis that the convolution alone has, ``None`` for none."""

    before: Any
    convolution: Any
    axis: int | None


def dilated_convolution(
    g: GraphBuilder, op: Any, blocks: Sequence[int], outputs: list[str]
) -> str | None:
    """Emit one convolution for three operations.

    Args:
        g: The graph.
        op: ``BatchToSpaceND``, the last of them.
        blocks: Its block sizes.
        outputs: Names to write.

    Returns:
        Name of the result; ``None`` if the operation ends no such group.
    """
    found = _match(g, op)
    if found is None or not _same(constant(g, found.before, 1), blocks):
        return None
    n = len(int_list(found.convolution, "strides")) - 2
    axes = [a for a in range(1, n + 1) if a != found.axis]  # spatial ones that may be in blocks
    pads = _pads(g, found.before, op, len(blocks)) if len(blocks) <= len(axes) else None
    if pads is None:
        return None
    dilations, pairs = [1] * n, [(0, 0)] * n
    for axis, block, pair in zip(axes, blocks, pads, strict=False):
        dilations[axis - 1], pairs[axis - 1] = block, pair
    x: str = found.before.inputs[0].name
    names: list[str] | None = outputs
    added = np.array([found.axis or 0], np.int64)
    if found.axis is not None:
        x, names = g.op.Unsqueeze(x, added), None
    result = convolution(g, found.convolution, x, names, dilations=dilations, pads=pairs)
    if found.axis is None:
        return result
    return str(g.op.Squeeze(result, added, outputs=outputs[:1]))


def _match(g: GraphBuilder, op: Any) -> _Found | None:
    result, axis = op.inputs[0].op, None
    if result.type == "Squeeze":
        axes = int_list(result, "squeeze_dims")
        result = result.inputs[0].op
        if len(axes) != 1 or not _is_plain(result):
            return None
        axis = axes[0] % rank(g, result, 0)
    if not _is_plain(result):
        return None
    before = result.inputs[0].op
    if axis is not None:
        added = constant(g, before, 1) if before.type == "ExpandDims" else None
        if not axis or added is None or int(added) % rank(g, result, 0) != axis:
            return None  # without a batch axis of its own the blocks are along other axes
        before = before.inputs[0].op
    return _Found(before, result, axis) if before.type == "SpaceToBatchND" else None


def _is_plain(op: Any) -> bool:
    """Whether an operation is a convolution at every position, without padding."""
    if op.type not in _CONVOLUTIONS or str(attr(op, "padding")) != "VALID":
        return False
    strides = int_list(op, "strides")
    last, _ = data_format(op, WEIGHT_FORMAT[len(strides) - 2])
    dilations = attr(op, "dilations", [1] * len(strides))
    return last and {*strides, *dilations} == {1}


def _same(value: Any, blocks: Sequence[int]) -> bool:
    return value is not None and list(value) == list(blocks)


def _pads(g: GraphBuilder, before: Any, after: Any, count: int) -> list[tuple[int, int]] | None:
    """Return the paddings of ``before`` less the crops of ``after``, if they are known."""
    paddings, crops = (shapes.vector(g, each.inputs[2].name) for each in (before, after))
    rest = g.get_value(g.op.Sub(paddings, crops))
    if rest is None or len(rest) != 2 * count:
        return None
    known = [r.as_int() for r in rest if r is not None and r.is_int()]
    if len(known) != len(rest) or min(known) < 0:
        return None
    return list(zip(known[::2], known[1::2], strict=True))
