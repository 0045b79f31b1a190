"""Sizes that TensorFlow computes in a way that hides what they are.

``tf.image.central_crop`` multiplies a size by a fraction in float64 and makes it whole again. Where
every step is exact, integers give the same, and keep the name of the size. ``tf.math.bincount``
limits what it finds in the data, from both sides.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

__all__ = ["exact_fraction", "limited_size"]

_MANTISSA, _SIZE_BITS = 53, 31


def exact_fraction(tensor: Any) -> tuple[Any, int, int] | None:
    """Finds the size that a tensor of float64 is an exact fraction of.

    Args:
        tensor: A tensor of float64.

    Returns:
        A scalar int32 tensor of a size, a positive number to multiply it with, and one to divide
        the product by; ``None`` where that is not all, or a step may round.
    """
    found = _fraction(tensor)
    if found is None or found[1] <= 0:
        return None
    return found[0], found[1].numerator, found[1].denominator


def limited_size(tensor: Any) -> Any:
    """Returns what a scalar is whatever the data: no more and no less than it.

    Args:
        tensor: A tensor of integers.

    Returns:
        A number, another tensor that is a scalar too, or ``None``.
    """
    if tensor.op.type != "Minimum":
        return None
    for most, rest in (tensor.op.inputs, reversed(tensor.op.inputs)):
        if rest.op.type != "Maximum" or rest.shape.rank != 0 or most.shape.rank != 0:
            continue
        if most.name in [value.name for value in rest.op.inputs]:
            return most
        upper = _number(most)
        if upper is None:
            continue
        lower = [number for value in rest.op.inputs if (number := _number(value)) is not None]
        if lower and max(lower) >= upper:
            return int(upper)
    return None


def _fraction(tensor: Any) -> tuple[Any, Fraction] | None:
    """The size, and what it is multiplied by so far."""
    op = tensor.op
    if op.type == "Cast":
        source = op.inputs[0]
        return (source, Fraction(1)) if _is_size(source) else None
    if op.type not in ("Mul", "RealDiv", "Sub", "AddV2"):
        return None
    first, second = (_fraction(value) for value in op.inputs)
    if first is not None and second is not None and first[0] is second[0]:
        sign = {"Sub": -1, "AddV2": 1}.get(op.type)
        return None if sign is None else _exact(first[0], first[1] + sign * second[1])
    if op.type == "Mul" and first is None:
        number, part = _number(op.inputs[0]), second
    else:
        number, part = _number(op.inputs[1]), first
    if part is None or not number or op.type not in ("Mul", "RealDiv"):
        return None
    return _exact(part[0], part[1] * number if op.type == "Mul" else part[1] / number)


def _exact(size: Any, part: Fraction) -> tuple[Any, Fraction] | None:
    """A part of a size, if float64 holds it whatever the size."""
    halved = part.denominator & (part.denominator - 1) == 0
    fits = part.numerator.bit_length() + _SIZE_BITS <= _MANTISSA
    return (size, part) if halved and fits and part.denominator.bit_length() <= _MANTISSA else None


def _number(tensor: Any) -> Fraction | None:
    """The value of a constant scalar, ``None`` if it is none."""
    import tensorflow as tf

    value = tf.get_static_value(tensor) if tensor.shape.rank == 0 else None
    return None if value is None or float(value) - float(value) != 0 else Fraction(float(value))


def _is_size(tensor: Any) -> bool:
    """Whether a tensor is one size of another one."""
    if tensor.dtype.name != "int32" or tensor.shape.rank != 0:
        return False
    taken = tensor.op
    return (
        taken.type in ("StridedSlice", "GatherV2", "Unpack") and taken.inputs[0].op.type == "Shape"
    )
