"""Branches and loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from yobx.lowering.casts import cast, to_int64
from yobx.stablehlo import ir
from yobx.stablehlo.loops import counted_loop
from yobx.stablehlo.op import Op, part_type
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.stablehlo.tensor import Tensor, full_tensor
from yobx.xbuilder import GraphBuilder

from .scanning import Turns, convert_scan, find_scan

if TYPE_CHECKING:
    from yobx.stablehlo.convert import Parts, Scope


@register_stablehlo_op_converter("stablehlo.if", complex_parts="any")
def convert_if(g: GraphBuilder, op: Op) -> list[Parts]:
    """``If``."""
    return _branch(op.scope, op.source, op.x(), op.source.regions)


@register_stablehlo_op_converter("stablehlo.case", complex_parts="any")
def convert_case(g: GraphBuilder, op: Op) -> list[Parts]:
    """Nested ``If``; an index out of range takes the last branch, a known one its own at once."""
    known, branches = op.static_ints(0), op.source.regions
    if known is not None:
        return op.scope.inline(branches[known[0] if 0 <= known[0] < len(branches) else -1], [])
    return _case(op.scope, op.source, op.x(), list(op.source.regions), 0)


def _case(
    scope: Scope, source: ir.Operation, index: str, regions: list[ir.Block], first: int
) -> list[Parts]:
    if len(regions) == 1:
        return scope.inline(regions[0], [])
    here = scope.g.op.Equal(index, np.array(first, dtype=np.int32))
    return _branch(scope, source, here, regions, index=index, first=first)


def _branch(
    scope: Scope,
    source: ir.Operation,
    condition: str,
    regions: Sequence[ir.Block],
    *,
    index: str = "",
    first: int = 0,
) -> list[Parts]:
    """``If`` between the first region and the rest of them."""
    g = scope.g
    then_graph, else_graph = (g.subgraph(g.unique_name(n)) for n in ("then", "else"))
    then_scope, else_scope = scope.nested(then_graph), scope.nested(else_graph)
    taken = then_scope.inline(regions[0], [])
    if len(regions) == 2:
        other = else_scope.inline(regions[1], [])
    else:
        other = _case(else_scope, source, index, list(regions[1:]), first + 1)
    for inner, results in ((then_scope, taken), (else_scope, other)):
        for parts in results:
            _expose(inner, parts)
    count = sum(len(parts) for parts in taken)
    made = g.op.If(condition, then_branch=then_graph, else_branch=else_graph, outputs=count)
    return _regrouped(source, made)


def _expose(scope: Scope, parts: Sequence[Tensor]) -> None:
    for part in parts:
        value = part.full(scope.g, scope.lineage)
        scope.g.make_tensor_output(scope.g.unique_name("result"), source=value)


def _regrouped(source: ir.Operation, names: Any) -> list[Parts]:
    """Flat ONNX outputs as one or two tensors for each result."""
    return _grouped([r.tensor for r in source.results], names)


def _grouped(types: Sequence[ir.TensorType], names: Any) -> list[Parts]:
    flat = iter((names,) if isinstance(names, str) else names)
    return [
        tuple(full_tensor(next(flat), part_type(kind)) for _ in range(1 + kind.is_complex))
        for kind in types
    ]


@register_stablehlo_op_converter("stablehlo.while", complex_parts="any")
def convert_while(g: GraphBuilder, op: Op) -> list[Parts]:
    """``Scan`` or ``Loop`` for a counted loop, else ``Loop`` with a condition.

    What the body returns as it came is read from outside instead of being carried.
    """
    condition, body = op.source.regions
    fixed = [out is arg for out, arg in zip(body.outputs, body.arguments, strict=True)]
    counter = counted_loop(op.source)
    if counter is not None:
        return _counted(op, counter.index, counter.bound, fixed)
    return _while(op, condition, body, fixed)


def _outer(op: Op, fixed: Sequence[bool]) -> dict[int, Parts]:
    return {i: op.parts[i] for i, same in enumerate(fixed) if same}


def _carried_inputs(op: Op, carried: Sequence[int]) -> tuple[list[str], list[Any]]:
    """Initial ONNX values of what is carried, and the body's inputs for them."""
    g = op.g
    starts = [p.full(g, op.scope.lineage) for i in carried for p in op.parts[i]]
    inputs = [(g.unique_name("carry"), g.get_type(s), g.get_shape(s)) for s in starts]
    return starts, inputs


def _arguments(
    op: Op, outer: dict[int, Parts], carried: Sequence[int], names: Sequence[str]
) -> list[Parts]:
    types = [v.tensor for v in op.source.operands]
    groups = dict(zip(carried, _grouped([types[i] for i in carried], names), strict=True))
    return [outer[i] if i in outer else groups[i] for i in range(len(types))]


