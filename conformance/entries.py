"""An entry of the census of Keras: one layer or function with one set of arguments, and its check.

Every entry is checked twice: with static sizes, and with a dynamic batch and whatever other axes
the entry frees, at several sizes. What cannot be converted says so here, by a piece of the error.
"""

from __future__ import annotations

import itertools
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from conformance.cells import Cell, Verdict

if TYPE_CHECKING:
    from yobx.verification.evidence import CheckResult

__all__ = [
    "LARGE",
    "MODES",
    "Entry",
    "check",
    "flags",
    "function",
    "grid",
    "layer",
    "model",
    "numbers",
    "positive",
    "settle",
    "shuffled",
    "whole",
]

MODES = ("static", "dynamic")
# Phases of a check that may end in the error that an entry declares.
_REFUSING = ("import", "trace", "convert")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One layer or function with one set of arguments.

    Attributes:
        subject: Public name, ``keras.layers.Dense`` without ``keras.``.
        name: What tells it from other entries of the subject.
        make: Makes the model, ready to be called.
        inputs: Arguments of the call: arrays, or lists and dicts of arrays.
        kwargs: Keyword arguments of the call.
        free: Axes that are dynamic besides the batch, of every input that has them; or one dict
            axis -> name for each input, which then says everything.
        modes: Which of `MODES` make sense.
        refused: A piece of the error when the entry cannot be converted, or not be run by Keras.
        refused_dynamic: The same for the dynamic check alone.
        reason: Why it is refused, or why `norm` is what it is.
        norm: How many units in the last place of its largest element an output may be off, for
            algorithms whose rounding follows the norm of the whole array: transforms and
            decompositions, which no two libraries compute alike. About three times the greatest
            that any entry of its kind needs. 0 for the usual comparison.
        options: Further keywords of ``check_conversion``.
    """

    subject: str
    name: str
    make: Callable[[], Any]
    inputs: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    free: Sequence[int] | Sequence[Mapping[int, str]] = ()
    modes: tuple[str, ...] = MODES
    refused: str = ""
    refused_dynamic: str = ""
    reason: str = ""
    norm: float = 0.0
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        """The name of its cells, without the mode."""
        return f"keras.{self.subject}/{self.name}"

    def expected(self, mode: str) -> str:
        """The piece of an error that is expected, or ``""``.

        Args:
            mode: One of `MODES`.
        """
        return self.refused or (self.refused_dynamic if mode == "dynamic" else "")


def numbers(*shape: int, seed: int = 0) -> NDArray[Any]:
    """Float32 numbers around zero, of shape `shape`."""
    rng = np.random.default_rng([seed, *shape])
    return rng.normal(size=shape).astype(np.float32)


#: Bindings without small sizes: where a window is larger than the image TensorFlow gives an empty
#: one, or ends its process, and onnxruntime refuses, or gives one window of what there is: where
#: the image lacks less than a stride, it rounds a negative quotient towards zero, not down.
LARGE: dict[str, Any] = {"bindings": ("primes", {"batch": 1})}


def positive(*shape: int, high: float = 1.0, seed: int = 0) -> NDArray[Any]:
    """Float32 numbers between 0 and `high`, of shape `shape`."""
    rng = np.random.default_rng([seed, *shape])
    return rng.uniform(0.01, high, size=shape).astype(np.float32)


def whole(
    *shape: int, high: int, low: int = 0, dtype: str = "int32", seed: int = 0
) -> NDArray[Any]:
    """Integers from `low` up to, but without, `high`, of shape `shape`."""
    return np.random.default_rng([seed, *shape]).integers(low, high, size=shape).astype(dtype)


def flags(*shape: int, seed: int = 0) -> NDArray[Any]:
    """Booleans, of shape `shape`."""
    return np.random.default_rng([seed, *shape]).random(shape) < 0.6


def grid(**choices: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Every combination of the given values, as keyword arguments."""
    for values in itertools.product(*choices.values()):
        yield dict(zip(choices, values, strict=True))


