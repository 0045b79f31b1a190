"""Tensors among the keyword arguments are inputs of the converted model like all others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx
from numpy.typing import NDArray

from yobx.verification.forwarding import ForwardingSource
from yobx.verification.sources import GraphSource, NamedArray, RewrittenSource

__all__ = ["KeywordSource"]


class KeywordSource(ForwardingSource):
    """A source whose last argument is the dict of its keyword arguments.

    Front ends number the inputs in the same order: positional arguments, then keywords by name.

    Args:
        source: The source proper.
    """

    def _call(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        *positional, keywords = args
        return tuple(positional), keywords

    def convert(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> onnx.ModelProto:
        """Converts with the keywords where they belong."""
        model = super().convert(args, options)
        self.framework = self._source.framework  # of a plain function it is known only now
        return model

    def run_graph(
        self, args: tuple[Any, ...], options: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> list[NDArray[Any]] | None:
        """Outputs of what was traced, where something is."""
        if not isinstance(self._source, GraphSource):
            return None
        return self._source.run_graph(*self._with_keywords(args, options), sizes)

    def frozen_at(
        self, args: tuple[Any, ...], options: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> str:
        """Where sizes became numbers, where the source proper is traced."""
        if not isinstance(self._source, GraphSource):
            return ""
        return self._source.frozen_at(*self._with_keywords(args, options), sizes)

    def run_as_written(
        self, args: tuple[Any, ...], keywords: Mapping[str, Any] | None = None
    ) -> list[NamedArray] | None:
        """Outputs of the source proper as it is written; its keywords are in the last argument."""
        if not isinstance(self._source, RewrittenSource):
            return None
        return self._source.run_as_written(*self._call(args))
