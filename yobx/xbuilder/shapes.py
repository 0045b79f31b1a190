"""Shapes as callers write them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from yobx.errors import GraphError
from yobx.onnx_optim import OptimDim, OptimShape

__all__ = ["as_shape"]


def as_shape(
    name: str,
    shape: Iterable[int | str | OptimDim | None] | OptimShape | None,
    fresh: Callable[[str], Any],
) -> OptimShape:
    """Turns any accepted spelling of a shape into an ``OptimShape``.

    Args:
        name: The value it belongs to.
        shape: One size, name or ``None`` per axis; ``None`` for an unknown rank.
        fresh: Makes a new symbol out of a hint; called for every ``None`` among the sizes.

    Returns:
        The shape.

    Raises:
        GraphError: If it is no sequence, or a size is negative.
    """
    if shape is None or isinstance(shape, OptimShape):
        return OptimShape(None) if shape is None else shape
    if isinstance(shape, str) or not isinstance(shape, Iterable):
        raise GraphError(
            f"A shape has one size, name or None per axis. Received: shape={shape!r} of {name!r}.",
            value=name,
            hint=f"Try ({shape!r},), or None for an unknown rank.",
        )
    dims = list(shape)
    if any(isinstance(dim, int | np.integer) and dim < 0 for dim in dims):
        raise GraphError(
            f"A size is 0 or more. Received: shape={tuple(dims)!r} of {name!r}.",
            value=name,
            hint="Try a name, or None, for a size that is not known.",
        )
    return OptimShape(
        [fresh(f"{name}_d{axis}") if dim is None else dim for axis, dim in enumerate(dims)]
    )
