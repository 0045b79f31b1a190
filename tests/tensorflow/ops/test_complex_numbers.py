"""Complex numbers at edges: huge and tiny ones, both sides of branch cuts, zeros, nothing."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from conformance.tf_ops.running import run_onnx
from yobx.errors import ConversionError
from yobx.tensorflow import to_onnx

Numbers = np.ndarray[Any, Any]
INF, NAN = np.inf, np.nan
#: Name in ``tf.math`` -> the same in numpy, which is what C computes.
SAME: dict[str, Callable[..., Any]] = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh,
    "atan": np.arctan, "atanh": np.arctanh, "cos": np.cos, "cosh": np.cosh, "exp": np.exp,
    "log": np.log, "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "tan": np.tan,
    "tanh": np.tanh,
}  # fmt: skip
PARTS = (0.0, -0.0, 1.0, -1.0, 0.5, -2.3, 60.0, 1e-5, 1e-3, 0.9999, -1.0001)
HUGE = {"complex64": (1e30, -1e30, 1e-30, 95.0), "complex128": (1e200, -1e200, 1e-200, 720.0)}
#: Where a sine of a huge angle would be compared, or a power that is infinite.
PERIODIC = {"cos", "cosh", "sin", "sinh", "exp", "tan", "tanh"}


def both(values: Numbers) -> Numbers:
    return np.stack([values.real, values.imag], -1)


def run(function: Callable[..., Any], *values: Numbers) -> Numbers:
    """Run a function of complex tensors in ONNX."""

    def of_parts(*parts: Any) -> Any:
        made = function(*(tf.complex(p[..., 0], p[..., 1]) for p in parts))
        if not made.dtype.is_complex:
            return made
        return tf.stack([tf.math.real(made), tf.math.imag(made)], -1)

    given = [both(v) for v in values]
    model = to_onnx(tf.function(of_parts), tuple(given), dynamic_shapes=({},) * len(given))
    found = np.asarray(run_onnx(model, given)[0])
    is_pair = found.shape == given[0].shape and found.dtype.kind == "f"
    if not is_pair:
        return found
    kind = np.complex64 if found.dtype == np.float32 else np.complex128
    return np.ascontiguousarray(found).view(kind)[..., 0]


@pytest.mark.parametrize("kind", ["complex64", "complex128"])
@pytest.mark.parametrize("name", sorted(SAME))
def test_function_at_edges(name: str, kind: str) -> None:
    tips = () if name in PERIODIC else HUGE[kind][:3]
    grown = () if name not in {"sinh", "cosh", "tanh", "exp"} else HUGE[kind][3:]
    axis = (*PARTS, *tips)
    x = np.array([complex(a, b) for a in (*axis, *grown) for b in axis], kind)
    with np.errstate(all="ignore"):
        want = SAME[name](x)
    if name == "exp":  # what is infinite has no direction that both compute
        x, want = x[np.isfinite(want)], want[np.isfinite(want)]
    got = run(getattr(tf.math, name), x)
    assert got.dtype == want.dtype
    size = np.abs(want)[:, None]
    if name == "log":  # as in TensorFlow it is that of the size, whose rounding near 1 remains
        size = np.maximum(size, 1)
    found, right = both(got), both(want)
    size = np.where(np.isfinite(size), size, np.abs(right))
    with np.errstate(invalid="ignore"):
        close = np.abs(found - right) <= 40 * np.finfo(kind).eps * size
    bad = ~((found == right) | close).all(-1)
    assert not bad.any(), list(zip(x[bad], want[bad], got[bad], strict=True))[:4]


@pytest.mark.parametrize("kind", ["complex64", "complex128"])
def test_size_neither_overflows_nor_vanishes(kind: str) -> None:
    x = np.array([complex(a, b) for a in HUGE[kind][:3] for b in HUGE[kind][:3]], kind)
    np.testing.assert_allclose(run(tf.abs, x), np.abs(x), rtol=1e-6 if kind[-1] == "4" else 1e-15)


@pytest.mark.parametrize(
    ("x", "y"),
    [(0, 1), (0, 0), (0, -1), (0, 2 + 1j), (2, 0), (-1, 0.5), (complex(-1, -0.0), 0.5), (INF, 2),
     (2, INF), (1e-200, 2), (1e200 + 1e200j, 0.5), (complex(0, INF), 2), (0, 1j)],
)  # fmt: skip
def test_power_as_tensorflow_computes_it(x: complex, y: complex) -> None:
    given = [np.full(8, v, np.complex128) for v in (x, y)]
    want = tf.pow(*given).numpy()
    np.testing.assert_allclose(both(run(tf.pow, *given)), both(want), rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize(
    "x", [0, 1, -1, complex(-1, -0.0), 4j, -4j, INF, complex(1, INF), 3 - 4j, complex(NAN, 1)]
)
def test_reciprocal_root_as_tensorflow_computes_it(x: complex) -> None:
    given = np.full(8, x, np.complex128)
    want = tf.math.rsqrt(given).numpy()
    np.testing.assert_allclose(both(run(tf.math.rsqrt, given)), both(want), rtol=1e-14)


@pytest.mark.parametrize("x", [-300, 300, -1e30 + 1j, 1e30 + 1j, INF, -INF, complex(-INF, INF), 1j])
def test_sigmoid_as_tensorflow_computes_it(x: complex) -> None:
    given = np.full(8, x, np.complex128)
    want = tf.sigmoid(given).numpy()
    np.testing.assert_allclose(both(run(tf.sigmoid, given)), both(want), rtol=1e-13)


def test_limits_hold_for_each_part() -> None:
    x = np.array([1.7 + 9j, 1.2 + 1j, 3 - 7j, 1.8 + 0j])

    def clip(z: Any) -> Any:
        return tf.raw_ops.ClipByValue(t=z, clip_value_min=1.5 - 5j, clip_value_max=2 + 5j)

    np.testing.assert_array_equal(run(clip, x), clip(tf.constant(x)).numpy())


@pytest.mark.parametrize("kind", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["Mean", "Sum", "Prod", "EuclideanNorm"])
@pytest.mark.parametrize("axes", [[0], [0, 1], []])
def test_reductions_of_nothing(name: str, kind: str, axes: list[int]) -> None:
    """The mean of no complex numbers is 0; of no real ones it is NaN."""

    def function(x: Any) -> Any:
        made = getattr(tf.raw_ops, name)(input=tf.complex(x[..., 0], x[..., 1]), axis=axes)
        return tf.stack([tf.math.real(made), tf.math.imag(made)], -1)

    spec = np.ones((2, 3, 2), np.float32 if kind == "complex64" else np.float64)
    model = to_onnx(tf.function(function), (spec,), dynamic_shapes=({0: "n"},))
    for count in (0, 1, 4):
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        x = rng.uniform(-1, 1, (count, 3, 2)).astype(spec.dtype)
        np.testing.assert_allclose(
            run_onnx(model, [x])[0], function(tf.constant(x)).numpy(), rtol=2e-6, atol=1e-6
        )


def test_text_of_complex_numbers_is_refused() -> None:
    def text(x: Any) -> Any:
        return tf.strings.as_string(tf.complex(x, x))

    with pytest.raises(ConversionError, match="complex64"):
        to_onnx(tf.function(text), (np.ones(3, np.float32),))
