"""Reductions over axes, with TensorFlow's results for empty axes, NaN and narrow integers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .casts import cast
from .dtypes import DTYPES, extreme, is_float, numpy_dtype
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
        outputs: Names to give.
        name: Node name.

    Returns:
        Name of the result.
    """
    if kind == "Mean" and not is_float(g.get_type(x)):
        return _integer_mean(g, x, axes, keepdims, outputs)
    if kind in ("Max", "Min") and _may_be_empty(g, x, axes):
        x = _with_identity(g, kind, x, axes)
    emit = getattr(legal(g), f"Reduce{kind}")
    options: dict[str, Any] = {"keepdims": int(keepdims), "noop_with_empty_axes": 1}
    if kind == "Sum" and not is_float(g.get_type(x)):
        return _integer_sum(g, x, partial(_sum, g, axes=axes, name=name, **options), outputs)
    if kind == "Mean" and _reduces_open_batch(g, x, axes):
        # The mean of nothing is NaN; onnxruntime says zero.
        count = g.op.ReduceProd(g.op.Gather(g.op.Shape(x), axes), keepdims=0)
        none = g.op.Equal(count, np.array(0, np.int64))
        nan = np.array(np.nan, numpy_dtype(g.get_type(x)))
        mean = emit(x, axes, name=name, **options)
        return str(legal(g).Where(none, nan, mean, outputs=outputs))
    if kind not in ("Max", "Min") or not is_float(g.get_type(x)):
        return str(emit(x, axes, outputs=outputs, name=name, **options))
    # onnxruntime's extremes skip NaN, frameworks give NaN.
    result = emit(x, axes, name=name, **options)
    marks = cast(g, legal(g).IsNaN(x), np.float32)
    any_nan = g.op.Greater(g.op.ReduceMax(marks, axes, **options), np.float32(0))
    nan = np.array(np.nan, numpy_dtype(g.get_type(x)))
    return str(legal(g).Where(any_nan, nan, result, outputs=outputs))


def _reduces_open_batch(g: GraphBuilder, x: str, axes: Axes) -> bool:
    """Tell whether the first axis is reduced and may have no elements.

    Other axes are places or time steps, of which there are some.
    """
    known = dims(g, x)
    if known is None:
        return True
    if not known or known[0] is not None:
        return False
    return not isinstance(axes, np.ndarray) or any(int(a) % len(known) == 0 for a in axes.ravel())


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


def _sum(g: GraphBuilder, x: str, *, axes: Axes, **options: Any) -> str:
    return str(g.op.ReduceSum(x, axes, **options))


def _integer_sum(
    g: GraphBuilder, x: str, add: Callable[[str], str], outputs: list[str] | None
) -> str:
    """Sum of integers that wraps around, as frameworks define it.

    The sums of onnxruntime go through float64: they saturate, and lose units above 2**53. Narrow
    integers are summed in 64 bits; of 64-bit ones the halves are summed, each below 2**53 for less
    than two million elements.
    """
    dtype = g.get_type(x)
    wide = cast(g, x, np.int64)
    if DTYPES["int64"] != int(dtype) != DTYPES["uint64"]:
        return cast(g, add(wide), dtype, outputs=outputs)
    unit = np.array(1 << 32, np.int64)
    high = g.op.Div(wide, unit)
    low = g.op.Sub(wide, g.op.Mul(high, unit))
    upper = g.op.Mul(add(high), unit)
    if int(dtype) == DTYPES["int64"]:
        return str(g.op.Add(upper, add(low), outputs=outputs))
    return cast(g, g.op.Add(upper, add(low)), dtype, outputs=outputs)


def _integer_mean(
    g: GraphBuilder, x: str, axes: Axes, keepdims: bool, outputs: list[str] | None
) -> str:
    """Sum of 64-bit integers divided by the count and truncated, as TensorFlow's means are."""
    dtype = g.get_type(x)
    if int(dtype) != DTYPES["uint64"]:
        x = cast(g, x, np.int64)
    total = reduce(g, "Sum", x, axes, keepdims=keepdims)
    picked = g.op.Gather(g.op.Shape(x), axes)
    count = cast(g, g.op.ReduceProd(picked, keepdims=0), g.get_type(x))
    mean = legal(g).Div(total, count)
    return cast(g, mean, dtype, outputs=outputs) if outputs else cast(g, mean, dtype)


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
    """Emit "all" or "any" of booleans; of no elements, true and false."""
    number = cast(g, x, np.int32)
    if every:
        number = g.op.Sub(np.array(1, np.int32), number)
    total = reduce(g, "Sum", number, axes, keepdims=keepdims, name=name)
    if every:
        return str(g.op.Equal(total, np.array(0, np.int32), outputs=outputs))
    return str(g.op.Cast(total, to=DTYPES["bool"], outputs=outputs))
