"""Running reductions that ONNX has no operator for, as ``Scan``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .casts import cast
from .dtypes import numpy_dtype
from .legalise import legal
from .shapes import dims, rank
from .transcendental import in_float32, log1p

__all__ = ["cumulative", "log_add_exp"]

Combine = Callable[[GraphBuilder, str, str], str]


def log_add_exp(g: GraphBuilder, a: str, b: str) -> str:
    """Emit ``log(exp(a) + exp(b))`` without overflow, minus infinity being neutral.

    Args:
        g: The builder.
        a: Floats of any shape.
        b: Floats of the same dtype that broadcast with `a`.

    Returns:
        Floats of the dtype of `a`.
    """
    top, low = g.op.Max(a, b), g.op.Min(a, b)
    gap = g.op.Sub(low, top)
    same = g.op.Equal(low, top)
    zero = np.array(0, numpy_dtype(g.get_type(a)))
    rest = log1p(g, g.op.Exp(g.op.Where(same, zero, gap)))
    endless = g.op.IsInf(top)
    return str(g.op.Where(endless, top, g.op.Add(top, rest)))


def cumulative(
    g: GraphBuilder,
    x: str,
    axis: int,
    combine: Combine,
    start: Any,
    *,
    exclusive: bool,
    reverse: bool,
) -> str:
    """Return the running ``combine`` of ``x`` along ``axis``, beginning with ``start``.

    The other axes run as one, with a spare column: onnxruntime's Scan stops the process when an
    item has no elements. It fails when there is no item, so there is a spare one where that may be.

    Args:
        g: The builder.
        x: Numbers of any shape.
        axis: The axis along which they are combined.
        combine: Writes the combination of what came before and one element more.
        start: What nothing gives: the neutral element.
        exclusive: Whether an element counts from the next one on.
        reverse: Whether to begin at the end.

    Returns:
        Numbers of the shape and dtype of `x`.
    """
    n = rank(g, x)
    axis %= n
    perm = [axis, *(i for i in range(n) if i != axis)]
    value = g.op.Transpose(in_float32(g, x), perm=perm)
    dtype = numpy_dtype(g.get_type(value))
    shape = g.op.Shape(value)
    length, others = g.op.Shape(value, end=1), g.op.Shape(value, start=1)
    columns = g.op.ReduceProd(others, keepdims=1)
    flat = g.op.Reshape(value, g.op.Concat(length, columns, axis=0), allowzero=1)
    known = dims(g, value)
    more = int(known is None or not known[0])
    before, after = (more, 0) if reverse else (0, more)  # it comes last
    spare = legal(g).Pad(flat, np.array([before, 0, after, 1], np.int64))
    width = g.op.Add(columns, np.array([1], np.int64))
    first = g.op.Expand(np.array([start], dtype), width)
    result = _scan(g, first, spare, combine, exclusive=exclusive, reverse=reverse)
    kept = g.op.Slice(result, np.array([0], np.int64), columns, np.array([1], np.int64))
    if more:
        low = np.array([before], np.int64)
        kept = g.op.Slice(kept, low, g.op.Add(length, low), np.array([0], np.int64))
    back = [int(i) for i in np.argsort(perm)]
    whole = g.op.Transpose(g.op.Reshape(kept, shape, allowzero=1), perm=back)
    return cast(g, whole, g.get_type(x))


def _scan(
    g: GraphBuilder, first: str, x: str, combine: Combine, *, exclusive: bool, reverse: bool
) -> str:
    """Emit the ``Scan`` over the rows of ``x``."""
    dtype = g.get_type(x)
    body = g.subgraph(
        "running", inputs=[("running.state", dtype, [None]), ("running.item", dtype, [None])]
    )
    state, item = body.input_names
    total = combine(body, state, item)
    body.make_tensor_output("running.state_out", source=total)
    body.make_tensor_output("running.item_out", source=state if exclusive else total)
    _, result = g.op.Scan(
        first,
        x,
        body=body,
        num_scan_inputs=1,
        scan_input_directions=[int(reverse)],
        scan_output_directions=[int(reverse)],
        outputs=2,
    )
    return str(result)
