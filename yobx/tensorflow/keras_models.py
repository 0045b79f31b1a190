"""Keras models and layers: what they declare, how they are called, and how they stay unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from yobx.errors import ArgumentError, ConversionError
from yobx.tensorflow.arguments import CallArguments, InputLeaf
from yobx.tensorflow.source import Declared, ModelSource
from yobx.tensorflow.structure import flatten_with_path, path_text, rebuild
from yobx.tensorflow.time_distributed import steps_are_counted

__all__ = ["is_keras_layer", "keras_source"]

_SCOPE = re.compile(r"[A-Za-z0-9_.\\/>-]*")


def is_keras_layer(model: Any) -> bool:
    """Tells whether ``model`` is a Keras layer or model, without importing Keras for others."""
    if not any(base.__module__.partition(".")[0] == "keras" for base in type(model).__mro__):
        return False
    import keras

    return isinstance(model, keras.Layer)


def keras_source(model: Any, title: str = "") -> ModelSource:
    """Describes a Keras model or layer.

    Args:
        model: The model, built.
        title: Where it was loaded from, if it was.

    Returns:
        The source.

    Raises:
        ArgumentError: If the model is not built, or Keras runs on another backend.
    """
    import keras

    name = f"{type(model).__name__} {model.name!r}"
    if keras.backend.backend() != "tensorflow":
        raise ArgumentError(
            "A Keras model is converted with Keras's TensorFlow backend. Received: the backend "
            f"{keras.backend.backend()!r}. Set KERAS_BACKEND=tensorflow before Keras is imported; "
            "yobx.jax.to_onnx takes the models of the JAX backend.",
            argument="model",
        )
    _check_built(model, name)
    layers = model._flatten_layers()
    _check_names(layers, name)
    declared = _declared_inputs(model)
    return ModelSource(
        title=f"{title}: {name}" if title else name,
        model=model,
        invoke=_Caller(model, declared),
        signature_of=model.call,
        declared=declared,
        own_arguments=_own_arguments(model, declared),
        input_names=lambda call: _input_names(declared, call),
        output_names=lambda outputs: _output_names(model, outputs),
        autograph=False,  # Keras does not convert Python control flow either
        guard=lambda: _unchanged(layers),
        variable_names=_variable_names(model),
        random_state=frozenset(id(_handle(state)) for state in _random_states(layers)),
        layers=frozenset(layer.name for layer in layers),
    )


def _check_built(model: Any, name: str) -> None:
    import keras

    if model.built:
        return
    # A layer without a build method of its own has no weights of its own to create.
    unbuilt = [
        layer
        for layer in model._flatten_layers()
        if not layer.built and not getattr(layer.build, "_is_default", False)
    ]
    if not unbuilt and not isinstance(model, keras.Model):
        return
    inner = [f"{layer.name!r} ({type(layer).__name__})" for layer in unbuilt if layer is not model]
    because = f": its layer {inner[0]} has no weights yet" if inner else ""
    raise ArgumentError(
        "A Keras model is built before it is converted, so that its weights exist. Received: "
        f"{name}, which is not built{because}.",
        argument="model",
        hint=(
            "Call it once on data, or model.build(input_shape), "
            "or start a Sequential with keras.Input(shape)."
        ),
    )


def _check_names(layers: Iterable[Any], name: str) -> None:
    """Refuses what TensorFlow refuses in a graph, before Keras has opened half of its scopes."""
    import keras

    odd = [
        layer
        for layer in layers
        if not isinstance(layer, keras.layers.InputLayer) and not _SCOPE.fullmatch(layer.name)
    ]
    if odd:
        raise ArgumentError(
            "The name of a Keras layer is a name of a TensorFlow scope: letters, digits and any of "
            f"_.>-\\/. Received: {', '.join(repr(layer.name) for layer in odd)} in {name}, which "
            "cannot run in a graph.",
            argument="model",
            hint="Give the layer another name.",
        )


def _is_functional(model: Any) -> bool:
    """Functional and Sequential models know their inputs and outputs; subclassed ones do not."""
    import keras

    return hasattr(model, "_inputs_struct") or isinstance(model, keras.Sequential)


def _declared_inputs(model: Any) -> tuple[Declared, ...] | None:
    if not _is_functional(model):
        return None
    import tensorflow as tf

    struct = getattr(model, "_inputs_struct", None)
    names = [tensor._keras_history.operation.name for tensor in model.inputs]
    if isinstance(struct, dict):
        names = [path_text(path) for path, _ in flatten_with_path(struct)]
    return tuple(
        Declared(
            name=name,
            dtype=tf.as_dtype(tensor.dtype).name,
            shape=None if tensor.shape is None else tuple(tensor.shape),
            lenient=True,
            integers=_feeds_embeddings(tensor),
        )
        for name, tensor in zip(names, model.inputs, strict=True)
    )


def _feeds_embeddings(tensor: Any) -> bool:
    """Whether an input is read by embeddings only.

    A Sequential model that was built by a call declares float32 whatever its first layer takes.
    """
    import keras

    readers = [node.operation for node in tensor._keras_history.operation._outbound_nodes]
    return bool(readers) and all(isinstance(r, keras.layers.Embedding) for r in readers)


def _own_arguments(model: Any, declared: tuple[Declared, ...] | None) -> CallArguments | None:
    if declared is None:
        return None
    struct = getattr(model, "_inputs_struct", None)
    if isinstance(struct, dict):
        paths = [("args", 0, *path) for path, _ in flatten_with_path(struct)]
        leaves = tuple(
            InputLeaf(path, item.dtype, item.shape)
            for path, item in zip(paths, declared, strict=True)
        )
        return CallArguments((rebuild(struct, leaves),), {}, leaves)
    leaves = tuple(
        InputLeaf(("args", index), item.dtype, item.shape) for index, item in enumerate(declared)
    )
    return CallArguments(leaves, {}, leaves)


def _input_names(declared: tuple[Declared, ...] | None, call: CallArguments) -> list[str] | None:
    if declared is None or len(call.positional) != len(declared):
        return None
    if any(isinstance(label, str) for leaf in call.positional for label in leaf.path[1:]):
        return None
    keywords = [path_text(leaf.path[1:]) for leaf in call.leaves[len(declared) :]]
    return [*(item.name for item in declared), *keywords]


def _output_names(model: Any, outputs: Any) -> list[str] | None:
    flat = flatten_with_path(outputs)
    if any(isinstance(label, str) for path, _ in flat for label in path):
        return None
    if _is_functional(model) and len(model.outputs) == len(flat):
        return [tensor._keras_history.operation.name for tensor in model.outputs]
    import keras

    if len(flat) == 1 and not isinstance(model, keras.Model):
        return [model.name]
    return None


def _variable_names(model: Any) -> dict[int, str]:
    """Names variables by their path, so that layers of the same kind stay apart."""
    names = {}
    for variable in model.variables:
        handle = _handle(variable)
        if handle is not None:
            names[id(handle)] = variable.path
    return names


def _handle(variable: Any) -> Any:
    return getattr(variable.value, "handle", None)


def _random_states(layers: Iterable[Any]) -> list[Any]:
    """State variables of all random generators of a model."""
    return [generator.state for layer in layers for generator in layer._seed_generators]


def _recurrent_states(layers: Iterable[Any]) -> list[Any]:
    """What stateful recurrent layers remember, which Keras does not count among their variables."""
    import keras

    recurrent = [layer for layer in layers if isinstance(layer, keras.layers.RNN)]
    states = [keras.tree.flatten(layer.states or []) for layer in recurrent]
    return [state for own in states for state in own if isinstance(state, keras.Variable)]


class _Caller:
    """Calls a Keras model as it wants to be called, at inference."""

    def __init__(self, model: Any, declared: tuple[Declared, ...] | None) -> None:
        self._model = model
        self._count = 0 if declared is None else len(declared)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        import keras

        model = self._model
        if self._count > 1 and len(args) > 1:
            args = (self._pack(args),)
        kwargs.setdefault("training", False)
        # In a stateless scope Keras diverts every write to a variable and every loss, so the model
        # stays as it was, and a write can be told from a read.
        with _root_scope(model.name), keras.StatelessScope() as scope:
            result = model(*args, **kwargs)
        # Recurrent layers advance their random generators for dropout masks that nobody uses at
        # inference. Whether a result depends on one is known when the graph is walked.
        idle = set(map(id, _random_states(model._flatten_layers())))
        changed = scope.state_mapping.keys() - idle
        if changed:
            known = [*model.variables, *_recurrent_states(model._flatten_layers())]
            written = dict.fromkeys(v.path for v in known if id(v) in changed)
            raise ConversionError(
                "An ONNX model has no variables to write to, and this model writes to some at "
                f"inference. Received: {', '.join(written) or 'variables outside the model'} of "
                f"{model.name!r}. Make the state an input and an output of the model "
                "(for a stateful RNN: stateful=False, initial_state and return_state=True)."
            )
        return result

    def _pack(self, args: tuple[Any, ...]) -> Any:
        struct = getattr(self._model, "_inputs_struct", None)
        if isinstance(struct, dict) and list(struct) != sorted(struct):
            raise ArgumentError(
                "A model with inputs by name takes one dict. Received: "
                f"{len(args)} separate arguments for the inputs {list(struct)!r}.",
                argument="args",
                hint=f"Try args=({{{', '.join(f'{key!r}: ...' for key in struct)}}},).",
            )
        return tuple(args) if isinstance(struct, tuple) else list(args)


def _root_scope(name: str) -> AbstractContextManager[Any]:
    """Keras opens a scope with the name of the model, which TensorFlow may refuse at the root."""
    if re.fullmatch(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*", name):
        return nullcontext()
    import tensorflow as tf

    scope: AbstractContextManager[Any] = tf.name_scope("model")
    return scope


@contextmanager
def _unchanged(layers: list[Any]) -> Iterator[None]:
    """Puts back every attribute of every layer that changes inside the ``with`` block.

    Calling a layer sets flags (``built``) and whatever its author keeps on ``self``: symbolic
    tensors of the trace, which must not stay behind. The attributes are read and written below
    Keras's own bookkeeping.
    """
    before = [dict(vars(layer)) for layer in layers]
    try:
        with steps_are_counted(layers):
            yield
    finally:
        for layer, attributes in zip(layers, before, strict=True):
            now = vars(layer)
            for name in [name for name in now if name not in attributes]:
                del now[name]
            now.update(attributes)
