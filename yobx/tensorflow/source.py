"""What every kind of model looks like to the rest of the front end."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from yobx.errors import ArgumentError
from yobx.tensorflow.arguments import CallArguments
from yobx.tensorflow.structure import Path, path_text

__all__ = ["Declared", "ModelSource", "name_inputs", "paths_by_parameter"]


@dataclass(frozen=True)
class Declared:
    """What a model states about one of its inputs.

    Attributes:
        name: Name of the input.
        dtype: TensorFlow dtype name.
        shape: Sizes, ``None`` for an open one; ``None`` instead of a tuple for any rank.
        lenient: Whether the model converts between floating-point (or between integer) dtypes.
        integers: Whether integers are taken whatever the dtype, because positions are read.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...] | None
    lenient: bool = False
    integers: bool = False


@dataclass(frozen=True, kw_only=True)
class ModelSource:
    """A model of any kind, ready to be traced.

    Attributes:
        title: Short description for messages.
        model: The object handed in, or loaded.
        invoke: Calls the model with positional and keyword arguments; it runs while tracing.
        signature_of: The Python function whose parameters name the inputs, or ``None``.
        declared: What the model states about its inputs, in the order of the flattened arguments;
            ``None`` when it states nothing.
        own_arguments: Arguments that the model's own declaration amounts to, or ``None``.
        own_paths: Parameter and place in it of each of ``declared``, when the model declares its
            inputs by parameter (``tf.function(input_signature=...)``) and not in an order.
        input_names: Names that the model gives to its inputs for these arguments, or ``None``.
        output_names: Names that the model gives to its outputs, or ``None``.
        concrete: The function itself when it is traced already.
        autograph: Whether Python control flow is converted while tracing.
        guard: Entered around the trace; restores what the trace changes in the model.
        variable_names: ``id(handle)`` -> name of a variable.
        random_state: ``id(handle)`` of variables that hold the state of random generators.
        layers: Names of all layers, for the layer path of an operation.
        owner: Kept alive as long as the variables are needed.
    """

    title: str
    model: Any
    invoke: Callable[..., Any]
    signature_of: Callable[..., Any] | None = None
    declared: tuple[Declared, ...] | None = None
    own_arguments: CallArguments | None = None
    own_paths: tuple[tuple[Any, ...], ...] | None = None
    input_names: Callable[[CallArguments], list[str] | None] = lambda call: None
    output_names: Callable[[Any], list[str] | None] = lambda outputs: None
    concrete: Any = None
    autograph: bool = True
    guard: Callable[[], AbstractContextManager[Any]] = nullcontext
    variable_names: Mapping[int, str] = field(default_factory=dict)
    random_state: frozenset[int] = frozenset()
    layers: frozenset[str] = frozenset()
    owner: Any = None


def name_inputs(
    source: ModelSource, call: CallArguments, given: Sequence[str] | None
) -> tuple[str, ...]:
    """Names every input: given name, name of the argument itself, the model's own, tree path.

    Args:
        source: The model.
        call: The arguments.
        given: Names that the caller chose, or ``None``.

    Returns:
        Distinct names, one per leaf of ``call``.

    Raises:
        ArgumentError: If ``given`` has another number of names than there are inputs.
    """
    if given is not None:
        if len(given) != len(call.leaves):
            places = ", ".join(leaf.where for leaf in call.leaves) or "none"
            raise ArgumentError(
                f"input_names has one name per flattened input. Received: {len(given)} names "
                f"{list(given)!r} for {len(call.leaves)} inputs: {places}.",
                argument="input_names",
            )
        return tuple(given)
    full = paths_by_parameter(source.signature_of, call)
    own = source.input_names(call)
    short = own if own is not None else [_short_name(path) for path in full]
    candidates = [leaf.name or name for leaf, name in zip(call.leaves, short, strict=True)]
    names = [
        name if candidates.count(name) == 1 else path_text(path)
        for name, path in zip(candidates, full, strict=True)
    ]
    return tuple(_distinct(names))


def _distinct(names: Sequence[str]) -> list[str]:
    taken: set[str] = set()
    result = []
    for name in names:
        unique, count = name, 0
        while unique in taken:
            count += 1
            unique = f"{name}_{count}"
        taken.add(unique)
        result.append(unique)
    return result


def _short_name(path: Path) -> str:
    """Dict keys name an input by themselves; positions need the parameter before them."""
    _, *rest = path
    return path_text(tuple(rest)) if rest and isinstance(rest[0], str) else path_text(path)


def paths_by_parameter(
    function: Callable[..., Any] | None, call: CallArguments
) -> list[tuple[Any, ...]]:
    """Replaces the position of every argument by the name of its parameter.

    Args:
        function: The Python function, or ``None``.
        call: Its arguments.

    Returns:
        For each leaf the parameter, then the labels that lead to it.
    """
    names = _parameter_names(function, len(call.args))
    paths = []
    for leaf in call.leaves:
        kind, first, *rest = leaf.path
        paths.append(((names[first] if kind == "args" else first), *rest))
    return paths


def _parameter_names(function: Callable[..., Any] | None, count: int) -> list[str]:
    names: list[str] = []
    variadic = "args"
    try:
        parameters = inspect.signature(function).parameters.values() if function else ()
    except (TypeError, ValueError):
        parameters = ()
    for parameter in parameters:
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            variadic = parameter.name
    missing = count - len(names)
    return names[:count] + [f"{variadic}_{index}" for index in range(missing)]
