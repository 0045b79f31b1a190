"""Where the random generators take their decisions from: a seed, or hypothesis in the tests."""

from __future__ import annotations

import abc
import random
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["Chooser", "Seeded"]

T = TypeVar("T")


class Chooser(abc.ABC):
    """Decisions; all of them come down to choosing an integer."""

    @abc.abstractmethod
    def integer(self, low: int, high: int) -> int:
        """An integer from ``low`` to ``high``, both included."""

    def one_of(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.integer(0, len(options) - 1)]

    def flag(self) -> bool:
        """True or false."""
        return bool(self.integer(0, 1))

    def some_of(self, options: Sequence[T], most: int) -> list[T]:
        """At most so many of the options, each at most once."""
        left = list(options)
        count = self.integer(0, min(most, len(left)))
        return [left.pop(self.integer(0, len(left) - 1)) for _ in range(count)]

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """The options in any order."""
        left = list(options)
        return [left.pop(self.integer(0, len(left) - 1)) for _ in options]


class Seeded(Chooser):
    """The same decisions for the same seed, on every machine.

    Args:
        seed: Any text.
    """

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        """An integer from ``low`` to ``high``, both included."""
        return self._random.randint(low, high)
