"""Recognise what programs write with several operations and ONNX has as one.

The patterns are those of :mod:`jax.nn` (Gelu, Softmax, LogSoftmax) and of layer normalisation.
They are replaced in the module before it is converted, so that the parts nobody else needs are
never converted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .ir import BROADCASTS, Block, Module, Operation, Value
from .layer_norm import added_bias, layer_norm
from .regions import is_identity, monoid

__all__ = ["fuse"]

_FLOATS = ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True)
class _Match:
    """What to put in the place of an operation."""

    name: str
    operands: tuple[Value, ...]
    attributes: dict[str, Any]


def fuse(module: Module) -> None:
    """Replace every pattern in all functions of a module, in place."""
    for function in module.functions.values():
        _fuse_block(function.body)


def _fuse_block(block: Block) -> None:
    for operation in block.operations:
        for region in operation.regions:
            _fuse_block(region)
        matchers = _MATCHERS.get(operation.name, ())
        if not matchers or operation.results[0].tensor.dtype.name not in _FLOATS:
            continue
        found = next((match for m in matchers if (match := m(operation)) is not None), None)
        if found is not None:
            operation.name = found.name
            operation.operands = list(found.operands)
            operation.attributes = found.attributes


def _layer_norm(operation: Operation) -> _Match | None:
    found = layer_norm(operation)
    # the operator keeps epsilon in float32, which float64 would notice
    if found is None or found.x.tensor.dtype.name in ("bfloat16", "float64"):
        return None
    return _Match("yobx.layer_norm", (found.x, found.scale), {"epsilon": found.epsilon})


def _layer_norm_bias(operation: Operation) -> _Match | None:
    found = added_bias(operation)
    if found is None:
        return None
    norm, bias = found
    return _Match(norm.name, (*norm.operands, bias), dict(norm.attributes))


def _average_pool(operation: Operation) -> _Match | None:
    """A sum over windows, divided by their size or by how much of them is inside."""
    total, count = (_made_by(v, "stablehlo.reduce_window") for v in operation.operands)
    if total is None or not _is_pooled_sum(total):
        return None
    x, attributes = total.operands[0], dict(total.attributes)
    whole = float(np.prod(attributes["window_dimensions"]))
    if _scalar(operation.operands[1]) == whole:
        return _Match("yobx.average_pool", (x,), {**attributes, "include_pad": True})
    counter = _counted_ones(operation.operands[1] if count is None else count.results[0])
    if counter is None or not _same_windows(counter.attributes, attributes):
        return None
    same = counter.results[0].tensor.shape == total.results[0].tensor.shape
    return _Match("yobx.average_pool", (x,), {**attributes, "include_pad": False}) if same else None


def _is_pooled_sum(total: Operation) -> bool:
    """Whether ``AveragePool`` has these windows: no dilation, little padding, some place."""
    attributes = total.attributes
    if len(total.operands) != 2 or monoid(total.regions[0]) != "add":
        return False
    sizes = np.array(attributes["window_dimensions"])
    dilated = [*attributes.get("base_dilations", ()), *attributes.get("window_dilations", ())]
    padding = np.array(attributes.get("padding", np.zeros((len(sizes), 2)))).reshape(-1, 2)
    pooled = int(np.sum(sizes > 1))
    return (
        set(dilated) <= {1}
        and 0 not in total.results[0].tensor.shape
        and 1 <= pooled <= 3
        and total.operands[0].tensor.dtype != np.float64
        and _scalar(total.operands[1]) == 0
        and bool((padding >= 0).all() and (padding < sizes[:, None]).all())
        and not any(
            stride > 1 and size == 1
            for stride, size in zip(attributes.get("window_strides", ()), sizes, strict=False)
        )
    )


def _counted_ones(value: Value) -> Operation | None:
    """The sum over windows of ones."""
    count = _made_by(value, "stablehlo.reduce_window")
    ones = count is not None and _scalar(count.operands[0]) == 1 and _is_pooled_sum(count)
    return count if ones else None


def _same_windows(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    names = ("window_dimensions", "window_strides", "padding")
    return all(np.array_equal(one.get(n, ()), other.get(n, ())) for n in names)


def _made_by(value: Value, *names: str) -> Operation | None:
    return value.owner if value.owner is not None and value.owner.name in names else None


def _scalar(value: Value) -> float | None:
    """The number that a constant, broadcast or not, repeats."""
    broadcast = _made_by(value, *BROADCASTS)
    if broadcast is not None:
        return _scalar(broadcast.operands[0])
    constant = _made_by(value, "stablehlo.constant")
    if constant is None:
        return None
    array = np.asarray(constant.attributes["value"])
    if array.dtype.kind == "c" or not array.size or (array.size > 1 and any(array.strides)):
        return None
    return float(array[(0,) * array.ndim])


def _sides(operation: Operation) -> Iterator[tuple[Value, Value]]:
    first, second = operation.operands
    yield first, second
    yield second, first


def _scaled(value: Value, factor: float) -> Value | None:
    """``x`` if the value is ``factor * x``, up to the rounding of the element type."""
    product = _made_by(value, "stablehlo.multiply")
    for number, other in _sides(product) if product is not None else ():
        known = _scalar(number)
        if known is not None and abs(known - factor) <= 4e-3 * abs(factor):
            return other
    return None


def _gelu(operation: Operation) -> _Match | None:
    """``(x / 2) * erfc(-x / sqrt(2))`` and the form with tanh."""
    if operation.results[0].tensor.dtype == np.float64:
        return None
    for half, tail in _sides(operation):
        call = _made_by(tail, "func.call", "chlo.erfc")
        x = _scaled(half, 0.5)
        if call is None or x is None:
            continue
        if call.name == "func.call" and not call.attributes["callee"].startswith("yobx_erfc__end"):
            continue
        inner = _scaled(call.operands[-1], 0.5**0.5)
        negated = None if inner is None else _made_by(inner, "stablehlo.negate")
        if negated is not None and negated.operands[0] is x:
            return _Match("yobx.gelu", (x,), {"approximate": "none"})
    return _gelu_tanh(operation)


def _gelu_tanh(operation: Operation) -> _Match | None:
    for x, cdf in _sides(operation):
        total = _scaled(cdf, 0.5)
        added = None if total is None else _made_by(total, "stablehlo.add")
        for one, curve in _sides(added) if added is not None else ():
            tanh = _made_by(curve, "stablehlo.tanh")
            if _scalar(one) != 1.0 or tanh is None:
                continue
            inner = _scaled(tanh.operands[0], (2.0 / np.pi) ** 0.5)
            if inner is not None and _is_cubic(inner, x):
                return _Match("yobx.gelu", (x,), {"approximate": "tanh"})
    return None


def _is_cubic(value: Value, x: Value) -> bool:
    """Whether a value is ``x + 0.044715 * x**3``."""
    added = _made_by(value, "stablehlo.add")
    for linear, cubic in _sides(added) if added is not None else ():
        cube = _scaled(cubic, 0.044715)
        if linear is x and cube is not None and _is_cube(cube, x):
            return True
    return False


def _is_cube(value: Value, x: Value) -> bool:
    product = _made_by(value, "stablehlo.multiply")
    for square, other in _sides(product) if product is not None else ():
        inner = _made_by(square, "stablehlo.multiply")
        if other is x and inner is not None and set(inner.operands) == {x}:
            return True
    return False


def _softmax(operation: Operation) -> _Match | None:
    """``e / sum(e)`` with ``e = exp(x - max(x))``."""
    numerator, denominator = operation.operands
    exponential = _made_by(numerator, "stablehlo.exponential")
    total = _spread_reduction(denominator, "add")
    if exponential is None or total is None or total[0] is not numerator:
        return None
    x = _shifted(exponential.operands[0], total[1])
    return None if x is None else _Match("yobx.softmax", (x,), {"axis": total[1], "log": False})


def _log_softmax(operation: Operation) -> _Match | None:
    """``s - log(sum(exp(s)))`` with ``s = x - max(x)``."""
    shifted, logarithm = operation.operands
    found = _spread_reduction(logarithm, "add", through="stablehlo.log")
    exponential = None if found is None else _made_by(found[0], "stablehlo.exponential")
    if found is None or exponential is None or exponential.operands[0] is not shifted:
        return None
    x = _shifted(shifted, found[1])
    return None if x is None else _Match("yobx.softmax", (x,), {"axis": found[1], "log": True})


def _shifted(value: Value, axis: int) -> Value | None:
    """``x`` if the value is ``x - max(x)`` along the axis."""
    difference = _made_by(value, "stablehlo.subtract")
    if difference is None:
        return None
    x, largest = difference.operands
    found = _spread_reduction(largest, "max")
    return x if found is not None and found[0] is x and found[1] == axis else None


def _spread_reduction(value: Value, kind: str, through: str = "") -> tuple[Value, int] | None:
    """``(x, axis)`` if a value is a reduction of ``x`` along one axis, spread over it again."""
    axes = list(range(value.tensor.rank))  # axis of the current value -> axis of the spread one
    while True:
        owner = value.owner
        if owner is None:
            return None
        if owner.name in BROADCASTS:
            axes = [axes[a] for a in owner.attributes["broadcast_dimensions"]]
            value = owner.operands[0]
        elif owner.name == through:
            value, through = owner.operands[0], ""
        elif owner.name == "stablehlo.maximum" and kind == "max":
            sides = [b for a, b in _sides(owner) if _scalar(a) == -np.inf]
            if not sides:
                return None
            value = sides[0]
        else:
            break
    if through or owner.name != "stablehlo.reduce" or len(owner.operands) != 2:
        return None
    return _one_axis(owner, kind, axes)


def _one_axis(owner: Operation, kind: str, axes: list[int]) -> tuple[Value, int] | None:
    removed = owner.attributes["dimensions"]
    x, start = owner.operands
    initial = _scalar(start)
    constant = None if initial is None else np.array(initial)
    if len(removed) != 1 or monoid(owner.regions[0]) != kind:
        return None
    kept = [a for a in range(x.tensor.rank) if a != removed[0]]
    if axes != kept or not is_identity(kind, x.tensor.dtype, constant):
        return None
    return x, removed[0]


_MATCHERS: dict[str, tuple[Callable[[Operation], _Match | None], ...]] = {
    "stablehlo.add": (_layer_norm_bias,),
    "stablehlo.multiply": (_gelu, _layer_norm),
    "stablehlo.divide": (_softmax, _average_pool),
    "stablehlo.subtract": (_log_softmax,),
}
