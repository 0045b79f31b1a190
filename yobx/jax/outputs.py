"""Names of the results of a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from yobx.errors import ConversionError
from yobx.jax.arguments import path_labels
from yobx.jax.keras_models import is_keras_layer, keras_output_names

__all__ = ["output_names"]


def output_names(fn: Any, tree: Any, inputs: Sequence[str]) -> list[str]:
    """Names every array of a result: what a Keras model declares, keys, or ``output_<position>``.

    Args:
        fn: The function.
        tree: Structure of its results.
        inputs: Names of the inputs, which no output can have.

    Returns:
        One name for each leaf, all different.

    Raises:
        ConversionError: If the function returns no array.
    """
    import jax

    declared = keras_output_names(fn, tree) if is_keras_layer(fn) else None
    if declared is not None and len({*declared, *inputs}) == len(declared) + len(inputs):
        return declared
    results = jax.tree.unflatten(tree, list(range(tree.num_leaves)))
    pairs, _ = jax.tree_util.tree_flatten_with_path(results)
    if not pairs:
        raise ConversionError("A function must return at least one array. Received: none.")
    names: list[str] = []
    for path, _ in pairs:
        labels = path_labels(path)
        name = ".".join(map(str, labels)) or "output_0"
        name = f"output_{name}" if isinstance(labels[0] if labels else "", int) else name
        if name in inputs:
            name = f"{name}_out"
        while name in names or name in inputs:
            name += "_"
        names.append(name)
    return names
