"""Functions of single numbers, and of pairs of numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from conformance.entries import Entry, function, numbers, positive, whole

__all__ = ["entries"]

_ANY = np.concatenate([3 * numbers(2, 6), np.array([[0.0, -0.0], [1.5, -2.5]], "float32")], 1)
_SIGNED, _UNIT, _ABOVE = _ANY, np.clip(numbers(2, 8) / 3, -0.95, 0.95), 1 + positive(2, 8, high=3)
_OTHER = 2 * numbers(2, 8, seed=1)
_COUNTS, _SHIFTS = whole(2, 8, low=-9, high=10), whole(2, 8, low=0, high=5)
_ODD = np.array([[np.nan, np.inf, -np.inf, 0.0], [1.0, -0.0, 2.5, -1.0]], "float32")
_PAIRS = (numbers(2, 8) + 1j * numbers(2, 8, seed=1)).astype("complex64")

#: Functions of any float, which take integers too.
PLAIN = """abs absolute arctan arcsinh cbrt ceil cos cosh deg2rad exp exp2 expm1 fabs floor negative
rad2deg round sign sin sinc sinh square tan tanh trunc erf erfc sigmoid isfinite
isinf isnan isneginf isposinf isreal signbit i0 nan_to_num copy real imag conj conjugate angle
logical_not stop_gradient""".split()
#: Functions that TensorFlow has for floats only.
_FLOATS_ONLY = {"erf", "erfc", "sigmoid", "reciprocal", "rsqrt"}
#: Functions whose result for integers Keras makes of their shape.
_OF_SHAPE = {"isfinite", "isinf", "isnan"}
_SIZED: dict[str, Any] = {
    "refused_dynamic": "partially known TensorShape",
    "reason": "Keras makes an array of the shape, and wants to know all of it",
}
_SERIES: dict[str, Any] = {
    "norm": 6.0,
    "reason": "a sum of powers, and every library has its own",
}
_OPEN = {"free": (1,)}


def entries() -> Iterator[Entry]:
    """Every entry about functions of numbers."""
    yield from _unary()
    yield from _binary()
    yield from _integers()
    yield from _types()


def _unary() -> Iterator[Entry]:
    from keras import ops

    for name in PLAIN:
        call, extra = getattr(ops, name), _SERIES if name == "i0" else {}
        yield function(name, call, _ANY, **_OPEN, **extra)
        if name not in _FLOATS_ONLY:
            extra = _SIZED if name in _OF_SHAPE else extra
            yield function(name, call, _COUNTS, label="int32", **extra)
    for name in (
        "isfinite",
        "isinf",
        "isnan",
        "isneginf",
        "isposinf",
        "nan_to_num",
        "sign",
        "sqrt",
    ):
        call = getattr(ops, name)
        yield function(name, call, _ODD, label="not finite")
    for name in ("arccos", "arcsin", "arctanh", "erfinv"):
        call = getattr(ops, name)
        yield function(name, call, _UNIT, **_OPEN)
    for name in "arccosh log log10 log1p log2 reciprocal rsqrt sqrt".split():
        call = getattr(ops, name)
        yield function(name, call, _ABOVE, **_OPEN)
        if name not in _FLOATS_ONLY:
            yield function(name, call, _COUNTS[:, :1] ** 2 + 1, label="int32")
    for decimals in (0, 2, -1):
        yield function(
            "round", lambda x, d=decimals: ops.round(x, decimals=d), 30 * _ANY, label=f"{decimals}"
        )
    yield function(
        "nan_to_num", lambda x: ops.nan_to_num(x, nan=1.0, posinf=2.0), _ODD, label="1, 2"
    )
    yield function("clip", lambda x: ops.clip(x, -0.5, 1.0), _ANY, **_OPEN)
    yield function("clip", lambda x: ops.clip(x, -2, 3), _COUNTS, label="int32")
    for name in ("real", "imag", "conj", "conjugate", "angle", "abs", "isreal"):
        call = getattr(ops, name)
        yield function(name, call, _PAIRS, label="complex64")


def _binary() -> Iterator[Entry]:
    from keras import ops

    for (
        name
    ) in """add subtract multiply divide true_divide maximum minimum fmax fmin equal not_equal
        greater greater_equal less less_equal arctan2 hypot logaddexp logaddexp2 floor_divide mod
        fmod divide_no_nan logical_and logical_or logical_xor heaviside isclose nextafter
        """.split():
        call = getattr(ops, name)
        yield function(name, call, _ANY, _OTHER, **_OPEN)
        yield function(name, call, _ANY, _OTHER[:1, :1], label="broadcast", free=({0: "n"}, {}))
        yield function(name, lambda x, c=call: c(x, 2.0), _ANY, label="with a number")
    for name in "add subtract multiply divide maximum minimum equal less greater_equal".split():
        call = getattr(ops, name)
        yield function(name, call, _COUNTS, _SHIFTS, label="int32")
    for name in ("floor_divide", "mod", "fmod", "divide", "true_divide"):
        call = getattr(ops, name)
        yield function(name, call, _COUNTS, _SHIFTS + 1, label="of positive int32")
        yield function(name, call, _COUNTS, -_SHIFTS - 1, label="of negative int32")
    for name in ("maximum", "minimum", "fmax", "fmin", "equal", "isclose"):
        call = getattr(ops, name)
        yield function(name, call, _ODD, _ODD[:, ::-1].copy(), label="not finite")
    yield function(
        "isclose", lambda x, y: ops.isclose(x, y, equal_nan=True), _ODD, _ODD, label="nan"
    )
    yield function("allclose", ops.allclose, _ANY, _ANY + 1e-9)
    yield function("power", ops.power, _ABOVE, _OTHER, **_OPEN)
    yield function("power", lambda x: ops.power(x, 3), _ANY, label="cube")
    yield function("power", ops.power, _COUNTS, _SHIFTS, label="int32")
    yield function(
        "divide_no_nan", ops.divide_no_nan, _ANY, _COUNTS * 1.0, label="by zero", modes=("static",)
    )
    yield function("ldexp", ops.ldexp, _ANY, _SHIFTS, **_OPEN)
    yield function("polar", ops.polar, _ABOVE, _OTHER)
    yield function("where", ops.where, _ANY > 0, _ANY, _OTHER, **_OPEN)
    yield function("where", lambda c, x: ops.where(c, x, 0.0), _ANY > 0, _ANY, label="a number")
    yield function("where", ops.where, _ANY > 0, label="indices")
    yield function(
        "select", lambda x: ops.select([x > 1, x > 0], [x, 2 * x], default=-1.0), _ANY, **_OPEN
    )
    for name in ("add", "multiply", "subtract", "divide"):
        call = getattr(ops, name)
        yield function(name, call, _PAIRS, _PAIRS[::-1].copy(), label="complex64")


def _integers() -> Iterator[Entry]:
    from keras import ops

    for kind in ("int32", "int64", "uint8", "int8"):
        a, b = abs(_COUNTS).astype(kind), _SHIFTS.astype(kind)
        for name in """bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift
            left_shift right_shift""".split():
            call = getattr(ops, name)
            yield function(name, call, a, b, label=kind)
        for name in ("bitwise_invert", "bitwise_not"):
            call = getattr(ops, name)
            yield function(name, call, a, label=kind)
    for name in ("bitwise_right_shift", "right_shift", "bitwise_and"):
        call = getattr(ops, name)
        yield function(name, call, _COUNTS, _SHIFTS, label="negative")
    for name in ("gcd", "lcm"):
        call = getattr(ops, name)
        yield function(name, call, _COUNTS, _SHIFTS, **_SIZED)


def _types() -> Iterator[Entry]:
    from keras import ops

    for kind in ("float16", "bfloat16", "float64", "int8", "int32", "int64", "uint8", "bool"):
        yield function("cast", lambda x, k=kind: ops.cast(x, k), abs(_ANY), label=kind)
    for kind in ("int8", "uint8", "int32", "float16"):
        yield function(
            "saturate_cast", lambda x, k=kind: ops.saturate_cast(x, k), 200 * _ANY, label=kind
        )
    yield function("view", lambda x: ops.view(x, "int32"), _ANY)
    yield function("view_as_complex", ops.view_as_complex, numbers(3, 4, 2))
    yield function("view_as_real", ops.view_as_real, _PAIRS)
    yield function("convert_to_tensor", ops.convert_to_tensor, _ANY)
    yield function("is_tensor", lambda x: x if ops.is_tensor(x) else -x, _ANY)
    yield function("dtype", lambda x: x if ops.dtype(x) == "float32" else -x, _ANY)
    yield function("custom_gradient", ops.custom_gradient(_doubled), _ANY)
    yield function(
        "vectorize",
        ops.vectorize(lambda x: x * 2 + 1),
        _ANY,
        refused="Not supported with `vectorize()`",
        reason="Keras has it on other backends only",
    )


def _doubled(x: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Twice ``x``, and what a gradient would be."""
    return 2 * x, lambda upstream: upstream
