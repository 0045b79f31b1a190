"""The arguments of ``to_onnx`` for one call of ``yobx convert`` or ``yobx check``."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from yobx.cli.load import Loaded, load
from yobx.cli.specs import InputSpec, dynamic_shapes, parse_dynamic
from yobx.errors import ArgumentError

__all__ = ["Source", "prepare"]

# Sizes that stand for dynamic axes where a framework wants numbers: no two are alike.
_SIZES = (2, 3, 5, 7, 11, 13, 17, 19)


@dataclass(frozen=True)
class Source:
    """What to convert, and how.

    Attributes:
        model: Anything ``to_onnx`` takes.
        args: Its inputs: arrays or descriptions.
        options: Further keywords of ``to_onnx``.
        owner: Kept alive as long as the model.
    """

    model: Any
    args: tuple[Any, ...]
    options: dict[str, Any]
    owner: Any = None


def prepare(options: argparse.Namespace) -> Source:
    """Load the model and work out its inputs.

    Args:
        options: The options that both commands share.

    Returns:
        The model with the arguments of ``to_onnx``.

    Raises:
        ArgumentError: If the inputs cannot be told, or an option does not fit them.
    """
    specs = [InputSpec.parse(text) for text in options.input or ()]
    statements = parse_dynamic(options.dynamic or ())
    if options.static and statements:
        raise ArgumentError("--static and --dynamic exclude each other.", argument="static")
    loaded = load(
        options.model,
        is_jax=options.jax,
        signature=options.signature,
        tags=options.tag,
        allow_unsafe=options.allow_unsafe,
    )
    keywords = dict(loaded.options)
    if specs:
        args, names, base = _from_specs(specs, is_jax=options.jax)
        keywords["dynamic_shapes"] = base
        if all(spec.name for spec in specs):
            keywords["input_names"] = [spec.name for spec in specs]
    elif loaded.args is not None:
        args = loaded.args
        names, base = _names(loaded.model, args), tuple({} for _ in _leaves(args))
    else:
        args, names, base = _from_model(loaded)
    if statements:
        base = tuple(keywords.get("dynamic_shapes") or base)
        keywords["dynamic_shapes"] = dynamic_shapes(statements, names, base)
    elif options.static:
        _require_sizes(args, names)
        keywords["dynamic_shapes"] = tuple({} for _ in names)
    if options.input_names:
        keywords["input_names"] = [name.strip() for name in options.input_names.split(",")]
    if options.opset is not None:
        keywords["target_opset"] = options.opset
    return Source(loaded.model, args, keywords, loaded.owner)


_Inputs = tuple[tuple[Any, ...], list[str], tuple[dict[int, str], ...]]


def _from_specs(specs: Sequence[InputSpec], *, is_jax: bool) -> _Inputs:
    names = [spec.name or f"input_{i}" for i, spec in enumerate(specs)]
    base = tuple(spec.dynamic_axes for spec in specs)
    if not is_jax:
        import tensorflow as tf

        args = tuple(
            tf.TensorSpec(
                [size if isinstance(size, int) else None for size in spec.shape],
                spec.dtype,
                name=spec.name or None,
            )
            for spec in specs
        )
        return args, names, base
    import jax

    symbols = sorted({symbol for axes in base for symbol in axes.values()})
    sizes = {symbol: _SIZES[i % len(_SIZES)] for i, symbol in enumerate(symbols)}
    shapes = [tuple(s if isinstance(s, int) else sizes[s] for s in spec.shape) for spec in specs]
    zeros = [jax.numpy.zeros(sh, spec.dtype) for sh, spec in zip(shapes, specs, strict=True)]
    return tuple(zeros), names, base


def _from_model(loaded: Loaded) -> _Inputs:
    """Derive the inputs from what the model itself declares."""
    specs = _declared(loaded.model)
    if specs is None:
        raise ArgumentError(
            f"{type(loaded.model).__name__} does not say which inputs it takes. "
            "Describe them, in order: --input 'x:float32[B,4]'.",
            argument="input",
        )
    names = _names(loaded.model, specs)
    base = tuple(
        {
            axis: "batch" if axis == 0 else f"{name}_{axis}"
            for axis, size in enumerate(spec.shape if spec.shape.rank is not None else ())
            if size is None
        }
        for name, spec in zip(names, _leaves(specs), strict=True)
    )
    return specs, names, base


def _declared(model: Any) -> tuple[Any, ...] | None:
    """``tf.TensorSpec`` of every input in the structure the model is called with, if it tells."""
    import tensorflow as tf

    if hasattr(model, "structured_input_signature"):
        positional, named = model.structured_input_signature
        return (*positional, *([named] if named else []))
    if getattr(model, "input_signature", None) is not None:
        return tuple(model.input_signature)
    if getattr(model, "inputs", None):
        import keras

        functional = isinstance(model, keras.Model) and not isinstance(model, keras.Sequential)
        structure = model.input if functional else model.inputs
        described = keras.tree.map_structure(
            lambda tensor: tf.TensorSpec(tensor.shape, tensor.dtype, name=tensor.name), structure
        )
        return (
            (described[0],) if isinstance(described, list) and len(described) == 1 else (described,)
        )
    return None


def _leaves(args: tuple[Any, ...]) -> list[Any]:
    from yobx.tensorflow.structure import flatten_with_path

    return [leaf for _, leaf in flatten_with_path(args)]


def _names(model: Any, args: tuple[Any, ...]) -> list[str]:
    """Names under which ``--dynamic`` finds the inputs: declared ones, keys, parameters."""
    leaves = _leaves(args)
    declared = [str(getattr(leaf, "name", "") or "").partition(":")[0] for leaf in leaves]
    if all(declared):
        return declared
    if len(args) == 1 and isinstance(args[0], dict):
        return [str(key) for key in sorted(args[0])]
    inputs = getattr(model, "inputs", None)
    if inputs and len(inputs) == len(leaves):
        return [tensor.name for tensor in inputs]
    function = getattr(model, "python_function", model)
    if inspect.isfunction(function):
        parameters = list(inspect.signature(function).parameters)
        if len(parameters) == len(leaves):
            return parameters
    return [f"input_{i}" for i in range(len(leaves))]


def _require_sizes(args: tuple[Any, ...], names: Sequence[str]) -> None:
    for name, leaf in zip(names, _leaves(args), strict=True):
        if any(size is None for size in getattr(leaf, "shape", ())):
            raise ArgumentError(
                f"--static needs the size of every axis. Received: {name} with shape {leaf.shape}. "
                "Give the sizes with --input.",
                argument="static",
            )
