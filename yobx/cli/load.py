"""From ``MODEL`` on the command line to a model: archives, folders, attributes of modules."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from yobx.errors import ArgumentError

__all__ = ["Loaded", "load"]

_KERAS = {".keras", ".h5", ".hdf5"}


@dataclass(frozen=True)
class Loaded:
    """A model, and what came with it.

    Attributes:
        model: Anything ``to_onnx`` takes.
        args: Inputs to try it with, ``None`` when they have to be derived.
        options: Keywords of ``to_onnx`` that the model's own factory asks for.
        owner: Kept alive as long as the model: a SavedModel's variables belong to it.
    """

    model: Any
    args: tuple[Any, ...] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    owner: Any = None


def load(
    target: str,
    *,
    is_jax: bool = False,
    signature: str | None = None,
    tags: list[str] | None = None,
    allow_unsafe: bool = False,
) -> Loaded:
    """Load what ``MODEL`` names.

    Args:
        target: A Keras archive, a SavedModel folder, ``module:attribute`` or ``file.py:attribute``.
        is_jax: Whether the attribute is a JAX function.
        signature: Signature of a SavedModel.
        tags: Tags of a SavedModel.
        allow_unsafe: Whether Keras may run code that the archive contains.

    Returns:
        The model.

    Raises:
        ArgumentError: If ``target`` is none of these, or an option does not fit it.
    """
    path = Path(target)
    is_folder = path.is_dir()
    if (signature or tags) and not is_folder:
        raise ArgumentError(
            f"--signature and --tag belong to a SavedModel folder. Received: MODEL={target!r}.",
            argument="signature",
        )
    if is_jax and (is_folder or path.suffix in _KERAS):
        raise ArgumentError(
            f"--jax takes module:function. Received: MODEL={target!r}.", argument="jax"
        )
    if is_folder:
        return _load_saved_model(path, signature, tags)
    if path.suffix in _KERAS:
        return Loaded(_load_keras(path, allow_unsafe))
    return _load_attribute(target, is_function=is_jax)


def _load_keras(path: Path, allow_unsafe: bool) -> Any:
    if not path.is_file():
        raise ArgumentError(f"No such file: {path}.", argument="model")
    import keras

    try:
        return keras.saving.load_model(path, compile=False, safe_mode=not allow_unsafe)
    except ValueError as error:
        if allow_unsafe or "safe_mode" not in str(error):
            raise
        raise ArgumentError(
            f"{path} contains code (a Lambda layer, for example), which Keras's safe mode does not "
            "run. If you trust the author of the file, repeat with --allow-unsafe.",
            argument="allow_unsafe",
        ) from error


def _load_saved_model(path: Path, signature: str | None, tags: list[str] | None) -> Loaded:
    if not (path / "saved_model.pb").is_file():
        raise ArgumentError(
            f"A SavedModel folder holds saved_model.pb. Received: {path}.", argument="model"
        )
    import tensorflow as tf

    owner = tf.saved_model.load(str(path), tags=tags)
    name = signature or tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    if name not in owner.signatures:
        known = ", ".join(owner.signatures) or "none"
        raise ArgumentError(
            f"{path} has no signature {name!r}. Its signatures are: {known}. "
            "Choose one with --signature.",
            argument="signature",
        )
    return Loaded(owner.signatures[name], owner=owner)


def _load_attribute(target: str, *, is_function: bool) -> Loaded:
    module_name, _, attribute = target.rpartition(":")
    if not module_name or not attribute:
        raise ArgumentError(
            "MODEL is a .keras or .h5 file, a SavedModel folder, module:attribute or "
            f"file.py:attribute. Received: {target!r}, which is no such file or folder.",
            argument="model",
        )
    value: Any = _import(module_name)
    for part in attribute.split("."):
        if not hasattr(value, part):
            raise ArgumentError(
                f"{module_name} has no attribute {attribute!r}. Received: {target!r}.",
                argument="model",
            )
        value = getattr(value, part)
    if _is_factory(value):
        value = value()
    elif is_function:
        return Loaded(value)
    return _unpack(value, target)


def _import(name: str) -> Any:
    """Import a module as ``python -m`` would: the current folder comes first."""
    if "" not in sys.path:
        sys.path.insert(0, "")
    if not name.endswith(".py"):
        return importlib.import_module(name)
    path = Path(name)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ArgumentError(f"No such file: {path}.", argument="model")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _is_factory(value: Any) -> bool:
    """Tell a function or class that builds a model from one that is the model."""
    if not inspect.isfunction(value) and not inspect.isclass(value):
        return False
    required = [
        parameter
        for parameter in inspect.signature(value).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind not in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}
    ]
    return not required


def _unpack(value: Any, target: str) -> Loaded:
    if not isinstance(value, tuple):
        return Loaded(value)
    if len(value) in {2, 3} and isinstance(value[1], tuple):
        options = value[2] if len(value) == 3 else {}
        if isinstance(options, dict):
            return Loaded(value[0], value[1], dict(options))
    kinds = ", ".join(type(item).__name__ for item in value)
    raise ArgumentError(
        "A factory returns model, (model, args) or (model, args, options), where args is a tuple "
        f"and options a dict. Received: ({kinds}) from {target}.",
        argument="model",
    )
