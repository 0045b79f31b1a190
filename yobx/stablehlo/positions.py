"""Positions that are counted: ``start + step * iota``, as JAX writes ``x[start::step]``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .ir import BROADCASTS, Operation, Value

__all__ = ["Positions", "counted_along", "counted_positions", "index_column", "repeated"]

_IOTAS = ("stablehlo.iota", "stablehlo.dynamic_iota")


@dataclass(frozen=True)
class Positions:
    """A vector of positions.

    Attributes:
        start: Integer scalar, ``None`` for 0.
        step: Distance from one position to the next.
        backwards: Whether the last of them comes first.
    """

    start: Value | None = None
    step: int = 1
    backwards: bool = False


def counted_positions(value: Value) -> Positions | None:
    """Start and step of a vector, or of a matrix with one column, that counts; else ``None``."""
    owner = value.owner
    if owner is None:
        return None
    if owner.name in _IOTAS:
        return Positions() if value.tensor.rank == 1 else None
    if _adds_a_column(owner):
        return counted_positions(owner.operands[0])
    read = _READERS.get(owner.name)
    return None if read is None else read(owner)


def counted_along(value: Value) -> tuple[Positions, int] | None:
    """Positions that count along one axis of a value and are repeated along the others."""
    owner, rank = value.owner, value.tensor.rank
    if owner is not None and owner.name in BROADCASTS and owner.operands[0].tensor.rank == 1:
        (axis,) = owner.attributes["broadcast_dimensions"]
        size, own = value.tensor.shape[axis], owner.operands[0].tensor.shape[0]
        found = counted_positions(owner.operands[0]) if own != 1 or size == 1 else None
        return None if found is None else (found, int(axis))
    found = counted_positions(value) if rank <= 2 else None
    return None if found is None else (found, 0)


def index_column(indices: Value, component: int, count: int, axis: int) -> Value | None:
    """One component of all index vectors, where these are columns that are joined.

    Args:
        indices: Operand of a gather or scatter.
        component: Which one.
        count: How many there are.
        axis: Axis of the index vectors.

    Returns:
        A value of which the size along the axis is 1.
    """
    if count == 1:
        return indices
    joined = indices.owner
    if joined is None or joined.name != "stablehlo.concatenate":
        return None
    is_split = joined.attributes["dimension"] == axis and all(
        v.tensor.shape[axis] == 1 for v in joined.operands
    )
    return joined.operands[component] if is_split else None


def _added(owner: Operation) -> Positions | None:
    return _moved(*owner.operands) or _moved(*reversed(owner.operands))


def _multiplied(owner: Operation) -> Positions | None:
    return _stretched(*owner.operands) or _stretched(*reversed(owner.operands))


def _reversed(owner: Operation) -> Positions | None:
    found = counted_positions(owner.operands[0]) if owner.results[0].tensor.rank == 1 else None
    return None if found is None else replace(found, backwards=not found.backwards)


def _adds_a_column(owner: Operation) -> bool:
    kind = owner.results[0].tensor
    if owner.name not in (*BROADCASTS, "stablehlo.reshape") or kind.rank != 2:
        return False
    spread = owner.name == "stablehlo.reshape" or list(
        owner.attributes["broadcast_dimensions"]
    ) == [0]
    return spread and kind.shape[1] == 1 and owner.operands[0].tensor.rank == 1


def _moved(start: Value, rest: Value) -> Positions | None:
    scalar, found = repeated(start), counted_positions(rest)
    if scalar is None or found is None or found.start is not None or found.backwards:
        return None
    return replace(found, start=scalar)


def _stretched(step: Value, rest: Value) -> Positions | None:
    scalar, found = repeated(step), counted_positions(rest)
    made = None if scalar is None else scalar.owner
    if made is None or made.name != "stablehlo.constant" or found is None or found != Positions():
        return None
    return Positions(step=int(np.asarray(made.attributes["value"])))


def repeated(value: Value) -> Value | None:
    """The scalar that a value repeats."""
    owner = value.owner
    if owner is None or owner.name not in BROADCASTS or owner.operands[0].tensor.rank:
        return None
    return owner.operands[0]


_READERS: dict[str, Callable[[Operation], Positions | None]] = {
    "stablehlo.add": _added,
    "stablehlo.multiply": _multiplied,
    "stablehlo.reverse": _reversed,
}
