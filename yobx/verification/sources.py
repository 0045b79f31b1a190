"""The original of a conversion: how it is converted, run, and asked for its intermediate values.

A framework is recognised by the modules that are already loaded and by the module a type comes
from; recognising a JAX function never imports TensorFlow. `register_source` adds a recogniser,
which tests of downstream tools use to check themselves without any framework.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import onnx
from numpy.typing import NDArray

from yobx.errors import ArgumentError

__all__ = [
    "InputSpec",
    "NamedArray",
    "Source",
    "TracedSource",
    "find_source",
    "is_onnx",
    "is_tensor",
    "register_source",
    "type_modules",
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
    ) -> dict[str, NDArray[Any]]:
        """Values of the original that go by the name of an ONNX value."""


@runtime_checkable
class TracedSource(Protocol):
    """A source that knows where its operations were made."""

    def user_line(self, name: str, args: tuple[Any, ...], options: Mapping[str, Any]) -> str:
        """The user's file and line of an operation, or ``""``."""


Recogniser = Callable[[Any], bool]
Factory = Callable[[Any, Mapping[str, Any]], Source]
_REGISTERED: list[tuple[str, Recogniser, Factory]] = []


def register_source(name: str, recognises: Recogniser, factory: Factory) -> None:
    """Adds a kind of original, asked before the built-in ones.

    Args:
        name: Its name; registering a name again replaces it.
        recognises: Whether an object is of this kind; must be cheap and import nothing.
        factory: Makes the source of ``(model, extra)``, `extra` holding ``reference`` and ``name``.
    """
    _REGISTERED[:] = [row for row in _REGISTERED if row[0] != name]
    _REGISTERED.insert(0, (name, recognises, factory))


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


def find_source(model: Any, *, reference: Any = None, name: str = "") -> Source:
    """Recognises what a model is.

    Args:
        model: Keras model or layer, TensorFlow function, module or SavedModel folder, JAX
            callable, ``.keras`` or ``.onnx`` file, or a `ModelProto`.
        reference: For a ready ONNX model: a callable over numpy arrays, or another ONNX model.
        name: Name for the report.

    Returns:
        Its source.

    Raises:
        ArgumentError: If it is none of these, or an ONNX model comes without a reference.
    """
    extra = {"reference": reference, "name": name}
    for _, recognises, factory in _REGISTERED:
        if recognises(model):
            return factory(model, extra)
    if is_onnx(model):
        from yobx.verification.source_onnx import OnnxSource

        return OnnxSource(model, reference, name=name)
    if isinstance(model, (str, Path)):
        return _from_path(Path(model), name)
    return _from_object(model, name)


def _from_path(path: Path, name: str) -> Source:
    known = path.suffix in {".keras", ".h5"} or (path / "saved_model.pb").is_file()
    if not known or not path.exists():
        raise ArgumentError(
            "a path must be a .keras or .onnx file, or a SavedModel folder (with saved_model.pb). "
            f"Received: {str(path)!r}, "
            f"{'which is neither' if path.exists() else 'which does not exist'}.",
            argument="model",
        )
    from yobx.verification.source_tensorflow import TensorFlowSource

    return TensorFlowSource.from_path(path, name=name)


def _from_object(model: Any, name: str) -> Source:
    packages = type_modules(model)
    if packages & {"keras", "tensorflow", "tf_keras"}:
        from yobx.verification.source_tensorflow import TensorFlowSource

        return TensorFlowSource(model, name=name)
    if packages & {"jax", "jaxlib", "flax", "equinox"} or (
        callable(model) and "tensorflow" not in sys.modules and "jax" in sys.modules
    ):
        from yobx.verification.source_jax import JaxSource

        return JaxSource(model, name=name)
    if callable(model):
        from yobx.verification.source_jax import PlainCallableSource

        return PlainCallableSource(model, name=name)
    raise ArgumentError(
        "a model is a Keras model, a TensorFlow function or module, a JAX callable, a .keras or "
        ".onnx file, a "
        f"SavedModel folder, or a ModelProto with a reference. Received: {type(model).__name__}.",
        argument="model",
    )


def display_name(model: object, name: str, default: str) -> str:
    """A name for the report: the one given, the model's own, or its class."""
    if name:
        return name
    for attribute in ("name", "__name__", "_name"):
        own = getattr(model, attribute, None)
        if isinstance(own, str) and own:
            return own
    return type(model).__name__ if default == "" else default
