"""``TimeDistributed`` over a number of steps that is open while tracing.

Keras 3.15 then runs its layer once for every sample instead of once for every step, so that steps
are missing, or too many. Called eagerly, the same layer is right; what is traced is made to agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

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
        if inputs.shape[1] is not None:
            return original(inputs, training=training, mask=mask)
        inner = layer.layer
        masked = inner._call_has_mask_arg and mask is not None

        def step(item: Any, its_mask: Any = None) -> Any:
            keywords = {"mask": its_mask} if masked else {}
            if inner._call_has_training_arg:
                keywords["training"] = training
            return inner.call(item, **keywords)

        every = _of_all_samples if _is_recurrent(inner) else _step_by_step
        return every(step, (inputs, mask) if masked else (inputs,))

    return call


def _is_recurrent(layer: Any) -> bool:
    """Whether a layer of Keras itself has loops inside, which TensorFlow cannot vectorise."""
    import keras

    layers = layer._flatten_layers()
    recurrent = any(isinstance(one, keras.layers.RNN) for one in layers)
    return recurrent and all(type(one).__module__.startswith("keras.") for one in layers)


def _of_all_samples(function: Callable[..., Any], tensors: tuple[Any, ...]) -> Any:
    """Calls a function once, with the steps of every sample as samples of their own."""
    import keras
    import tensorflow as tf

    sizes = tf.shape(tensors[0])[:2]

    def folded(tensor: Any) -> Any:
        flat = tf.reshape(tensor, tf.concat([[-1], tf.shape(tensor)[2:]], 0))
        return tf.ensure_shape(flat, [None, *tensor.shape[2:]])

    def unfolded(tensor: Any) -> Any:
        whole = tf.reshape(tensor, tf.concat([sizes, tf.shape(tensor)[1:]], 0))
        return tf.ensure_shape(whole, [*tensors[0].shape[:2], *tensor.shape[1:]])

    return keras.tree.map_structure(unfolded, function(*map(folded, tensors)))


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
