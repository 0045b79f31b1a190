"""Converters of the caller that a conversion never called: a misspelt name is told, not ignored."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import onnx

from yobx.verification.error_classes import subgraphs
from yobx.verification.provenance import facts_of
from yobx.words import nearest

__all__ = ["Watched"]


class Watched:
    """The options of a conversion, with converters that note when they are called.

    Args:
        options: Options of `to_onnx`; they are not changed.

    Attributes:
        options: The same, with watched converters.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = dict(options)
        self._called: set[str] = set()
        given = self.options.get("extra_converters")
        self._given = given if isinstance(given, Mapping) else {}
        if self._given:
            self.options["extra_converters"] = {
                name: self._watch(name, function) if callable(function) else function
                for name, function in self._given.items()
            }

    def _watch(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)  # and with it the signature, by which a converter is called
        def watched(*args: Any, **keywords: Any) -> Any:
            self._called.add(name)
            return function(*args, **keywords)

        return watched

    def unused(self, model: onnx.ModelProto) -> list[str]:
        """Says which converters were never called.

        Args:
            model: The converted model, whose nodes say which operations there were.

        Returns:
            One sentence a converter.
        """
        never = [name for name in self._given if name not in self._called]
        known = _source_ops(model.graph) if never else set()
        return [_told(name, known) for name in never]


def _told(name: str, known: set[str]) -> str:
    hint = nearest(name, known - {name}, n=2, cutoff=0.6)
    why = "which was never called: no such operation"
    return f"extra_converters has {name!r}, {why}{'; ' * bool(hint)}{hint}"


def _source_ops(graph: onnx.GraphProto) -> set[str]:
    found = {facts["op"] for node in graph.node if "op" in (facts := facts_of(node))}
    for node in graph.node:
        for body in subgraphs(node):
            found |= _source_ops(body)
    return found
