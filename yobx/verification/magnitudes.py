"""How large values are, and whether they are whole numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx

from yobx.verification.dtypes import epsilon_half, is_float, widen

__all__ = ["is_subnormal", "is_whole", "largest_input", "magnitude"]


def largest_input(node: onnx.NodeProto, values: Mapping[str, Any]) -> float | None:
    """The largest finite magnitude of the first input of an operator, if its value is known."""
    name = next(iter(node.input), "")
    return magnitude(values[name]) if values.get(name) is not None else None


def magnitude(value: Any) -> float:
    """The largest finite magnitude, 1 where there is none; of all turns for one in a body."""
    if isinstance(value, list):
        return max(map(magnitude, value), default=1.0)
    if not isinstance(value, np.ndarray) or not is_float(value.dtype) or not value.size:
        return 1.0
    wide = np.abs(widen(value))
    return float(np.max(wide, initial=0.0, where=np.isfinite(wide))) or 1.0


def is_whole(value: Any) -> bool:
    """Whether all are whole numbers, and small enough for a sum of two to be one of their type."""
    if isinstance(value, list):
        return all(map(is_whole, value))
    if not isinstance(value, np.ndarray) or not is_float(value.dtype):
        return False
    wide = widen(value)
    return bool(np.all((np.rint(wide) == wide) & (np.abs(wide) * epsilon_half(value.dtype) < 1)))


def is_subnormal(value: Any) -> bool:
    """Whether some numbers of float16 are below its smallest normal one; 0 may have been rounded.

    In other types so small a number is rare, and processors flush it.
    """
    if isinstance(value, list):
        return any(map(is_subnormal, value))
    if not isinstance(value, np.ndarray) or value.dtype != np.float16:
        return False
    return bool(np.any(np.abs(value) < np.finfo(np.float16).smallest_normal))
