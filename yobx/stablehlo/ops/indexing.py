"""Index tensors that gather and scatter share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from yobx.lowering.casts import to_int64
from yobx.stablehlo.dims import dims_of
from yobx.stablehlo.op import Op
from yobx.xbuilder import GraphBuilder

from .slicing import stacked

__all__ = ["Plan", "inverse", "last_starts", "start_vectors", "window_index"]


@dataclass(frozen=True)
class Plan:
    """How windows lie in the operand.

    Attributes:
        index_map: Operand axis of each component of an index vector.
        batching: Pairs (operand axis, index batch axis) that run together.
        sizes: Window size along each mapped axis, in the order of ``index_map``.
        kept: For each mapped axis, whether it stays as an axis of the window.
    """

    index_map: tuple[int, ...]
    batching: tuple[tuple[int, int], ...]
    sizes: tuple[int, ...]
    kept: tuple[bool, ...]

    @property
    def indexed(self) -> tuple[int, ...]:
        """Operand axes that the index tensor addresses, in its column order."""
        return (*(axis for axis, _ in self.batching), *self.index_map)

    def rest(self, rank: int) -> tuple[int, ...]:
        """Operand axes that are taken whole."""
        return tuple(i for i in range(rank) if i not in self.indexed)


def inverse(permutation: list[int] | tuple[int, ...]) -> list[int]:
    """The permutation that undoes another."""
    result = [0] * len(permutation)
    for position, axis in enumerate(permutation):
        result[axis] = position
    return result


def start_vectors(op: Op, operand: int, vector_dim: int) -> Any:
    """Index operand as int64 with the index vector on the last axis: an array or a name."""
    g, kind = op.g, op.in_type(operand)
    name = op.x(operand)
    constant = g.get_constant(name)
    if constant is not None:
        array = np.asarray(constant).astype(np.int64)
        return array[..., None] if vector_dim == kind.rank else np.moveaxis(array, vector_dim, -1)
    name = to_int64(g, name)
    if vector_dim == kind.rank:
        return g.op.Unsqueeze(name, np.array([kind.rank]))
    if vector_dim != kind.rank - 1:
        order = [i for i in range(kind.rank) if i != vector_dim] + [vector_dim]
        name = g.op.Transpose(name, perm=order)
    return name


def window_index(op: Op, starts: Any, plan: Plan, batch_rank: int) -> Any:
    """Index tensor `(batch..., kept windows..., columns)` for ``GatherND`` and ``ScatterND``.

    Args:
        op: Operation.
        starts: Start vectors `(batch..., len(index_map))`.
        plan: The windows.
        batch_rank: Number of batch axes.

    Returns:
        An array or a name.
    """
    g = op.g
    windows = [i for i, kept in enumerate(plan.kept) if kept]
    rank = batch_rank + len(windows) + 1
    plain = not plan.batching and all(plan.sizes[i] == 1 for i in windows)
    if plain:
        return _unsqueezed(g, starts, batch_rank, len(windows))
    columns: list[Any] = []
    for _, batch_axis in plan.batching:
        shape = [1] * rank
        shape[batch_axis] = -1
        columns.append(_row(g, _size(g, starts, batch_axis), shape))
    for component, size in enumerate(plan.sizes):
        column = _component(g, starts, component)
        column = _unsqueezed(g, column, batch_rank, len(windows))
        if component in windows and size > 1:
            shape = [1] * rank
            shape[batch_rank + windows.index(component)] = size
            column = _added(g, column, np.arange(size).reshape(shape))
        columns.append(column)
    return stacked(g, columns)


def _size(g: GraphBuilder, starts: Any, axis: int) -> Any:
    if isinstance(starts, np.ndarray):
        return starts.shape[axis]
    size = dims_of(g, starts)[axis]
    if size is not None and size.is_int():
        return size.as_int()
    return g.op.Squeeze(g.op.Shape(starts, start=axis, end=axis + 1), np.array([0]))


def _row(g: GraphBuilder, size: Any, shape: list[int]) -> Any:
    if isinstance(size, int):
        return np.arange(size).reshape(shape)
    return g.op.Reshape(g.op.Range(np.array(0), size, np.array(1)), np.array(shape))


def _component(g: GraphBuilder, starts: Any, component: int) -> Any:
    if isinstance(starts, np.ndarray):
        return starts[..., component : component + 1]
    if dims_of(g, starts)[-1] == 1:
        return starts
    one = np.array([component])
    return g.op.Slice(starts, one, one + 1, np.array([-1]))


def _unsqueezed(g: GraphBuilder, column: Any, batch_rank: int, count: int) -> Any:
    if not count:
        return column
    axes = np.arange(batch_rank, batch_rank + count)
    if isinstance(column, np.ndarray):
        return np.expand_dims(column, tuple(int(a) for a in axes))
    return g.op.Unsqueeze(column, axes)


def _added(g: GraphBuilder, column: Any, row: np.ndarray[Any, Any]) -> Any:
    return column + row if isinstance(column, np.ndarray) else g.op.Add(column, row)


def last_starts(op: Op, plan: Plan) -> Any:
    """Largest start per mapped axis at which the window still fits: an int64 array or a name."""
    g, sizes = op.g, op.dims(0)
    picked = [sizes[a] for a in plan.index_map]
    if all(d is not None and d.is_int() for d in picked):
        return np.array([d.as_int() for d in picked if d is not None]) - np.array(plan.sizes)
    shape = g.op.Gather(g.op.Shape(op.x()), np.array(plan.index_map))
    return g.op.Sub(shape, np.array(plan.sizes))
