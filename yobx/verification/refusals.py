"""Sizes that the source refuses: each reason is told once, however many sizes it stands for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from yobx.verification.bindings import Binding
from yobx.verification.boundary import one_line
from yobx.verification.findings import BindingReport

__all__ = ["Refusal", "Refusals"]

_NUMBER = re.compile(r"\d+")
_MOST = 200
_WHOLE = 20_000


@dataclass
class Refusal:
    """One reason, and the sizes that it stands for.

    Attributes:
        error: What the source raised first.
        sizes: The sizes, in the order in which they were tried.
        fatal: Those of them for which nothing else could be tried.
    """

    error: Exception
    sizes: list[Binding] = field(default_factory=list)
    fatal: list[Binding] = field(default_factory=list)
    _entries: list[BindingReport] = field(default_factory=list)

    @property
    def words(self) -> str:
        """What was raised, on one line."""
        return one_line(self.error, _MOST)

    @property
    def where(self) -> str:
        """``n=5; n=8``."""
        return "; ".join(dict.fromkeys(binding.describe() for binding in self.sizes))


@dataclass
class Refusals:
    """All refusals of one check."""

    _found: dict[str, Refusal] = field(default_factory=dict)

    def add(self, entry: BindingReport, binding: Binding, error: Exception) -> None:
        """Takes in that the source raised.

        Args:
            entry: What is reported of these sizes.
            binding: The sizes.
            error: What it raised.
        """
        key = _NUMBER.sub("#", one_line(error, _WHOLE))
        refusal = self._found.setdefault(key, Refusal(error))
        refusal.sizes.append(binding)
        refusal._entries.append(entry)
        if binding.softer is None and binding.label != "ones":
            refusal.fatal.append(binding)

    def told(self, *, failed: bool) -> list[Refusal]:
        """Writes the notes of the sizes, and lists what is to be told of the whole check.

        Args:
            failed: Whether nothing ran, so that every reason is one.

        Returns:
            The reasons for which the check fails.
        """
        reasons = [one for one in self._found.values() if one.fatal or failed]
        for refusal in self._found.values():
            words = refusal.words
            for binding, entry in zip(refusal.sizes, refusal._entries, strict=True):
                softer = binding.softer
                tried = f"; {softer.describe()} was tried instead" if softer is not None else ""
                entry.note = f"the source refuses {binding.describe()}: {words}{tried}"
                entry.told = refusal in reasons
                words = "for the same reason"
        return reasons
