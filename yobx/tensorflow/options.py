"""The options of :func:`yobx.tensorflow.to_onnx`, checked once, at the door."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from yobx.errors import ArgumentError
from yobx.lowering.opsets import DEFAULT_OPSET, OLDEST_OPSET, newest_opset
from yobx.tensorflow.register import misfit_of_converter

__all__ = ["ConvertOptions"]

_DOMAIN = re.compile(r"[A-Za-z_][\w.\-]*")


def _opset_error(target_opset: object) -> ArgumentError:
    return ArgumentError(
        "target_opset is a version of the standard ONNX domain from "
        f"{OLDEST_OPSET} to {newest_opset()} (the newest that the installed onnxruntime loads), "
        f"or a dict domain -> version. Received: target_opset={target_opset!r}.",
        argument="target_opset",
        hint=f"Try target_opset={DEFAULT_OPSET}.",
    )


def _is_version(version: object) -> bool:
    return isinstance(version, int) and not isinstance(version, bool) and version >= 1


def _normalise_opset(target_opset: object) -> Mapping[str, int]:
    """Returns opset versions by domain, ``""`` being the standard one."""
    if isinstance(target_opset, Mapping):
        opsets = {"" if key == "ai.onnx" else key: value for key, value in target_opset.items()}
    else:
        opsets = {"": target_opset}
    for domain, version in opsets.items():
        named = domain == "" or (isinstance(domain, str) and _DOMAIN.fullmatch(domain))
        if not named or not _is_version(version):
            raise _opset_error(target_opset)
    main = opsets.setdefault("", DEFAULT_OPSET)
    # The default needs no probe, and no onnxruntime.
    if main < OLDEST_OPSET or (main > DEFAULT_OPSET and main > newest_opset()):
        raise _opset_error(target_opset)
    return MappingProxyType(opsets)


def _normalise_converters(extra: object) -> Mapping[str, Callable[..., Any]]:
    if extra is None:
        return MappingProxyType({})
    if not isinstance(extra, Mapping):
        raise ArgumentError(
            "extra_converters is a mapping from TensorFlow op type to converter function. "
            f"Received: extra_converters={extra!r}.",
            argument="extra_converters",
            hint="Try extra_converters={'Relu': my_relu}.",
        )
    for op_type, function in extra.items():
        if not isinstance(op_type, str) or not callable(function):
            raise ArgumentError(
                "extra_converters maps op types (str) to functions (g, sts, outputs, op). "
                f"Received: {op_type!r}: {function!r}.",
                argument="extra_converters",
                hint="Try {'Relu': my_relu}.",
            )
        _check_call(op_type, function)
    return MappingProxyType(dict(extra))


def _check_call(op_type: str, function: Callable[..., Any]) -> None:
    """Refuses a converter that cannot be called as converters are."""
    why = misfit_of_converter(function)
    if why:
        raise ArgumentError(
            f"{why}, given for {op_type!r}.",
            argument="extra_converters",
            hint="Try def convert(g, sts, outputs, op): ...",
        )


def _normalise_names(input_names: object) -> tuple[str, ...] | None:
    if input_names is None:
        return None
    return _distinct_names("input_names", input_names, "one name per input")


def _normalise_nchw(option: str) -> Callable[[object], tuple[str, ...]]:
    def normalise(names: object) -> tuple[str, ...]:
        if names is None:
            return ()
        return _distinct_names(option, names, "the names whose channels come first")

    return normalise


def _distinct_names(option: str, given: object, meaning: str) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ArgumentError(
            f"{option} is a sequence with {meaning}. Received: {option}={given!r}.",
            argument=option,
            hint=f"Try {option}=['x', 'y'].",
        )
    names = tuple(given)
    for name in names:
        if not isinstance(name, str) or not name or names.count(name) > 1:
            raise ArgumentError(
                f"Every name of {option} is a distinct non-empty string. "
                f"Received: {option}={list(names)!r}, where {name!r} is not.",
                argument=option,
            )
    return names


def _normalise_filename(filename: object) -> Path | None:
    if filename is None:
        return None
    if not isinstance(filename, str | Path) or not str(filename):
        raise ArgumentError(
            f"filename is a path to write to. Received: filename={filename!r}.",
            argument="filename",
        )
    path = Path(filename)
    try:
        os.stat(path.parent)
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        pass  # of the file that is to be made, or of the folder: said below
    except (OSError, ValueError) as error:  # too long, not readable, a null byte
        raise ArgumentError(
            "filename is a path that the system accepts. Received: "
            f"filename={str(filename)!r}: {getattr(error, 'strerror', None) or error}.",
            argument="filename",
            hint="Try another name.",
        ) from error
    if path.is_dir() or not path.parent.is_dir():
        problem = "is a folder" if path.is_dir() else f"is in {str(path.parent)!r}, not a folder"
        raise ArgumentError(
            f"filename is a file in a folder that exists. Received: filename={str(path)!r}, "
            f"which {problem}. Create the folder first, or name a file.",
            argument="filename",
        )
    return path


@dataclass(frozen=True, kw_only=True)
class ConvertOptions:
    """What :func:`yobx.tensorflow.to_onnx` was asked for, beyond the model and its arguments.

    Attributes:
        input_names: One name per flattened input, or ``None``: the model's own names.
        dynamic_shapes: Which axes are dynamic, as given; see :mod:`yobx.tensorflow.dynamic_shapes`.
        target_opset: Opset versions by domain; ``""`` is the standard one.
        extra_converters: Op type -> converter, before the registry.
        verbose: 0 is silent, 1 shows progress and stage times, 2 hands detail to converters.
        filename: Where to write the model, or ``None``.
        passes: Graph passes applied to the result; ``None`` are the default ones.
        inputs_as_nchw: Names of inputs that get their channels first.
        outputs_as_nchw: Names of outputs that get their channels first.
    """

    input_names: tuple[str, ...] | None = None
    dynamic_shapes: Any = None
    target_opset: Mapping[str, int] = field(default_factory=lambda: {"": DEFAULT_OPSET})
    extra_converters: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    verbose: int = 0
    filename: Path | None = None
    passes: tuple[Callable[[Any], Any], ...] | None = None
    inputs_as_nchw: tuple[str, ...] = ()
    outputs_as_nchw: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Checks and normalises every field.

        Raises:
            ArgumentError: If a value is not what its field takes.
        """
        if not isinstance(self.verbose, int) or self.verbose < 0:
            raise ArgumentError(
                f"verbose is 0, 1 or 2. Received: verbose={self.verbose!r}.", argument="verbose"
            )
        if self.passes is not None:
            passes = tuple(self.passes) if isinstance(self.passes, Sequence) else (self.passes,)
            if not all(callable(item) for item in passes):
                raise ArgumentError(
                    "passes is a sequence of callables that take an onnx_ir.Model. "
                    f"Received: passes={self.passes!r}.",
                    argument="passes",
                    hint="Try passes=() for none.",
                )
            object.__setattr__(self, "passes", passes)
        for name, normalise in (
            ("target_opset", _normalise_opset),
            ("extra_converters", _normalise_converters),
            ("input_names", _normalise_names),
            ("filename", _normalise_filename),
            ("inputs_as_nchw", _normalise_nchw("inputs_as_nchw")),
            ("outputs_as_nchw", _normalise_nchw("outputs_as_nchw")),
        ):
            object.__setattr__(self, name, normalise(getattr(self, name)))
