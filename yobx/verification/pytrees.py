"""Arguments of a JAX function one by one, in JAX's order.

JAX alone knows what its containers are: dataclasses and other registered classes, dictionaries by
sorted key, ordered ones as they are. So the arguments of a JAX function are taken apart and put
together by JAX, and what lies between sees a flat tuple.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yobx.verification.forwarding import ForwardingSource
from yobx.verification.sources import Source

__all__ = ["FlatSource"]


class FlatSource(ForwardingSource):
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

        super().__init__(source)
        from yobx.jax.random_keys import as_data, is_key

        flat, self._structure = jax.tree.flatten((args, dict(kwargs)))
        found = {i: as_data(leaf) for i, leaf in enumerate(flat) if is_key(leaf)}
        self._keys = {i: implementation for i, (_, implementation) in found.items()}
        self.leaves = tuple(found[i][0] if i in found else leaf for i, leaf in enumerate(flat))

    def _call(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        import jax

        from yobx.jax.random_keys import as_key

        flat = [
            as_key(leaf, self._keys[i]) if i in self._keys else leaf for i, leaf in enumerate(args)
        ]
        positional, keywords = jax.tree.unflatten(self._structure, flat)
        return positional, keywords
