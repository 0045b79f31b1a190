"""Tensors among the keyword arguments are inputs of the converted model like all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from numpy.typing import NDArray

from yobx.verification.sources import (
    FactorSource,
    GraphSource,
    NamedArray,
    NarrowSource,
    Origin,
    RewrittenSource,
    Source,
    TracedSource,
    WideRun,
    WideSource,
)

__all__ = ["KeywordSource"]


class KeywordSource:
    """A source whose last argument is the dict of its keyword arguments.

    Front ends number the inputs in the same order: positional arguments, then keywords by name.

    Args:
        source: The source proper.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.name = source.name
        self.framework = source.framework

    def convert(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> onnx.ModelProto:
        """Converts with the keywords where they belong."""
        *positional, keywords = args
        model = self._source.convert(tuple(positional), {**options, "kwargs": keywords})
        self.framework = self._source.framework  # of a plain function it is known only now
        return model

    def run(
        self, args: tuple[Any, ...], keywords: Mapping[str, Any] | None = None
    ) -> list[NamedArray]:
        """Runs the source; its keywords are in the last argument already."""
        *positional, given = args
        return self._source.run(tuple(positional), given)

    def example(self, seed: int, options: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """Inputs of the source proper."""
        return self._source.example(seed, options)

    def intermediates(
        self, args: tuple[Any, ...], names: Sequence[str], options: Mapping[str, Any]
    ) -> dict[str, NDArray[Any]]:
        """Intermediate values of the source proper."""
        *positional, keywords = args
        options = {**options, "kwargs": keywords}
        return self._source.intermediates(tuple(positional), names, options)

    def run_graph(
        self, args: tuple[Any, ...], options: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> list[NDArray[Any]] | None:
        """Outputs of what was traced, where something is."""
        *positional, keywords = args
        if not isinstance(self._source, GraphSource):
            return None
        options = {**options, "kwargs": keywords}
        return self._source.run_graph(tuple(positional), options, sizes)

    def narrow_values(
        self, args: tuple[Any, ...], options: Mapping[str, Any], values: Mapping[str, str]
    ) -> frozenset[str]:
        """What the source proper computes in 16 bits, where it knows."""
        *positional, keywords = args
        if not isinstance(self._source, NarrowSource):
            return frozenset()
        options = {**options, "kwargs": keywords}
        return self._source.narrow_values(tuple(positional), options, values)

    def run_with_factors(
        self,
        args: tuple[Any, ...],
        options: Mapping[str, Any],
        values: Mapping[str, Any],
        factor: float,
    ) -> tuple[list[Any], list[str]] | None:
        """Outputs of the source proper with factors of the converted model."""
        *positional, keywords = args
        if not isinstance(self._source, FactorSource):
            return None
        options = {**options, "kwargs": keywords}
        return self._source.run_with_factors(tuple(positional), options, values, factor)

    def run_as_written(
        self, args: tuple[Any, ...], keywords: Mapping[str, Any] | None = None
    ) -> list[NamedArray] | None:
        """Outputs of the source proper as it is written; its keywords are in the last argument."""
        *positional, given = args
        if not isinstance(self._source, RewrittenSource):
            return None
        return self._source.run_as_written(tuple(positional), given)

    def run_in_float64(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> WideRun | None:
        """Outputs of the source proper in float64, where it knows how."""
        *positional, keywords = args
        if not isinstance(self._source, WideSource):
            return None
        return self._source.run_in_float64(tuple(positional), {**options, "kwargs": keywords})

    def user_line(self, origin: Origin, args: tuple[Any, ...], options: Mapping[str, Any]) -> str:
        """The user's line, where the source knows it."""
        *positional, keywords = args
        if not isinstance(self._source, TracedSource):
            return ""
        return self._source.user_line(origin, tuple(positional), {**options, "kwargs": keywords})
