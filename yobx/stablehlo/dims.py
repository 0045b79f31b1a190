"""Questions about sizes, asked of the shape engine, and shape vectors made of the answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from yobx.lowering.casts import to_int64
from yobx.lowering.shapes import shape_of
from yobx.onnx_optim import OptimDim
from yobx.xbuilder import GraphBuilder

__all__ = ["Dims", "dims_of", "known_values", "reshape_to", "shape_vector", "size_scalar", "vector"]

Dims = tuple[OptimDim | None, ...]


def dims_of(g: GraphBuilder, name: str) -> Dims:
    """Dimensions of a value; ``None`` never occurs when its rank is known."""
    shape = g.get_shape(name)
    return tuple(shape.dims()) if shape.has_rank() else ()


def known_values(g: GraphBuilder, name: str) -> Dims | None:
    """Elements of a small integer vector, ``None`` for those the engine does not know."""
    constant = g.get_constant(name)
    if constant is not None:
        return tuple(OptimDim(int(v)) for v in constant.ravel())
    value = g.get_value(name)
    return None if value is None else tuple(value)


def vector(g: GraphBuilder, name: str) -> Any:
    """An int64 vector for an ONNX input: an array when every element is known, else a name."""
    values = known_values(g, name)
    if values is not None and all(v is not None and v.is_int() for v in values):
        return np.array([v.as_int() for v in values if v is not None], dtype=np.int64)
    return to_int64(g, name)


def shape_vector(g: GraphBuilder, name: str, lineage: Sequence[GraphBuilder] = ()) -> Any:
    """An int64 shape for an ONNX input, with as few nodes as the known elements allow.

    JAX computes shapes size by size, in int32. Sizes that inputs have are read of these at once.

    Args:
        g: Builder.
        name: Integer vector.
        lineage: ``g`` and the builders around it.

    Returns:
        An array when every element is known, else a name.
    """
    values = known_values(g, name)
    if values is None or all(v is not None and v.is_int() for v in values):
        return vector(g, name)
    parts = _read_sizes(g, values, lineage or (g,))
    if parts is None:
        return to_int64(g, name)
    return parts[0] if len(parts) == 1 else g.op.Concat(*_joined_numbers(parts), axis=0)


def size_scalar(g: GraphBuilder, size: OptimDim | None, lineage: Sequence[GraphBuilder]) -> Any:
    """One size as an int64 scalar for an ONNX input, ``None`` if no input has it."""
    if size is not None and size.is_int():
        return np.array(size.as_int())
    parts = _read_sizes(g, (size,), lineage)
    return None if parts is None else g.op.Squeeze(parts[0], np.array([0]))


def _read_sizes(g: GraphBuilder, values: Dims, lineage: Sequence[GraphBuilder]) -> list[Any] | None:
    """Arrays and ``Shape`` of inputs which are the sizes when they are joined."""
    sources = [(x, dims_of(b, x)) for b in lineage for x in b.input_names]
    plan: list[tuple[int, int, str] | int] = []
    at = 0
    while at < len(values):
        value = values[at]
        if value is not None and value.is_int():
            plan.append(value.as_int())
            at += 1
            continue
        found = max((_run(values[at:], x, sizes) for x, sizes in sources), default=None)
        if found is None or not found[0]:
            return None
        plan.append(found)
        at += found[0]
    parts: list[Any] = []
    for piece in plan:
        if isinstance(piece, int):
            parts.append(np.array([piece]))
            continue
        count, start, source = piece[0], -piece[1], piece[2]
        is_rest = start + count == len(dims_of(g, source))
        parts.append(shape_of(g, source, start, None if is_rest else start + count))
    return parts


def _run(values: Dims, source: str, sizes: Dims) -> tuple[int, int, str]:
    """How many sizes from the first one on a value has in this order, and minus where."""
    best = (0, 0)
    for start in range(len(sizes)):
        count = 0
        for value, size in zip(values, sizes[start:], strict=False):
            if value is None or value != size:
                break
            count += 1
        best = max(best, (count, -start))
    return (*best, source)


def _joined_numbers(parts: Sequence[Any]) -> list[Any]:
    """Neighbouring constants made one."""
    joined: list[Any] = []
    for part in parts:
        if joined and not isinstance(part, str) and not isinstance(joined[-1], str):
            joined[-1] = np.concatenate([joined[-1], part])
        else:
            joined.append(part)
    return joined


def reshape_to(g: GraphBuilder, x: str, dims: Sequence[OptimDim | int | None], shape: Any) -> str:
    """Emit a ``Reshape`` with as little shape arithmetic as the known sizes allow.

    Args:
        g: Builder.
        x: Value to reshape.
        dims: Sizes of the result as far as they are known.
        shape: Name of the integer vector with the result's shape, for sizes not known.

    Returns:
        The reshaped value.
    """
    target = [None if d is None else OptimDim(d) for d in dims]
    source = dims_of(g, x)
    if len(source) == len(target) and all(a == b for a, b in zip(source, target, strict=True)):
        return x
    plan = _reshape_plan(source, target)
    if plan is None:
        return str(g.op.Reshape(x, shape_vector(g, shape), allowzero=1))
    # with allowzero=0 a 0 copies the size of the input at the same position
    allow = int(any(t is not None and t.is_int() and t.as_int() == 0 for t in target))
    return str(g.op.Reshape(x, np.array(plan, dtype=np.int64), allowzero=allow))


def _reshape_plan(source: Dims, target: Sequence[OptimDim | None]) -> list[int] | None:
    fixed = [t.as_int() if t is not None and t.is_int() else None for t in target]
    open_axes = [i for i, size in enumerate(fixed) if size is None]
    has_zero = any(size == 0 for size in fixed)
    if not open_axes:
        return [size for size in fixed if size is not None]
    if has_zero:
        return None
    copied = [i for i in open_axes if i < len(source) and source[i] == target[i] is not None]
    left = [i for i in open_axes if i not in copied]
    if len(left) > 1:
        return None
    # a lone open axis is better inferred than copied: it reads as -1
    if not left and len(copied) == 1:
        copied, left = [], copied
    return [
        0 if i in copied else -1 if i in left else int(size or 0) for i, size in enumerate(fixed)
    ]