def _while(op: Op, condition: ir.Block, body: ir.Block, fixed: Sequence[bool]) -> list[Parts]:
    g = op.g
    outer = _outer(op, fixed)
    carried = [i for i, same in enumerate(fixed) if not same]
    starts, inputs = _carried_inputs(op, carried)
    first = op.scope.inline(condition, list(op.parts))[0][0].full(g, op.scope.lineage)
    heads = [(g.unique_name("turn"), np.int64, ()), (g.unique_name("go_on"), np.bool_, ())]
    graph = g.subgraph(g.unique_name("loop_body"), inputs=[*heads, *inputs])
    scope = op.scope.nested(graph)
    names = [name for name, _, _ in inputs]
    results = scope.inline(body, _arguments(op, outer, carried, names))
    following = [outer.get(i, parts) for i, parts in enumerate(results)]
    again = scope.inline(condition, following)[0]
    _expose(scope, again)
    for i in carried:
        _expose(scope, results[i])
    made = g.op.Loop(None, first, *starts, body=graph, outputs=len(starts))
    return _results(op, outer, carried, made)


def _results(op: Op, outer: dict[int, Parts], carried: Sequence[int], made: Any) -> list[Parts]:
    types = [op.source.results[i].tensor for i in carried]
    groups = dict(zip(carried, _grouped(types, made), strict=True))
    return [outer[i] if i in outer else groups[i] for i in range(len(op.source.results))]


def _counted(op: Op, index: int, bound: ir.Value, fixed: Sequence[bool]) -> list[Parts]:
    """``Loop`` with a trip count; the counter is computed from the turn."""
    g = op.g
    body = op.source.regions[1]
    outer = _outer(op, fixed)
    limit = _bound(op, bound, outer)
    start = op.x(index)
    turns = _turns(op, start, limit, index)
    last = _last_counter(op, start, turns, index)
    known = Turns(bound, limit, turns, (last,))
    plan = find_scan(op, known)
    if plan is not None:
        return convert_scan(op, plan, known)
    carried = [i for i, same in enumerate(fixed) if not same and i != index]
    starts, inputs = _carried_inputs(op, carried)
    heads = [(g.unique_name("turn"), np.int64, ()), (g.unique_name("go_on"), np.bool_, ())]
    graph = g.subgraph(g.unique_name("loop_body"), inputs=[*heads, *inputs])
    scope = op.scope.nested(graph)
    counter = _counter(op, graph, heads[0][0], start, index)
    names = [name for name, _, _ in inputs]
    arguments = _arguments(op, {**outer, index: (counter,)}, carried, names)
    results = scope.inline(body, arguments)
    graph.make_tensor_output(graph.unique_name("result"), source=heads[1][0])
    for i in carried:
        _expose(scope, results[i])
    if not starts:
        return [outer.get(i, (last,)) for i in range(len(op.source.results))]
    made = g.op.Loop(turns, None, *starts, body=graph, outputs=len(starts))
    return _results(op, {**outer, index: (last,)}, carried, made)


def _bound(op: Op, bound: ir.Value, outer: dict[int, Parts]) -> str:
    """ONNX value of the limit: an outer value, a carried but fixed one, or a constant."""
    arguments = op.source.regions[0].arguments
    if bound in arguments:
        return outer[arguments.index(bound)][0].full(op.g, op.scope.lineage)
    if bound.owner is not None and bound.owner.name == "stablehlo.constant":
        return op.g.make_initializer(None, np.asarray(bound.owner.attributes["value"]))
    return op.scope.get(bound)[0].full(op.g, op.scope.lineage)


def _turns(op: Op, start: str, limit: str, index: int) -> Any:
    g = op.g
    first, last = g.get_constant(start), g.get_constant(limit)
    if first is not None and last is not None:
        return np.array(max(int(last) - int(first), 0), dtype=np.int64)
    wide = [to_int64(g, v) for v in (limit, start)]
    if first is not None and int(first) == 0:
        return g.op.Max(wide[0], np.array(0))
    return g.op.Max(g.op.Sub(*wide), np.array(0))


def _counter(op: Op, graph: GraphBuilder, turn: str, start: str, index: int) -> Tensor:
    """Value of the counter in a turn."""
    kind = op.in_type(index)
    value = cast(graph, turn, kind.dtype)
    first = op.g.get_constant(start)
    if first is None or int(first) != 0:
        value = str(graph.op.Add(value, start))
    return full_tensor(value, kind)


def _last_counter(op: Op, start: str, turns: Any, index: int) -> Tensor:
    g, kind = op.g, op.in_type(index)
    first = g.get_constant(start)
    if isinstance(turns, np.ndarray) and first is not None:
        last = (np.asarray(first) + turns).astype(kind.dtype)
        return full_tensor(g.make_initializer(None, last), kind)
    count = cast(g, turns, kind.dtype) if isinstance(turns, str) else turns.astype(kind.dtype)
    return full_tensor(str(g.op.Add(count, start)), kind)
