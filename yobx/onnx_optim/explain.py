"""Why something is unknown: the chain behind one value, and the nodes that cost most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import onnx

from yobx.errors import ShapeError
from yobx.onnx_optim.model_io import captured_names
from yobx.onnx_optim.optim_sequence import Descriptor, OptimOptional, OptimSequence
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.tensor_type import TensorType

if TYPE_CHECKING:
    from yobx.onnx_optim.context import ShapesContext

__all__ = ["Blame", "Explanation", "Step", "blame_of", "explain"]

MAX_STEPS = 200


@dataclass(frozen=True, slots=True)
class Step:
    """One link of an explanation.

    Attributes:
        value: Name of the value or symbol.
        known: What is known of it, as text.
        node: The node that computes it, ``""`` for an input.
        reason: Why no more is known; ``""`` when it only passes on what its inputs lack.
        depth: Distance from the value asked about.
    """

    value: str
    known: str
    node: str
    reason: str
    depth: int

    def __str__(self) -> str:
        why = f": {self.reason}" if self.reason else ""
        by = f" from {self.node}" if self.node else ""
        return f"{'  ' * min(self.depth, 12)}{self.value} is {self.known}{by}{why}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The chain of nodes and reasons behind a value, nearest first."""

    name: str
    steps: tuple[Step, ...] = field(default_factory=tuple)

    def __str__(self) -> str:
        return "\n".join(map(str, self.steps))

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)


@dataclass(frozen=True, slots=True)
class Blame:
    """What one node costs.

    Attributes:
        node: The node.
        reason: Why it cannot say more.
        values: Number of values that are less known because of it.
    """

    node: str
    reason: str
    values: int

    def __str__(self) -> str:
        return f"{self.values} values: {self.node}: {self.reason}"


def _kind(dtype: TensorType) -> str:
    """An element type as numpy calls it, ``?`` for none."""
    name = dtype.name[1:].lower()
    return {"undefined": "?", "float": "float32", "double": "float64"}.get(name, name)


def describe(descriptor: Descriptor) -> str:
    """One line about a value, as a reader of models would write it."""
    if isinstance(descriptor, OptimOptional):
        return f"optional({describe(descriptor.element)}), present: {descriptor.present.value}"
    if isinstance(descriptor, OptimSequence):
        length = "?" if descriptor.length is None else str(descriptor.length)
        return f"seq of {length} x {_kind(descriptor.elem_dtype)}{descriptor.shown_shape()}"
    if descriptor.dtype.is_map:
        return descriptor.dtype.onnx_text()
    kind = _kind(descriptor.dtype)
    return f"{kind}{descriptor.shape}"


def symbols_in(descriptor: Descriptor) -> frozenset[str]:
    """Symbols of the sizes of a value."""
    if isinstance(descriptor, OptimOptional):
        return symbols_in(descriptor.element)
    if isinstance(descriptor, OptimSequence):
        return descriptor.symbols()
    return descriptor.shape.symbols()


def is_vague(descriptor: Descriptor) -> bool:
    """True when element type, rank or length is not known."""
    if isinstance(descriptor, OptimOptional):
        return is_vague(descriptor.element)
    if isinstance(descriptor, OptimSequence):
        dims = descriptor.elem_dims
        return descriptor.length is None or dims is None or None in dims
    if descriptor.dtype.is_map:
        return False
    return descriptor.dtype == TensorType.kUndefined or not descriptor.shape.has_rank()


class _Producers:
    """Finds the node that computes a value of a context."""

    def __init__(self) -> None:
        self._tables: dict[int, dict[str, tuple[int, onnx.NodeProto]]] = {}

    def find(self, context: ShapesContext, name: str) -> tuple[int, onnx.NodeProto] | None:
        table = self._tables.get(id(context))
        if table is None:
            table = dict(context.producers)
            for index, node in enumerate(() if context.graph is None else context.graph.node):
                table.update((output, (index, node)) for output in node.output)
            self._tables[id(context)] = table
        return table.get(name)


def owner_of(context: ShapesContext, name: str) -> ShapesContext | None:
    """The context, here, around or inside, in which a value is set."""
    scope: ShapesContext | None = context
    while scope is not None:
        if name in scope.values:
            return scope
        scope = scope.outer
    return next((inner for inner in all_contexts(context) if name in inner.values), None)


def all_contexts(context: ShapesContext) -> Iterator[ShapesContext]:
    """A context and all contexts below it."""
    stack = [context]
    seen: set[int] = set()
    while stack:
        scope = stack.pop()
        if id(scope) in seen:
            continue
        seen.add(id(scope))
        yield scope
        stack.extend(scope.subgraph_contexts().values())


