"""Whether a layer computes every sample of a batch from that sample alone.

Then more samples at once are the same as calling it several times, which is smaller and faster.
Layers are known by the code they come from; whatever could mix samples, or is not of Keras, is
taken to mix them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["keeps_samples_apart"]

#: Packages of ``keras.src.layers`` whose layers work on every sample alone, but for their options.
_PACKAGES = frozenset(
    {
        "activations",
        "attention",
        "convolutional",
        "core",
        "merging",
        "normalization",
        "pooling",
        "regularization",
        "reshaping",
        "rnn",
    }
)
#: Of the layers that prepare data, those that do nothing but arithmetic at inference.
_PREPARING = frozenset({"CenterCrop", "Normalization", "Rescaling", "Resizing"})


def keeps_samples_apart(layer: Any) -> bool:
    """Tells whether, at inference, a layer and those inside it surely mix no samples.

    Args:
        layer: A built layer or model of Keras.
    """
    layers = layer._flatten_layers()
    return all(_is_known(one) and not _may_mix(one) and not _mixes_axes(one) for one in layers)


def _is_known(layer: Any) -> bool:
    """Whether the code of a layer is that of Keras, in a part that is known."""
    path = type(layer).__module__.split(".")
    if path[:2] != ["keras", "src"]:
        return False
    if path[2] == "models":
        return _is_plain_model(layer)
    return path[2] == "layers" and (path[3] in _PACKAGES or type(layer).__name__ in _PREPARING)


def _may_mix(layer: Any) -> bool:
    """Whether a layer runs a function of its user, keeps states, or is quantised."""
    import keras

    if isinstance(layer, keras.layers.Lambda) or getattr(layer, "stateful", False):
        return True
    if getattr(layer, "quantization_mode", None) is not None:
        return True  # a scale may be that of the whole batch
    attributes = dict(vars(layer))
    if isinstance(layer, keras.layers.TimeDistributed):
        attributes.pop("call", None)  # what the conversion puts there
    return any(map(_is_foreign, attributes.values()))


def _is_foreign(value: Any) -> bool:
    """Whether an attribute is something to be called that is not of Keras."""
    import keras

    if not callable(value) or isinstance(value, type | keras.Layer):
        return False
    module = getattr(value, "__module__", None) or type(value).__module__
    return module.split(".")[0] not in ("keras", "tensorflow")


def _mixes_axes(layer: Any) -> bool:
    """Whether an option of a layer names the first axis, or could name it counted from the end."""
    options = [getattr(layer, name, None) for name in ("axis", "axes", "_attention_axes")]
    axes = [int(a) for option in options if option is not None for a in np.ravel(option)]
    equation = getattr(layer, "equation", None)
    mixed = equation is not None and not _keeps_first_label(str(equation))
    return mixed or any(axis < -1 or axis == 0 for axis in axes)


def _keeps_first_label(equation: str) -> bool:
    """Whether an equation of EinsumDense leaves the first axis where it is."""
    left, _, right = equation.replace(" ", "").partition("->")
    data, _, weights = left.partition(",")
    if data.startswith("...") and right.startswith("..."):
        data, right = data[3:], right[3:]
        if len(data) < 2:
            return True
    return data[:1] == right[:1] and data[0] not in weights


def _is_plain_model(model: Any) -> bool:
    """Whether a model calls nothing but layers, with nothing but tensors of its own."""
    import keras

    for operation in getattr(model, "operations", ()):
        if not isinstance(operation, keras.Layer):
            return False
        for node in operation._inbound_nodes:
            given = keras.tree.flatten((node.arguments.args, dict(node.arguments.kwargs)))
            if any(value is True or _is_array(value) for value in given):
                return False
    return True


def _is_array(value: Any) -> bool:
    """Whether an argument is a tensor with axes that the model does not compute."""
    import keras

    return not keras.backend.is_keras_tensor(value) and len(getattr(value, "shape", ())) > 0
