"""Groups of TensorFlow operations that are one ONNX operator, found from their last operation."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

__all__ = ["match_gelu"]


def _scalar(g: GraphBuilder, tensor: Any) -> float | None:
    """Return the value of a constant with one element; operands of folded operations are gone."""
    if not g.has_name(tensor.name):
        return None
    value = g.get_constant(tensor.name)
    return (
        float(np.asarray(value).ravel()[0]) if value is not None and np.size(value) == 1 else None
    )


def _is_scalar(g: GraphBuilder, tensor: Any, wanted: float) -> bool:
    value = _scalar(g, tensor)
    return value is not None and abs(value - wanted) <= 1e-3 * abs(wanted)


def _times(g: GraphBuilder, op: Any, factor: float) -> Any:
    """Return ``x`` if ``op`` is ``x * factor`` for a constant, else ``None``."""
    if op.type != "Mul":
        return None
    a, b = op.inputs
    if _is_scalar(g, b, factor):
        return a
    return b if _is_scalar(g, a, factor) else None


def match_gelu(g: GraphBuilder, op: Any) -> str | None:
    """Return ``x`` if ``op`` is the last product of ``0.5 * x * erfc(-x / sqrt(2))``.

    Only from opset 20, which has ``Gelu``, and only in precisions that onnxruntime runs.
    """
    if g.opset("") < 20 or op.inputs[0].dtype.name not in ("float16", "bfloat16", "float32"):
        return None
    for half, tail in (op.inputs, reversed(op.inputs)):
        x = _times(g, half.op, 0.5)
        if x is None or tail.op.type != "Erfc":
            continue
        argument = _times(g, tail.op.inputs[0].op, 0.5**0.5)
        if argument is not None and argument.op.type == "Neg" and argument.op.inputs[0] is x:
            return str(x.name)
    return None
