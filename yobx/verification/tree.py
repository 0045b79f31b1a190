"""Nested inputs and outputs: flattened in the order every front end uses.

Dictionaries are visited by sorted key, lists, tuples and named tuples by position, as TensorFlow,
Keras and JAX do. Nothing here imports a framework, so any object that is not a container is a leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

__all__ = ["flatten", "map_leaves", "named", "rebuild"]


def _sorted_keys(mapping: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(mapping)
    except TypeError:  # keys of several types
        return sorted(mapping, key=lambda key: (type(key).__name__, str(key)))


def _children(tree: object) -> list[tuple[str, object]] | None:
    """The labelled children of a container, or ``None`` for a leaf."""
    if isinstance(tree, Mapping):
        return [(str(key), tree[key]) for key in _sorted_keys(tree)]
    fields = getattr(tree, "_fields", None)
    if isinstance(tree, tuple) and fields is not None:
        return [(str(name), getattr(tree, name)) for name in fields]
    if isinstance(tree, (list, tuple)):
        return [(str(index), child) for index, child in enumerate(tree)]
    return None


def flatten(tree: object, *, prefix: str = "") -> list[tuple[str, Any]]:
    """Lists the leaves with their path.

    Args:
        tree: Nested dict / list / tuple, or a single leaf.
        prefix: Path of `tree` itself.

    Returns:
        Pairs ``(path, leaf)``; ``None`` leaves are dropped, as front ends do. Paths join labels
        with ``.``.
    """
    children = _children(tree)
    if children is None:
        return [] if tree is None else [(prefix, tree)]
    leaves: list[tuple[str, Any]] = []
    for label, child in children:
        leaves.extend(flatten(child, prefix=f"{prefix}.{label}" if prefix else label))
    return leaves


def named(result: object) -> tuple[list[str], list[Any]]:
    """Leaves of a result, named by their path where that ends in a key, else not.

    Returns:
        Names, ``""`` for none, and leaves.
    """
    flat = flatten(result)
    names = [path if not path.split(".")[-1].isdecimal() else "" for path, _ in flat]
    return names, [leaf for _, leaf in flat]


def rebuild(tree: object, leaves: Sequence[Any]) -> Any:
    """Puts new leaves into the containers of `tree`.

    Args:
        tree: The structure to copy.
        leaves: One value for each leaf that `flatten` lists, in its order.

    Returns:
        The same structure around the new leaves.
    """
    return _rebuild(tree, iter(leaves))


def map_leaves(function: Callable[[Any], Any], tree: object) -> Any:
    """Applies `function` to every leaf and keeps the containers."""
    return rebuild(tree, [function(leaf) for _, leaf in flatten(tree)])


def _rebuild(tree: object, leaves: Iterator[Any]) -> Any:
    children = _children(tree)
    if children is None:
        return None if tree is None else next(leaves)
    if isinstance(tree, Mapping):
        built = {key: _rebuild(tree[key], leaves) for key in _sorted_keys(tree)}
        return {key: built[key] for key in tree}
    values = [_rebuild(child, leaves) for _, child in children]
    if isinstance(tree, tuple):
        return type(tree)(*values) if hasattr(tree, "_fields") else tuple(values)
    return values
