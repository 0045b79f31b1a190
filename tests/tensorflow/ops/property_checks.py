"""What property tests share: one random example converted, run and compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st

from conformance.tf_ops.cases import Case, compare, numpy_dtype
from conformance.tf_ops.running import run_onnx
from yobx.tensorflow import to_onnx

#: Examples of each family; they are always the same ones.
EXAMPLES = 25
family = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
FLOATS = ("float32", "float64", "float16")
INTS = ("int32", "int64", "int8", "uint8", "int16", "uint32")
AWKWARD = (0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, np.nan, np.inf, -np.inf, 1e-6, 88.0)


def sizes(most: int = 4, least: int = 0) -> st.SearchStrategy[int]:
    """Sizes of axes, zero among them."""
    return st.integers(least, most)


def shapes(
    least: int = 0, most: int = 4, size: st.SearchStrategy[int] | None = None
) -> st.SearchStrategy[tuple[int, ...]]:
    """Shapes of a rank between two limits."""
    each = sizes() if size is None else size
    return st.lists(each, min_size=least, max_size=most).map(tuple)


@st.composite
def arrays(
    draw: st.DrawFn,
    dtype: str,
    shape: Sequence[int],
    *,
    special: bool = False,
    low: int = -4,
    high: int = 5,
) -> np.ndarray[Any, Any]:
    """An array of small numbers; NaN and infinities among them on request."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    kind = numpy_dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    if dtype == "bool":
        flat = rng.integers(0, 2, count)
    elif np.dtype(kind).kind in "iu":
        flat = rng.integers(max(low, 0) if np.dtype(kind).kind == "u" else low, high, count)
    else:
        flat = rng.uniform(low, high, count)
        if special and count:
            places = rng.integers(0, count, min(count, 3))
            flat[places] = rng.choice(AWKWARD, len(places))
    return np.asarray(flat).reshape(tuple(shape)).astype(kind)


@st.composite
def open_axes(draw: st.DrawFn, inputs: Sequence[np.ndarray[Any, Any]]) -> tuple[Any, ...]:
    """Which axes are dynamic; axes of the same size may share a name."""
    found = []
    for number, array in enumerate(inputs):
        names = {}
        for axis, size in enumerate(array.shape):
            if draw(st.booleans()):
                names[axis] = f"s{size}" if draw(st.booleans()) and size > 1 else f"a{number}{axis}"
        found.append(names)
    return tuple(found)


def agrees(
    function: Callable[..., Any],
    inputs: Sequence[np.ndarray[Any, Any]],
    dynamic: Sequence[dict[int, str]],
    *,
    ulps: float = 0,
    floor: float = 0,
    contraction: float = 0,
    atol: float = 0,
) -> None:
    """Convert a function, run it, compare; an example that TensorFlow refuses does not count."""
    try:
        want = function(*[tf.constant(a) for a in inputs])
    except (tf.errors.OpError, ValueError, TypeError):
        assume(False)
    case = Case(
        "property", function, (), ulps=ulps, floor=floor, contraction=contraction, atol=atol
    )
    flat = [np.asarray(t) for t in tf.nest.flatten(want)]
    sums: list[Any] = [None] * len(flat)
    if contraction:
        bounds = function(*[tf.constant(np.abs(a)) for a in inputs])
        sums = [np.asarray(t) for t in tf.nest.flatten(bounds)]
    model = to_onnx(tf.function(function), tuple(inputs), dynamic_shapes=tuple(dynamic))
    got = run_onnx(model, list(inputs))
    assert len(got) == len(flat), f"{len(got)} outputs, want {len(flat)}"
    for one, other, magnitude in zip(flat, got, sums, strict=True):
        compare(one, other, case, magnitude, f"{[a.shape for a in inputs]} {dynamic}")
