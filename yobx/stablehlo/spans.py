"""Slices whose bounds are known as expressions of the size that they cut.

``x[1:-1]`` of a symbolic size arrives as a start and a number of elements that are computed. Where
the shape engine follows the computation, the slice is one of constants again, which ONNX counts
from either end.
"""

from __future__ import annotations

import numpy as np

from yobx.onnx_optim import OptimDim
from yobx.onnx_optim.optim_dim import of_terms

__all__ = [
    "FIRST",
    "LAST",
    "fits",
    "is_not_negative",
    "is_positive",
    "moved_span",
    "same_size",
    "span",
    "strided",
]

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
    first = _front(size, start)
    if first is not None:
        return _from_front(first, size - start, count)
    return _from_back(size, start, count)


def _front(size: OptimDim, start: OptimDim) -> int | None:
    """The number of the first element counted from the front, or that and the end of the axis."""
    first = _when_large(start)
    is_one = first is not None and first >= 0 and start in (first, OptimDim.min(size, first))
    return first if is_one else None


def _from_front(start: int, rest: OptimDim, count: OptimDim) -> tuple[int, int] | None:
    if count.is_int():
        return start, start + count.as_int()
    left = _when_large(rest - count)  # elements that stay behind the block
    if left is not None and left >= 0:
        whole = rest - left
        if same_size(count, whole) or same_size(count, OptimDim.max(whole, 0)):
            return start, -left if left else LAST
    most = _when_large(count)
    if (
        most is not None
        and most >= 0
        and same_size(count, OptimDim.min(OptimDim.max(rest, 0), most))
    ):
        return start, start + most
    return None


def _from_back(size: OptimDim, start: OptimDim, count: OptimDim) -> tuple[int, int] | None:
    behind = _when_large(size - start)
    if behind is None or behind <= 0:
        return None
    exact = same_size(start, size - behind)
    if same_size(start + count, size) and (
        exact or same_size(start, OptimDim.max(size - behind, 0))
    ):
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
        Two constants if the positions are all there are from the first one on, or all before one
        that is at a known distance from the end; ``None`` if not.
    """
    first = _front(size, start)
    if step > 0 and first is not None:
        left = _left_behind(size - start, step, count)
        return None if left is None else (first, -left if left else LAST)
    behind = _when_large(size - start)
    if step >= 0 or behind is None or behind <= 0 or not same_size(start, size - behind):
        return None
    return (-behind, FIRST) if same_size(count, (start + 1).ceil_div(-step)) else None


def _left_behind(rest: OptimDim, step: int, count: OptimDim) -> int | None:
    """How many elements at the end no position may take."""
    sizes = [dict.fromkeys(rest.symbols() | count.symbols(), _LARGE + i) for i in range(step)]
    left = max(rest.evaluate(at) - step * count.evaluate(at) for at in sizes)
    if not 0 <= left < _LARGE // 2:
        return None
    number = (rest - left).ceil_div(step)
    is_it = same_size(count, number) or same_size(count, OptimDim.max(number, 0))
    return left if is_it else None


def moved_span(size: OptimDim, start: OptimDim, count: OptimDim) -> tuple[int, int] | None:
    """Start and end as ``Slice`` takes them, for a block that is moved until it fits.

    Args:
        size: Size of the axis.
        start: Where the block is asked for.
        count: Number of elements, at most ``size``.

    Returns:
        Two constants, or ``None``.
    """
    if fits(size, start, count):
        return span(size, start, count)
    high = start.bounds()[1]
    if high is not None and high <= 0:
        return span(size, OptimDim(0), count)
    room = size - count
    return span(size, room, count) if same_size(start, room) else None


def fits(size: OptimDim, start: OptimDim, count: OptimDim) -> bool:
    """Whether a block lies within its axis, or has no elements, for all symbols from 1 on."""
    room = size - count
    left = None if _front(size, start) is None else _when_large(room - start)
    if left is not None and left >= 0 and same_size(count, OptimDim.max(size - start - left, 0)):
        return True
    return is_not_negative(start) and is_not_negative(room - start)


def _shifted(dim: OptimDim) -> OptimDim:
    """A size with all symbols one less than they are: JAX knows no dynamic size of 0."""
    return dim.substitute({symbol: OptimDim(symbol) + 1 for symbol in dim.symbols()})


def same_size(a: OptimDim, b: OptimDim) -> bool:
    """Whether two expressions are the same for all symbols from 1 on."""
    return a == b or _shifted(a) == _shifted(b)


def is_positive(dim: OptimDim) -> bool:
    """Whether an expression is 1 or more for all symbols from 1 on."""
    return is_not_negative(dim - 1)


def is_not_negative(dim: OptimDim) -> bool:
    """Whether an expression is 0 or more for all symbols from 1 on."""
    return any(
        low is not None and low >= 0
        for low in (_shifted(form).bounds()[0] for form in (dim, _distributed(dim)))
    )


def _distributed(dim: OptimDim) -> OptimDim:
    """``n - min(n, 3)`` as ``max(0, n - 3)``, which has the bounds that one expects."""
    for mono, factor in dim.terms:
        if len(mono) == 1 and mono[0].kind in ("max", "min") and factor in (1, -1):
            rest = dim - of_terms(((mono, factor),))
            moved = [rest + factor * of_terms(arg) for arg in mono[0].args]
            is_max = (mono[0].kind == "max") == (factor == 1)
            return OptimDim.max(*moved) if is_max else OptimDim.min(*moved)
    return dim


def _when_large(dim: OptimDim) -> int | None:
    """Its value for large sizes, when that is small."""
    value = dim.evaluate(dict.fromkeys(dim.symbols(), _LARGE))
    return value if abs(value) < _LARGE // 2 else None
