"""From ``MODEL`` on the command line to a model: archives, folders, attributes of modules."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from yobx.errors import ArgumentError
from yobx.words import did_you_mean

__all__ = [
    "Loaded",
    "companion_of",
    "find_attribute",
    "interpret",
    "is_factory",
    "load",
    "load_with_reference",
    "refuse_module",
]

_MOST_NAMES = 12
# Python values are no models, nor are arrays.
_VALUES = (bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset)


@dataclass(frozen=True)
class Loaded:
    """A model, and what came with it.

    Attributes:
        model: Anything ``to_onnx`` takes, a path among others.
        args: Inputs to try it with, ``None`` when the model declares them.
        options: Keywords of ``to_onnx`` that the model's own factory asks for.
    """

    model: Any
    args: tuple[Any, ...] | None = None
    options: dict[str, Any] = field(default_factory=dict)


def load(target: str, *, is_jax: bool = False) -> Loaded:
    """Find what ``MODEL`` names. Files and folders are opened by ``to_onnx``.

    Args:
        target: A Keras archive, a SavedModel folder, ``module:attribute`` or ``file.py:attribute``.
        is_jax: Whether the attribute is a JAX function, and a file a serialized one.

    Returns:
        The model, or its path.

    Raises:
        ArgumentError: If ``target`` is none of these.
    """
    if not Path(target).exists() and ":" in target:
        return _load_attribute(target, is_function=is_jax)
    if is_jax and Path(target).is_file() and Path(target).suffix != ".py":
        from yobx.jax.convert import read_function

        return Loaded(read_function(target))
    if is_jax:
        raise ArgumentError(
            "--jax takes module:function, or a file of what jax.export.Exported.serialize() "
            f"returns. Received: MODEL={target!r}, {_what_is_wrong(Path(target))}.",
            argument="jax",
        )
    if Path(target).suffix == ".py":
        raise ArgumentError(
            f"A Python file is followed by the name of the model. Received: MODEL={target!r}.",
            argument="model",
            hint=f"Try {target}:model.",
        )
    return Loaded(target)


def companion_of(path: Path) -> Path:
    """``model_reference.py`` beside ``model.onnx``: the file with what it is compared with."""
    return path.with_name(f"{path.stem}_reference.py")


def load_with_reference(path: Path) -> Loaded:
    """Read what an ONNX file is compared with.

    Args:
        path: An ``.onnx`` file with a companion, see `companion_of`.

    Returns:
        The path, with the function ``reference`` of the companion and what its ``inputs`` gives.

    Raises:
        ArgumentError: If the companion defines no such function.
    """
    companion = companion_of(path)
    module = _import_file(companion)
    if not callable(getattr(module, "reference", None)):
        raise ArgumentError(
            f"{companion}: it must define a function reference(*inputs).", argument="model"
        )
    inputs = getattr(module, "inputs", None)
    args = inputs() if callable(inputs) else None
    return Loaded(path, args, {"reference": module.reference})


def _what_is_wrong(path: Path) -> str:
    if path.suffix == ".py":
        return "which is a Python file: its name is followed by that of the function"
    return "which is a folder" if path.is_dir() else "which does not exist"


def _load_attribute(target: str, *, is_function: bool) -> Loaded:
    module_name, _, attribute = target.rpartition(":")
    if not module_name or not attribute:
        raise ArgumentError(
            "MODEL is a .keras or .h5 file, a SavedModel folder, module:attribute or "
            f"file.py:attribute. Received: {target!r}.",
            argument="model",
        )
    value = find_attribute(_import(module_name), attribute, target)
    if is_factory(value):
        value = value()
    elif is_function:
        return Loaded(value)
    return interpret(value, target)


def find_attribute(module: Any, path: str, target: str) -> Any:
    """What a module has under a name.

    Args:
        module: The module.
        path: The name, with dots where it is of something in the module.
        target: What was asked for, for the message.

    Returns:
        The attribute.

    Raises:
        ArgumentError: If there is none; the message names what is there.
    """
    value = module
    for part in path.split("."):
        if not hasattr(value, part):
            where = getattr(value, "__name__", type(value).__name__)
            raise ArgumentError(
                f"{where} has no attribute {part!r}, given as {target!r}.",
                argument="model",
                hint=did_you_mean(part, _own_names(value)) or _candidates(value),
            )
        value = getattr(value, part)
    return value


def _candidates(module: Any) -> str:
    """``It has: tower, build.``: what a module defines and may be meant, or ``""``.

    Args:
        module: A module, or what has attributes as one.
    """
    names = _own_names(module)
    more = ", ..." if len(names) > _MOST_NAMES else ""
    return f"It has: {', '.join(names[:_MOST_NAMES])}{more}." if names else ""


def _own_names(module: Any) -> list[str]:
    """Public names of what a module defines itself, in its order; modules are no models."""
    own = getattr(module, "__name__", "")
    return [
        name
        for name, value in getattr(module, "__dict__", {}).items()
        if name[:1] != "_"
        and not inspect.ismodule(value)
        and not isinstance(value, _VALUES)
        and not hasattr(value, "__array__")
        and (not hasattr(value, "__qualname__") or getattr(value, "__module__", own) == own)
    ]


def refuse_module(target: str) -> None:
    """Refuses a module in whose place one of its attributes is meant.

    Args:
        target: ``MODEL`` of the command line.

    Raises:
        ArgumentError: If it names a module and no file.
    """
    if Path(target).exists() or not all(part.isidentifier() for part in target.split(".")):
        return
    _find_in_current_folder()
    root = target.partition(".")[0]
    if importlib.util.find_spec(root) is None:
        return
    module = _import(target)
    raise ArgumentError(
        f"A module is followed by the name of the model. Received: {target!r}.",
        argument="model",
        hint=f"Try {target}:NAME. {_candidates(module)}".rstrip(),
    )


def _find_in_current_folder() -> None:
    """Lets modules be found as ``python -m`` finds them: in the current folder first."""
    if "" not in sys.path:
        sys.path.insert(0, "")


def _import(name: str) -> Any:
    """Import a module as ``python -m`` would."""
    _find_in_current_folder()
    if not name.endswith(".py"):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise  # of another module that this one needs
            raise ArgumentError(
                f"There is no module {error.name!r}. Received: {name!r}. It is looked for in the "
                "current folder and among the installed packages.",
                argument="model",
            ) from error
    return _import_file(Path(name))


def _import_file(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ArgumentError(f"No such file: {path}.", argument="model")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def is_factory(value: Any) -> bool:
    """Tell a function or class that builds a model from one that is the model.

    Args:
        value: What an import path names.

    Returns:
        Whether it is a plain function or a class that can be called without arguments. A function
        of ``*args`` is a model: it takes as many inputs as it is given.
    """
    if not inspect.isfunction(value) and not inspect.isclass(value):
        return False
    try:
        parameters = inspect.signature(value).parameters.values()
    except ValueError:  # a class of C code that does not say what it takes
        return False
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if variadic and inspect.isfunction(value):
        return False
    return all(
        p.default is not p.empty or p.kind in {p.VAR_POSITIONAL, p.VAR_KEYWORD} for p in parameters
    )


def interpret(value: Any, target: str) -> Loaded:
    """Read what a factory returns.

    Args:
        value: ``model``, ``(model, args)`` or ``(model, args, options)``.
        target: Whose result it is, for the message.

    Returns:
        The model.

    Raises:
        ArgumentError: If it is something else.
    """
    if value is not None and not isinstance(value, tuple):
        return Loaded(value)
    if isinstance(value, tuple) and len(value) in {2, 3}:
        args, options = value[1], value[2] if len(value) == 3 else {}
        if (args is None or isinstance(args, tuple)) and isinstance(options, Mapping):
            return Loaded(value[0], args, dict(options))
    kinds = "nothing (None)"
    if isinstance(value, tuple):
        kinds = f"({', '.join(type(item).__name__ for item in value)})"
    raise ArgumentError(
        "A factory returns model, (model, args) or (model, args, options), where args is a tuple "
        f"and options a dict. Received: {kinds} from {target}.",
        argument="model",
    )
