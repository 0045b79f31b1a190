"""Recognises what a model is.

A framework is recognised by the modules that are already loaded and by the module a type comes
from; recognising a JAX function never imports TensorFlow. `register_source` adds a recogniser,
which tests of downstream tools use to check themselves without any framework.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from yobx.errors import ArgumentError
from yobx.verification.source_jax import JaxSource, PlainCallableSource
from yobx.verification.source_onnx import OnnxSource
from yobx.verification.source_tensorflow import TensorFlowSource
from yobx.verification.sources import Source, is_onnx, type_modules

__all__ = ["find_source", "register_source"]

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


def find_source(model: Any, *, reference: Any = None, name: str = "", args: Any = None) -> Source:
    """Recognises what a model is.

    Args:
        model: Keras model or layer, TensorFlow function, module or SavedModel folder, JAX
            callable, ``.keras`` or ``.onnx`` file, or a `ModelProto`.
        reference: For a ready ONNX model: a callable over numpy arrays, or another ONNX model.
        name: Name for the report.
        args: Its inputs: they tell whether a plain function is one of JAX.

    Returns:
        Its source.

    Raises:
        ArgumentError: If it is none of these, or an ONNX model comes without a reference, or
            another one with a reference.
    """
    extra = {"reference": reference, "name": name}
    for _, recognises, factory in _REGISTERED:
        if recognises(model):
            return factory(model, extra)
    if is_onnx(model):
        return OnnxSource(model, reference, name=name)
    _refuse_reference(reference, model)
    if isinstance(model, (str, Path)):
        return _from_path(Path(model), name)
    return _from_object(model, name, args)


def _refuse_reference(reference: Any, model: Any) -> None:
    """Refuses what would be ignored: other models are their own reference."""
    if reference is not None:
        raise ArgumentError(
            "reference= is what a ready ONNX model is compared with; a model that is converted is "
            f"compared with itself. Received: {type(model).__name__} with a reference.",
            argument="reference",
            hint="Leave it out, or check the ModelProto.",
        )


def _from_path(path: Path, name: str) -> Source:
    known = path.suffix in {".keras", ".h5", ".pb", ".pbtxt"} or (path / "saved_model.pb").is_file()
    if not known or not path.exists():
        raise ArgumentError(
            "a path must be a .keras or .onnx file, a frozen graph (.pb), or a SavedModel folder "
            "(with saved_model.pb). "
            f"Received: {str(path)!r}, "
            f"{'which is neither' if path.exists() else 'which does not exist'}.",
            argument="model",
        )
    return TensorFlowSource.from_path(path, name=name)


def _from_object(model: Any, name: str, args: Any) -> Source:
    packages = type_modules(model)
    if "keras" in packages and sys.modules["keras"].backend.backend() == "jax":
        return JaxSource(model, name=name)
    if packages & {"keras", "tensorflow", "tf_keras"}:
        return TensorFlowSource(model, name=name)
    if packages & {"jax", "jaxlib", "flax", "equinox"} or (
        callable(model) and "tensorflow" not in sys.modules and "jax" in sys.modules
    ):
        return JaxSource(model, name=name)
    if callable(model) and _is_of_jax(model, args):
        return JaxSource(model, name=name)
    if callable(model):
        return PlainCallableSource(model, name=name)
    raise ArgumentError(
        "a model is a Keras model, a TensorFlow function or module, a JAX callable, a .keras or "
        ".onnx file, a "
        f"SavedModel folder, or a ModelProto with a reference. Received: {type(model).__name__}.",
        argument="model",
    )


def _is_of_jax(function: Callable[..., Any], args: Any) -> bool:
    """Whether a plain function refers to JAX, or is given arrays of JAX and none of TensorFlow."""
    if "jax" not in sys.modules:
        return False
    import jax

    from yobx.tensorflow.model_kinds import uses_jax

    kinds = {root for leaf in jax.tree.leaves(args) for root in type_modules(leaf)}
    return uses_jax(function) or (bool(kinds & {"jax", "jaxlib"}) and "tensorflow" not in kinds)
