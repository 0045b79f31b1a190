"""Sums, means and products of integers that wrap around, exactly.

onnxruntime reduces integers in float64: its results saturate, and lose units above 2**53.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .casts import cast
from .dtypes import DTYPES, numpy_dtype
from .legalise import legal
from .looping import repeated
from .shapes import dims, rank

__all__ = ["integer_mean", "integer_product", "integer_sum"]

#: Bits of a float64's mantissa.
_EXACT = 53
#: Bits of the number of elements where it is open: more than a tensor of a process has.
_MANY = 31
#: Elements up to which a product is written without a loop.
_FEW = 8
_ZERO, _ONE = np.array([0], np.int64), np.array([1], np.int64)


def integer_sum(
    g: GraphBuilder,
    x: str,
    axes: Any,
    *,
    keepdims: bool,
    bits: int | None = None,
    outputs: list[str] | None = None,
    name: str | None = None,
) -> str:
    """Emit the sum over axes, modulo the width of the type.

    The values are summed in pieces of so few bits that no sum of a piece reaches 2**53.

    Args:
        g: The graph.
        x: Integers.
        axes: Constant axes, or the name of an int64 vector; none is no reduction.
        keepdims: Whether reduced axes stay with size 1.
        bits: Bits that the values have, if they are known to be fewer than the type's.
        outputs: Name to give.
        name: Node name.

    Returns:
        Name of the result.
    """
    dtype = g.get_type(x)
    rest = cast(g, x, np.int64)
    options: dict[str, Any] = {"keepdims": int(keepdims), "noop_with_empty_axes": 1, "name": name}
    count = _count(g, x, axes)
    room = _EXACT - (_MANY if count is None else count.bit_length())
    width = bits or 8 * numpy_dtype(dtype).itemsize
    sums = []
    while width > room:
        unit = np.array(1 << room, np.int64)
        whole = g.op.Div(rest, unit)
        sums.append(g.op.ReduceSum(g.op.Sub(rest, g.op.Mul(whole, unit)), axes, **options))
        rest, width = whole, width - room
    if not sums and dtype == DTYPES["int64"]:
        return str(g.op.ReduceSum(rest, axes, outputs=outputs, **options))
    total = g.op.ReduceSum(rest, axes, **options)
    while sums:
        moved = g.op.Mul(total, np.array(1 << room, np.int64))
        last = not sums[1:] and dtype == DTYPES["int64"]
        total = g.op.Add(moved, sums.pop(), outputs=outputs if last else None)
    return str(total) if dtype == DTYPES["int64"] else cast(g, total, dtype, outputs=outputs)


def _count(g: GraphBuilder, x: str, axes: Any) -> int | None:
    """Return the number of elements that are reduced to one, ``None`` if it is open."""
    known = dims(g, x)
    if known is None or not isinstance(axes, np.ndarray):
        return None
    sizes = [known[int(axis)] for axis in axes.ravel()]
    fixed = [size for size in sizes if size is not None]
    return int(np.prod(fixed)) if len(fixed) == len(sizes) else None


def integer_mean(
    g: GraphBuilder, x: str, axes: Any, *, keepdims: bool, outputs: list[str] | None = None
) -> str:
    """Emit the sum in 64 bits divided by the count and truncated; of nothing, zero.

    Args:
        g: The builder.
        x: Integers of any width.
        axes: The axes that are summed over.
        keepdims: Whether they stay, of size 1.
        outputs: Name of the result.

    Returns:
        Integers of the dtype of `x`.
    """
    dtype = g.get_type(x)
    if dtype != DTYPES["uint64"]:
        x = cast(g, x, np.int64)
    bits = 8 * numpy_dtype(dtype).itemsize
    total = integer_sum(g, x, axes, keepdims=keepdims, bits=bits)
    count = g.op.ReduceProd(g.op.Gather(g.op.Shape(x), axes), keepdims=0)
    if not _count(g, x, axes):  # A division by zero would end the process.
        count = g.op.Max(count, np.array(1, np.int64))
    mean = legal(g).Div(total, cast(g, count, g.get_type(x)))
    return cast(g, mean, dtype, outputs=outputs)


def integer_product(
    g: GraphBuilder, x: str, axes: Any, *, keepdims: bool, outputs: list[str] | None = None
) -> str:
    """Emit the product over axes, modulo the width of the type.

    Args:
        g: The graph.
        x: Integers.
        axes: Constant axes, or the name of an int64 vector; none is no reduction.
        keepdims: Whether reduced axes stay with size 1.
        outputs: Name to give.

    Returns:
        Name of the result.
    """
    if g.get_value(x) is not None:  # Sizes: their product is one.
        options: dict[str, Any] = {"keepdims": int(keepdims), "noop_with_empty_axes": 1}
        return str(legal(g).ReduceProd(x, axes, outputs=outputs, **options))
    dtype = g.get_type(x)
    value = x if dtype == DTYPES["int32"] else cast(g, x, np.int64)
    if isinstance(axes, np.ndarray):
        n = rank(g, x)
        for axis in sorted({int(axis) % n for axis in axes.ravel()}):
            value = _product_along(g, value, axis)
    else:
        value = _product_along_some(g, value, axes)
    if not keepdims and (isinstance(axes, str) or axes.size):
        value = str(g.op.Squeeze(value, axes))
    return cast(g, value, dtype, outputs=outputs)


def _product_along(g: GraphBuilder, x: str, axis: int) -> str:
    """Return the product along one axis, which stays with size 1."""
    sizes: Sequence[int | None] = dims(g, x) or ()
    size = sizes[axis]
    if size == 1:
        return x
    if size and size <= _FEW:
        parts = g.op.Split(x, np.ones(size, np.int64), axis=axis, outputs=size)
        total = parts[0]
        for part in parts[1:]:
            total = g.op.Mul(total, part)
        return str(total)
    return _halved(g, x if size else _with_ones(g, x, axis, _ONE), axis, 63)


def _product_along_some(g: GraphBuilder, x: str, axes: str) -> str:
    """Return the product along the axes a vector names, which stay with size 1."""
    n = rank(g, x)
    from_front = g.op.Mod(axes, np.array(n, np.int64))
    for axis in range(n):
        here = g.op.Equal(from_front, np.array(axis, np.int64))
        times = g.op.ReduceMax(g.op.Concat(cast(g, here, np.int64), _ZERO, axis=0), keepdims=1)
        x = _with_ones(g, x, axis, times)
        turns = g.op.Squeeze(g.op.Mul(times, np.array([63], np.int64)), _ZERO)
        x = _halved(g, x, axis, turns)
    return x


def _with_ones(g: GraphBuilder, x: str, axis: int, count: Any) -> str:
    """Append ones along an axis."""
    n = rank(g, x)
    before, after = np.zeros(n + axis, np.int64), np.zeros(n - 1 - axis, np.int64)
    pads = g.op.Concat(before, count, after, axis=0)
    return str(g.op.Pad(x, pads, np.array(1, numpy_dtype(g.get_type(x)))))


def _halved(g: GraphBuilder, x: str, axis: int, turns: int | str) -> str:
    """Multiply the second half of an axis to the first until one element is left."""
    where = np.array([axis], np.int64)

    def step(body: GraphBuilder, turn: str, states: list[str]) -> tuple[Sequence[str], str]:
        size = body.op.Shape(states[0], start=axis, end=axis + 1)
        half = body.op.Div(body.op.Add(size, _ONE), np.array([2], np.int64))
        left = body.op.Slice(states[0], _ZERO, half, where)
        right = body.op.Slice(states[0], half, np.array([np.iinfo(np.int64).max]), where)
        missing = body.op.Sub(body.op.Add(half, half), size)
        both = body.op.Mul(left, _with_ones(body, right, axis, missing))
        return (str(both),), str(body.op.Squeeze(body.op.Greater(half, _ONE), _ZERO))

    open_shape: list[Any] = list(g.get_shape(x).dims())
    open_shape[axis] = None
    (product,) = repeated(g, turns, (x,), step, shapes=(open_shape,))
    if isinstance(turns, str):
        return product
    return str(g.op.Slice(product, _ZERO, _ONE, where))
