"""Slices whose bounds are known as expressions of the size that they cut.

``x[1:-1]`` of a symbolic size arrives as a start and a number of elements that are computed. Where
the shape engine follows the computation, the slice is one of constants again, which ONNX counts
from either end.
"""

from __future__ import annotations

import numpy as np

from yobx.onnx_optim import OptimDim

__all__ = ["FIRST", "LAST", "moved_span", "span", "strided"]

#: What ``Slice`` takes for the end of an axis, and for the place before its start.
LAST = int(np.iinfo(np.int64).max)
FIRST = int(np.iinfo(np.int64).min)
# A size at which an expression shows what it is for all large ones.
_LARGE = 10**6


def span(size: OptimDim, start: OptimDim, count: OptimDim) -> tuple[int, int] | None:
    """Start and end as ``Slice`` takes them, for a block that lies within its axis.

    Args:
        size: Size of the axis.
        start: First element.
        count: Number of elements.

    Returns:
        Two constants, for all values of the symbols from 1 on; ``None`` if there are none.
    """
    if start.is_int() and start.as_int() >= 0:
        return _from_front(size, start.as_int(), count)
    return _from_back(size, start, count)


def _from_front(size: OptimDim, start: int, count: OptimDim) -> tuple[int, int] | None:
    if count.is_int():
        return start, start + count.as_int()
    rest = size - start
    left = _when_large(rest - count)  # elements that stay behind the block
    if left is not None and left >= 0:
        whole = rest - left
        if _same(count, whole) or _same(count, OptimDim.max(whole, 0)):
            return start, -left if left else LAST
    most = _when_large(count)
    if most is not None and most >= 0 and _same(count, OptimDim.min(OptimDim.max(rest, 0), most)):
        return start, start + most
    return None


def _from_back(size: OptimDim, start: OptimDim, count: OptimDim) -> tuple[int, int] | None:
    behind = _when_large(size - start)
    if behind is None or behind <= 0:
        return None
    exact = _same(start, size - behind)
    if _same(start + count, size) and (exact or _same(start, OptimDim.max(size - behind, 0))):
        return -behind, LAST
    if exact and count.is_int() and count.as_int() < behind:
        return -behind, count.as_int() - behind
    return None


def strided(size: OptimDim, start: OptimDim, step: int, count: OptimDim) -> tuple[int, int] | None:
    """Start and end of the positions ``start, start + step, ...`` as ``Slice`` takes them.

    Args:
        size: Size of the axis.
        start: First position.
        step: Distance of the next, negative to go towards the front.
        count: Number of positions.

    Returns:
        Two constants if the positions are all there are from the first one on; ``None`` if not.
    """
    if step > 0 and start.is_int() and start.as_int() >= 0:
        is_all = _same(count, (size - start).ceil_div(step))
        return (start.as_int(), LAST) if is_all else None
    behind = _when_large(size - start)
    if step >= 0 or behind is None or behind <= 0 or not _same(start, size - behind):
        return None
    return (-behind, FIRST) if _same(count, (start + 1).ceil_div(-step)) else None


def moved_span(size: OptimDim, start: OptimDim, count: OptimDim) -> tuple[int, int] | None:
    """Start and end as ``Slice`` takes them, for a block that is moved until it fits.

    Args:
        size: Size of the axis.
        start: Where the block is asked for.
        count: Number of elements, at most ``size``.

    Returns:
        Two constants, or ``None``.
    """
    room = size - count
    left = _when_large(room - start) if start.is_int() and start.as_int() >= 0 else None
    if left is not None and left >= 0 and _same(count, OptimDim.max(size - start - left, 0)):
        return span(size, start, count)  # it fits, or has no elements
    high = start.bounds()[1]
    if high is not None and high <= 0:
        return span(size, OptimDim(0), count)
    if _same(start, room):
        return span(size, room, count)
    fits = _not_negative(start) and _not_negative(room - start)
    return span(size, start, count) if fits else None


def _shifted(dim: OptimDim) -> OptimDim:
    """A size with all symbols one less than they are: JAX knows no dynamic size of 0."""
    return dim.substitute({symbol: OptimDim(symbol) + 1 for symbol in dim.symbols()})


def _same(a: OptimDim, b: OptimDim) -> bool:
    return a == b or _shifted(a) == _shifted(b)


def _not_negative(dim: OptimDim) -> bool:
    low = _shifted(dim).bounds()[0]
    return low is not None and low >= 0


def _when_large(dim: OptimDim) -> int | None:
    """Its value for large sizes, when that is small."""
    value = dim.evaluate(dict.fromkeys(dim.symbols(), _LARGE))
    return value if abs(value) < _LARGE // 2 else None
