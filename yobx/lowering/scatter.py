"""Scatters with a reduction, for the dtypes onnxruntime lacks too."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .casts import cast, to_int64
from .dtypes import DTYPES
from .legalise import legal

__all__ = ["scatter_nd"]

# onnxruntime's reducing scatters know these; the others go through a type that wraps alike.
_THROUGH = {
    DTYPES["bool"]: np.int32,
    DTYPES["int8"]: np.int32,
    DTYPES["int16"]: np.int32,
    DTYPES["uint8"]: np.int32,
    DTYPES["uint16"]: np.int32,
    DTYPES["uint32"]: np.int64,
    DTYPES["float16"]: np.float32,
    DTYPES["bfloat16"]: np.float32,
}


def scatter_nd(
    g: GraphBuilder,
    x: str,
    index: str | np.ndarray[Any, Any],
    updates: str,
    kind: str,
    *,
    outputs: list[str] | None = None,
    name: str | None = None,
) -> str:
    """Emit ``ScatterND``.

    Args:
        g: The graph.
        x: `(*i, *rest)`.
        index: Integers `(*b, len(i))`; a constant is int64.
        updates: `(*b, *rest)`, of the type of ``x``.
        kind: ``none``, ``add``, ``sub``, ``mul``, ``max`` or ``min``; of bool ``max`` is "or" and
            ``min`` is "and".
        outputs: Names to give.
        name: Node name.

    Returns:
        Name of the result, of the shape and type of ``x``.
    """
    dtype = g.get_type(x)
    if kind == "sub":
        updates, kind = legal(g).Neg(updates), "add"
    places = to_int64(g, index) if isinstance(index, str) else index
    if kind == "none":
        return str(g.op.ScatterND(x, places, updates, outputs=outputs, name=name))
    if int(dtype) not in _THROUGH:
        return str(g.op.ScatterND(x, places, updates, reduction=kind, outputs=outputs, name=name))
    wide = _THROUGH[int(dtype)]
    result = g.op.ScatterND(
        cast(g, x, wide), places, cast(g, updates, wide), reduction=kind, name=name
    )
    return cast(g, result, dtype, outputs=outputs)