def settle(made: Any, *, seed: int = 0) -> None:
    """Gives the float weights of a layer values that no symmetry hides.

    Args:
        made: A built layer or model, changed in place.
        seed: Seed of the values.
    """
    for position, variable in enumerate(made.weights):
        shape, dtype = tuple(variable.shape), str(variable.dtype)
        if not dtype.startswith(("float", "bfloat")):
            continue
        rng = np.random.default_rng([seed, position])
        spread = 0.6 / max(1.0, np.prod(shape[:-1]) ** 0.5 / 2)
        value = rng.normal(scale=spread if len(shape) > 1 else 0.4, size=shape)
        if any(word in variable.name for word in ("variance", "gamma", "scale")):
            value = rng.uniform(0.5, 1.5, size=shape)
        variable.assign(value.astype("float32"))


def layer(
    subject: str,
    *inputs: Any,
    label: Any = "",
    options: Any = None,
    after: Any = None,
    **arguments: Any,
) -> Entry:
    """An entry for a class of ``keras.layers``.

    Args:
        subject: Name of the class.
        *inputs: Arguments of the call.
        label: What tells the entry from others with the same arguments.
        options: Fields of `Entry`.
        after: Changes the built layer before it is converted.
        **arguments: Arguments of the class.

    Returns:
        The entry, named by its arguments.
    """
    import keras

    settings = dict(options or {})

    def make() -> Any:
        made = getattr(keras.layers, subject)(**arguments)
        made(*inputs, **settings.get("kwargs", {}))
        settle(made)
        if after is not None:
            after(made)
        return made

    said = ", ".join(f"{key}={_spelled(value)}" for key, value in arguments.items())
    name = f"{said}; {label}" if said and label else said or label or "default"
    return Entry(subject=f"layers.{subject}", name=name, make=make, inputs=inputs, **settings)


def model(subject: str, name: str, build: Any, *inputs: Any, **settings: Any) -> Entry:
    """An entry for a layer or model that a function builds.

    Args:
        subject: Name of the class of ``keras.layers`` it is about, or a dotted name of Keras.
        name: What tells it from other entries.
        build: Makes the layer or model; its weights are settled afterwards.
        *inputs: Arguments of the call.
        **settings: Fields of `Entry`, and ``after=`` as for `layer`.

    Returns:
        The entry.
    """
    after = settings.pop("after", None)
    subject = subject if "." in subject else f"layers.{subject}"

    def make() -> Any:
        made = build()
        made(*inputs, **settings.get("kwargs", {}))
        settle(made)
        if after is not None:
            after(made)
        return made

    return Entry(subject=subject, name=name, make=make, inputs=inputs, **settings)


def function(
    subject: str, call: Callable[..., Any], *inputs: Any, label: Any = "default", **settings: Any
) -> Entry:
    """An entry for a function of ``keras.ops``.

    Args:
        subject: Name of the function in ``keras.ops``, with its module if it has one.
        call: Calls it on tensors.
        *inputs: Arguments of the call.
        label: What tells it from other entries.
        **settings: Fields of `Entry`.

    Returns:
        The entry.
    """
    return Entry(subject=f"ops.{subject}", name=label, make=lambda: call, inputs=inputs, **settings)


def _spelled(value: Any) -> str:
    if callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    if isinstance(value, np.ndarray):
        return f"array{value.shape}"
    return repr(value)


def check(entry: Entry, mode: str) -> Cell:
    """Converts an entry and compares it with Keras.

    Args:
        entry: The entry.
        mode: One of `MODES`.

    Returns:
        What became of it. A refusal that is not declared, or other than declared, is broken; so is
        a declared one that does not come.
    """
    from yobx.verification.check import run_check

    name, group = f"{entry.full_name}[{mode}]", f"keras.{entry.subject}"
    try:
        made = entry.make()
    except _raised_by_keras() as error:
        text = f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"
        return _as_declared(entry, mode, Cell(name, group, Verdict.SOURCE, "source", text), text)
    shapes = _static(entry) if mode == "static" else _dynamic(entry)
    options: dict[str, Any] = {"dynamic_shapes": shapes, "localize": False, **entry.options}
    if entry.kwargs:
        options["kwargs"] = entry.kwargs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = run_check(made, entry.inputs, **options)
    cell = Cell.of_report(name, group, result.report)
    if _is_of_keras(cell, result):
        cell = replace(cell, verdict=Verdict.SOURCE)
    elif cell.verdict is Verdict.WRONG and entry.norm and _within_norm(entry.norm, result):
        cell = replace(cell, verdict=Verdict.PASS, phase="", message="")
    return _as_declared(entry, mode, cell, " ".join(result.report.text().split()))


