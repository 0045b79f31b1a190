"""Keras models and layers on Keras's JAX backend: their variables, the names of what they take."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from yobx.errors import ArgumentError, ConversionError

from .arguments import Leaf

__all__ = ["is_keras_layer", "keras_input_names", "keras_output_names", "keras_parts"]


def is_keras_layer(model: Any) -> bool:
    """Tells whether ``model`` is a Keras layer or model; Keras is not imported for that."""
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(model, keras.Layer)


def keras_parts(model: Any) -> tuple[dict[str, Any], Callable[[Any], Callable[..., Any]]]:
    """The variables of a model by their paths, and how it runs with other values of them.

    Args:
        model: A Keras model or layer.

    Returns:
        The values, and a function that makes a callable of such values.

    Raises:
        ArgumentError: If the model is not built, or Keras runs on another backend.
    """
    import keras

    name = f"{type(model).__name__} {model.name!r}"
    if keras.backend.backend() != "jax":
        raise ArgumentError(
            "yobx.jax.to_onnx takes a Keras model of Keras's JAX backend. Received: the backend "
            f"{keras.backend.backend()!r}. Set KERAS_BACKEND=jax before Keras is imported, or call "
            "yobx.tensorflow.to_onnx.",
            argument="fn",
        )
    if not model.built:
        raise ArgumentError(
            "A Keras model is built before it is converted, so that its weights exist. Received: "
            f"{name}, which is not built.",
            argument="fn",
            hint="Call it once on data, or model.build(input_shape).",
        )
    variables: dict[str, Any] = {}
    for variable in model.variables:
        path, count = str(variable.path), 0
        while path in variables:
            count += 1
            path = f"{variable.path}_{count}"
        variables[path] = variable
    values = {path: variable.value for path, variable in variables.items()}

    def with_values(given: Mapping[str, Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            return _call(model, variables, given, args, kwargs)

        return call

    return values, with_values


def _call(
    model: Any,
    variables: Mapping[str, Any],
    values: Mapping[str, Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    import keras

    if len(args) > 1 and _is_functional(model):
        args = (list(args),)  # Keras takes several inputs as one
    kwargs.setdefault("training", False)
    pairs = [(variable, values[path]) for path, variable in variables.items()]
    # In this scope reads give these values, and writes do not reach the variables.
    with keras.StatelessScope(state_mapping=pairs) as scope:
        before = dict(scope.state_mapping)
        result = model(*args, **kwargs)
    # Recurrent layers advance their random generators for masks that nobody uses at inference.
    idle = {id(g.state) for layer in model._flatten_layers() for g in layer._seed_generators}
    after = scope.state_mapping
    written = {key for key, value in after.items() if before.get(key) is not value} - idle
    if written:
        paths = [path for path, variable in variables.items() if id(variable) in written]
        raise ConversionError(
            "An ONNX model has no variables to write to, and this model writes to some at "
            f"inference. Received: {', '.join(paths) or 'variables outside the model'} of "
            f"{model.name!r}. Make the state an input and an output of the model."
        )
    return result


def _is_functional(model: Any) -> bool:
    """Functional and Sequential models know their inputs and outputs; subclassed ones do not."""
    import keras

    return hasattr(model, "_inputs_struct") or isinstance(model, keras.Sequential)


def _names(tensors: Sequence[Any]) -> list[str]:
    return [str(tensor._keras_history.operation.name) for tensor in tensors]


def keras_input_names(model: Any, leaves: Sequence[Leaf]) -> list[str] | None:
    """Names of the inputs that a model declares, if the arguments are these, one by one."""
    if not _is_functional(model) or len(model.inputs) != len(leaves):
        return None
    has_keys = any(isinstance(label, str) for leaf in leaves for label in leaf.labels)
    return None if has_keys else _names(model.inputs)


def keras_output_names(model: Any, tree: Any) -> list[str] | None:
    """Names of the outputs that a model declares, if its results have no names of their own."""
    import jax

    paths, _ = jax.tree_util.tree_flatten_with_path(jax.tree.unflatten(tree, [0] * tree.num_leaves))
    has_keys = any(hasattr(key, "key") for path, _ in paths for key in path)
    if has_keys or not _is_functional(model) or len(model.outputs) != len(paths):
        return None
    return _names(model.outputs)
