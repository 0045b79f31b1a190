"""What all contexts of one inference share: symbols, memo, functions, options, log."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import onnx

from yobx.onnx_optim.events import ShapeEvent
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.registry import Registry, shared_registry

if TYPE_CHECKING:
    from yobx.onnx_optim.context import ShapesContext

__all__ = ["Origin", "Session"]

_NOT_A_NAME = re.compile(r"\W+")


@dataclass(frozen=True, slots=True)
class Origin:
    """Why a symbol exists.

    Attributes:
        symbol: The symbol.
        op_type: Operator that made it; ``""`` for a graph input.
        node: Name of the node, or of its first output.
        value: Value whose size it is.
        axis: Axis, or -1 when it is not the size of an axis.
        reason: Why the size is not an expression of the inputs.
        upper: Upper bound, or ``None``.
        path: Nearest owners of the subgraph as ``(node index, attribute)``, outermost first.
        inputs: Names of the inputs of the node.
    """

    symbol: str
    op_type: str
    node: str
    value: str
    axis: int
    reason: str
    upper: OptimDim | None = None
    path: tuple[tuple[int, str], ...] = ()
    inputs: tuple[str, ...] = ()


@dataclass(slots=True)
class Session:
    """State shared by a root context and all contexts below it.

    Attributes:
        registry: Shape rules.
        functions: Model-local functions by ``(domain, name, overload)``.
        calls: Number of nodes of each operator in the whole model, once somebody asked.
        custom: Rules of one context, by ``(domain, operator)``.
        memo: Outputs by operator, attributes and input descriptors.
        origins: Why each generated symbol exists.
        events: The log.
        listeners: Called with each event of the log.
        logging: Whether the log is kept.
        policy: What declared types mean: ``"ignore"``, ``"check"`` or ``"strict"``.
        contradictions: Declarations that a run refutes.
        doubts: Declarations to be judged once all nodes have said which sizes are equal.
        assumptions: Equations that declarations claim and nothing proves.
        input_symbols: Symbols of the sizes of the graph's inputs.
        nested_calls: Number of calls inferred in function bodies.
        declared_names: Generated symbol that each declared name stands for.
    """

    registry: Registry = field(default_factory=shared_registry)
    functions: dict[tuple[str, str, str], onnx.FunctionProto] = field(default_factory=dict)
    custom: dict[tuple[str, str], Callable[[ShapesContext, onnx.NodeProto], Any]] = field(
        default_factory=dict
    )
    calls: Counter[tuple[str, str, str]] | None = None
    memo: dict[Any, Any] = field(default_factory=dict)
    origins: dict[str, Origin] = field(default_factory=dict)
    events: list[ShapeEvent] = field(default_factory=list)
    listeners: list[Callable[[ShapeEvent], None]] = field(default_factory=list)
    logging: bool = False
    policy: str = "ignore"
    contradictions: list[Any] = field(default_factory=list)
    doubts: list[Callable[[], None]] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    input_symbols: set[str] = field(default_factory=set)
    declared_names: dict[str, OptimDim] = field(default_factory=dict)
    nested_calls: int = 0
    _taken: set[str] = field(default_factory=set)
    _counts: dict[str, int] = field(default_factory=dict)
    _numbered: dict[str, tuple[str, int]] = field(default_factory=dict)
    _unread: list[Callable[[], Iterable[str]]] = field(default_factory=list)

    def reserve(self, names: Iterable[str]) -> None:
        """Keep these names from being given to new symbols."""
        self._taken.update(names)

    def reserve_later(self, names: Callable[[], Iterable[str]]) -> None:
        """Like :meth:`reserve`, asked for only when the first symbol is made."""
        self._unread.append(names)

    def new_symbol(self, hint: str) -> OptimDim:
        """A symbol that no dimension of the model is named after, readable from ``hint``."""
        while self._unread:
            self._taken.update(self._unread.pop()())
        base = _NOT_A_NAME.sub("_", hint).strip("_") or "d"
        if not base.isidentifier():
            base = f"d_{base}"
        # Counting goes on where it ended: many values may have one name in their functions.
        count = self._counts.get(base, 0) + 1
        name = base if count == 1 else f"{base}_{count}"
        while name in self._taken:
            count += 1
            name = f"{base}_{count}"
        self._taken.add(name)
        self._counts[base] = count
        self._numbered[name] = (base, count)
        return OptimDim(name)

    def checkpoint(self) -> int:
        """A mark for :meth:`rollback`."""
        return len(self.origins)

    def rollback(self, mark: int, keep: Collection[str] = ()) -> None:
        """Free the names of the symbols made since the mark, which nothing refers to any more."""
        for name in list(islice(self.origins, mark, None)):
            if name not in keep:
                del self.origins[name]
                self._taken.discard(name)
                base, count = self._numbered.pop(name, (name, 1))
                self._counts[base] = min(self._counts.get(base, count), count - 1)

    def local_symbols(self, mark: int) -> frozenset[str]:
        """Symbols made since the mark."""
        return frozenset(islice(self.origins, mark, None))

    def log(self, event: ShapeEvent) -> None:
        """Append to the log and tell the listeners."""
        self.events.append(event)
        for listener in self.listeners:
            listener(event)

    def origin_of(self, symbol: str) -> Origin | None:
        """Why a symbol exists, also when a declaration gave it another name."""
        found = self.origins.get(symbol)
        known = self.declared_names.get(symbol) if found is None else None
        if known is not None and known.is_symbol():
            return self.origins.get(str(known))
        return found

    def is_generated(self, symbol: str) -> bool:
        """True for a symbol that the engine made."""
        return symbol in self.origins
