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
import tensorflow as tf

from conformance.entries import MODES
from conformance.tf_ops.running import run_onnx
from yobx.errors import ConversionError
from yobx.tensorflow import to_onnx

Shape = tuple[int | str, ...]
STATIC: dict[str, int] = {"n": 3, "m": 4, "k": 5, "h": 6, "w": 5, "t": 4}
BINDINGS: tuple[dict[str, int], ...] = (
    {"n": 5, "m": 7, "k": 3},
    {"n": 1, "m": 2, "k": 1},
)
EMPTY = (*BINDINGS, {"n": 0, "m": 3, "k": 2})
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
class Drawn:
    """What holds for random values.

    Attributes:
        low: Smallest possible value.
        high: Largest possible value.
        mean: What they come to on average.
        spread: Least standard deviation.
    """

    low: float
    high: float
    mean: float
    spread: float = 0.2


class MismatchError(AssertionError):
    """A model and TensorFlow disagree."""


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
        bindings: Sizes for the dynamic model.
        eager: What to compare with, if not ``function``.
        dynamic: Whether to convert with dynamic axes too.
        autograph: Whether the function holds Python loops and conditions on tensors.
        op_type: TensorFlow op type it is about, ``""`` if about several.
        refused: A piece of the error, if an attribute value cannot be converted.
        domains: Domains besides the standard ones that the model may use.
        drawn: What holds for random values, which cannot agree.
    """

    name: str
    function: Callable[..., Any]
    args: tuple[Arg, ...]
    ulps: float = 0.0
    floor: float = 0.0
    contraction: float = 0.0
    atol: float = 0.0
    bindings: tuple[dict[str, int], ...] = BINDINGS
    eager: Callable[..., Any] | None = None
    dynamic: bool = True
    autograph: bool = False
    op_type: str = ""
    refused: str = ""
    domains: tuple[str, ...] = ()
    drawn: Drawn | None = None


def numpy_dtype(name: str) -> Any:
    """Return the numpy dtype for a TensorFlow dtype name."""
    if name == "string":
        return object
    return ml_dtypes.bfloat16 if name == "bfloat16" else np.dtype(name)


def compare(
    want: np.ndarray[Any, Any],
    got: np.ndarray[Any, Any],
    case: Case,
    magnitude: np.ndarray[Any, Any] | None,
    label: str,
) -> None:
    """Require that an output has the dtype, shape and values of the reference.

    Args:
        want: What TensorFlow computes.
        got: What the model computes.
        case: The allowances.
        magnitude: The sums of absolute values that `contraction` is about.
        label: Where this is.

    Raises:
        MismatchError: If it has not.
    """
    got = np.asarray(got)
    _require(got.shape == want.shape, f"{label}: shape {got.shape}, want {want.shape}")
    if want.dtype == object:
        _require(_texts(got) == _texts(want), f"{label}: want {_texts(want)} got {_texts(got)}")
        return
    _require(got.dtype == want.dtype, f"{label}: dtype {got.dtype}, want {want.dtype}")
    if case.drawn is not None:
        _compare_drawn(got, case.drawn, label)
        return
    close = _close(want, got, case, magnitude)
    _require(
        bool(close.all()),
        f"{label}: {int((~close).sum())} of {close.size} differ, "
        f"first want {want[~close][:4]} got {got[~close][:4]}",
    )


def _close(
    want: np.ndarray[Any, Any],
    got: np.ndarray[Any, Any],
    case: Case,
    magnitude: np.ndarray[Any, Any] | None,
) -> np.ndarray[Any, Any]:
    if want.dtype.kind in "iub":
        return np.asarray(got == want)
    eps = float(ml_dtypes.finfo(want.dtype).eps)
    wide_want, wide_got = want.astype(np.float64), got.astype(np.float64)
    same = (wide_want == wide_got) | (np.isnan(wide_want) & np.isnan(wide_got))
    with np.errstate(invalid="ignore"):
        scale = np.maximum(np.abs(wide_want), case.floor)
        allowed = case.ulps * eps * scale + case.atol
        if magnitude is not None:
            allowed = allowed + case.contraction * eps * np.abs(magnitude.astype(np.float64))
        return np.asarray(same | (np.abs(wide_want - wide_got) <= allowed))


def _compare_drawn(got: np.ndarray[Any, Any], drawn: Drawn, label: str) -> None:
    values = got.astype(np.float64)
    low, high, mean = values.min(), values.max(), values.mean()
    _require(drawn.low <= low and high <= drawn.high, f"{label}: values from {low} to {high}")
    _require(abs(mean - drawn.mean) < 0.3, f"{label}: mean {mean}, want {drawn.mean}")
    _require(values.std() > drawn.spread, f"{label}: standard deviation {values.std()}")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise MismatchError(message)


def _texts(array: np.ndarray[Any, Any]) -> list[str]:
    return [v.decode() if isinstance(v, bytes) else str(v) for v in array.ravel()]


def _leaves(value: Any) -> list[Any]:
    leaves = [t.numpy() if hasattr(t, "numpy") else t for t in tf.nest.flatten(value)]
    return [np.asarray(v, object) if isinstance(v, bytes) else np.asarray(v) for v in leaves]


def tensor_of(array: np.ndarray[Any, Any]) -> Any:
    """Return a tensor with the content of an array."""
    if array.dtype != object:
        return tf.constant(array)
    return tf.constant(array.ravel().tolist(), tf.string, shape=array.shape)


def _run(case: Case, model: Any, sizes: Mapping[str, int], label: str) -> None:
    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    arrays = [a.make(sizes, rng) for a in case.args]
    function = case.eager or case.function
    tensors = [tensor_of(a) for a in arrays]
    want = _leaves(function(*tensors))
    magnitudes: list[Any] = [None] * len(want)
    if case.contraction:
        sizes_of = [tf.abs(t) if t.dtype.is_floating else t for t in tensors]
        magnitudes = _leaves(function(*sizes_of))
    got = run_onnx(model, arrays)
    _require(len(got) == len(want), f"{label}: {len(got)} outputs, want {len(want)}")
    for i, (w, v, m) in enumerate(zip(want, got, magnitudes, strict=True)):
        compare(w, v, case, m, f"{case.name} [{label}] {dict(sizes)} output {i}")


def modes_of(case: Case) -> tuple[str, ...]:
    """Return how a case is checked: with static shapes, and with dynamic ones if it has any."""
    free = case.dynamic and any(a.dynamic for a in case.args)
    return MODES if free else MODES[:1]


def check_mode(case: Case, mode: str, opset: int = 21) -> None:
    """Convert a case, run it and compare.

    Args:
        case: The case.
        mode: One of ``MODES``.
        opset: Target opset.

    Raises:
        MismatchError: If an output differs.
    """
    rng = np.random.default_rng(0)
    example = tuple(a.make(STATIC, rng) for a in case.args)
    function = tf.function(case.function, autograph=case.autograph)
    shapes = tuple(a.dynamic if mode == "dynamic" else {} for a in case.args)
    domains = dict.fromkeys(case.domains, 1)
    target: Any = {"": opset, **domains} if domains else opset
    model = to_onnx(function, example, dynamic_shapes=shapes, target_opset=target)
    for sizes in case.bindings if mode == "dynamic" else (STATIC,):
        _run(case, model, sizes, mode)


def check(case: Case, opset: int = 21) -> None:
    """Check a case in every mode; a refused one must be refused, with the words it declares.

    Args:
        case: The case.
        opset: Target opset.

    Raises:
        MismatchError: If an output differs, or there is no refusal.
        ConversionError: If it cannot be converted.
    """
    for mode in modes_of(case):
        try:
            check_mode(case, mode, opset)
        except ConversionError as error:
            if not case.refused or case.refused not in str(error):
                raise
        else:
            _require(not case.refused, f"{case.name}: declared {case.refused!r}, and passes")


def works_in_tf(case: Case) -> bool:
    """Tell whether TensorFlow itself can compute a case: it lacks kernels here and there."""
    rng = np.random.default_rng(0)
    tensors = [tensor_of(a.make({**case.bindings[0], **STATIC}, rng)) for a in case.args]
    try:
        (case.eager or case.function)(*tensors)
    except (tf.errors.OpError, TypeError, ValueError):
        return False
    return True
