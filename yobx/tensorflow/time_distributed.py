"""``TimeDistributed`` as one call of its layer.

Keras 3.15 calls the layer once for each step if their number is known: a copy of its nodes for
each. If the number is open while tracing, it calls it once for every sample instead, so that steps
are missing, or too many. Called eagerly, the same layer is right; what is traced is made to agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from yobx.tensorflow.separate_samples import keeps_samples_apart

__all__ = ["steps_are_counted"]


@contextmanager
def steps_are_counted(layers: Iterable[Any]) -> Iterator[None]:
    """Lets every ``TimeDistributed`` among the layers run over all steps inside the block.

    Args:
        layers: All layers of a model.
    """
    import keras

    kind = keras.layers.TimeDistributed
    found = [layer for layer in layers if isinstance(layer, kind) and _is_plain(layer)]
    for layer in found:
        vars(layer)["call"] = _over_all_steps(layer, layer.call)
    try:
        yield
    finally:
        for layer in found:
            del vars(layer)["call"]


def _is_plain(layer: Any) -> bool:
    """Whether a layer is called as Keras wrote it."""
    import keras

    own = "call" in vars(layer)
    return not own and type(layer).call is keras.layers.TimeDistributed.call


def _over_all_steps(layer: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    """Returns what is called instead of the layer's own method.

    Args:
        layer: The layer.
        original: Its own method, which is right if the number of steps is known.
    """

    def call(inputs: Any, training: bool | None = None, mask: Any = None) -> Any:
        inner = layer.layer
        masked = inner._call_has_mask_arg and mask is not None
        known = inputs.shape[1] is not None

        def step(item: Any, its_mask: Any = None) -> Any:
            keywords = {"mask": its_mask} if masked else {}
            if inner._call_has_training_arg:
                keywords["training"] = training
            return inner.call(item, **keywords)

        tensors = (inputs, mask) if masked else (inputs,)
        if not training and keeps_samples_apart(inner) and (known or _has_loops_or_windows(inner)):
            outputs = _of_all_samples(step, tensors)
            if not known or not isinstance(outputs, dict | list | tuple):
                return outputs
        if known:
            return original(inputs, training=training, mask=mask)
        return _step_by_step(step, tensors)

    return call


def _has_loops_or_windows(layer: Any) -> bool:
    """Whether there are loops or windows inside a layer.

    TensorFlow cannot vectorise the loops of Keras, and moves axes around windows. What works on
    single elements and features is as small vectorised, where no size has to be computed.
    """
    return any(
        type(one).__module__.split(".")[3] in ("rnn", "convolutional", "pooling")
        and not type(one).__name__.startswith("Global")
        for one in layer._flatten_layers()
    )


def _of_all_samples(function: Callable[..., Any], tensors: tuple[Any, ...]) -> Any:
    """Calls a function once, with the steps of every sample as samples of their own."""
    import keras
    import tensorflow as tf

    first_two = _sizes(tensors[0], 0, 2)

    def folded(tensor: Any) -> Any:
        flat = tf.reshape(tensor, tf.concat([[-1], _sizes(tensor, 2)], 0))
        return tf.ensure_shape(flat, [None, *tensor.shape[2:]])

    def unfolded(tensor: Any) -> Any:
        whole = tf.reshape(tensor, tf.concat([first_two, _sizes(tensor, 1)], 0))
        return tf.ensure_shape(whole, [*tensors[0].shape[:2], *tensor.shape[1:]])

    return keras.tree.map_structure(unfolded, function(*map(folded, tensors)))


def _sizes(tensor: Any, start: int, end: int | None = None) -> Any:
    """The sizes of some axes of a tensor, as numbers if all are known."""
    import tensorflow as tf

    known = tensor.shape[start:end]
    if known.is_fully_defined():
        return tf.constant(known.as_list(), tf.int32)
    return tf.shape(tensor)[start:end]


def _step_by_step(function: Callable[..., Any], tensors: tuple[Any, ...]) -> Any:
    """Calls a function for every step, of all samples."""
    import keras
    import tensorflow as tf

    swapped = tuple(map(_first_two_swapped, tensors))
    outputs = tf.vectorized_map(lambda items: function(*items), swapped)
    return keras.tree.map_structure(_first_two_swapped, outputs)


def _first_two_swapped(tensor: Any) -> Any:
    import keras

    return keras.ops.swapaxes(tensor, 0, 1)
