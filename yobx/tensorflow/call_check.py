"""The arguments of a call, compared with what the model declares, before anything is traced."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from yobx.advice import factory_hint
from yobx.errors import ArgumentError
from yobx.tensorflow.arguments import CallArguments, InputLeaf, normalise_arguments
from yobx.tensorflow.source import Declared, ModelSource, paths_by_parameter
from yobx.tensorflow.structure import flatten_with_path

__all__ = ["check_open_axes", "check_parameters", "prepare_call"]

_KINDS = {"float": ("float", "bfloat"), "integer": ("int", "uint")}


def prepare_call(source: ModelSource, args: Any, kwargs: Mapping[str, Any] | None) -> CallArguments:
    """Reads the arguments and checks them against the model's declaration.

    Args:
        source: The model.
        args: Positional arguments; ``None`` takes what the model declares.
        kwargs: Keyword arguments.

    Returns:
        The call, its leaves in the order of the model's inputs.

    Raises:
        ArgumentError: If the number, a dtype, a rank or a fixed size does not fit.
    """
    if args is None and not kwargs:
        if source.own_arguments is None:
            raise ArgumentError(
                "Arguments can be left out when the model declares its inputs. Received: args=None "
                f"for {source.title}, which does not.",
                argument="args",
                hint="Try args=(array_or_tf_TensorSpec, ...). "
                f"{factory_hint(source.model)}".rstrip(),
            )
        return source.own_arguments
    call = normalise_arguments(() if args is None else args, kwargs)
    if source.declared is None:
        return call
    if source.concrete is None and (kwargs or source.own_paths is not None):
        return _checked(call, source)
    if len(call.leaves) != len(source.declared):
        raise ArgumentError(
            f"A model is given one argument per input. Received: {len(call.leaves)} "
            f"({', '.join(map(str, call.leaves)) or 'none'}) for {source.title}, "
            f"whose inputs are {_listed(source.declared)}.{_numbers_given(call)}",
            argument="args",
        )
    if source.concrete is not None:
        call = _in_declared_order(call, source.declared)
    return _checked(call, source)


def _checked(call: CallArguments, source: ModelSource) -> CallArguments:
    leaves = []
    for leaf, declared in zip(call.leaves, _declared_of(call, source), strict=True):
        if declared is not None:
            _check_leaf(leaf, declared, source)
        # A size that the model fixes is not made dynamic by the default rule.
        fixed = declared is not None and declared.shape and declared.shape[0] is not None
        leaves.append(replace(leaf, concrete=False) if fixed else leaf)
    return _with_leaves(call, leaves)


def _declared_of(call: CallArguments, source: ModelSource) -> list[Declared | None]:
    """What the model declares of each leaf of a call; ``None`` where nothing is known."""
    if source.own_paths is not None:
        by_path = dict(zip(source.own_paths, source.declared or (), strict=True))
        return [by_path.get(path) for path in paths_by_parameter(source.signature_of, call)]
    given = call.leaves if source.concrete is not None else call.positional
    if source.declared is None or len(given) != len(source.declared):
        return [None] * len(call.leaves)
    others: list[Declared | None] = [None] * (len(call.leaves) - len(given))
    by_name = {item.name: item for item in source.declared}
    if {leaf.path[-1] for leaf in given} == by_name.keys():
        return [*(by_name[leaf.path[-1]] for leaf in given), *others]
    return [*source.declared, *others]


def _with_leaves(call: CallArguments, leaves: Sequence[InputLeaf]) -> CallArguments:
    if tuple(leaves) == call.leaves:
        return call
    args, kwargs = call.fill(leaves)
    return CallArguments(args, kwargs, tuple(leaves))


def _in_declared_order(call: CallArguments, declared: Sequence[Declared]) -> CallArguments:
    """Matches arguments given by name with the inputs of that name."""
    by_name = {leaf.path[-1]: leaf for leaf in call.leaves}
    names = [item.name for item in declared]
    if set(by_name) != set(names):
        return call
    leaves = tuple(by_name[name] for name in names)
    # The function is traced already, so its arguments are needed as a flat list only.
    return CallArguments(leaves, {}, leaves)


def _numbers_given(call: CallArguments) -> str:
    """What to do where numbers were given, which are constants of the call and no inputs."""
    flat = flatten_with_path((call.args, call.kwargs))
    numbers = [leaf for _, leaf in flat if isinstance(leaf, (bool, int, float, complex))]
    if not numbers:
        return ""
    return (
        f" Lists and numbers are constants, no tensors. {len(numbers)} of them in args: try "
        "numpy.array(value, dtype) for each input."
    )


def _listed(declared: Sequence[Declared]) -> str:
    return ", ".join(
        f"{item.name}: {InputLeaf(('args', 0), item.dtype, item.shape)}" for item in declared
    )


def _kind(dtype: str) -> str:
    return next((kind for kind, starts in _KINDS.items() if dtype.startswith(starts)), dtype)


def _check_leaf(leaf: InputLeaf, declared: Declared, source: ModelSource) -> None:
    given, wanted_kind = _kind(leaf.dtype), _kind(declared.dtype)
    same = (
        leaf.dtype == declared.dtype
        or (declared.lenient and given == wanted_kind in _KINDS)
        or (declared.integers and given == "integer")
    )
    if not same:
        raise ArgumentError(
            f"An argument has the dtype of its input. Received: {leaf.where} of type {leaf} for "
            f"the input {declared.name!r}, which takes {declared.dtype}, of {source.title}.",
            argument="args",
            hint=f"Try value.astype({declared.dtype!r}).",
        )
    if leaf.shape is None or declared.shape is None:
        return
    fits = len(leaf.shape) == len(declared.shape) and all(
        not isinstance(size, int) or wanted is None or size == wanted
        for size, wanted in zip(leaf.shape, declared.shape, strict=True)
    )
    if not fits:
        expected = InputLeaf(leaf.path, declared.dtype, declared.shape)
        raise ArgumentError(
            f"An argument has the rank and the fixed sizes of its input. Received: {leaf.where} of "
            f"type {leaf} for the input {declared.name!r}, which takes {expected}, of "
            f"{source.title}.",
            argument="args",
            hint="Try an argument of that shape.",
        )


def check_parameters(source: ModelSource, call: CallArguments, error: Exception) -> None:
    """Finds out whether a trace failed because the arguments do not fit the parameters.

    Args:
        source: The model.
        call: Its arguments.
        error: What the trace raised.

    Raises:
        ArgumentError: If they do not fit; ``error`` is chained.
    """
    if source.signature_of is None or not isinstance(error.__cause__, TypeError):
        return
    try:
        signature = inspect.signature(source.signature_of)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*call.args, **call.kwargs)
    except TypeError as misfit:
        raise ArgumentError(
            f"The arguments fit the parameters of the model. Received: {len(call.args)} positional "
            f"arguments and the keywords {sorted(call.kwargs)} for {source.title}, which takes "
            f"{signature}: {misfit}.",
            argument="args",
            hint="Try args with one entry per parameter.",
        ) from error


def check_open_axes(
    source: ModelSource,
    call: CallArguments,
    shapes: Sequence[tuple[int | str, ...] | None],
    names: Sequence[str],
) -> None:
    """Refuses a dynamic axis where a traced function or a Keras model has a fixed size.

    Args:
        source: The model.
        call: Its arguments.
        shapes: Shape wanted for each input.
        names: Name of each input.

    Raises:
        ArgumentError: If an axis is fixed in the model and dynamic in ``shapes``.
    """
    is_traced = source.concrete is not None
    who = "the traced function leaves it open" if is_traced else "the model leaves it open"
    how = "Trace it with None there" if is_traced else "Build the model with None there"
    if source.own_paths is not None:
        how = "Write None there in its input_signature"
    for shape, declared, name in zip(shapes, _declared_of(call, source), names, strict=True):
        fixed_sizes = declared.shape if declared is not None else None
        for axis, size in enumerate(shape or ()):
            fixed = None if fixed_sizes is None else fixed_sizes[axis]
            if isinstance(size, str) and fixed is not None:
                raise ArgumentError(
                    f"An axis can be dynamic where {who}. Received: "
                    f"the name {size!r} for axis {axis} of {name!r}, which is fixed to {fixed} in "
                    f"{source.title}.",
                    argument="dynamic_shapes",
                    hint=f"{how}, or leave the axis static.",
                )
