"""Reductions over axes, with TensorFlow's results for empty axes, NaN and narrow integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .casts import cast
from .dtypes import DTYPES, extreme, is_float, numpy_dtype
from .integer_reduce import integer_mean, integer_product, integer_sum
from .legalise import legal
from .shapes import dims

__all__ = ["reduce", "reduce_logical"]

Axes = Any
"""Constant axes as an int64 array, or the name of an int64 vector."""


def reduce(
    g: GraphBuilder,
    kind: str,
    x: str,
    axes: Axes,
    *,
    keepdims: bool,
    bits: int | None = None,
    outputs: list[str] | None = None,
    name: str | None = None,
) -> str:
    """Emit ``Reduce<kind>`` over ``axes``; no axes means no reduction.

    Args:
        g: The graph.
        kind: ``Sum``, ``Mean``, ``Max``, ``Min``, ``Prod``.
        x: The tensor.
        axes: Which axes.
        keepdims: Whether reduced axes stay with size 1.
        bits: Bits that summed integers have, if they are known to be fewer than their type's.
        outputs: Names to give.
        name: Node name.

    Returns:
        Name of the result.
    """
    floats = is_float(g.get_type(x))
    if not floats and kind in ("Sum", "Mean", "Prod"):
        return _integers(g, kind, x, axes, keepdims=keepdims, bits=bits, outputs=outputs, name=name)
    emit = getattr(legal(g), f"Reduce{kind}")
    options: dict[str, Any] = {"keepdims": int(keepdims), "noop_with_empty_axes": 1}
    if kind == "Mean":
        empty = _is_empty(g, x, axes, keepdims=keepdims)
        if empty is None:
            return str(emit(x, axes, outputs=outputs, name=name, **options))
        # The mean of nothing is NaN; onnxruntime says zero.
        nan = np.array(np.nan, numpy_dtype(g.get_type(x)))
        mean = emit(x, axes, name=name, **options)
        return str(legal(g).Where(empty, nan, mean, outputs=outputs))
    if kind in ("Sum", "Prod"):
        return str(emit(x, axes, outputs=outputs, name=name, **options))
    if _may_be_empty(g, x, axes):
        x = _with_identity(g, kind, x, axes)
    if not floats:
        return _integer_extreme(g, kind, x, axes, options=options, outputs=outputs, name=name)
    # onnxruntime's extremes skip NaN, frameworks give NaN.
    result = emit(x, axes, name=name, **options)
    marks = cast(g, legal(g).IsNaN(x), np.float32)
    any_nan = g.op.Greater(g.op.ReduceMax(marks, axes, **options), np.float32(0))
    nan = np.array(np.nan, numpy_dtype(g.get_type(x)))
    return str(legal(g).Where(any_nan, nan, result, outputs=outputs))


def _integers(
    g: GraphBuilder,
    kind: str,
    x: str,
    axes: Axes,
    *,
    keepdims: bool,
    bits: int | None,
    outputs: list[str] | None,
    name: str | None,
) -> str:
    """Emit what onnxruntime computes in floating point."""
    if kind == "Sum":
        return integer_sum(g, x, axes, keepdims=keepdims, bits=bits, outputs=outputs, name=name)
    emit = integer_mean if kind == "Mean" else integer_product
    return emit(g, x, axes, keepdims=keepdims, outputs=outputs)


def _integer_extreme(
    g: GraphBuilder,
    kind: str,
    x: str,
    axes: Axes,
    *,
    options: dict[str, Any],
    outputs: list[str] | None,
    name: str | None,
) -> str:
    """Emit an extreme of integers; of none, the limit of their own type."""
    dtype = g.get_type(x)
    if int(dtype) not in (DTYPES["int8"], DTYPES["int16"]):
        emit = getattr(legal(g), f"Reduce{kind}")
        return str(emit(x, axes, outputs=outputs, name=name, **options))
    wide = getattr(g.op, f"Reduce{kind}")(cast(g, x, np.int32), axes, name=name, **options)
    limit = extreme(dtype, largest=kind == "Min").astype(np.int32)
    return cast(g, getattr(g.op, kind)(wide, limit), dtype, outputs=outputs)


def _is_empty(g: GraphBuilder, x: str, axes: Axes, *, keepdims: bool) -> str | None:
    """Return whether a reduced axis has no elements, as what broadcasts; ``None`` if none can."""
    known = dims(g, x)
    if known is None or not isinstance(axes, np.ndarray):
        picked = g.op.Gather(g.op.Shape(x), axes)
        return str(g.op.Equal(g.op.ReduceProd(picked, keepdims=0), np.array(0, np.int64)))
    reduced = sorted({int(axis) % len(known) for axis in axes.ravel()} if known else ())
    if any(known[axis] == 0 for axis in reduced):
        return g.make_initializer(None, np.array(True))
    free = [axis for axis in reduced if known[axis] is None]
    if not free:
        return None
    if free == list(range(free[0], free[-1] + 1)):
        sizes = g.op.Shape(x, start=free[0], end=free[-1] + 1)
    else:
        sizes = g.op.Gather(g.op.Shape(x), np.array(free, np.int64))
    if len(free) > 1 or (len(reduced) == len(known) and not keepdims):
        sizes = g.op.ReduceProd(sizes, keepdims=0)
    return str(g.op.Equal(sizes, np.array(0, np.int64)))


def _may_be_empty(g: GraphBuilder, x: str, axes: Axes) -> bool:
    """Tell whether a reduced axis is known to have no elements."""
    known = dims(g, x)
    if known is None or not isinstance(axes, np.ndarray):
        return False
    return any(known[int(a)] == 0 for a in axes.ravel())


def _with_identity(g: GraphBuilder, kind: str, x: str, axes: Axes) -> str:
    """Append one element that never wins along each reduced axis."""
    fill = extreme(g.get_type(x), largest=kind == "Min")
    rank = g.get_rank(x) or 0
    pads = np.zeros(2 * rank, np.int64)
    for axis in np.ravel(axes):
        pads[rank + int(axis) % rank] = 1
    return str(legal(g).Pad(x, pads, fill))


def reduce_logical(
    g: GraphBuilder,
    x: str,
    axes: Axes,
    *,
    every: bool,
    keepdims: bool,
    outputs: list[str] | None = None,
    name: str | None = None,
) -> str:
    """Emit "all" or "any" of booleans; of no elements, true and false.

    Args:
        g: The builder.
        x: Booleans of any shape.
        axes: The axes that are reduced.
        every: Whether "all" is meant.
        keepdims: Whether they stay, of size 1.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        Booleans.
    """
    number = cast(g, x, np.int32)
    if every:
        number = g.op.Sub(np.array(1, np.int32), number)
    total = g.op.ReduceSum(number, axes, keepdims=int(keepdims), noop_with_empty_axes=1, name=name)
    if every:
        return str(g.op.Equal(total, np.array(0, np.int32), outputs=outputs))
    return str(g.op.Cast(total, to=DTYPES["bool"], outputs=outputs))
