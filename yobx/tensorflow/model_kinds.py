"""From anything that is a model to a :class:`~yobx.tensorflow.source.ModelSource`."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from yobx.errors import ArgumentError
from yobx.model_files import refuse_unreadable
from yobx.tensorflow.arguments import CallArguments, InputLeaf, normalise_arguments
from yobx.tensorflow.graph_defs import is_graph_def, load_graph_def
from yobx.tensorflow.keras_models import is_keras_layer, keras_source
from yobx.tensorflow.saved_models import (
    KERAS_SUFFIXES,
    load_keras_file,
    load_saved_model,
    pick_signature,
)
from yobx.tensorflow.source import Declared, ModelSource, paths_by_parameter
from yobx.tensorflow.structure import flatten_with_path, path_text

__all__ = ["concrete_source", "open_model", "uses_jax", "uses_tensorflow"]

_JAX_ROOTS = frozenset({"jax", "jaxlib", "flax", "equinox"})
_TENSORFLOW_ROOTS = frozenset({"keras", "tensorflow", "tf_keras"})


def open_model(
    model: Any,
    *,
    signature: str | None = None,
    tag: str | Sequence[str] | None = None,
    allow_unsafe: bool = False,
) -> ModelSource:
    """Finds out what ``model`` is, and loads it if it is a path.

    Args:
        model: A Keras model or layer, a ``tf.function``, a ``ConcreteFunction``, a ``tf.Module``,
            a loaded SavedModel, the path of a SavedModel or of a Keras archive, or a callable.
        signature: Signature of a SavedModel.
        tag: Tag of a SavedModel.
        allow_unsafe: Whether a Keras archive may run code that it contains.

    Returns:
        The source.

    Raises:
        ArgumentError: If it is none of these.
    """
    if isinstance(model, str | Path):
        return _open_path(Path(model), signature, tag, allow_unsafe=allow_unsafe)
    if not getattr(model, "signatures", None):
        _refuse_saved_model_options(f"a model of type {type(model).__name__}", signature, tag)
    if is_keras_layer(model):
        return keras_source(model)
    if is_graph_def(model):
        return _graph_source(load_graph_def(model), "GraphDef")
    return _open_tensorflow(model, signature)


def _refuse_saved_model_options(
    given: str, signature: str | None, tag: str | Sequence[str] | None
) -> None:
    for name, value in (("signature", signature), ("tag", tag)):
        if value is not None:
            raise ArgumentError(
                f"{name} belongs to a SavedModel. Received: {name}={value!r} with {given}.",
                argument=name,
            )


def _open_path(
    path: Path, signature: str | None, tag: str | Sequence[str] | None, *, allow_unsafe: bool
) -> ModelSource:
    refuse_unreadable(path)
    if path.is_dir():
        loaded = load_saved_model(path, tag=tag)
        title = f"SavedModel {str(path)!r}"
        function = pick_signature(loaded, signature, title)
        return concrete_source(function, title=title, owner=loaded)
    if path.suffix in KERAS_SUFFIXES:
        _refuse_saved_model_options(f"the archive {str(path)!r}", signature, tag)
        return keras_source(load_keras_file(path, allow_unsafe=allow_unsafe), title=str(path))
    _refuse_saved_model_options(f"the frozen graph {str(path)!r}", signature, tag)
    return _graph_source(load_graph_def(path), f"frozen graph {str(path)!r}")


def _open_tensorflow(model: Any, signature: str | None) -> ModelSource:
    import tensorflow as tf

    if type(model).__name__ == "WrappedFunction" and isinstance(model.structured_outputs, list):
        return _graph_source(model, "graph of TensorFlow 1")
    if isinstance(model, tf.types.experimental.ConcreteFunction):
        return concrete_source(model, title="ConcreteFunction")
    if isinstance(model, tf.types.experimental.PolymorphicFunction):
        python = getattr(model, "python_function", None)
        name = getattr(python, "__name__", type(model).__name__)
        return ModelSource(
            title=f"tf.function {name!r}",
            model=model,
            invoke=model,
            signature_of=python,
            **_declarations(model, python),
        )
    if getattr(model, "signatures", None) and (signature is not None or not callable(model)):
        function = pick_signature(model, signature, "the SavedModel")
        return concrete_source(function, title="SavedModel", owner=model)
    if not callable(model) or isinstance(model, type):
        raise ArgumentError(
            "A model is a Keras model or layer, a tf.function, a ConcreteFunction, a tf.Module "
            "with __call__, a SavedModel folder, a .keras or .h5 file, or a function. "
            f"Received: {'the class' if isinstance(model, type) else 'model of type'} "
            f"{(model if isinstance(model, type) else type(model)).__name__}.",
            argument="model",
        )
    if isinstance(model, tf.Module):
        call = model.__call__
        return ModelSource(
            title=f"tf.Module {type(model).__name__!r}",
            model=model,
            invoke=model,
            signature_of=getattr(call, "python_function", call),
            **_declarations(call, getattr(call, "python_function", call)),
            variable_names=_attribute_paths(model),
        )
    return ModelSource(
        title=f"function {getattr(model, '__name__', type(model).__name__)!r}",
        model=model,
        invoke=model,
        signature_of=model,
        autograph=not uses_jax(model),
    )


def _graph_source(function: Any, title: str) -> ModelSource:
    """A pruned graph: its inputs and outputs have the names of its tensors, without ``:0``."""
    results = [tensor.name.removesuffix(":0") for tensor in function.outputs]
    return replace(
        concrete_source(
            function,
            title=title,
            names=[tensor.name.removesuffix(":0") for tensor in function.inputs],
        ),
        output_names=lambda outputs: results,
    )


def _declarations(function: Any, python: Any) -> dict[str, Any]:
    """What ``tf.function(input_signature=...)`` declares, as attributes of a ``ModelSource``."""
    signature = getattr(function, "input_signature", None)
    if signature is None:
        return {}
    own = normalise_arguments(tuple(signature), None)
    paths = tuple(paths_by_parameter(python, own))
    declared = tuple(
        Declared(path_text(path), leaf.dtype, _sizes_alone(leaf.shape))
        for path, leaf in zip(paths, own.leaves, strict=True)
    )
    return {"own_arguments": own, "own_paths": paths, "declared": declared}


def _sizes_alone(shape: Sequence[int | str | None] | None) -> tuple[int | None, ...] | None:
    if shape is None:
        return None
    return tuple(size if isinstance(size, int) else None for size in shape)


def _attribute_paths(module: Any) -> dict[int, str]:
    """Names the variables of a ``tf.Module`` by the attributes that lead to them."""
    import tensorflow as tf

    names: dict[int, str] = {}
    view = tf.train.TrackableView(module)
    pending: list[tuple[str, Any]] = [("", module)]
    seen: set[int] = set()
    while pending:
        prefix, item = pending.pop(0)
        if id(item) in seen:
            continue
        seen.add(id(item))
        handle = getattr(item, "handle", None) if isinstance(item, tf.Variable) else None
        if handle is not None:
            names[id(handle)] = prefix
            continue
        for label, child in view.children(item).items():
            pending.append((f"{prefix}/{label}" if prefix else label, child))
    return names


def uses_jax(function: Any) -> bool:
    """Tells whether a Python function refers to JAX, so that it is probably a JAX function."""
    return "jax" in sys.modules and _refers_to(function, _JAX_ROOTS)


def uses_tensorflow(function: Any) -> bool:
    """Tells whether a Python function refers to TensorFlow or Keras."""
    return _refers_to(function, _TENSORFLOW_ROOTS)


def _refers_to(function: Any, roots: Collection[str]) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    if any(base.__module__.partition(".")[0] in roots for base in type(function).__mro__):
        return True
    function = getattr(function, "__wrapped__", function)
    function = getattr(function, "__func__", function)
    if not hasattr(function, "__code__") and callable(function):
        function = type(function).__call__
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    namespace = getattr(function, "__globals__", {})
    values = [namespace[name] for name in code.co_names if name in namespace]
    for cell in getattr(function, "__closure__", None) or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # a variable that is not assigned yet
            continue
    return any(_is_of(value, roots) for value in values)


def _is_of(value: Any, roots: Collection[str]) -> bool:
    origin = (
        value.__name__
        if isinstance(value, ModuleType)
        else getattr(value, "__module__", None) or type(value).__module__
    )
    return isinstance(origin, str) and (
        origin.partition(".")[0] in roots or type(value).__module__.partition(".")[0] in roots
    )


def concrete_source(
    function: Any, *, title: str, owner: Any = None, names: Sequence[str] | None = None
) -> ModelSource:
    """Describes a function that is traced already.

    Args:
        function: The ``ConcreteFunction``.
        title: Short description for messages.
        owner: Kept alive with it.
        names: Names of the inputs, when they are known better than its signature says.

    Returns:
        The source; its declared inputs are in the order of ``function.inputs``.
    """
    call = _signature_arguments(function)
    inputs = function.inputs[: len(function.inputs) - len(function.captured_inputs)]
    labels = list(names or [_signature_name(leaf) for leaf in call.leaves])
    declared = tuple(
        Declared(
            label,
            tensor.dtype.name,
            None if tensor.shape.rank is None else tuple(tensor.shape.as_list()),
        )
        for label, tensor in zip(labels, inputs, strict=True)
    )

    def input_names(given: CallArguments) -> list[str] | None:
        return labels if len(given.leaves) == len(labels) else None

    return ModelSource(
        title=title,
        model=function,
        invoke=_by_signature(function, call, labels),
        declared=declared,
        own_arguments=CallArguments(
            call.args, call.kwargs, tuple(replace(leaf, name="") for leaf in call.leaves)
        ),
        input_names=input_names,
        concrete=function,
        owner=owner,
    )


def _by_signature(function: Any, call: CallArguments, labels: Sequence[str]) -> Callable[..., Any]:
    """Calls a traced function with arguments in any order that :func:`prepare_call` accepts."""

    def invoke(*args: Any, **kwargs: Any) -> Any:
        tree = {"args": args, "kwargs": kwargs}
        flat = [(path[-1], leaf) for path, leaf in flatten_with_path(tree) if leaf is not None]
        by_name = dict(flat)
        leaves = (
            [by_name[label] for label in labels]
            if by_name.keys() == set(labels)
            else [leaf for _, leaf in flat]
        )
        given, named = call.fill(leaves)
        return function(*given, **named)

    return invoke


def _signature_name(leaf: InputLeaf) -> str:
    kind, first, *rest = leaf.path
    if rest:
        return path_text(tuple(rest)) if isinstance(rest[0], str) else path_text((first, *rest))
    return leaf.name or (str(first) if kind == "kwargs" else f"args_{first}")


def _signature_arguments(function: Any) -> CallArguments:
    """The tensors of a structured input signature, in the order of ``function.inputs``."""
    signature = function.structured_input_signature
    inputs = function.inputs[: len(function.inputs) - len(function.captured_inputs)]
    if signature is not None:
        args, kwargs = signature
        call = normalise_arguments(tuple(args), kwargs)
        if len(call.leaves) == len(inputs):
            return call
    leaves = tuple(
        InputLeaf(
            ("args", index),
            tensor.dtype.name,
            None if tensor.shape.rank is None else tuple(tensor.shape.as_list()),
            name=tensor.name.partition(":")[0],
        )
        for index, tensor in enumerate(inputs)
    )
    return CallArguments(leaves, {}, leaves)
