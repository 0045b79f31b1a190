"""Where a node comes from, in the words of the source model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import onnx

__all__ = ["Provenance"]


class Provenance:
    """A stack of source descriptions, written into the ``metadata_props`` of every node made.

    An inner description overrides the keys it gives and inherits the others.
    """

    def __init__(self) -> None:
        self._stack: list[dict[str, str]] = [{}]

    @contextmanager
    def describe(self, **keys: str | None) -> Iterator[None]:
        """Describes the nodes made inside the ``with`` block.

        Args:
            **keys: Facts such as ``op``, ``name``, ``layer``; ``None`` and ``""`` are left out.

        Yields:
            Nothing.
        """
        self._stack.append(
            {**self._stack[-1], **{f"yobx.{key}": value for key, value in keys.items() if value}}
        )
        try:
            yield
        finally:
            self._stack.pop()

    def stamp(self, node: onnx.NodeProto) -> None:
        """Writes the current description into a node.

        Args:
            node: Node to complete.
        """
        for key, value in self._stack[-1].items():
            node.metadata_props.add(key=key, value=value)

    def where(self) -> str:
        """Returns the current description as words for an error message, ``""`` if none."""
        facts = self._stack[-1]
        return ", ".join(f"{key.removeprefix('yobx.')}={facts[key]}" for key in facts)
