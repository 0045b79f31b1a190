"""The Keras layer an operation belongs to, read from the name scopes of its name."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["LayerIndex"]

_SUFFIX = re.compile(r"(.+)_\d+")


class LayerIndex:
    """Finds layer paths.

    Keras opens the scope of a layer twice in a call, once to build and once to run, so the scope of
    ``dense`` is usually ``dense_1``; shared layers get higher numbers.

    Args:
        layers: Names of all layers of the model. Without any there are no paths: the scopes are in
            the names of the operations already.
    """

    def __init__(self, layers: Iterable[str] = ()) -> None:
        self._layers = frozenset(layers)
        self._known: dict[str, str] = {}

    def path(self, operation: str) -> str:
        """Returns the layer path of an operation, ``""`` outside every layer.

        Args:
            operation: Name of the operation, for example ``"model_1/dense_1/MatMul"``.
        """
        scope, _, _ = operation.rpartition("/")
        if scope not in self._known:
            self._known[scope] = self._read(scope) if self._layers else ""
        return self._known[scope]

    def _read(self, scope: str) -> str:
        path: list[str] = []
        for component in scope.split("/"):
            name = self._layer(component)
            if path and name == path[0]:
                path.clear()  # the body of a loop repeats the scopes around it
            if name:
                path.append(name)
        return "/".join(path)

    def _layer(self, component: str) -> str:
        match = _SUFFIX.fullmatch(component)
        if match and match[1] in self._layers:
            return match[1]
        return component if component in self._layers else ""
