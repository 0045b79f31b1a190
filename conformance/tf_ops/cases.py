"""A table row per case: a function of tensors, the inputs it gets, how close ONNX must be.

``check`` converts a case with static and with dynamic shapes, runs onnxruntime on several sizes and
compares dtype, shape and values with what TensorFlow computes eagerly.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime
import tensorflow as tf

from yobx.tensorflow import to_onnx

Shape = tuple[int | str, ...]
STATIC: dict[str, int] = {"n": 3, "m": 4, "k": 5}
BINDINGS: tuple[dict[str, int], ...] = (
    {"n": 5, "m": 7, "k": 3},
    {"n": 1, "m": 2, "k": 1},
)
# Dynamic shapes are checked for these; the other dtypes take the same path.
PRIMARY = ("float32", "int32", "bool", "string")
AWKWARD = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 3.0, 1e-6, -30.0, 30.0)
SPECIAL = (*AWKWARD, np.nan, np.inf, -np.inf)


@dataclass(frozen=True)
class Arg:
    """One input.

    Attributes:
        dtype: TensorFlow dtype name.
        shape: Sizes; a name is a dynamic axis.
        low: Smallest value (integers and uniform floats).
        high: Largest value, exclusive.
        values: Values to repeat instead of random ones.
        special: Mix NaN and infinities in (floats).
    """

    dtype: str = "float32"
    shape: Shape = ("n", 3)
    low: float = -4.0
    high: float = 5.0
    values: Sequence[Any] | None = None
    special: bool = False

    def make(self, sizes: Mapping[str, int], rng: np.random.Generator) -> np.ndarray[Any, Any]:
        """Return an array for one choice of sizes."""
        shape = tuple(sizes[s] if isinstance(s, str) else s for s in self.shape)
        count = int(np.prod(shape, dtype=np.int64))
        kind = numpy_dtype(self.dtype)
        if self.values is not None:
            filled = np.resize(np.array(self.values, object), count)
        elif self.dtype == "string":
            filled = rng.choice(np.array(["a", "bc", "", "déjà", "Z z"], object), count)
        elif self.dtype == "bool":
            filled = rng.integers(0, 2, count)
        elif np.dtype(kind).kind in "iu":
            low = max(self.low, 0) if np.dtype(kind).kind == "u" else self.low
            filled = rng.integers(int(low), int(self.high), count)
        else:
            filled = rng.uniform(self.low, self.high, count)
            if self.special:
                filled[: len(SPECIAL)] = SPECIAL[:count]
        return filled.reshape(shape).astype(kind)

    @property
    def dynamic(self) -> dict[int, str]:
        """Axes with a name."""
        return {i: s for i, s in enumerate(self.shape) if isinstance(s, str)}


@dataclass(frozen=True)
class Case:
    """One row.

    Attributes:
        name: Identifier.
        function: TensorFlow function of the inputs.
        args: The inputs.
        ulps: Allowed distance in units of the last place of the result.
        floor: Size below which the last place no longer shrinks (functions with zeros).
        contraction: Allow rounding of a sum: compare against the result on absolute values.
        atol: Absolute allowance besides.
        opset: Target opset.
        bindings: Sizes for the dynamic model.
        eager: What to compare with, if not ``function``.
        dynamic: Whether to convert with dynamic axes too.
        autograph: Whether the function holds Python loops and conditions on tensors.
    """

    name: str
    function: Callable[..., Any]
    args: tuple[Arg, ...]
    ulps: float = 0.0
    floor: float = 0.0
    contraction: float = 0.0
    atol: float = 0.0
    opset: int = 21
    bindings: tuple[dict[str, int], ...] = BINDINGS
    eager: Callable[..., Any] | None = None
    dynamic: bool = True
    autograph: bool = False


def numpy_dtype(name: str) -> Any:
    """Return the numpy dtype for a TensorFlow dtype name."""
    if name == "string":
        return object
    return ml_dtypes.bfloat16 if name == "bfloat16" else np.dtype(name)


def _feed(array: np.ndarray[Any, Any]) -> Any:
    if array.dtype == ml_dtypes.bfloat16:
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(np.uint16), 16)
    return onnxruntime.OrtValue.ortvalue_from_numpy(array) if array.dtype != object else array


def run_onnx(model: Any, arrays: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """Run a model in onnxruntime; bfloat16 goes in and out as its bits."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [i.name for i in session.get_inputs()]
    feeds = dict(zip(names, arrays, strict=True))
    if not any(a.dtype == ml_dtypes.bfloat16 for a in arrays) and not any(
        "bfloat16" in o.type for o in session.get_outputs()
    ):
        return list(session.run(None, feeds))
    values = {k: _feed(v) for k, v in feeds.items()}
    results = session.run_with_ort_values([o.name for o in session.get_outputs()], values)
    return [_fetch(r) for r in results]


