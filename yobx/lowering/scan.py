"""Running reductions that ONNX has no operator for, as ``Scan``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .casts import cast
from .dtypes import numpy_dtype
from .shapes import rank
from .transcendental import in_float32, log1p

__all__ = ["cumulative", "log_add_exp"]

Combine = Callable[[GraphBuilder, str, str], str]


def log_add_exp(g: GraphBuilder, a: str, b: str) -> str:
    """Emit ``log(exp(a) + exp(b))`` without overflow, minus infinity being neutral."""
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
    """Return the running ``combine`` of ``x`` along ``axis``, beginning with ``start``."""
    n = rank(g, x)
    axis %= n
    value = in_float32(g, x)
    dtype = g.get_type(value)
    sizes = g.op.Shape(value)
    picked = np.array([i for i in range(n) if i != axis], np.int64)
    first = g.op.Expand(np.array(start, numpy_dtype(dtype)), g.op.Gather(sizes, picked))
    shape = [d for i, d in enumerate(g.get_shape(value).dims()) if i != axis]
    body = g.subgraph("running", inputs=[("state", dtype, shape), ("item", dtype, shape)])
    state, item = "state", "item"
    total = combine(body, state, item)
    body.make_tensor_output("state_out", source=total)
    body.make_tensor_output("item_out", source=state if exclusive else total)
    _, result = g.op.Scan(
        first,
        value,
        body=body,
        num_scan_inputs=1,
        scan_input_axes=[axis],
        scan_output_axes=[axis],
        scan_input_directions=[int(reverse)],
        scan_output_directions=[int(reverse)],
        outputs=2,
    )
    return cast(g, result, g.get_type(x))
