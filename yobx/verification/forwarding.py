"""What a source that only gathers its arguments in another way hands on to the source proper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from numpy.typing import NDArray

from yobx.verification.sources import (
    FactorSource,
    NamedArray,
    NarrowSource,
    Origin,
    Source,
    TracedSource,
    WideRun,
    WideSource,
)

__all__ = ["ForwardingSource"]


class ForwardingSource:
    """A source around another one; a subclass says how its arguments become those of that one.

    Args:
        source: The source proper.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.name = source.name
        self.framework = source.framework

    def _call(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments of the source proper."""
        raise NotImplementedError

    def _with_keywords(
        self, args: tuple[Any, ...], options: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        positional, keywords = self._call(args)
        return positional, {**options, "kwargs": keywords}

    def convert(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> onnx.ModelProto:
        """Converts with the arguments where they belong."""
        return self._source.convert(*self._with_keywords(args, options))

    def run(
        self, args: tuple[Any, ...], keywords: Mapping[str, Any] | None = None
    ) -> list[NamedArray]:
        """Runs the source; its keywords are among the arguments already."""
        return self._source.run(*self._call(args))

    def example(self, seed: int, options: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """Inputs of the source proper."""
        return self._source.example(seed, options)

    def intermediates(
        self, args: tuple[Any, ...], names: Sequence[str], options: Mapping[str, Any]
    ) -> dict[str, NDArray[Any]]:
        """Intermediate values of the source proper."""
        positional, options = self._with_keywords(args, options)
        return self._source.intermediates(positional, names, options)

    def narrow_values(
        self, args: tuple[Any, ...], options: Mapping[str, Any], values: Mapping[str, str]
    ) -> frozenset[str]:
        """What the source proper computes in 16 bits, where it knows."""
        if not isinstance(self._source, NarrowSource):
            return frozenset()
        positional, options = self._with_keywords(args, options)
        return self._source.narrow_values(positional, options, values)

    def run_with_factors(
        self,
        args: tuple[Any, ...],
        options: Mapping[str, Any],
        values: Mapping[str, Any],
        factor: float,
    ) -> tuple[list[Any], list[str]] | None:
        """Outputs of the source proper with factors of the converted model."""
        if not isinstance(self._source, FactorSource):
            return None
        positional, options = self._with_keywords(args, options)
        return self._source.run_with_factors(positional, options, values, factor)

    def run_in_float64(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> WideRun | None:
        """Outputs of the source proper in float64, where it knows how."""
        if not isinstance(self._source, WideSource):
            return None
        return self._source.run_in_float64(*self._with_keywords(args, options))

    def user_line(self, origin: Origin, args: tuple[Any, ...], options: Mapping[str, Any]) -> str:
        """The user's line, where the source knows it."""
        if not isinstance(self._source, TracedSource):
            return ""
        positional, options = self._with_keywords(args, options)
        return self._source.user_line(origin, positional, options)