def _fetch(value: Any) -> np.ndarray[Any, Any]:
    if "bfloat16" not in value.data_type():
        return np.asarray(value.numpy())
    raw = np.zeros(value.shape(), np.uint16)
    import ctypes

    ctypes.memmove(raw.ctypes.data, value.data_ptr(), raw.nbytes)
    return raw.view(ml_dtypes.bfloat16)


def _texts(array: np.ndarray[Any, Any]) -> list[str]:
    return [v.decode() if isinstance(v, bytes) else str(v) for v in array.ravel()]


def compare(
    want: np.ndarray[Any, Any],
    got: np.ndarray[Any, Any],
    case: Case,
    magnitude: np.ndarray[Any, Any] | None,
    label: str,
) -> None:
    """Assert that an output has the dtype, shape and values of the reference."""
    got = np.asarray(got)
    assert got.shape == want.shape, f"{label}: shape {got.shape}, want {want.shape}"
    if want.dtype == object:
        assert _texts(got) == _texts(want), label
        return
    assert got.dtype == want.dtype, f"{label}: dtype {got.dtype}, want {want.dtype}"
    if want.dtype.kind in "iub":
        np.testing.assert_array_equal(got, want, err_msg=label)
        return
    eps = float(ml_dtypes.finfo(want.dtype).eps)
    wide_want, wide_got = want.astype(np.float64), got.astype(np.float64)
    same = (wide_want == wide_got) | (np.isnan(wide_want) & np.isnan(wide_got))
    with np.errstate(invalid="ignore"):
        scale = np.maximum(np.abs(wide_want), case.floor)
        allowed = case.ulps * eps * scale + case.atol
        if magnitude is not None:
            allowed = allowed + case.contraction * eps * np.abs(magnitude.astype(np.float64))
        close = same | (np.abs(wide_want - wide_got) <= allowed)
    assert close.all(), (
        f"{label}: {int((~close).sum())} of {close.size} differ, "
        f"first want {wide_want[~close][:4]} got {wide_got[~close][:4]}"
    )


def _leaves(value: Any) -> list[np.ndarray[Any, Any]]:
    return [t.numpy() if hasattr(t, "numpy") else np.asarray(t) for t in tf.nest.flatten(value)]


def _as_arrays(leaves: list[Any]) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(v, object) if isinstance(v, bytes) else np.asarray(v) for v in leaves]


def _run(case: Case, model: Any, sizes: Mapping[str, int], label: str) -> None:
    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    arrays = [a.make(sizes, rng) for a in case.args]
    function = case.eager or case.function
    tensors = [
        tf.constant(a)
        if a.dtype != object
        else tf.constant(a.ravel().tolist(), tf.string, shape=a.shape)
        for a in arrays
    ]
    want = _as_arrays(_leaves(function(*tensors)))
    magnitudes: list[Any] = [None] * len(want)
    if case.contraction:
        sizes_of = [tf.abs(t) if t.dtype.is_floating else t for t in tensors]
        magnitudes = _as_arrays(_leaves(function(*sizes_of)))
    got = run_onnx(model, arrays)
    assert len(got) == len(want), f"{label}: {len(got)} outputs, want {len(want)}"
    for i, (w, v, m) in enumerate(zip(want, got, magnitudes, strict=True)):
        compare(w, v, case, m, f"{case.name} [{label}] {dict(sizes)} output {i}")


def check(case: Case, static_sizes: Mapping[str, int] = STATIC) -> None:
    """Convert and compare a case under static and dynamic shapes."""
    rng = np.random.default_rng(0)
    example = tuple(a.make(static_sizes, rng) for a in case.args)
    function = tf.function(case.function, autograph=case.autograph)
    static = to_onnx(
        function, example, dynamic_shapes=tuple({} for _ in example), target_opset=case.opset
    )
    _run(case, static, static_sizes, "static")
    if case.dynamic and any(a.dynamic for a in case.args):
        model = to_onnx(
            tf.function(case.function, autograph=case.autograph),
            example,
            dynamic_shapes=tuple(a.dynamic for a in case.args),
            target_opset=case.opset,
        )
        for sizes in case.bindings:
            _run(case, model, sizes, "dynamic")