def _raised_by_keras() -> tuple[type[Exception], ...]:
    import tensorflow as tf

    return (NotImplementedError, RuntimeError, TypeError, ValueError, tf.errors.OpError)


def _as_declared(entry: Entry, mode: str, cell: Cell, text: str) -> Cell:
    """The cell, or a broken one if what became of it is not what the entry says.

    Words of the declared error in another failure, of an invalid model for example, count nothing.
    """
    expected = entry.expected(mode)
    refused = cell.verdict is Verdict.SOURCE or cell.phase in _REFUSING
    if cell.verdict is Verdict.PASS:
        if not expected:
            return cell
        return replace(cell, verdict=Verdict.BROKEN, message=f"declared {expected!r}, and passes")
    if expected and refused and expected in text:
        verdict = Verdict.SOURCE if cell.verdict is Verdict.SOURCE else Verdict.UNSUPPORTED
        return replace(cell, verdict=verdict, message=f"{entry.reason}. {cell.message}"[:600])
    if cell.verdict is Verdict.WRONG:
        return cell
    return replace(cell, verdict=Verdict.BROKEN, message=f"not declared: {cell.message}"[:600])


def _within_norm(units: float, result: CheckResult) -> bool:
    """Whether every output of every run differs by a few units of its largest element."""
    if result.report.failed_phase != "values":
        return False
    for run in result.runs:
        for got, (_, want) in zip(run.actual.values(), run.expected, strict=True):
            a, b = np.asarray(got), np.asarray(want)
            if a.shape != b.shape or a.dtype != b.dtype or a.dtype.kind not in "fV":
                return False
            allowed = units * float(ml_dtypes.finfo(a.dtype).eps)
            a, b = a.astype(np.float64), b.astype(np.float64)
            if not np.isfinite(b).all():  # an infinite norm would allow anything
                return False
            if not np.all(np.abs(a - b) <= allowed * np.abs(b).max(initial=0)):
                return False
    return bool(result.runs)


def _is_of_keras(cell: Cell, result: CheckResult) -> bool:
    """Whether Keras itself does not trace, or does not run, the model with these sizes."""
    from yobx.errors import TraceError

    if isinstance(result.error, TraceError):
        return True
    said = result.report.phase("run").messages if cell.phase == "run" else []
    return bool(said) and all(text.startswith("the source ") for text in said)


def _leaves(entry: Entry) -> list[NDArray[Any]]:
    import keras

    given = keras.tree.flatten((*entry.inputs, dict(entry.kwargs)))
    return [leaf for leaf in given if isinstance(leaf, np.ndarray)]


def _static(entry: Entry) -> tuple[dict[int, str], ...]:
    return tuple({} for _ in _leaves(entry))


def _dynamic(entry: Entry) -> tuple[dict[int, str], ...]:
    if entry.free and isinstance(entry.free[0], Mapping):
        return tuple(dict(axes) for axes in entry.free if isinstance(axes, Mapping))
    axes = [axis for axis in entry.free if isinstance(axis, int)]
    leaves, found = _leaves(entry), []
    first = next((leaf.shape[0] for leaf in leaves if leaf.ndim), 0)
    for leaf in leaves:
        # What has another first size is not of the batch; of size 1 it is there to be repeated.
        size = leaf.shape[0] if leaf.ndim else 1
        names = {} if size == 1 else {0: "batch" if size == first else f"size_{size}"}
        found.append(names | {a: f"axis{a}_{leaf.shape[a]}" for a in axes if a < leaf.ndim})
    return tuple(found)


def shuffled(entries: Sequence[Entry]) -> list[Entry]:
    """The entries in an order that stays the same while others come and go."""
    return sorted(entries, key=lambda entry: zlib.crc32(entry.full_name.encode()))
