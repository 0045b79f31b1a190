"""Names and structure of the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from yobx.errors import ConversionError, InternalError
from yobx.tensorflow.source import ModelSource
from yobx.tensorflow.structure import flatten_with_path, path_text, rebuild

__all__ = ["name_outputs"]

_COMPONENTS = {
    "SparseTensor": ("indices", "values", "dense_shape"),
    "IndexedSlices": ("values", "indices", "dense_shape"),
}


def name_outputs(
    source: ModelSource, function: Any, taken: Sequence[str]
) -> tuple[tuple[str, ...], Any]:
    """Names every result tensor: the model's own name, dict keys, or ``output_<position>``.

    Args:
        source: The model.
        function: Its ``ConcreteFunction``.
        taken: Names of the inputs. An output that would have one of these gets ``_out`` added.

    Returns:
        One name per tensor of ``function.outputs``, and the structure of the results with these
        names as leaves.

    Raises:
        ConversionError: If the model returns no tensor.
    """
    structured = function.structured_outputs
    flat = [(path, leaf) for path, leaf in flatten_with_path(structured)]
    tensors = [(path, leaf) for path, leaf in flat if leaf is not None]
    if not function.outputs:
        raise ConversionError(
            f"A model returns at least one tensor. Received: {source.title}, which returns none."
        )
    own = source.output_names(structured)
    if own is not None and len(own) == len(tensors):
        wanted = own
    else:
        wanted = [path_text(path) for path, _ in tensors]
        wanted = [f"output_{name}" if name.isdecimal() else name or "output_0" for name in wanted]
    names: list[str] = []
    leaves: dict[int, Any] = {}
    for position, ((_, leaf), name) in enumerate(zip(tensors, wanted, strict=True)):
        parts = [_free(part, [*taken, *names], taken) for part in _components(leaf, name)]
        names.extend(parts)
        leaves[position] = parts[0] if len(parts) == 1 else parts
    if len(names) != len(function.outputs):
        raise InternalError(
            f"Every result tensor has a name. Received: {len(names)} names for "
            f"{len(function.outputs)} tensors of {source.title}."
        )
    supply = iter(leaves.values())
    return tuple(names), rebuild(
        structured, [None if leaf is None else next(supply) for _, leaf in flat]
    )


def _components(leaf: Any, name: str) -> list[str]:
    """A composite tensor comes out as its parts."""
    import tensorflow as tf

    parts = tf.nest.flatten(leaf, expand_composites=True)
    if len(parts) == 1:
        return [name]
    labels: tuple[str, ...] = _COMPONENTS.get(type(leaf).__name__.removesuffix("Spec"), ())
    if len(labels) < len(parts):
        labels = tuple(map(str, range(len(parts))))
    return [f"{name}.{label}" for label, _ in zip(labels, parts, strict=False)]


def _free(name: str, names: Sequence[str], inputs: Sequence[str]) -> str:
    base = f"{name}_out" if name in inputs else name
    unique, count = base, 0
    while unique in names:
        count += 1
        unique = f"{base}_{count}"
    return unique
