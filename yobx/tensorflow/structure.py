"""Nested arguments and results: flattened in TensorFlow's order, each leaf with its path.

Dictionaries are visited by sorted key, lists, tuples and named tuples by position, as ``tf.nest``,
Keras and JAX do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

__all__ = ["Path", "describe", "flatten_with_path", "path_text", "rebuild"]

#: Keys and positions that lead from the root of a structure to one leaf.
Path = tuple[Any, ...]


def _sorted_keys(mapping: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(mapping)
    except TypeError:
        return sorted(mapping, key=lambda key: (type(key).__name__, str(key)))


def _children(tree: object) -> list[tuple[Any, Any]] | None:
    """Returns the labelled children of a container, ``None`` for a leaf."""
    if isinstance(tree, Mapping):
        return [(key, tree[key]) for key in _sorted_keys(tree)]
    if isinstance(tree, tuple):
        labels = getattr(tree, "_fields", range(len(tree)))
        return list(zip(labels, tree, strict=True))
    if isinstance(tree, list):
        return list(enumerate(tree))
    return None


def flatten_with_path(tree: object, prefix: Path = ()) -> list[tuple[Path, Any]]:
    """Lists the leaves of a structure, ``None`` included, each with its path.

    Args:
        tree: Nested dicts, lists, tuples and named tuples.
        prefix: Path of ``tree`` itself.

    Returns:
        Pairs ``(path, leaf)`` in the framework's order.
    """
    children = _children(tree)
    if children is None:
        return [(prefix, tree)]
    return [
        item for label, child in children for item in flatten_with_path(child, (*prefix, label))
    ]


def rebuild(tree: object, leaves: Iterable[Any]) -> Any:
    """Puts other leaves into the containers of ``tree``.

    Args:
        tree: The structure to copy.
        leaves: One value for each leaf that :func:`flatten_with_path` lists, in its order.

    Returns:
        The same structure around ``leaves``; the order of dictionary keys is kept.
    """
    return _rebuild(tree, iter(leaves))


def _rebuild(tree: object, leaves: Iterator[Any]) -> Any:
    children = _children(tree)
    if children is None:
        return next(leaves)
    values = [_rebuild(child, leaves) for _, child in children]
    if isinstance(tree, Mapping):
        by_key = dict(zip((label for label, _ in children), values, strict=True))
        return {key: by_key[key] for key in tree}
    if isinstance(tree, tuple):
        return type(tree)(*values) if hasattr(tree, "_fields") else tuple(values)
    return values


def path_text(path: Path) -> str:
    """Writes a path as a name: its labels joined by dots."""
    return ".".join(str(label) for label in path)


def describe(tree: object) -> str:
    """Writes a structure whose leaves are names as JSON that :func:`json.loads` reads back.

    A leaf is its name or ``null``; containers are ``{"dict": {...}}``, ``{"list": [...]}``,
    ``{"tuple": [...]}`` and ``{"namedtuple": {...}}``.

    Args:
        tree: Nested containers whose leaves are strings or ``None``.

    Returns:
        Compact JSON.
    """
    return json.dumps(_plain(tree), separators=(",", ":"))


def _plain(tree: object) -> Any:
    children = _children(tree)
    if children is None:
        return tree
    if isinstance(tree, Mapping):
        return {"dict": {str(key): _plain(value) for key, value in tree.items()}}
    if hasattr(tree, "_fields"):
        return {"namedtuple": {label: _plain(value) for label, value in children}}
    kind = "tuple" if isinstance(tree, tuple) else "list"
    return {kind: [_plain(value) for _, value in children]}
