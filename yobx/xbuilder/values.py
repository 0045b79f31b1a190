"""Which names mean which values in one graph, and in the graphs around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from yobx.errors import GraphError
from yobx.words import nearest
from yobx.xbuilder.names import NameRegistry, ScopeStack
from yobx.xbuilder.provenance import Provenance

__all__ = ["ValueTable"]


class ValueTable:
    """Values and aliases of one graph.

    Args:
        names: Names taken in the whole model; graphs inside each other share it.
        provenance: For error messages.
        parent: Table of the enclosing graph, if its values may be read.
    """

    def __init__(
        self, names: NameRegistry, provenance: Provenance, parent: ValueTable | None = None
    ) -> None:
        self.scopes = ScopeStack()
        self._names = names
        self._provenance = provenance
        self._parent = parent
        self._values: set[str] = set()

    def define(self, name: str) -> str:
        """Makes a name a new value of this graph.

        Args:
            name: Name wanted, free or reserved.

        Returns:
            What the value is really called: bodies of control flow often use the same names, and
            there a name in use is changed.

        Raises:
            GraphError: If the name is taken.
        """
        if not isinstance(name, str) or not name:
            raise GraphError(f"A value name is a non-empty str. Received: {name!r}.")
        hidden = self.scopes.lookup(name)
        if hidden is not None:
            raise GraphError(
                "The name is an alias here, so it cannot name a new value. Received: "
                f"name={name!r}, alias of {hidden!r}.",
                value=name,
                hint=f"Try g.unique_name({name!r}).",
            )
        value = name
        if self._parent is not None and not self._names.is_free(name):
            value = self._names.unique(name)
            self.scopes.bind_outermost(name, value)
        self._names.define(value)
        self._values.add(value)
        return value

    def forget(self, names: Iterable[str]) -> None:
        """Takes back values whose node was refused.

        Args:
            names: What :meth:`define` returned.
        """
        for name in filter(None, names):
            self._names.release(name)
            self._values.discard(name)

    def find(self, name: str) -> str | None:
        """Finds what a name means: inner scopes first, then this graph, then those around it.

        Args:
            name: Name or alias.

        Returns:
            The value, or ``None``.
        """
        table: ValueTable | None = self
        while table is not None:
            bound = table.scopes.lookup(name)
            if bound is not None:
                return bound
            if name in table._values:
                return name
            table = table._parent
        return None

    def resolve(self, name: str) -> str:
        """Finds what a name means.

        Args:
            name: Name or alias.

        Returns:
            The value.

        Raises:
            GraphError: If there is none; the message names similar ones.
        """
        found = self.find(name)
        if found is None:
            advice = nearest(str(name), self._visible()) or "define it before it is used."
            where = self._provenance.where()
            raise GraphError(
                f"There is no value of this name. Received: {name!r}"
                f"{', while converting ' + where if where else ''}; {advice}",
                value=str(name),
            )
        return found

    def _visible(self) -> Iterator[str]:
        table: ValueTable | None = self
        while table is not None:
            yield from table._values
            yield from table.scopes.visible()
            table = table._parent

    def alias(self, name: str, target: str) -> str:
        """Makes a name mean an existing value in the innermost open scope.

        Args:
            name: New name; inside a scope it may hide an outer one.
            target: Existing value or alias.

        Returns:
            The value.

        Raises:
            GraphError: If the target does not exist or the name means something else here.
        """
        value = self.resolve(target)
        if name == value:
            return value
        if self.scopes.is_outermost and name in self._values:
            raise GraphError(
                f"An alias cannot hide a value of the same graph. Received: name={name!r}, "
                f"target={target!r}.",
                value=name,
                hint="Try another name, or g.scope(...) around it.",
            )
        self.scopes.bind(name, value)
        return value

    def expose(self, name: str, value: str) -> str:
        """Gives a value a second name, as an output of the graph.

        Args:
            name: Output name.
            value: Value of any graph that is visible.

        Returns:
            The output name; changed only in a subgraph, when it is taken elsewhere.

        Raises:
            GraphError: If another value has the name.
        """
        if name == value:
            return name
        exposed = name
        if self._parent is not None and not self._names.is_free(name):
            exposed = self._names.unique(name)
        self._names.define(exposed)
        if self.scopes.lookup(name) is None:
            self.scopes.bind_outermost(name, value)
        return exposed
