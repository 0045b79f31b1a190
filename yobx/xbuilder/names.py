"""Value and node names: uniqueness, and scopes with aliases."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from yobx.errors import GraphError

__all__ = ["NameRegistry", "ScopeStack"]


class NameRegistry:
    """Names taken in a whole builder tree; ONNX forbids shadowing, so subgraphs share one."""

    def __init__(self) -> None:
        self._taken: dict[str, bool] = {}  # False: reserved, not yet defined
        self._counters: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._taken

    def copy(self) -> NameRegistry:
        """Returns a registry with the same names, independent of this one."""
        other = NameRegistry()
        other._taken.update(self._taken)
        other._counters.update(self._counters)
        return other

    def is_free(self, name: str) -> bool:
        """Tells whether a value of this name can be defined (it may be reserved)."""
        return not self._taken.get(name, False)

    def define(self, name: str) -> None:
        """Takes a name that is free or reserved.

        Args:
            name: Name of the value being defined.

        Raises:
            GraphError: If it is defined already.
        """
        if self._taken.get(name, False):
            raise GraphError(
                f"A value name can be defined once only. Received: name={name!r}, already defined.",
                value=name,
                hint=f"Try another name, or g.unique_name({name!r}).",
            )
        self._taken[name] = True

    def release(self, name: str) -> None:
        """Gives back a name whose value was not made after all.

        Args:
            name: Name taken before.
        """
        self._taken.pop(name, None)

    def unique(self, hint: str) -> str:
        """Reserves a free name that resembles a hint.

        Args:
            hint: Wanted name, used as it is when free.

        Returns:
            The reserved name.
        """
        name = hint = hint or "value"
        count = self._counters.get(hint, 0)
        while name in self._taken:
            count += 1
            name = f"{hint}_{count}"
        self._counters[hint] = count
        self._taken[name] = False
        return name


class ScopeStack:
    """Nested local names: inside a scope an alias hides what the name means outside."""

    def __init__(self) -> None:
        self._frames: list[dict[str, str]] = [{}]
        self._prefixes: list[str] = []

    @property
    def prefix(self) -> str:
        """The joined prefixes of the open scopes, ending in ``/`` unless empty."""
        return "".join(f"{prefix}/" for prefix in self._prefixes if prefix)

    @contextmanager
    def open(self, prefix: str) -> Iterator[None]:
        """Opens a scope for the ``with`` block.

        Args:
            prefix: Put before the names of nodes made inside; ``""`` adds nothing.

        Yields:
            Nothing.
        """
        self._frames.append({})
        self._prefixes.append(prefix)
        try:
            yield
        finally:
            self._frames.pop()
            self._prefixes.pop()

    @property
    def is_outermost(self) -> bool:
        """Whether no scope is open."""
        return len(self._frames) == 1

    def bind(self, name: str, target: str) -> None:
        """Makes a name mean a value in the innermost scope.

        Args:
            name: Local name, not yet bound in this scope.
            target: Name of the value.

        Raises:
            GraphError: If the scope binds the name to another value already.
        """
        frame = self._frames[-1]
        if frame.get(name, target) != target:
            raise GraphError(
                f"An alias can be bound once in a scope. Received: name={name!r}, "
                f"target={target!r}, already bound to {frame[name]!r}.",
                value=name,
                hint="Try another name, or open a new scope with g.scope(...).",
            )
        frame[name] = target

    def lookup(self, name: str) -> str | None:
        """Finds what a name is an alias of.

        Args:
            name: Name to look up, inner scopes first.

        Returns:
            The target, or ``None`` when no open scope binds the name.
        """
        for frame in reversed(self._frames):
            if name in frame:
                return frame[name]
        return None

    def visible(self) -> Iterator[str]:
        """Yields every alias that is visible now."""
        for frame in self._frames:
            yield from frame

    def bind_outermost(self, name: str, target: str) -> None:
        """Makes a name mean a value wherever no inner scope says otherwise.

        Args:
            name: Name.
            target: Name of the value.
        """
        self._frames[0][name] = target
