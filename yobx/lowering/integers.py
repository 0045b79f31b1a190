"""Division, remainder and power, by the sign conventions that frameworks name.

ONNX ``Div`` truncates integers, ``Mod`` (``fmod=0``) floors integers, ``Mod`` (``fmod=1``)
truncates floats. The quotient of the smallest signed integer by -1 wraps in TensorFlow and stops
the process in onnxruntime, so a divisor that may be -1 is replaced first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from yobx.xbuilder import GraphBuilder

from .casts import cast
from .dtypes import DTYPES, is_float, is_signed, numpy_dtype
from .legalise import legal
from .looping import repeated

__all__ = ["floor_divide", "floor_modulo", "integer_power", "truncate_divide", "truncate_modulo"]


def _safe_operands(g: GraphBuilder, x: str, y: str) -> tuple[str, str, str | None]:
    """Return ``(x, divisor without -1, condition)``; no condition if -1 cannot occur."""
    constant = g.get_constant(y)
    if not is_signed(g.get_type(y)) or (constant is not None and not np.any(constant == -1)):
        return x, y, None
    dtype = numpy_dtype(g.get_type(y))
    minus_one = legal(g).Equal(y, np.array(-1, dtype))
    return x, legal(g).Where(minus_one, np.array(1, dtype), y), minus_one


def _quotient(g: GraphBuilder, x: str, y: str) -> str:
    """Emit a quotient of floats, of 16 bits in float32 but rounded to them.

    onnxruntime has no division of 16 bits, and leaves out the rounding between operators that it
    computes in float32 instead: what comes out just below a whole number would be cut off.
    """
    dtype = g.get_type(x)
    if numpy_dtype(dtype).itemsize > 2:
        return str(legal(g).Div(x, y))
    rounded = cast(g, g.op.Div(cast(g, x, np.float32), cast(g, y, np.float32)), dtype)
    return cast(g, rounded, np.float32)


def truncate_divide(
    g: GraphBuilder, x: str, y: str, outputs: list[str] | None = None, name: str | None = None
) -> str:
    """Emit ``x / y`` rounded towards zero; integers of any width, or floats.

    Args:
        g: The builder.
        x: Integers of any width, or floats.
        y: Numbers of the dtype of `x` that broadcast with it.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        Quotients of the dtype of `x`.
    """
    dtype = g.get_type(x)
    if is_float(dtype):
        quotient = _quotient(g, x, y)
        whole = legal(g).Floor(legal(g).Abs(quotient))
        sign = legal(g).Sign(quotient)
        if g.get_type(quotient) == dtype:
            return str(legal(g).Mul(sign, whole, outputs=outputs, name=name))
        return cast(g, g.op.Mul(sign, whole, name=name), dtype, outputs=outputs)
    x, divisor, minus_one = _safe_operands(g, x, y)
    if minus_one is None:
        return str(legal(g).Div(x, divisor, outputs=outputs, name=name))
    quotient = legal(g).Div(x, divisor)
    return str(legal(g).Where(minus_one, legal(g).Neg(x), quotient, outputs=outputs, name=name))


def floor_divide(
    g: GraphBuilder, x: str, y: str, outputs: list[str] | None = None, name: str | None = None
) -> str:
    """Emit ``x // y``: the quotient rounded towards minus infinity.

    Args:
        g: The builder.
        x: Integers of any width, or floats.
        y: Numbers of the dtype of `x` that broadcast with it.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        Quotients of the dtype of `x`.
    """
    dtype = g.get_type(x)
    if is_float(dtype):
        quotient = _quotient(g, x, y)
        if g.get_type(quotient) == dtype:
            return str(legal(g).Floor(quotient, outputs=outputs, name=name))
        return cast(g, g.op.Floor(quotient, name=name), dtype, outputs=outputs)
    if not is_signed(dtype):
        return str(legal(g).Div(x, y, outputs=outputs, name=name))
    divisor, (least, most) = _positive_constant(g, y), _bounds(g, x)
    if divisor is not None and least is not None:
        return _floor_divide_size(g, x, divisor, least=least, outputs=outputs, name=name)
    if divisor is not None and most is not None:  # rounded up is what -x is, rounded down
        raised = legal(g).Sub(np.array(divisor - 1, numpy_dtype(dtype)), x)
        quotient = _floor_divide_size(g, raised, divisor, least=divisor - 1 - most)
        return str(legal(g).Neg(quotient, outputs=outputs, name=name))
    zero = np.array(0, numpy_dtype(dtype))
    quotient = truncate_divide(g, x, y)
    inexact = g.op.Not(legal(g).Equal(floor_modulo(g, x, y), zero))
    opposite = g.op.Xor(legal(g).Less(x, zero), legal(g).Less(y, zero))
    step = cast(g, g.op.And(inexact, opposite), dtype)
    return str(legal(g).Sub(quotient, step, outputs=outputs, name=name))


def _positive_constant(g: GraphBuilder, name: str) -> int | None:
    """Return the value of a scalar that is known and positive."""
    value = g.get_constant(name)
    return int(value) if value is not None and value.ndim == 0 and int(value) > 0 else None


def _bounds(g: GraphBuilder, name: str) -> tuple[int | None, int | None]:
    """Return the least and the greatest value of a scalar computed from sizes, where known."""
    value = g.get_value(name) if g.get_rank(name) == 0 else None
    return (None, None) if value is None or value[0] is None else value[0].bounds()


def _floor_divide_size(
    g: GraphBuilder,
    x: str,
    y: int,
    *,
    least: int,
    outputs: list[str] | None = None,
    name: str | None = None,
) -> str:
    """Emit ``(x + k * y) / y - k``: nothing negative is divided, so truncating is flooring."""
    k = max(-(least // y), 0)
    kind = numpy_dtype(g.get_type(x))
    divisor = np.array(y, kind)
    if not k:
        return str(legal(g).Div(x, divisor, outputs=outputs, name=name))
    quotient = legal(g).Div(legal(g).Add(x, np.array(k * y, kind)), divisor)
    return str(legal(g).Sub(quotient, np.array(k, kind), outputs=outputs, name=name))


def floor_modulo(
    g: GraphBuilder, x: str, y: str, outputs: list[str] | None = None, name: str | None = None
) -> str:
    """Emit ``x - floor(x / y) * y``: a remainder with the sign of ``y``.

    Args:
        g: The builder.
        x: Integers of any width, or floats.
        y: Numbers of the dtype of `x` that broadcast with it.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        Remainders of the dtype of `x`.
    """
    dtype = g.get_type(x)
    if not is_float(dtype):
        x, divisor, _ = _safe_operands(g, x, y)
        return str(legal(g).Mod(x, divisor, outputs=outputs, name=name))
    zero = np.array(0, numpy_dtype(dtype))
    remainder = truncate_modulo(g, x, y)
    inexact = g.op.Not(legal(g).Equal(remainder, zero))
    opposite = g.op.Xor(legal(g).Less(remainder, zero), legal(g).Less(y, zero))
    moved = legal(g).Add(remainder, y)
    condition = g.op.And(inexact, opposite)
    return str(legal(g).Where(condition, moved, remainder, outputs=outputs, name=name))


def truncate_modulo(
    g: GraphBuilder, x: str, y: str, outputs: list[str] | None = None, name: str | None = None
) -> str:
    """Emit the remainder with the sign of ``x``, as C has it.

    Args:
        g: The builder.
        x: Integers of any width, or floats.
        y: Numbers of the dtype of `x` that broadcast with it.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        Remainders of the dtype of `x`.
    """
    if not is_float(g.get_type(x)):
        x, y, _ = _safe_operands(g, x, y)
    return str(_modulo(g, x, y, outputs, name))


def _modulo(g: GraphBuilder, x: str, y: str, outputs: list[str] | None, name: str | None) -> str:
    """Emit ``Mod`` with ``fmod=1``; the kernel table only knows the integer form of ``Mod``."""
    dtype = g.get_type(x)
    if not is_float(dtype) or numpy_dtype(dtype).itemsize >= 4:
        return str(g.op.Mod(x, y, fmod=1, outputs=outputs, name=name))
    wide = g.op.Mod(cast(g, x, np.float32), cast(g, y, np.float32), fmod=1, name=name)
    return cast(g, wide, dtype, outputs=outputs)


def integer_power(
    g: GraphBuilder, x: str, y: str, outputs: list[str] | None = None, name: str | None = None
) -> str:
    """Emit ``x ** y`` by repeated squaring, so that an overflow wraps around.

    onnxruntime's ``Pow`` of integers goes through float64. Exponents are not negative.

    Args:
        g: The builder.
        x: Integers of any width.
        y: Exponents of the dtype of `x` that broadcast with it.
        outputs: Name of the result.
        name: Name of the node.

    Returns:
        Powers of the dtype of `x`.
    """
    dtype = g.get_type(x)
    exponent = g.get_constant(y)
    if exponent is not None and exponent.size == 1 and exponent.ndim <= (g.get_rank(x) or 0):
        return _fixed_power(g, x, max(int(exponent.ravel()[0]), 0), outputs, name)
    base = x if dtype == DTYPES["int32"] else cast(g, x, np.int64)
    kind = numpy_dtype(g.get_type(base))
    rest = cast(g, y, kind)
    if numpy_dtype(dtype) == np.uint64:  # what does not fit is far more than all bits
        rest = g.op.BitwiseAnd(rest, np.array(np.iinfo(np.int64).max))
    zero, one, two = (np.array(i, kind) for i in range(3))
    shape = g.op.Shape(g.op.Add(base, rest))
    first = g.op.Expand(one, shape)
    wide, times = g.op.Expand(base, shape), g.op.Expand(rest, shape)

    def step(body: GraphBuilder, turn: str, states: list[str]) -> tuple[Sequence[str], str]:
        result, factor, left = states
        half = body.op.Div(left, two)
        odd = body.op.Equal(body.op.Sub(left, body.op.Mul(half, two)), one)
        product = body.op.Mul(result, body.op.Where(odd, factor, one))
        largest = body.op.ReduceMax(half, keepdims=0)
        following = (product, body.op.Mul(factor, factor), half)
        return [str(name) for name in following], str(body.op.Greater(largest, zero))

    result, *_ = repeated(g, 64, (first, wide, times), step)
    if dtype == g.get_type(result):
        return str(g.op.Identity(result, outputs=outputs, name=name))
    return cast(g, result, dtype, outputs=outputs)


def _fixed_power(
    g: GraphBuilder, x: str, exponent: int, outputs: list[str] | None, name: str | None
) -> str:
    """Emit the products for one exponent."""
    kind = numpy_dtype(g.get_type(x))
    if exponent == 0:
        shape = g.op.Shape(x)
        return str(g.op.Expand(np.array(1, kind), shape, outputs=outputs, name=name))
    result: Any = None
    base: Any = x
    while exponent:
        if exponent % 2:
            last = outputs if exponent == 1 else None
            if result is None and last is None:
                result = base
            elif result is None:
                result = g.op.Identity(base, outputs=last, name=name)
            else:
                result = legal(g).Mul(result, base, outputs=last)
        exponent //= 2
        if exponent:
            base = legal(g).Mul(base, base)
    return str(result)
