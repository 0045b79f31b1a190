"""Integers near the limits of their types, whose results wrap around, and reductions of nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from conformance.tf_ops.cases import Arg, Case, works_in_tf

REDUCTIONS = ("Sum", "Mean", "Max", "Min", "Prod")
#: Sizes of which one or the other is zero, besides distinct primes and one.
SIZES = (
    {"n": 5, "m": 7, "k": 13},
    {"n": 1, "m": 1, "k": 1},
    {"n": 0, "m": 3, "k": 2},
    {"n": 2, "m": 0, "k": 3},
    {"n": 3, "m": 2, "k": 0},
)
EQUATIONS = ("nij->nj", "nii->n", "nii->ni", "nij,njk->n", "nij,nij->")


def edges(dtype: str, count: int = 41) -> tuple[int, ...]:
    """Return values at the limits, small ones and some from everywhere between.

    Args:
        dtype: Integer type.
        count: How many.
    """
    info = np.iinfo(dtype)
    special = [info.max, info.min, info.max - 1, info.min + 1, info.max // 2 + 1, 1, 3, 7, 2]
    rng = np.random.default_rng(7)
    drawn = rng.integers(info.min, info.max, count - len(special), dtype=dtype, endpoint=True)
    return (*(int(v) for v in drawn), *special)


def _reduced(kind: str, axis: Any, keep: bool, x: Any) -> Any:
    return getattr(tf.raw_ops, kind)(input=x, axis=axis, keep_dims=keep)


def _integers(dtype: str) -> Iterator[Case]:
    x = Arg(dtype, ("n", "m", "k"), values=edges(dtype))
    for kind in REDUCTIONS:
        for label, axis in (("last", [2]), ("two", [0, -2]), ("all", [0, 1, 2]), ("none", [])):
            function = partial(_reduced, kind, tf.constant(axis, tf.int32), label == "two")
            yield Case(f"{kind}-{label}-{dtype}", function, (x,), bindings=SIZES, op_type=kind)
    pairs = (x, Arg(dtype, (1, "m", 1), 0, 9))
    bindings = SIZES[:3]

    def power(base: Any, exponent: Any) -> Any:
        return tf.raw_ops.Pow(x=base, y=exponent)

    def fixed(exponent: Any) -> Callable[..., Any]:
        return lambda base: tf.raw_ops.Pow(x=base, y=tf.constant(exponent, dtype))

    yield Case(f"Pow-{dtype}", power, pairs, bindings=bindings, op_type="Pow")
    for label, value in (("3", 3), ("0", 0), ("11", 11), ("several", [[3], [0], [5]])):
        shape = ("n", 3, 4) if label == "several" else ("n", 4)
        arg = Arg(dtype, shape, values=edges(dtype))
        yield Case(f"Pow-{label}-{dtype}", fixed(value), (arg,), bindings=bindings, op_type="Pow")


def integers(*dtypes: str) -> list[Case]:
    """Return the cases of reductions and powers that TensorFlow has kernels for.

    Args:
        dtypes: Integer types.
    """
    return [case for dtype in dtypes for case in _integers(dtype) if works_in_tf(case)]


def _variable(dtype: str) -> Iterator[Case]:
    """Axes that only the run knows."""
    x = Arg(dtype, ("n", "m", 3), values=edges(dtype))
    for kind in REDUCTIONS:
        for label, axes in (("two", (-1, 0)), ("middle", (1,))):
            args = (x, Arg("int32", (len(axes),), values=axes))

            def function(value: Any, axis: Any, kind: str = kind) -> Any:
                return _reduced(kind, axis, keep=True, x=value)

            yield Case(
                f"{kind}-variable-{label}-{dtype}", function, args, bindings=SIZES, op_type=kind
            )


def _sums(dtype: str) -> Iterator[Case]:
    for equation in EQUATIONS:
        twice = "," in equation
        sizes = (Arg(dtype, ("n", 3, 3), values=edges(dtype)),) * (2 if twice else 1)

        def function(*values: Any, equation: str = equation) -> Any:
            return tf.raw_ops.Einsum(inputs=list(values), equation=equation)

        yield Case(
            f"Einsum-{equation}-{dtype}", function, sizes, bindings=SIZES[:2], op_type="Einsum"
        )


def _widened(source: str, target: str) -> Case:
    """A sum of what a cast has made wider."""
    x = Arg(source, ("n", "m"), 0, 2, values=None if source == "bool" else edges(source))
    name = f"Sum-of-{source}-as-{target}"
    return Case(
        name, lambda v: tf.reduce_sum(tf.cast(v, target), 1), (x,), bindings=SIZES, op_type="Sum"
    )


def _many(kind: str, dtype: str, count: int) -> Case:
    """More elements than float64 counts exactly."""
    x = Arg(dtype, (count,), values=(np.iinfo(dtype).max - 2, np.iinfo(dtype).max, 3))
    return Case(f"{kind}-many-{dtype}", lambda v: _reduced(kind, [0], keep=False, x=v), (x,))


def _crossed(dtype: str) -> Iterator[Case]:
    """Limits whose lower one is above the upper one."""
    x, low, high = Arg(dtype, ("n", 3)), Arg(dtype, (), 3, 4), Arg(dtype, (), 1, 2)
    yield Case(
        f"ClipByValue-crossed-{dtype}",
        lambda v, a, b: tf.raw_ops.ClipByValue(t=v, clip_value_min=a, clip_value_max=b),
        (x, low, high),
        op_type="ClipByValue",
    )
    yield Case(
        f"ClipByValue-crossed-fixed-{dtype}",
        lambda v: tf.raw_ops.ClipByValue(
            t=v, clip_value_min=tf.constant(3, dtype), clip_value_max=tf.constant(1, dtype)
        ),
        (x,),
        op_type="ClipByValue",
    )


def _of_nothing() -> Iterator[Case]:
    """Floats along axes without elements."""
    x = Arg("float32", ("n", "m", "k", 2))
    functions: dict[str, Callable[..., Any]] = {
        f"{kind}-{label}": partial(_reduced, kind, axis, label != "time")
        for kind in (*REDUCTIONS, "EuclideanNorm")
        for label, axis in (("time", [1]), ("space", [1, 2]), ("apart", [0, 2]))
    }
    functions |= {
        "moments": lambda v: tf.nn.moments(v, [1, 2]),
        "variance": lambda v: tf.math.reduce_variance(v, 1),
        "logsumexp": lambda v: tf.reduce_logsumexp(v, 1),
        "pooled": lambda v: tf.keras.layers.GlobalAveragePooling2D()(v),
        "pooled-first": lambda v: tf.keras.layers.GlobalAveragePooling2D("channels_first")(v),
        "one-axis": lambda v: tf.keras.layers.GlobalAveragePooling1D(keepdims=True)(
            tf.reduce_sum(v, 2)
        ),
        "every": lambda v: tf.reduce_mean(v),
        "all": lambda v: (tf.reduce_all(v > 0, 1), tf.reduce_any(v > 0, [1, 2])),
    }
    for name, function in functions.items():
        yield Case(f"nothing-{name}", function, (x,), bindings=SIZES, ulps=8, floor=16)
    for kind in REDUCTIONS:
        fixed = Arg("float32", ("n", 0, 3))
        function = partial(_reduced, kind, [1], False)
        yield Case(f"nothing-{kind}-fixed", function, (fixed,), op_type=kind)


def cases() -> list[Case]:
    """Every case of this module."""
    rows = integers("int16", "int32", "uint64")
    rows += [case for dtype in ("int32", "int64", "uint8") for case in _variable(dtype)]
    rows += [case for dtype in ("int32", "int64") for case in _sums(dtype)]
    pairs = (("bool", "int32"), ("bool", "int64"), ("int8", "int32"), ("int32", "int64"))
    rows += [_widened(*pair) for pair in (*pairs, ("int8", "uint32"), ("uint8", "uint64"))]
    rows += [_many("Sum", "int64", 2**21 + 3), _many("Mean", "int32", 2**22 + 3)]
    rows += [case for dtype in ("int32", "int64", "float32") for case in _crossed(dtype)]
    return [*rows, *_of_nothing()]
