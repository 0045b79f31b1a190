"""Constant tensors of the graph: kept by reference, equal ones once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

__all__ = ["InitializerStore"]

_CONTENT_LIMIT = 1 << 16
"""Arrays up to this many bytes are compared by content, larger ones by identity."""


class InitializerStore(Mapping[str, npt.NDArray[np.generic]]):
    """Initializers by name, in the order in which they were made.

    The arrays are never copied: what the caller passes is what is serialised at the end.
    """

    def __init__(self) -> None:
        self._arrays: dict[str, npt.NDArray[np.generic]] = {}
        self._by_content: dict[tuple[object, ...], str] = {}
        self._by_identity: dict[int, str] = {}

    def __getitem__(self, name: str) -> npt.NDArray[np.generic]:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    @staticmethod
    def _content(array: npt.NDArray[np.generic]) -> tuple[object, ...] | None:
        if array.nbytes > _CONTENT_LIMIT:
            return None
        if array.dtype.kind in "OUST":
            return (
                "string",
                array.shape,
                tuple(item if isinstance(item, bytes) else str(item) for item in array.flat),
            )
        return (str(array.dtype), array.shape, array.tobytes())

    def find(self, array: npt.NDArray[np.generic]) -> str | None:
        """Finds an anonymous initializer with the same dtype, shape and bits.

        Args:
            array: Value looked for.

        Returns:
            Its name, or ``None``.
        """
        key = self._content(array)
        return self._by_identity.get(id(array)) if key is None else self._by_content.get(key)

    def add(self, name: str, array: npt.NDArray[np.generic], *, shareable: bool) -> None:
        """Adds an initializer.

        Args:
            name: Its name, reserved by the caller.
            array: Its value, kept by reference.
            shareable: Whether :meth:`find` may return it for an equal value.
        """
        self._arrays[name] = array
        if not shareable:
            return
        key = self._content(array)
        if key is None:
            # The store holds the array, so its identity stays valid as long as the entry.
            self._by_identity[id(array)] = name
        else:
            self._by_content[key] = name
