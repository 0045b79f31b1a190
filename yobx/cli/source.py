"""The arguments of ``to_onnx`` for one call of ``yobx convert`` or ``yobx check``."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yobx.advice import factory_hint
from yobx.cli.load import Loaded, load, load_with_reference, refuse_module
from yobx.cli.specs import InputSpec, parse_dynamic, parse_opset
from yobx.errors import ArgumentError, ConversionError
from yobx.model_files import refuse_unreadable
from yobx.places import ended

__all__ = ["Source", "as_options", "is_onnx_to_check", "prepare"]

#: Options of models that TensorFlow saved.
_NOT_FOR_JAX = ("signature", "tag", "allow_unsafe")


@dataclass(frozen=True)
class Source:
    """What to convert, and how.

    Attributes:
        model: Anything ``to_onnx`` takes.
        args: Its inputs: arrays or descriptions; ``None`` are those the model declares.
        options: Further keywords of ``to_onnx``.
    """

    model: Any
    args: tuple[Any, ...] | None
    options: dict[str, Any]


def prepare(options: argparse.Namespace) -> Source:
    """Load the model and work out its arguments.

    Args:
        options: The options that both commands share.

    Returns:
        The model with the arguments of ``to_onnx``.

    Raises:
        ArgumentError: If options exclude each other, or one cannot be read.
    """
    specs = [InputSpec.parse(text) for text in options.input or ()]
    dynamic = parse_dynamic(options.dynamic or ())
    if options.static and dynamic:
        raise ArgumentError("--static and --dynamic exclude each other.", argument="static")
    opset = None if options.opset is None else parse_opset(options.opset)
    if opset is not None and not options.jax:
        _check_opset(opset)
    try:
        loaded = _load(options)
    except SystemExit as error:  # of code of the user: not what yobx ends with
        raise ConversionError(
            f"A module and its factory give a model. Received: {options.model}, which ended the "
            f"process: {ended(error)}."
        ) from error
    keywords = dict(loaded.options)
    args = loaded.args
    if specs:
        # What is written is what is meant: the sizes given replace the model's own choice.
        args = tuple(spec.value_info(position) for position, spec in enumerate(specs))
        keywords.pop("dynamic_shapes", None)
    if dynamic:
        keywords["dynamic_shapes"] = dynamic
    elif options.static:
        keywords["dynamic_shapes"] = {}
    if options.input_names:
        keywords["input_names"] = _names(options.input_names)
    if opset is not None:
        keywords["target_opset"] = opset
    others = {name: getattr(options, name) for name in _NOT_FOR_JAX if getattr(options, name)}
    if options.jax:
        _check_jax(loaded.model, args, others)
    keywords |= others
    return Source(loaded.model, args, keywords)


def _check_opset(opset: int | Mapping[str, int]) -> None:
    """Refuse an opset that is not written, before anything is loaded."""
    from yobx.lowering.opsets import DEFAULT_OPSET, OLDEST_OPSET, newest_opset

    main = opset if isinstance(opset, int) else opset.get("", DEFAULT_OPSET)
    if main < OLDEST_OPSET or (main > DEFAULT_OPSET and main > newest_opset()):
        raise ArgumentError(
            f"--opset is a version from {OLDEST_OPSET} to {newest_opset()}, the newest that the "
            f"installed onnxruntime loads. Received: --opset {main}.",
            hint=f"Try --opset {DEFAULT_OPSET}.",
        )


def as_options(names: Iterable[str]) -> str:
    """Write names of parsed options as they are given."""
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)


def _check_jax(model: Any, args: Any, others: Mapping[str, Any]) -> None:
    """Refuse options of other models, and a function without inputs.

    Raises:
        ArgumentError: If there is one of these.
    """
    for name in others:
        raise ArgumentError(f"{as_options([name])} and --jax exclude each other.", argument=name)
    if args is None and not hasattr(model, "in_avals"):
        raise ArgumentError(
            "A JAX function does not say what it takes. Received: --jax without --input.",
            argument="input",
            hint='Try --input "x:float32[B,4]", once per parameter. '
            f"{factory_hint(model)}".rstrip(),
        )


def is_onnx_to_check(options: argparse.Namespace) -> bool:
    """Whether MODEL is an ONNX file that is compared with the module beside it."""
    path = Path(options.model)
    return options.command == "check" and path.suffix == ".onnx" and path.is_file()


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _load(options: argparse.Namespace) -> Loaded:
    """Load the model; a frozen graph is cut out here, because its inputs and outputs are options.

    Raises:
        ArgumentError: If there is no such model.
    """
    inputs, outputs = options.graph_inputs, options.graph_outputs
    if not options.graphdef:
        for name, value in (("graph-inputs", inputs), ("graph-outputs", outputs)):
            if value:
                raise ArgumentError(f"--{name} belongs to --graphdef.", argument="graphdef")
        path = Path(options.model)
        if is_onnx_to_check(options):
            return load_with_reference(path)
        named = ":" in options.model and not path.exists()
        if not named and path.suffix != ".py":
            refuse_module(options.model)
        if not named and not options.jax and path.suffix != ".py":
            refuse_unreadable(path)
        return load(options.model, is_jax=options.jax)
    if options.jax:
        raise ArgumentError("--graphdef and --jax exclude each other.", argument="graphdef")
    if Path(options.model).suffix == ".pb" or not Path(options.model).exists():
        refuse_unreadable(Path(options.model))
    from yobx.tensorflow import load_graph_def

    return Loaded(
        load_graph_def(
            options.model,
            _names(inputs) if inputs else None,
            _names(outputs) if outputs else None,
        )
    )
