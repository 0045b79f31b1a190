"""Recognise layer normalisation over the last axis: of Flax, of Equinox, written by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .ir import BROADCASTS, Operation, Value
from .loops import scalar_constant
from .regions import is_identity, monoid

__all__ = ["LayerNorm", "added_bias", "layer_norm"]

_RESHAPES = ("stablehlo.reshape", "stablehlo.dynamic_reshape")


@dataclass(frozen=True)
class LayerNorm:
    """``(x - mean(x)) / sqrt(var(x) + epsilon) * scale``.

    Attributes:
        x: What is normalised.
        scale: A vector of the last axis.
        epsilon: What is added to the variance.
    """

    x: Value
    scale: Value
    epsilon: float


def layer_norm(operation: Operation) -> LayerNorm | None:
    """What a product is, if it is a scaled normalisation.

    Args:
        operation: A ``stablehlo.multiply``.

    Returns:
        The normalisation, or ``None``.
    """
    size = operation.results[0].tensor.shape[-1:]
    if not size or size[0] is None or size[0] < 2:
        return None
    scales, centred, spreads = [], [], []
    for factor, inverted in _factors(operation.results[0]):
        vector = None if inverted else _vector(factor)
        if vector is not None:
            scales.append(vector)
        elif _made_by(factor, "stablehlo.subtract") is not None and not inverted:
            centred.append(factor)
        else:
            spreads.append((factor, inverted))
    if not len(scales) == len(centred) == len(spreads) == 1:
        return None
    x = _centred(centred[0])
    epsilon = None if x is None else _deviation(*spreads[0], x)
    return None if x is None or epsilon is None else LayerNorm(x, scales[0], epsilon)


def added_bias(operation: Operation) -> tuple[Operation, Value] | None:
    """The normalisation and the vector that a sum adds to it.

    Args:
        operation: A ``stablehlo.add``.

    Returns:
        The operation that a normalisation was replaced by, and the vector, or ``None``.
    """
    for first, second in (operation.operands, operation.operands[::-1]):
        found = _made_by(first, "yobx.layer_norm")
        vector = _vector(second)
        if found is not None and len(found.operands) == 2 and vector is not None:
            return found, vector
    return None


def _made_by(value: Value, *names: str) -> Operation | None:
    return value.owner if value.owner is not None and value.owner.name in names else None


def _factors(value: Value, *, inverted: bool = False) -> Iterator[tuple[Value, bool]]:
    """Factors of a product of products and quotients, and which of them divide."""
    product = _made_by(value, "stablehlo.multiply")
    quotient = _made_by(value, "stablehlo.divide")
    if product is not None:
        for operand in product.operands:
            yield from _factors(operand, inverted=inverted)
    elif quotient is not None:
        yield from _factors(quotient.operands[0], inverted=inverted)
        yield from _factors(quotient.operands[1], inverted=not inverted)
    else:
        yield value, inverted


def _vector(value: Value) -> Value | None:
    """The vector that a value repeats along every axis but the last."""
    place = value.tensor.rank - 1
    size = value.tensor.shape[-1:]
    while value.tensor.rank != 1 or value.owner is not None:
        op = value.owner
        if op is None:
            return None
        source = op.operands[0] if op.operands else value
        if op.name in BROADCASTS:
            axes = list(op.attributes["broadcast_dimensions"])
            if place not in axes:
                return None
            place = axes.index(place)
        elif op.name in _RESHAPES:
            if place != value.tensor.rank - 1 or set(source.tensor.shape[:-1]) - {1}:
                return None
            place = source.tensor.rank - 1
        else:
            break
        value = source
    return value if value.tensor.rank == 1 and value.tensor.shape == size else None


def _statistic(value: Value) -> Value:
    """A value without the last axis that was added to it, or with it not yet repeated."""
    while value.owner is not None:
        op = value.owner
        source = op.operands[0] if op.operands else value
        inner, outer = source.tensor, value.tensor
        if op.name in BROADCASTS:
            if list(op.attributes["broadcast_dimensions"]) != list(range(inner.rank)):
                break
            if inner.rank < outer.rank - 1 or inner.shape[: outer.rank - 1] != outer.shape[:-1]:
                break
        elif op.name in _RESHAPES:
            if (*inner.shape, 1) != outer.shape and inner.shape != (*outer.shape, 1):
                break
        else:
            break
        value = source
    return value


def _number(value: Value) -> float | None:
    """The number that a constant repeats."""
    while (op := _made_by(value, *BROADCASTS, *_RESHAPES)) is not None:
        value = op.operands[0]
    constant = scalar_constant(value)
    return None if constant is None else float(constant.ravel()[0])


def _mean_of(value: Value) -> Value | None:
    """What a value is the mean of, over the last axis."""
    quotient = _made_by(_statistic(value), "stablehlo.divide")
    if quotient is None:
        return None
    total = _made_by(_statistic(quotient.operands[0]), "stablehlo.reduce")
    if total is None or len(total.operands) != 2 or monoid(total.regions[0]) != "add":
        return None
    x, start = total.operands
    initial = _number(start)
    zero = initial is not None and is_identity("add", x.tensor.dtype, np.array(initial))
    last = list(total.attributes["dimensions"]) == [x.tensor.rank - 1]
    return x if zero and last and _number(quotient.operands[1]) == x.tensor.shape[-1] else None


def _centred(value: Value) -> Value | None:
    """``x`` if a value is ``x - mean(x)``."""
    difference = _made_by(value, "stablehlo.subtract")
    if difference is None:
        return None
    x, mean = difference.operands
    return x if x.tensor.rank == value.tensor.rank and _mean_of(mean) is x else None


def _deviation(value: Value, inverted: bool, x: Value) -> float | None:
    """Epsilon if a factor divides by ``sqrt(var(x) + epsilon)``."""
    root = _made_by(_statistic(value), "stablehlo.sqrt" if inverted else "stablehlo.rsqrt")
    total = None if root is None else _made_by(_statistic(root.operands[0]), "stablehlo.add")
    for variance, added in (total.operands, total.operands[::-1]) if total is not None else ():
        epsilon = _number(added)
        if epsilon is not None and _is_variance(variance, x):
            return epsilon
    return None


def _is_variance(value: Value, x: Value) -> bool:
    value = _statistic(value)
    bounded = _made_by(value, "stablehlo.maximum")
    if bounded is not None:
        zeros = [b for a, b in (bounded.operands, bounded.operands[::-1]) if _number(a) == 0]
        return bool(zeros) and _is_variance(zeros[0], x)
    call = _made_by(value, "func.call")
    if call is not None:
        return _is_call_of_var(call, x)
    squares = _mean_of(value)
    if squares is not None:
        centred = _square_of(squares)
        return centred is not None and _centred(centred) is x
    difference = _made_by(value, "stablehlo.subtract")
    if difference is None:
        return False
    whole, mean = _mean_of(difference.operands[0]), _square_of(_statistic(difference.operands[1]))
    return whole is not None and mean is not None and _square_of(whole) is x and _mean_of(mean) is x


def _is_call_of_var(call: Operation, x: Value) -> bool:
    """``jnp.var`` of ``x`` with the last axis kept, divided by its size."""
    freedom = scalar_constant(call.operands[-1])
    return (
        call.attributes["callee"].startswith("_var")
        and len(call.operands) > 1
        and call.operands[-2] is x
        and freedom is not None
        and int(freedom.ravel()[0]) == 0
        and call.results[0].tensor.shape == (*x.tensor.shape[:-1], 1)
    )


def _square_of(value: Value) -> Value | None:
    product = _made_by(value, "stablehlo.multiply")
    square = _made_by(value, "chlo.square")
    if square is not None:
        return square.operands[0]
    if product is None or len(set(product.operands)) != 1:
        return None
    return product.operands[0]
