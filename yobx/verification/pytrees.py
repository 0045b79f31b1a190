"""Arguments of a JAX function one by one, in JAX's order.

JAX alone knows what its containers are: dataclasses and other registered classes, dictionaries by
sorted key, ordered ones as they are. So the arguments of a JAX function are taken apart and put
together by JAX, and what lies between sees a flat tuple.
"""

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

__all__ = ["FlatSource"]


class FlatSource:
    """A source whose arguments are the leaves of positional and keyword arguments.

    Args:
        source: The source proper.
        args: Its positional arguments.
        kwargs: Its keyword arguments.

    Attributes:
        leaves: The arguments one by one, of random keys their data; a ``None`` is none.
    """

    def __init__(self, source: Source, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        import jax

        self._source = source
        self.name = source.name
        self.framework = source.framework
        from yobx.jax.random_keys import as_data, is_key

        flat, self._structure = jax.tree.flatten((args, dict(kwargs)))
        found = {i: as_data(leaf) for i, leaf in enumerate(flat) if is_key(leaf)}
        self._keys = {i: implementation for i, (_, implementation) in found.items()}
        self.leaves = tuple(found[i][0] if i in found else leaf for i, leaf in enumerate(flat))

    def _call(self, leaves: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        import jax

        from yobx.jax.random_keys import as_key

        flat = [
            as_key(leaf, self._keys[i]) if i in self._keys else leaf
            for i, leaf in enumerate(leaves)
        ]
        args, kwargs = jax.tree.unflatten(self._structure, flat)
        return args, kwargs

    def _with_keywords(
        self, leaves: Sequence[Any], options: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args, kwargs = self._call(leaves)
        return args, {**options, "kwargs": kwargs}

    def convert(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> onnx.ModelProto:
        """Converts with the arguments in their containers."""
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
