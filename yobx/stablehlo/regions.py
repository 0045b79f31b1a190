"""What small regions compute: the monoid of a reduction, the order of a sort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import ir

__all__ = ["SortKey", "arg_reduction", "is_identity", "monoid", "real_form", "sort_keys"]

#: Operation in the region -> the name of the monoid.
_MONOIDS = {
    "stablehlo.add": "add",
    "stablehlo.multiply": "mul",
    "stablehlo.maximum": "max",
    "stablehlo.minimum": "min",
    "stablehlo.and": "and",
    "stablehlo.or": "or",
    "stablehlo.xor": "xor",
}


def monoid(block: ir.Block) -> str | None:
    """Name of the operation that a region of two scalars applies.

    Args:
        block: Region of a ``reduce``, ``reduce_window`` or ``scatter``.

    Returns:
        ``add``, ``mul``, ``max``, ``min``, ``and``, ``or``, ``xor``, ``second`` for a region that
        returns its second argument, ``first``, or ``None`` for anything else.
    """
    if len(block.arguments) != 2 or len(block.outputs) != 1:
        return None
    first, second = block.arguments
    result = block.outputs[0]
    if result is second:
        return "second"
    if result is first:
        return "first"
    owner = result.owner
    if owner is None or set(owner.operands) != {first, second}:
        return None
    return _MONOIDS.get(owner.name)


def real_form(operation: ir.Operation) -> ir.Operation | None:
    """An operation whose region adds or replaces complex scalars, as it is for either part.

    Args:
        operation: A ``reduce``, ``reduce_window`` or ``scatter`` on complex tensors.

    Returns:
        The operation on one part, or ``None`` if the parts do not keep apart.
    """
    block = operation.regions[0]
    if monoid(block) not in ("add", "second", "first"):
        return None
    dtype = np.dtype(f"f{block.arguments[0].tensor.dtype.itemsize // 2}")
    kind = ir.TensorType((), dtype)
    arguments = [ir.Value(kind, None, i) for i in (0, 1)]
    step = ir.Operation("stablehlo.add", list(arguments))
    outputs = {
        "add": [step.add_result(kind)],
        "second": arguments[1:],
        "first": arguments[:1],
    }[monoid(block) or ""]
    end = ir.Operation("stablehlo.return", outputs)
    return ir.Operation(
        operation.name,
        operation.operands,
        operation.attributes,
        [ir.Block(arguments, [step, end]), *operation.regions[1:]],
        operation.location,
        operation.results,
    )


def is_identity(kind: str, dtype: np.dtype[Any], value: np.ndarray[Any, Any] | None) -> bool:
    """Whether a constant is the neutral element of a monoid."""
    if value is None or value.size != 1:
        return False
    item = value.ravel()[0]
    if kind in ("add", "xor", "or", "mul"):
        return bool(item == (kind == "mul"))
    if dtype == np.bool_:
        return bool(item) is (kind in ("min", "and"))
    if kind == "and":
        return bool(np.invert(item) == 0)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return int(item) == (limits.min if kind == "max" else limits.max)
    return bool(item == (-np.inf if kind == "max" else np.inf))


def arg_reduction(block: ir.Block) -> str | None:
    """``max`` or ``min`` for a region that keeps the better of two (value, index) pairs.

    The pair with the larger (smaller) value wins, NaN first, then the smaller index.
    """
    if len(block.arguments) != 4 or len(block.outputs) != 2:
        return None
    left, right = block.arguments[0], block.arguments[2]
    for place, output in enumerate(block.outputs):
        chosen = output.owner
        if chosen is None or chosen.name != "stablehlo.select":
            return None
        if list(chosen.operands[1:]) != block.arguments[place::2]:
            return None
    directions = {
        op.attributes["comparison_direction"]
        for op in block.operations
        if op.name == "stablehlo.compare" and list(op.operands) == [left, right]
    }
    if directions & {"GT", "GE"}:
        return "max"
    return "min" if directions & {"LT", "LE"} else None


@dataclass(frozen=True)
class SortKey:
    """One key of a lexicographic order.

    Attributes:
        operand: Which operand of the sort.
        descending: Whether larger elements come first.
        part: 1 for the imaginary part of a complex operand, else 0.
    """

    operand: int
    descending: bool
    part: int = 0


def sort_keys(block: ir.Block) -> tuple[SortKey, ...] | None:
    """Keys of the comparator of a sort, most significant first; ``None`` for anything else."""
    return _keys_of(block.outputs[0], block.arguments)


def _keys_of(value: ir.Value, arguments: Sequence[ir.Value]) -> tuple[SortKey, ...] | None:
    op = value.owner
    if op is None:
        return None
    if op.name == "stablehlo.compare":
        key = _compared(op, arguments, ("LT", "LE", "GT", "GE"))
        return None if key is None else (key,)
    if op.name == "stablehlo.or":
        return _lexicographic(op, arguments)
    if op.name == "stablehlo.select":
        return _selected(op, arguments)
    return None


def _compared(
    op: ir.Operation, arguments: Sequence[ir.Value], directions: Sequence[str]
) -> SortKey | None:
    direction = op.attributes["comparison_direction"]
    left, right = (_root(v, arguments) for v in op.operands)
    if direction not in directions or left is None or right is None:
        return None
    (one, part), (other, other_part) = left, right
    if one // 2 != other // 2 or part != other_part or one == other:
        return None
    forward = one % 2 == 0
    return SortKey(one // 2, (direction in ("GT", "GE")) == forward, part)


def _root(value: ir.Value, arguments: Sequence[ir.Value]) -> tuple[int, int] | None:
    """The only argument that a key comes from, zeros and NaN made equal, and its part."""
    found: set[tuple[int, int]] = set()
    seen: set[ir.Value] = set()
    open_values = [value]
    while open_values:
        current = open_values.pop()
        if current in seen:
            continue
        seen.add(current)
        source = current.owner
        if current in arguments:
            found.add((list(arguments).index(current), 0))
        elif source is not None and source.name in _PARTS and source.operands[0] in arguments:
            found.add((list(arguments).index(source.operands[0]), _PARTS.index(source.name)))
        elif current.owner is not None:
            if current.owner.name not in _CANONICAL:
                return None
            open_values.extend(current.owner.operands)
    return found.pop() if len(found) == 1 else None


_PARTS = ("stablehlo.real", "stablehlo.imag")
_CANONICAL = frozenset(
    ("stablehlo.select", "stablehlo.compare", "stablehlo.constant", "stablehlo.convert")
)


def _lexicographic(op: ir.Operation, arguments: Sequence[ir.Value]) -> tuple[SortKey, ...] | None:
    """``a < b or (a == b and rest)``, in any order of the operands."""
    for first, second in (op.operands, op.operands[::-1]):
        head = _keys_of(first, arguments)
        both = second.owner
        if head is None or len(head) != 1 or both is None or both.name != "stablehlo.and":
            continue
        for equal, rest in (both.operands, both.operands[::-1]):
            if _is_equality(equal, head[0], arguments):
                tail = _keys_of(rest, arguments)
                if tail is not None:
                    return (*head, *tail)
    return None


def _selected(op: ir.Operation, arguments: Sequence[ir.Value]) -> tuple[SortKey, ...] | None:
    """``select(a == b, rest, a < b)``."""
    head = _keys_of(op.operands[2], arguments)
    tail = _keys_of(op.operands[1], arguments)
    if head is None or len(head) != 1 or tail is None:
        return None
    return (*head, *tail) if _is_equality(op.operands[0], head[0], arguments) else None


def _is_equality(value: ir.Value, key: SortKey, arguments: Sequence[ir.Value]) -> bool:
    op = value.owner
    if op is None or op.name != "stablehlo.compare":
        return False
    found = _compared(op, arguments, ("EQ",))
    return found is not None and (found.operand, found.part) == (key.operand, key.part)
