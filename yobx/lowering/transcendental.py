"""Functions that ONNX lacks, or that onnxruntime lacks in float64, from those it has.

Each keeps the accuracy of the library functions near the points where the naive form cancels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .casts import cast
from .dtypes import DTYPES, numpy_dtype
from .kernels import has_kernel
from .legalise import legal

__all__ = [
    "acosh",
    "asinh",
    "atanh",
    "const",
    "cosh",
    "erfc",
    "expm1",
    "finish",
    "in_float32",
    "log1p",
    "native",
    "rsqrt",
    "sinh",
    "softplus",
    "softsign",
]

_HALVES = frozenset((DTYPES["float16"], DTYPES["bfloat16"]))
Outputs = list[str] | None


def const(g: GraphBuilder, like: str, value: Any) -> np.ndarray[Any, Any]:
    """Return ``value`` as a scalar of the element type of ``like``."""
    return np.array(value, numpy_dtype(g.get_type(like)))


def in_float32(g: GraphBuilder, x: str) -> str:
    """Return ``x``, half precision widened to float32."""
    return cast(g, x, np.float32) if int(g.get_type(x)) in _HALVES else x


def finish(g: GraphBuilder, value: str, like: str, outputs: Outputs) -> str:
    """Cast a result back to the type of ``like`` and give it its name.

    Args:
        g: The builder.
        value: The result in the type that it was computed in.
        like: A value of the dtype that is wanted.
        outputs: Name of the result.

    Returns:
        The result.
    """
    if g.get_type(value) == g.get_type(like):
        return str(g.op.Identity(value, outputs=outputs)) if outputs else value
    return cast(g, value, g.get_type(like), outputs=outputs)


def native(g: GraphBuilder, op_type: str, x: str) -> bool:
    """Tell whether ``op_type`` runs on the type of ``x`` as it is."""
    return has_kernel(op_type, g.opset(""), int(g.get_type(x)))


def rsqrt(g: GraphBuilder, x: str, outputs: Outputs = None, name: str | None = None) -> str:
    """Emit ``1 / sqrt(x)``."""
    return str(legal(g).Reciprocal(legal(g).Sqrt(x), outputs=outputs, name=name))


def expm1(g: GraphBuilder, x: str, outputs: Outputs = None, name: str | None = None) -> str:
    """Emit ``exp(x) - 1`` without cancellation: ``tanh(x / 2) (exp(x) + 1)`` for small ``x``.

    Args:
        g: The builder.
        x: Floats of any shape.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        Floats of the shape and dtype of `x`.
    """
    value = in_float32(g, x)
    half = const(g, value, 0.5)
    one = const(g, value, 1)
    power = g.op.Exp(value)
    tanh = g.op.Tanh(g.op.Mul(value, half))
    small = g.op.Mul(tanh, g.op.Add(power, one))
    near = g.op.Less(g.op.Abs(value), half)
    result = g.op.Where(near, small, g.op.Sub(power, one), name=name)
    return finish(g, result, x, outputs)


def log1p(g: GraphBuilder, x: str, outputs: Outputs = None, name: str | None = None) -> str:
    """Emit ``log(1 + x)``; the rounding of ``u = 1 + x`` is undone by ``x / (u - 1)``.

    Args:
        g: The builder.
        x: Floats of any shape.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        Floats of the shape and dtype of `x`.
    """
    value = in_float32(g, x)
    one = const(g, value, 1)
    shifted = g.op.Add(value, one)
    moved = g.op.Sub(shifted, one)
    exact = g.op.Or(g.op.Equal(moved, const(g, value, 0)), g.op.IsInf(value))
    ratio = g.op.Div(value, g.op.Where(exact, one, moved))
    product = g.op.Mul(g.op.Log(shifted), ratio)
    result = g.op.Where(exact, value, product, name=name)
    minus_inf = g.op.Log(g.op.Where(g.op.Less(value, const(g, value, -1)), value, one))
    return finish(g, g.op.Add(result, minus_inf), x, outputs)


def _half_exp(g: GraphBuilder, x: str) -> str:
    """Emit ``exp(x) / 2``, which does not overflow before ``sinh`` does."""
    root = g.op.Exp(g.op.Mul(x, const(g, x, 0.5)))
    return str(g.op.Mul(g.op.Mul(root, const(g, x, 0.5)), root))


def sinh(g: GraphBuilder, x: str, outputs: Outputs = None, name: str | None = None) -> str:
    """Emit ``sinh(x)``.

    Args:
        g: The builder.
        x: Floats of any shape.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        Floats of the shape and dtype of `x`.
    """
    if native(g, "Sinh", x):
        return str(legal(g).Sinh(x, outputs=outputs, name=name))
    value = in_float32(g, x)
    size = g.op.Abs(value)
    large = _half_exp(g, size)
    part = expm1(g, size)
    ratio = g.op.Div(part, g.op.Add(part, const(g, value, 1)))
    small = g.op.Mul(g.op.Add(part, ratio), const(g, value, 0.5))
    near = g.op.Less(size, const(g, value, 20))
    result = g.op.Mul(g.op.Sign(value), g.op.Where(near, small, large))
    return finish(g, result, x, outputs)


def cosh(g: GraphBuilder, x: str, outputs: Outputs = None, name: str | None = None) -> str:
    """Emit ``cosh(x)``.

    Args:
        g: The builder.
        x: Floats of any shape.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        Floats of the shape and dtype of `x`.
    """
    if native(g, "Cosh", x):
        return str(legal(g).Cosh(x, outputs=outputs, name=name))
    value = in_float32(g, x)
    half = _half_exp(g, g.op.Abs(value))
    quarter = g.op.Div(const(g, value, 0.25), half)
    return finish(g, g.op.Add(half, quarter), x, outputs)


def asinh(g: GraphBuilder, x: str, outputs: Outputs = None, name: str | None = None) -> str:
    """Emit ``asinh(x)`` as ``sign(x) * log1p(a + a*a / (1 + sqrt(1 + a*a)))``, ``a = abs(x)``.

    Args:
        g: The builder.
        x: Floats of any shape.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        Floats of the shape and dtype of `x`.
    """
    value = in_float32(g, x)
    one = const(g, value, 1)
    size = g.op.Abs(value)
    big = g.op.Greater(size, const(g, value, 1e8))
    inner = g.op.Where(big, one, size)
    square = g.op.Mul(inner, inner)
    root = g.op.Add(g.op.Sqrt(g.op.Add(square, one)), one)
    near = log1p(g, g.op.Add(inner, g.op.Div(square, root)))
    far = g.op.Add(g.op.Log(size), const(g, value, math.log(2.0)))
    result = g.op.Mul(g.op.Sign(value), g.op.Where(big, far, near), name=name)
    return finish(g, result, x, outputs)


def acosh(g: GraphBuilder, x: str, outputs: Outputs = None, name: str | None = None) -> str:
    """Emit ``acosh(x)`` as ``log1p(t + sqrt(t * (t + 2)))``, ``t = x - 1``; NaN below 1.

    Args:
        g: The builder.
        x: Floats of any shape.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        Floats of the shape and dtype of `x`.
    """
    value = in_float32(g, x)
    one, two = const(g, value, 1), const(g, value, 2)
    big = g.op.Greater(value, const(g, value, 1e8))
    t = g.op.Sub(g.op.Where(big, one, value), one)
    near = log1p(g, g.op.Add(t, g.op.Sqrt(g.op.Mul(t, g.op.Add(t, two)))))
    far = g.op.Add(g.op.Log(g.op.Where(big, value, one)), const(g, value, math.log(2.0)))
    valid = g.op.Where(g.op.Less(value, one), const(g, value, math.nan), near)
    return finish(g, g.op.Where(big, far, valid), x, outputs)


def atanh(g: GraphBuilder, x: str, outputs: Outputs = None, name: str | None = None) -> str:
    """Emit ``atanh(x)`` as ``log1p(2x / (1 - x)) / 2``, odd in ``x``.

    Args:
        g: The builder.
        x: Floats of any shape.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        Floats of the shape and dtype of `x`.
    """
    value = in_float32(g, x)
    size = g.op.Abs(value)
    ratio = g.op.Div(g.op.Add(size, size), g.op.Sub(const(g, value, 1), size))
    half = g.op.Mul(log1p(g, ratio), const(g, value, 0.5))
    return finish(g, g.op.Mul(g.op.Sign(value), half), x, outputs)


def softplus(g: GraphBuilder, x: str, outputs: Outputs = None, name: str | None = None) -> str:
    """Emit ``log(1 + exp(x))`` as ``max(x, 0) + log1p(exp(-abs(x)))``.

    Args:
        g: The builder.
        x: Floats of any shape.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        Floats of the shape and dtype of `x`.
    """
    if g.get_type(x) != DTYPES["float64"]:  # onnxruntime's float64 kernel has no log1p
        return str(legal(g).Softplus(x, outputs=outputs, name=name))
    tail = log1p(g, g.op.Exp(g.op.Neg(g.op.Abs(x))))
    return str(g.op.Add(g.op.Max(x, const(g, x, 0)), tail, outputs=outputs, name=name))


def softsign(g: GraphBuilder, x: str, outputs: Outputs = None, name: str | None = None) -> str:
    """Emit ``x / (1 + abs(x))``."""
    size = legal(g).Add(legal(g).Abs(x), const(g, x, 1))
    return str(legal(g).Div(x, size, outputs=outputs, name=name))


# Chebyshev fit of log(erfc(x) / t) + x*x in t = 1 / (1 + x / 2), x >= 0; error 1.2e-7.
_ERFC = (
    0.17087277,
    -0.82215223,
    1.48851587,
    -1.13520398,
    0.27886807,
    -0.18628806,
    0.09678418,
    0.37409196,
    1.00002368,
    -1.26551223,
)


def erfc(g: GraphBuilder, x: str, outputs: Outputs = None, name: str | None = None) -> str:
    """Emit ``1 - erf(x)`` with a small relative error also where it is tiny (large ``x``).

    Args:
        g: The builder.
        x: Floats of any shape.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        Floats of the shape and dtype of `x`.
    """
    value = in_float32(g, x)
    one = const(g, value, 1)
    positive = g.op.Max(value, const(g, value, 0))
    t = g.op.Reciprocal(g.op.Add(g.op.Mul(positive, const(g, value, 0.5)), one))
    poly = g.op.Mul(t, const(g, value, _ERFC[0]))
    for coefficient in _ERFC[1:-1]:
        poly = g.op.Mul(t, g.op.Add(poly, const(g, value, coefficient)))
    poly = g.op.Add(poly, const(g, value, _ERFC[-1]))
    tail = g.op.Mul(t, g.op.Exp(g.op.Sub(poly, g.op.Mul(positive, positive))))
    body = g.op.Sub(one, g.op.Erf(value))
    far = g.op.Greater(value, const(g, value, 0.5))
    return finish(g, g.op.Where(far, tail, body, name=name), x, outputs)
