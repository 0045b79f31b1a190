"""One block of an operand combined with an update, where a size of the block is symbolic.

``x.at[1:-1].set(v)`` is what is before the block, the update, and what is after: a ``Concat``. All
bounds are constants where the shape engine follows them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from yobx.onnx_optim import OptimDim
from yobx.stablehlo.dims import Dims, known_values
from yobx.stablehlo.op import Op
from yobx.stablehlo.spans import LAST, fits, span
from yobx.stablehlo.tensor import Tensor

__all__ = ["Block", "find_block", "updated"]

#: From the old elements of the block and its update to the new ones.
Combine = Callable[[str, str], str]


@dataclass(frozen=True)
class Block:
    """Where a block lies that fits.

    Attributes:
        axes: Axes along which it is shorter than the operand, with the bounds that ``Slice`` takes;
            the end is ``None`` where only the size of the update tells it.
        inserted: Axes of the operand that the update lacks.
    """

    axes: dict[int, tuple[int, int | None]]
    inserted: tuple[int, ...]


def find_block(op: Op) -> Block | None:
    """The block that a scatter with a single index changes.

    Args:
        op: A ``stablehlo.scatter``.

    Returns:
        The block if one of its sizes is symbolic and it lies within the operand for certain.
    """
    numbers = op.attr("scatter_dimension_numbers")
    if op.in_type(1).rank != 1 or numbers["index_vector_dim"] or numbers["input_batching_dims"]:
        return None
    inserted, mapped = numbers["inserted_window_dims"], numbers["scattered_dims_to_operand_dims"]
    sizes, updates, starts = op.dims(0), _sizes(op.inputs[2], op), op.flat_values(1)
    window = [i for i in range(len(sizes)) if i not in inserted]
    place = dict(zip(window, numbers["update_window_dims"], strict=True))
    axes: dict[int, tuple[int, int | None]] = {}
    is_symbolic = False
    for axis, size in enumerate(sizes):
        count = updates[place[axis]] if axis in place else OptimDim(1)
        start: OptimDim | None = OptimDim(0)
        if axis in mapped:
            start = None if starts is None else starts[mapped.index(axis)]
        if size is None or count is None or start is None or not fits(size, start, count):
            return None
        if size == count:
            continue
        found = span(size, start, count)
        if found is None and (inserted or not start.is_int()):
            return None
        axes[axis] = found if found is not None else (start.as_int(), None)
        is_symbolic = is_symbolic or not count.is_int()
    return Block(axes, tuple(inserted)) if is_symbolic else None


def _sizes(update: Tensor, op: Op) -> Dims:
    """Sizes of an update, which may be a repeated scalar still."""
    if update.is_full or update.shape is None:
        return op.dims(2)
    wanted = known_values(op.g, update.shape) or (None,) * update.type.rank
    return tuple(
        w if d is None else OptimDim(d) for d, w in zip(update.type.shape, wanted, strict=True)
    )


def updated(op: Op, block: Block, combine: Combine | None) -> str:
    """Emit the first operand with the block changed.

    Args:
        op: The scatter.
        block: Where its update goes.
        combine: What the new elements are; ``None`` for the update itself.

    Returns:
        The result.
    """
    g, update = op.g, op.inputs[2]
    is_scalar = not update.is_full and not g.get_rank(update.compact)
    if block.inserted and not is_scalar:
        name = str(g.op.Unsqueeze(op.x(2), np.array(block.inserted)))
        return _Change(op, name, True, combine).made(op.x(), list(block.axes.items()))
    change = _Change(op, update.compact, update.is_full and not block.inserted, combine)
    return change.made(op.x(), list(block.axes.items()))


@dataclass(frozen=True)
class _Change:
    """What becomes of a block.

    Attributes:
        op: The scatter.
        update: Update with all axes of the operand.
        is_full: Whether it has the size of the block; else it broadcasts to that.
        combine: What the new elements are; ``None`` for the update itself.
    """

    op: Op
    update: str
    is_full: bool
    combine: Combine | None

    def made(self, x: str, left: list[tuple[int, tuple[int, int | None]]]) -> str:
        """Emit ``x`` with the block changed, which is shorter along the axes that are left."""
        if not left:
            return self._elements(x)
        g = self.op.g
        (axis, bounds), *inner = left
        needs_old = bool(inner) or self.combine is not None or not self.is_full
        head, middle, tail = self._parts(x, axis, bounds, needs_old=needs_old)
        pieces = [piece for piece in (head, self.made(middle, inner), tail) if piece]
        if len(pieces) == 1:
            return pieces[0]
        # the sizes of the pieces are no sum that the engine sees through
        return g.declare(g.op.Concat(*pieces, axis=axis), shape=g.get_shape(x))

    def _elements(self, old: str) -> str:
        if self.combine is not None:
            return self.combine(old, self.update)
        if self.is_full:
            return self.update
        return str(self.op.emit.Expand(self.update, self.op.g.op.Shape(old)))

    def _parts(
        self, x: str, axis: int, bounds: tuple[int, int | None], *, needs_old: bool
    ) -> tuple[str, str, str]:
        """What is before the block, the block (``""`` unless it is needed), what is after it."""
        g, first = self.op.g, bounds[0]
        last: Any = bounds[1]

        def cut(source: str, start: Any, end: Any) -> str:
            pair = [np.array([b]) if isinstance(b, int) else b for b in (start, end)]
            return str(g.op.Slice(source, *pair, np.array([axis])))

        head = cut(x, 0, first) if first else ""
        if last is None:
            count = g.op.Shape(self.op.x(2), start=axis, end=axis + 1)
            last = g.op.Add(count, np.array([first])) if first else count
        elif first > 0 > last:  # of a short axis no element may be taken twice
            x, first = cut(x, first, LAST), 0
        middle = cut(x, first, last) if needs_old else ""
        return head, middle, "" if last == LAST else cut(x, last, LAST)
