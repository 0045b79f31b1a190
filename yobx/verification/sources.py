"""The original of a conversion: how it is converted, run, and asked for its intermediate values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper

__all__ = [
    "FactorSource",
    "GraphSource",
    "InputSpec",
    "NamedArray",
    "NarrowSource",
    "Origin",
    "RewrittenSource",
    "Source",
    "TracedSource",
    "Way",
    "WideRun",
    "WideSource",
    "display_name",
    "is_onnx",
    "is_tensor",
    "type_modules",
    "value_spec",
]

# (name or "", value); a value is an array, or a list of arrays for a sequence
NamedArray = tuple[str, Any]


@dataclass(frozen=True)
class InputSpec:
    """One input as a model declares it.

    Attributes:
        name: Its name, or ``""``.
        dtype: numpy dtype; ``object`` for strings.
        shape: Sizes; ``None`` or a name where the size is open. ``None`` as a whole if the rank is
            open.
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int | str | None, ...] | None


class Source(Protocol):
    """What verification needs of an original.

    Attributes:
        framework: ``keras``, ``tensorflow``, ``jax``, ``onnx`` or a name of your own.
        name: Name of the model for the report.
    """

    framework: str
    name: str

    def convert(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> onnx.ModelProto:
        """Converts the model; exceptions pass through."""

    def run(
        self, args: tuple[Any, ...], keywords: Mapping[str, Any] | None = None
    ) -> list[NamedArray]:
        """Runs the original on numpy inputs and lists its outputs in order.

        ``keywords`` take the place of the keyword arguments that `convert` was given.
        """

    def example(self, seed: int, options: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """Arrays or descriptions of the model's inputs, or ``None`` when it declares none.

        ``options`` are those of `convert`: they say how the model is opened.
        """

    def intermediates(
        self, args: tuple[Any, ...], names: Sequence[str], options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Values of the original by the name of an ONNX value; a list of turns in a body."""


@dataclass(frozen=True)
class Origin:
    """Where an ONNX value comes from.

    Attributes:
        value: Its name.
        operation: Name of the operation in the source graph, or ``""``.
    """

    value: str
    operation: str


@runtime_checkable
class TracedSource(Protocol):
    """A source that knows where its operations were made."""

    def user_line(self, origin: Origin, args: tuple[Any, ...], options: Mapping[str, Any]) -> str:
        """The user's file and line of what made a value, or ``""``."""


@runtime_checkable
class GraphSource(Protocol):
    """A source that is traced once, and may be another function when it is called."""

    def run_graph(
        self, args: tuple[Any, ...], options: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> list[NDArray[Any]] | None:
        """Runs what was traced.

        Args:
            args: Inputs.
            options: Options of the conversion.
            sizes: Dynamic sizes that are given to a trace of its own as numbers.

        Returns:
            Outputs in order; ``None`` where nothing is traced so.
        """

    def frozen_at(
        self, args: tuple[Any, ...], options: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> str:
        """Where dynamic sizes became numbers while the source was traced.

        Args:
            args: Inputs.
            options: Options of the conversion.
            sizes: The sizes of the inputs.

        Returns:
            The operation and the user's line, or ``""``.
        """


@runtime_checkable
class NarrowSource(Protocol):
    """A source that knows the dtypes of its values."""

    def narrow_values(
        self, args: tuple[Any, ...], options: Mapping[str, Any], values: Mapping[str, str]
    ) -> frozenset[str]:
        """Those ONNX values that the source too computes in 16 bits.

        Args:
            args: Sample inputs.
            options: Options of the conversion.
            values: Name of an ONNX value -> ``float16`` or ``bfloat16``, what a cast makes it.
        """


@runtime_checkable
class FactorSource(Protocol):
    """A source whose factorisations can be judged by what they are, not by their numbers."""

    def run_with_factors(
        self,
        args: tuple[Any, ...],
        options: Mapping[str, Any],
        values: Mapping[str, Any],
        factor: float,
    ) -> tuple[list[Any], list[str]] | None:
        """Runs the source with factors of the converted model in the place of its own.

        Args:
            args: Inputs.
            options: Options of the conversion.
            values: Values of the converted model by name, results last.
            factor: What is allowed, times size, machine epsilon and norm.

        Returns:
            Outputs in order and the factorisations where that was done; ``None`` if nowhere.
        """


@runtime_checkable
class RewrittenSource(Protocol):
    """A source whose framework may compute something else than what is written."""

    def run_as_written(
        self, args: tuple[Any, ...], keywords: Mapping[str, Any] | None = None
    ) -> list[NamedArray] | None:
        """Runs the source in the order in which it adds up and multiplies.

        Args:
            args: Inputs.
            keywords: What takes the place of the keyword arguments of the conversion.

        Returns:
            Outputs with their names; ``None`` where the framework computes what is written.
        """


#: Runs a source and gives its outputs in order.
Way = Callable[[], Sequence[Any]]


@dataclass(frozen=True)
class WideRun:
    """A traced source in float64.

    Attributes:
        own: Ways to run the trace in its own types, each of which gives the outputs in order.
        wide: Gives outputs in float64 (and complex128), where it computes in fewer bits; called if
            `rounded` does not decide.
        kept: Operations that ran in their own types here too, since they have no others.
        rounded: Gives outputs in float64 where each result on the way is rounded to its own type:
            what is off is the operations alone. `None` where that cannot be had.
        in_range: Gives outputs as `wide` does, where float16 has the range of float32.
    """

    own: Sequence[Way]
    wide: Way
    kept: tuple[str, ...] = ()
    rounded: Way | None = None
    in_range: Way | None = None


@runtime_checkable
class WideSource(Protocol):
    """A source that can be computed with more bits than it has."""

    def run_in_float64(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> WideRun | None:
        """Runs the source in float64.

        What it rounds on purpose is rounded there too: a cast to fewer bits, weights, constants.

        Args:
            args: Inputs.
            options: Options of the conversion.

        Returns:
            Its outputs, or ``None`` where it cannot be done.
        """


def type_modules(model: object) -> set[str]:
    """Top-level packages that the type of `model` and its bases come from."""
    return {cls.__module__.partition(".")[0] for cls in type(model).__mro__} - {"builtins"}


def is_tensor(leaf: object) -> bool:
    """Whether a leaf of the arguments is a tensor or describes one."""
    if isinstance(leaf, onnx.ValueInfoProto):
        return True
    return hasattr(leaf, "dtype") and hasattr(leaf, "shape")


def is_onnx(model: object) -> bool:
    """Whether a model is a `ModelProto` or the path of an ``.onnx`` file."""
    is_path = isinstance(model, (str, Path)) and str(model).endswith(".onnx")
    return isinstance(model, onnx.ModelProto) or is_path


def value_spec(value: onnx.ValueInfoProto) -> InputSpec:
    """Dtype and shape that a `ValueInfoProto` declares."""
    tensor = value.type.tensor_type
    shape: tuple[int | str | None, ...] | None = None
    if tensor.HasField("shape"):
        shape = tuple(
            int(d.dim_value) if d.HasField("dim_value") else (d.dim_param or None)
            for d in tensor.shape.dim
        )
    return InputSpec(value.name, np.dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type)), shape)


def display_name(model: object, name: str, default: str) -> str:
    """A name for the report: the one given, the model's own, or its class."""
    if name:
        return name
    for attribute in ("name", "__name__", "_name"):
        own = getattr(model, attribute, None)
        if isinstance(own, str) and own:
            return own
    return type(model).__name__ if default == "" else default
