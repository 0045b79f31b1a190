"""Counter-based generators of random bits, as XLA has them: ThreeFry-2x32 and Philox-4x32.

Everything is uint32; a state is one or two uint64 counters. Element ``i`` of a result depends on
the counter and ``i`` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .casts import cast
from .legalise import legal
from .looping import counted

__all__ = ["philox_bits", "threefry_bits"]

_ROTATIONS = np.array([[13, 15, 26, 6], [17, 29, 16, 24]], np.uint32)
_PARITY = np.array([0x1BD11BDA], np.uint32)
_MULTIPLIERS = np.array(0xD2511F53, np.int64), np.array(0xCD9E8D57, np.int64)
_KEY_STEPS = np.array(0x9E3779B9, np.int64), np.array(0xBB67AE85, np.int64)
_MASK = np.array(2**32 - 1, np.uint64)
_ROUNDS = 10


def _halves(g: GraphBuilder, x: str) -> list[str]:
    """Low and high 32 bits of uint64."""
    high = g.op.BitShift(x, np.array(32, np.uint64), direction="RIGHT")
    return [cast(g, g.op.BitwiseAnd(x, _MASK), np.uint32), cast(g, high, np.uint32)]


def _whole(g: GraphBuilder, low: str, high: str) -> str:
    """The inverse of :func:`_halves`."""
    up = g.op.BitShift(cast(g, high, np.uint64), np.array(32, np.uint64), direction="LEFT")
    return str(g.op.BitwiseOr(up, cast(g, low, np.uint64)))


def _element(g: GraphBuilder, x: str, index: int) -> str:
    """One element of a vector, as a vector."""
    return str(g.op.Slice(x, np.array([index]), np.array([index + 1])))


def _threefry(g: GraphBuilder, key: str, x: Sequence[str]) -> list[str]:
    """Twenty rounds, five times four; ``key`` is a uint64 vector of one element."""
    add = legal(g).Add
    k0, k1 = _halves(g, key)
    k2 = g.op.BitwiseXor(g.op.BitwiseXor(k0, k1), _PARITY)
    first = g.op.Concat(k1, k2, k0, k1, k2, axis=0)
    second = add(g.op.Concat(k2, k0, k1, k2, k0, axis=0), np.arange(1, 6, dtype=np.uint32))

    def turn(b: GraphBuilder, i: str, states: list[str]) -> tuple[list[str], list[str]]:
        x0, x1 = states
        turns = b.op.Gather(_ROTATIONS, b.op.Mod(i, np.array(2)), axis=0)
        for place in range(4):
            left = b.op.Gather(turns, np.array(place), axis=0)
            right = legal(b).Sub(np.array(32, np.uint32), left)
            x0 = legal(b).Add(x0, x1)
            moved = b.op.BitShift(x1, left, direction="LEFT")
            moved = b.op.BitwiseOr(moved, b.op.BitShift(x1, right, direction="RIGHT"))
            x1 = b.op.BitwiseXor(moved, x0)
        x0 = legal(b).Add(x0, b.op.Gather(first, i, axis=0))
        return [x0, legal(b).Add(x1, b.op.Gather(second, i, axis=0))], []

    return list(counted(g, 5, [str(add(x[0], k0)), str(add(x[1], k1))], turn))


def _philox(g: GraphBuilder, key: str, x: Sequence[str]) -> list[str]:
    """Ten rounds; ``key`` is a uint64 vector of one element."""
    turns = np.arange(_ROUNDS)
    keys = [
        cast(g, g.op.Add(cast(g, half, np.int64), turns * step), np.uint32)
        for half, step in zip(_halves(g, key), _KEY_STEPS, strict=True)
    ]

    def product(b: GraphBuilder, a: str, factor: np.ndarray[Any, Any]) -> list[str]:
        return _halves(b, cast(b, b.op.Mul(cast(b, a, np.int64), factor), np.uint64))

    def turn(b: GraphBuilder, i: str, states: list[str]) -> tuple[list[str], list[str]]:
        low0, high0 = product(b, states[0], _MULTIPLIERS[0])
        low1, high1 = product(b, states[2], _MULTIPLIERS[1])
        k0, k1 = (b.op.Gather(k, i, axis=0) for k in keys)
        a = b.op.BitwiseXor(b.op.BitwiseXor(high1, states[1]), k0)
        c = b.op.BitwiseXor(b.op.BitwiseXor(high0, states[3]), k1)
        return [a, low1, c, low0], []

    return list(counted(g, _ROUNDS, list(x), turn))


def _counters(g: GraphBuilder, start: str, count: int) -> str:
    return str(legal(g).Add(start, np.arange(count, dtype=np.uint64)))


def _cut(g: GraphBuilder, x: str, count: int) -> str:
    return str(g.op.Slice(x, np.array([0]), np.array([count])))


def threefry_bits(g: GraphBuilder, state: str, shape: Sequence[int], width: int) -> tuple[str, str]:
    """Emit random integers, and the state that follows.

    Args:
        g: The graph.
        state: Key and counter, `(2,)` of uint64.
        shape: Shape of the result.
        width: 32 or 64.

    Returns:
        The next state, and unsigned integers of that width.
    """
    key, start = _element(g, state, 0), _element(g, state, 1)
    size = prod(shape)
    if width == 64:
        used = size
        both = _threefry(g, key, _halves(g, _counters(g, start, size)))
        bits = str(g.op.Reshape(_whole(g, *both), np.array(shape, np.int64)))
    elif not shape:
        used = 1
        both = _threefry(g, key, _halves(g, start))
        bits = str(g.op.Squeeze(both[0]))
    else:
        bits, used = _paired(g, key, start, shape)
    following = legal(g).Add(start, np.array(used, np.uint64))
    return str(g.op.Concat(key, following, axis=0)), bits


def _paired(g: GraphBuilder, key: str, start: str, shape: Sequence[int]) -> tuple[str, int]:
    """Both halves of each result are neighbours along the first even axis, else the longest."""
    even = [axis for axis, size in enumerate(shape) if size % 2 == 0]
    axis = even[0] if even else int(np.argmax(shape))
    half = [*shape[:axis], -(-shape[axis] // 2), 1, *shape[axis + 1 :]]
    used = prod(half)
    both = _threefry(g, key, _halves(g, _counters(g, start, used)))
    parts = [g.op.Reshape(part, np.array(half)) for part in both]
    joined = g.op.Concat(*parts, axis=axis + 1)
    full = [*shape[:axis], 2 * half[axis], *shape[axis + 1 :]]
    bits = g.op.Reshape(joined, np.array(full))
    if full[axis] != shape[axis]:
        bits = g.op.Slice(bits, np.array([0]), np.array([shape[axis]]), np.array([axis]))
    return str(bits), used


def philox_bits(g: GraphBuilder, state: str, shape: Sequence[int], width: int) -> tuple[str, str]:
    """Emit random integers, and the state that follows.

    Args:
        g: The graph.
        state: Key, counter and perhaps the upper half of the counter, `(2,)` or `(3,)` of uint64.
        shape: Shape of the result.
        width: 32 or 64.

    Returns:
        The next state, and unsigned integers of that width.
    """
    key, start = _element(g, state, 0), _element(g, state, 1)
    length = g.get_shape(state).dims()[0].as_int()
    # of a state of two, the key is the upper half of the counter as well
    upper = _element(g, state, 2) if length > 2 else key
    size = prod(shape)
    used = -(-size // (128 // width))
    low = _counters(g, start, used)
    carry = cast(g, legal(g).Less(low, start), np.uint64)
    high = str(legal(g).Add(carry, upper))
    done = _philox(g, key, [*_halves(g, low), *_halves(g, high)])
    if width == 64:
        done = [_whole(g, done[0], done[1]), _whole(g, done[2], done[3])]
    columns = [g.op.Unsqueeze(part, np.array([1])) for part in done]
    flat = str(g.op.Reshape(g.op.Concat(*columns, axis=1), np.array([-1])))
    bits = g.op.Reshape(_cut(g, flat, size), np.array(shape, np.int64))
    following = legal(g).Add(start, np.array(used, np.uint64))
    pieces = [key, following]
    if length > 2:
        overflow = cast(g, legal(g).Less(following, start), np.uint64)
        pieces.append(legal(g).Add(upper, overflow))
    return str(g.op.Concat(*pieces, axis=0)), str(bits)