def explain(context: ShapesContext, name: str) -> Explanation:
    """The chain behind what is unknown or data-dependent in a value.

    Args:
        context: A context in which the value was inferred.
        name: Name of a value, or of a symbol.

    Raises:
        ShapeError: Nothing of that name is known.
    """
    origin_of = context.session.origin_of
    producers = _Producers()
    steps: list[Step] = []
    queue: list[tuple[ShapesContext, str, int]] = [(context, name, 0)]
    seen: set[tuple[int, str]] = set()
    while queue and len(steps) < MAX_STEPS:
        around, current, depth = queue.pop(0)
        scope = owner_of(around, current)
        key = (id(scope), current)
        if key in seen:
            continue
        seen.add(key)
        if scope is None:
            origin = origin_of(current)
            if origin is None:
                if depth == 0:
                    raise ShapeError(
                        "Only a value or symbol of the model can be explained. Received: "
                        f"{name!r}, which was not inferred.",
                        value=name,
                    )
                continue
            most = context.upper_bound(current)
            bound = "" if most is None or most == current else f", at most {most}"
            steps.append(Step(current, f"a size{bound}", origin.node, origin.reason, depth))
            sources = [i for i in origin.inputs if i and _interesting(context, i)]
            queue += [(context, i, depth + 1) for i in sources]
            continue
        descriptor = scope.values[current]
        made = producers.find(scope, current)
        node = "" if made is None else describe_node(*made)
        known = describe(descriptor) + _at_most(context, descriptor)
        steps.append(Step(current, known, node, _reason(scope, current), depth))
        symbols = sorted(symbols_in(descriptor))
        queue += [(context, s, depth + 1) for s in symbols if origin_of(s)]
        if made is not None and is_vague(descriptor):
            queue += [(child, i, depth + 1) for child, i in _inner_outputs(scope, current, *made)]
            sources = sorted(captured_names(made[1]))
            queue += [(scope, i, depth + 1) for i in sources if _interesting(scope, i)]
    return Explanation(name, tuple(steps))


def _inner_outputs(
    scope: ShapesContext, name: str, index: int, node: onnx.NodeProto
) -> Iterator[tuple[ShapesContext, str]]:
    """The values inside the graphs of a node that it gives as one of its outputs."""
    position = list(node.output).index(name)
    for (owner, _), child in scope.subgraph_contexts().items():
        if owner != index or child.graph is None:
            continue
        outputs = [o if isinstance(o, str) else o.name for o in child.graph.output]
        # The body of Loop gives its condition first.
        place = position + (node.op_type == "Loop")
        if place < len(outputs) and _interesting(child, outputs[place]):
            yield child, outputs[place]


def describe_node(index: int, node: onnx.NodeProto) -> str:
    """Words that find a node."""
    name = f" {node.name!r}" if node.name else ""
    place = f" at index {index}" if index >= 0 else ""
    return f"{node.op_type}{name}{place}"


def _at_most(context: ShapesContext, descriptor: Descriptor) -> str:
    """The greatest shape, when data decide the shape and bounds of all its sizes are known."""
    if not isinstance(descriptor, OptimTensor) or not descriptor.shape.has_rank():
        return ""
    found = map(context.session.origin_of, descriptor.shape.symbols())
    decided = [origin for origin in found if origin is not None and origin.op_type]
    most = [context.upper_bound(dim) for dim in descriptor.shape] if decided else []
    if not most or None in most:
        return ""
    return f", at most [{', '.join(map(str, most))}]"


def _reason(scope: ShapesContext, name: str) -> str:
    return scope.reasons.get(name, "")


def _interesting(context: ShapesContext, name: str) -> bool:
    """True when a value is itself not fully known."""
    found = context.lookup(name)
    if found is None:
        return False
    return is_vague(found) or any(map(context.session.origin_of, symbols_in(found)))


def blame_of(root: ShapesContext, limit: int) -> list[Blame]:
    """The nodes of an inferred model that cost most precision, worst first."""
    origin_of = root.session.origin_of
    counts: Counter[tuple[str, str]] = Counter()
    producers = _Producers()
    for scope in all_contexts(root):
        causes: dict[str, frozenset[tuple[str, str]]] = {}
        for name, descriptor in scope.values.items():
            found = {
                (origin.node or f"input {origin.value!r}", origin.reason)
                for origin in map(origin_of, symbols_in(descriptor))
                if origin is not None
            }
            if is_vague(descriptor):
                found |= _causes(scope, name, producers, causes)
            causes[name] = frozenset(found)
            counts.update(found)
    ranked = counts.most_common(limit)
    return [Blame(node, reason, number) for (node, reason), number in ranked]


def _causes(
    scope: ShapesContext,
    name: str,
    producers: _Producers,
    causes: dict[str, frozenset[tuple[str, str]]],
) -> frozenset[tuple[str, str]]:
    """Why a value is vague: its own reason, or those of the vague inputs of its node."""
    made = producers.find(scope, name)
    if made is None:
        return frozenset(((f"input {name!r}", "its type is not declared"),))
    reason = scope.reasons.get(name, "")
    inherited = frozenset[tuple[str, str]]().union(
        *(causes.get(source, frozenset()) for source in captured_names(made[1]))
    )
    if inherited:
        return inherited
    return frozenset(((describe_node(*made), reason or "the rule does not say"),))
