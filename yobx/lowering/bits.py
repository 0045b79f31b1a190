"""Shifts and counts of bits for every integer width."""

from __future__ import annotations

import numpy as np

from yobx.onnx_optim import TensorType
from yobx.xbuilder import GraphBuilder

from .casts import cast
from .dtypes import is_signed, numpy_dtype
from .legalise import legal

__all__ = ["population_count", "reread", "shift_left", "shift_right"]

_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def _distance(g: GraphBuilder, y: str, width: int) -> str:
    """Return the shift distance clamped to ``width - 1``, as TensorFlow does; negatives to zero."""
    top = np.array(width - 1, numpy_dtype(g.get_type(y)))
    low = np.array(0, numpy_dtype(g.get_type(y)))
    return str(legal(g).Clip(y, low, top))


def shift_left(
    g: GraphBuilder, x: str, y: str, outputs: list[str] | None = None, name: str | None = None
) -> str:
    """Emit ``x << y`` on the bits of ``x``.

    Args:
        g: The builder.
        x: Integers of any width.
        y: By how many bits, integers of the dtype of `x` that broadcast with it.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        The bits, of the dtype of `x`; 0 where `y` is the width or more.
    """
    dtype = g.get_type(x)
    size = numpy_dtype(dtype).itemsize
    bits = _UNSIGNED[size]
    distance = cast(g, _distance(g, y, 8 * size), bits)
    moved = g.op.BitShift(cast(g, x, bits), distance, direction="LEFT", name=name)
    return cast(g, moved, dtype, outputs=outputs or [g.unique_name("shifted")])


def shift_right(
    g: GraphBuilder, x: str, y: str, outputs: list[str] | None = None, name: str | None = None
) -> str:
    """Emit ``x >> y``; a negative ``x`` is shifted as its complement, which brings ones in.

    Args:
        g: The builder.
        x: Integers of any width.
        y: By how many bits, integers of the dtype of `x` that broadcast with it.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        The bits, of the dtype of `x`.
    """
    dtype = g.get_type(x)
    size = numpy_dtype(dtype).itemsize
    bits = _UNSIGNED[size]
    distance = cast(g, _distance(g, y, 8 * size), bits)
    if not is_signed(dtype):
        return str(g.op.BitShift(x, distance, direction="RIGHT", outputs=outputs, name=name))
    negative = legal(g).Less(x, np.array(0, numpy_dtype(dtype)))
    plain = legal(g).Where(negative, g.op.BitwiseNot(x), x)
    moved = cast(g, g.op.BitShift(cast(g, plain, bits), distance, direction="RIGHT"), dtype)
    turned = g.op.BitwiseNot(moved)
    return str(legal(g).Where(negative, turned, moved, outputs=outputs, name=name))


def population_count(g: GraphBuilder, x: str) -> str:
    """Return the number of ones among the bits of ``x``, as int64.

    Args:
        g: The builder.
        x: Integers of any width.
    """
    bits = _UNSIGNED[numpy_dtype(g.get_type(x)).itemsize]
    value = cast(g, x, bits)
    width = 8 * np.dtype(bits).itemsize
    shifts = np.arange(width).astype(bits)
    wide = g.op.Unsqueeze(value, np.array([-1], np.int64))
    moved = g.op.BitShift(wide, shifts, direction="RIGHT")
    ones = g.op.BitwiseAnd(moved, np.array(1, bits))
    return str(g.op.ReduceSum(cast(g, ones, np.int64), np.array([-1], np.int64), keepdims=0))


def reread(g: GraphBuilder, x: str, dtype: TensorType, outputs: list[str] | None = None) -> str:
    """Return the bits of the integers ``x`` as another integer type, lowest bytes first.

    Args:
        g: The graph.
        x: Integers, `(...)` for the same or a narrower type, `(..., r)` for one `r` times as wide.
        dtype: Integer type of the result.
        outputs: Name to give.

    Returns:
        Name of the result: `(...)`, or `(..., r)` for a type a fraction as wide.
    """
    source, target = (numpy_dtype(t).itemsize for t in (g.get_type(x), dtype))
    low, high = _UNSIGNED[min(source, target)], _UNSIGNED[max(source, target)]
    value = cast(g, x, _UNSIGNED[source])
    ratio, width = max(source, target) // min(source, target), 8 * min(source, target)
    if source > target:
        wide = g.op.Unsqueeze(value, np.array([-1], np.int64))
        shifts = (np.arange(ratio) * width).astype(high)
        moved = g.op.BitShift(wide, shifts, direction="RIGHT")
        value = cast(g, g.op.BitwiseAnd(moved, np.array(2**width - 1, high)), low)
    elif source < target:
        value = cast(g, value, high)
        total = g.op.Gather(value, np.array(0, np.int64), axis=-1)
        for i in range(1, ratio):
            part = g.op.Gather(value, np.array(i, np.int64), axis=-1)
            moved = g.op.BitShift(part, np.array(i * width, high), direction="LEFT")
            total = g.op.BitwiseOr(total, moved)
        value = str(total)
    return cast(g, value, dtype, outputs=outputs)
