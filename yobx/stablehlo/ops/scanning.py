"""Counted loops over the elements of arrays: ``Scan``, or ``Loop`` with stacked outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from yobx.lowering.casts import cast
from yobx.onnx_optim import OptimDim
from yobx.stablehlo import ir
from yobx.stablehlo.dims import dims_of, known_values
from yobx.stablehlo.op import Op, part_type
from yobx.stablehlo.scans import Element, ScanPlan, plan_scan
from yobx.stablehlo.tensor import full_tensor
from yobx.xbuilder import GraphBuilder

if TYPE_CHECKING:
    from yobx.stablehlo.convert import Parts, Scope

__all__ = ["Turns", "convert_scan", "find_scan"]


@dataclass(frozen=True)
class Turns:
    """How often a counted loop runs.

    Attributes:
        bound: The limit as the condition reads it.
        limit: ONNX value of it.
        count: The number of turns: an int64 scalar array, or a name.
        last: What the counters are at the end.
    """

    bound: ir.Value
    limit: str
    count: Any
    last: Parts

    @property
    def known(self) -> int | None:
        """The number, if it is known."""
        return int(self.count) if isinstance(self.count, np.ndarray) else None


def find_scan(op: Op, turns: Turns) -> ScanPlan | None:
    """The plan of a loop that reads or writes one element of an array a turn.

    Args:
        op: A ``while`` that counts.
        turns: How often it runs.

    Returns:
        The plan, or ``None`` for any other loop.
    """
    zeros = [k for k in range(len(op.inputs)) if _starts_at_zero(op, k)]
    plan = plan_scan(
        op.source,
        op.scope.converters.module.functions,
        zeros=zeros,
        bound=turns.bound,
        turns=turns.known,
    )
    length = _length(op, turns)
    if length is None or length == 0 or not plan.counters:
        return None
    plan.elements = {o: e for o, e in plan.elements.items() if _fits(op, e.place, length)}
    plan.stacks = {k: s for k, s in plan.stacks.items() if _fits(op, k, length)}
    if not plan.elements:
        # a Loop stacks in the order of its turns
        plan.stacks = {k: s for k, s in plan.stacks.items() if not s.reverse}
    return plan if plan.elements or plan.stacks else None


def _starts_at_zero(op: Op, place: int) -> bool:
    kind = op.in_type(place)
    if kind.rank or kind.dtype.kind not in "iu":
        return False
    constant = op.constant(place)
    return constant is not None and int(constant.ravel()[0]) == 0


def _length(op: Op, turns: Turns) -> OptimDim | None:
    if turns.known is not None:
        return OptimDim(turns.known)
    values = known_values(op.g, turns.limit)
    return values[0] if values else None


def _fits(op: Op, place: int, length: OptimDim) -> bool:
    """Whether an array has one element a turn; those without elements stop onnxruntime."""
    if 0 in op.in_type(place).shape:
        return False
    name = op.parts[place][0].full(op.g, op.scope.lineage)
    return dims_of(op.g, name)[0] == length


class _Body:
    """The graph of one turn while it is written."""

    def __init__(self, op: Op, plan: ScanPlan, turns: Turns) -> None:
        self.op = op
        self.plan = plan
        self.turns = turns
        self.source = op.source.regions[1]
        self.block = plan.body(self.source)
        fixed = {
            k
            for k, (a, o) in enumerate(zip(self.source.arguments, self.source.outputs, strict=True))
            if a is o
        }
        self.outer: dict[int, Parts] = {k: op.parts[k] for k in fixed}
        skipped = {*fixed, *plan.counters, *plan.stacks}
        self.carried = [k for k in range(len(op.inputs)) if k not in skipped]
        self.counts = bool(self._used_counters())

    def _used_counters(self) -> list[int]:
        inner = {v for o in self.block.operations[:-1] for v in _operands(o)}
        passed = {self.block.outputs[k] for k in (*self.carried, *self.plan.stacks)}
        return [k for k in self.plan.counters if self.source.arguments[k] in inner | passed]

    def starts(self) -> list[str]:
        """Initial values of what is carried."""
        op = self.op
        return [p.full(op.g, op.scope.lineage) for k in self.carried for p in op.parts[k]]

    def arrays(self) -> list[Element]:
        """The arrays that are read, each once for a direction."""
        return list(dict.fromkeys(self.plan.elements.values()))

    def write(
        self,
        graph: GraphBuilder,
        states: Sequence[str],
        elements: Mapping[Element, Sequence[str]],
        counter: str | None,
    ) -> None:
        """Emit one turn into the graph and make its outputs."""
        op, source = self.op, self.source
        scope = op.scope.nested(graph).nested()
        for operation, element in self.plan.elements.items():
            kind = part_type(operation.results[0].tensor)
            names = elements[element]
            scope.bind(operation.results[0], tuple(full_tensor(n, kind) for n in names))
        flat = iter(states)
        arguments: list[Parts] = []
        for k, argument in enumerate(source.arguments):
            kind = part_type(argument.tensor)
            if k in self.carried:
                arguments.append(tuple(full_tensor(next(flat), kind) for _ in op.parts[k]))
            elif k in self.plan.counters and counter is not None:
                arguments.append((full_tensor(cast(graph, counter, kind.dtype), kind),))
            else:
                arguments.append(op.parts[k])
        results = scope.run(self.block, arguments)
        for k in (*self.carried, *self.plan.stacks):
            _expose(scope, results[k])

    def results(self, made: Sequence[str]) -> list[Parts]:
        """What the loop returns, from the outputs of the node."""
        op, flat = self.op, iter(made)
        ready = dict(self.outer)
        for k in self.plan.counters:
            value = op.source.results[k].tensor
            last = self.turns.last[0].full(op.g, op.scope.lineage)
            ready[k] = (full_tensor(cast(op.g, last, value.dtype), value),)
        for k in (*self.carried, *self.plan.stacks):
            kind = part_type(op.source.results[k].tensor)
            ready[k] = tuple(full_tensor(next(flat), kind) for _ in op.parts[k])
        return [ready[k] for k in range(len(op.source.results))]

    @property
    def output_count(self) -> int:
        """Number of outputs: states, then stacks."""
        return sum(len(self.op.parts[k]) for k in (*self.carried, *self.plan.stacks))


def _operands(operation: ir.Operation) -> set[ir.Value]:
    inner = {v for region in operation.regions for o in region.walk() for v in o.operands}
    return inner.union(operation.operands)


def _expose(scope: Scope, parts: Parts) -> None:
    for part in parts:
        value = part.full(scope.g, scope.lineage)
        scope.g.make_tensor_output(scope.g.unique_name("result"), source=value)


def convert_scan(op: Op, plan: ScanPlan, turns: Turns) -> list[Parts]:
    """Emit ``Scan`` over the arrays that are read, ``Loop`` if there are none.

    Args:
        op: The ``while``.
        plan: From :func:`find_scan`.
        turns: How often it runs.

    Returns:
        The results.
    """
    body = _Body(op, plan, turns)
    made = _scan(op, body) if plan.elements else _loop(op, body)
    return body.results((made,) if isinstance(made, str) else tuple(made))


def _loop(op: Op, body: _Body) -> Any:
    g, starts = op.g, body.starts()
    turn, again = g.unique_name("turn"), g.unique_name("go_on")
    carried = [(g.unique_name("carry"), g.get_type(s), g.get_shape(s)) for s in starts]
    inputs: list[Any] = [(turn, np.int64, ()), (again, np.bool_, ()), *carried]
    graph = g.subgraph(g.unique_name("loop_body"), inputs=inputs)
    graph.make_tensor_output(graph.unique_name("result"), source=again)
    body.write(graph, [name for name, _, _ in carried], {}, turn)
    return g.op.Loop(body.turns.count, None, *starts, body=graph, outputs=body.output_count)


def _scan(op: Op, body: _Body) -> Any:
    g, starts = op.g, body.starts()
    inputs: list[Any] = [(g.unique_name("carry"), g.get_type(s), g.get_shape(s)) for s in starts]
    states = [name for name, _, _ in inputs]
    rows: list[str] = []
    directions: list[int] = []
    elements: dict[Element, list[str]] = {}
    for element in body.arrays():
        names = []
        for part in op.parts[element.place]:
            array = part.full(g, op.scope.lineage)
            name = g.unique_name("element")
            inputs.append((name, g.get_type(array), tuple(g.get_shape(array).dims())[1:]))
            rows.append(array)
            directions.append(int(element.reverse))
            names.append(name)
        elements[element] = names
    counter = None
    if body.counts:
        counter, numbers = g.unique_name("turn"), _numbers(g, body.turns)
        inputs.append((counter, g.get_type(numbers), ()))
        rows.append(numbers)
        directions.append(0)
    graph = g.subgraph(g.unique_name("scan_body"), inputs=inputs)
    body.write(graph, states, elements, counter)
    keywords: dict[str, Any] = {}
    if any(directions):
        keywords["scan_input_directions"] = directions
    backwards = [int(s.reverse) for k, s in body.plan.stacks.items() for _ in op.parts[k]]
    if any(backwards):
        keywords["scan_output_directions"] = backwards
    return g.op.Scan(
        *starts,
        *rows,
        body=graph,
        num_scan_inputs=len(rows),
        outputs=body.output_count,
        **keywords,
    )


def _numbers(g: GraphBuilder, turns: Turns) -> str:
    """0, 1, 2, ... for each turn."""
    if turns.known is not None:
        return g.make_initializer(None, np.arange(turns.known))
    return str(g.op.Range(np.array(0), turns.count, np.array(1)))
