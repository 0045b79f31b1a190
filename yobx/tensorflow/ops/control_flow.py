"""Branches and loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from yobx.lowering import lists, shapes
from yobx.lowering.casts import cast, to_int64
from yobx.lowering.integers import floor_divide
from yobx.lowering.legalise import legal
from yobx.lowering.looping import counted
from yobx.tensorflow.conversion import current_conversion
from yobx.tensorflow.function_body import convert_function_body
from yobx.tensorflow.graph_walk import function_graph
from yobx.tensorflow.ops._lists import check_even, is_list, mark, merge_shaped, shaped_of
from yobx.tensorflow.ops._loop import BodyView, Bound, LoopPlan, origin, plan_loop, readers
from yobx.tensorflow.ops._op import constant, unsupported
from yobx.tensorflow.ops._recurrent import match_recurrence
from yobx.tensorflow.ops._recurrent_node import emit_recurrence
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder


def _truth(g: GraphBuilder, tensor: Any) -> str:
    """Return a condition as a boolean scalar; zero and the empty string are false."""
    name = str(tensor.name)
    if tensor.dtype.name == "bool":
        return shapes.scalar(g, name)
    if tensor.dtype.name == "string":
        return str(g.op.Not(g.op.Equal(shapes.scalar(g, name), np.array("", object))))
    return cast(g, shapes.scalar(g, name), np.bool_)


def _is_value(op: Any, i: int) -> bool:
    return bool(op.outputs[i].dtype.name != "resource")


#: A subgraph, and what it knows of the lists among its results.
_Branch: TypeAlias = tuple[GraphBuilder, dict[int, lists.Shaped]]


def _branch(g: GraphBuilder, op: Any, function: str, first: int) -> _Branch:
    """Return a subgraph with the results of a branch function."""
    sub = g.subgraph(f"{op.name}_{function}")
    values = convert_function_body(
        sub, function, [t.name for t in op.inputs[first:]], prefix=op.name
    )
    known: dict[int, lists.Shaped] = {}
    for i, value in enumerate(values):
        if _is_value(op, i):
            if is_list(op.outputs[i]):
                check_even(sub, op, value)
                known[i] = shaped_of(sub, value)
            sub.make_tensor_output(f"{op.name}/branch_{i}", source=sub.op.Identity(value))
    return sub, known


def _bind(g: GraphBuilder, op: Any, outputs: list[str], values: list[str]) -> str:
    """Give the results of a conditional their names."""
    for name, value in zip(outputs, values, strict=True):
        if g.has_name(value):
            g.alias(name, value)
        else:
            conversion = current_conversion()
            conversion.bind_resource(name, conversion.resource(value))
    return outputs[0] if outputs else ""


@register_tf_op_converter(("If", "StatelessIf"))
def convert_if(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """One of two functions; the choice is made while converting if the condition is known."""
    names = [op.get_attr(a).name for a in ("then_branch", "else_branch")]
    known = constant(g, op, 0)
    if known is not None:
        chosen = names[0] if bool(known) else names[1]
        values = convert_function_body(g, chosen, [t.name for t in op.inputs[1:]], prefix=op.name)
        return _bind(g, op, outputs, values)
    branches = [_branch(g, op, name, 1) for name in names]
    _mark_all(g, outputs, _emit_if(g, op, _truth(g, op.inputs[0]), branches, outputs))
    return outputs[0] if outputs else ""


def _mark_all(g: GraphBuilder, outputs: list[str], known: dict[int, lists.Shaped]) -> None:
    """Record what is known of the lists among the results of a conditional."""
    for i, shaped in known.items():
        if g.has_name(outputs[i]):
            current_conversion().shaped[g.alias(outputs[i], outputs[i])] = shaped


def _emit_if(
    g: GraphBuilder, op: Any, condition: str, branches: list[_Branch], outputs: list[str]
) -> dict[int, lists.Shaped]:
    """Emit the node; return what is known of the lists among its results."""
    names = [n for i, n in enumerate(outputs) if _is_value(op, i)]
    shaped = merge_shaped(g, branches, op.name)
    names += [state for state in shaped.values() if isinstance(state, str)]
    then_branch, else_branch = (sub for sub, _ in branches)
    g.op.If(
        condition, then_branch=then_branch, else_branch=else_branch, outputs=names, name=op.name
    )
    return shaped


@register_tf_op_converter(("Case", "StatelessCase"))
def convert_case(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """One of several functions by index; an index outside takes the last one."""
    names = [f.name for f in op.get_attr("branches")]
    known = constant(g, op, 0)
    if known is not None or len(names) == 1:
        index = 0 if known is None else int(known)
        inside = index if 0 <= index < len(names) else len(names) - 1
        inputs = [t.name for t in op.inputs[1:]]
        values = convert_function_body(g, names[inside], inputs, prefix=op.name)
        return _bind(g, op, outputs, values)
    index_name = shapes.scalar(g, to_int64(g, op.inputs[0].name))
    _mark_all(g, outputs, _emit_case(g, op, index_name, names, first=0, outputs=outputs))
    return outputs[0] if outputs else ""


def _emit_case(
    g: GraphBuilder, op: Any, index: str, names: list[str], *, first: int, outputs: list[str]
) -> dict[int, lists.Shaped]:
    """Emit ``if index == first`` over the rest of the branches."""
    chosen = g.op.Equal(index, np.array(first, np.int64))
    then_branch = _branch(g, op, names[first], 1)
    if first + 2 == len(names):
        else_branch = _branch(g, op, names[first + 1], 1)
    else:
        sub = g.subgraph(f"{op.name}_case_{first}")
        inner = [sub.unique_name(f"{op.name}/else_{first}") for _ in outputs]
        known = _emit_case(sub, op, index, names, first=first + 1, outputs=inner)
        for i, name in enumerate(inner):
            if _is_value(op, i):
                sub.make_tensor_output(f"{op.name}/branch_{i}", source=name)
        else_branch = sub, known
    return _emit_if(g, op, chosen, [then_branch, else_branch], outputs)


class _Joined(NamedTuple):
    """Elements of a list one behind the other, before the first turn."""

    start: str
    dtype: Any
    dims: list[Any]


@dataclass
class _Loop:
    """One ``While`` being converted."""

    g: GraphBuilder
    op: Any
    cond: Any
    body: Any
    plan: LoopPlan
    items: dict[int, Any] = field(default_factory=dict)
    #: Written lists whose elements may differ in length -> what is joined so far: its first value
    #: and its type.
    joined: dict[int, _Joined] = field(default_factory=dict)
    #: Carried lists whose elements may have no shape yet -> whether they have, at the end.
    unsettled: dict[int, lists.Shaped] = field(default_factory=dict)
    #: Those lists -> the boolean scalar that says so in the body.
    flags: dict[int, str] = field(default_factory=dict)
    #: Names of the initial values of all variables.
    initial: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.initial = [str(t.name) for t in self.op.inputs]
        for k in self.plan.carried:
            shaped = shaped_of(self.g, self.initial[k])
            if is_list(self.op.inputs[k]) and shaped is not True:
                self.unsettled[k] = shaped


@register_tf_op_converter(("While", "StatelessWhile"))
def convert_while(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A loop; counters, fixed values and lists written in order are not carried through it."""
    cond = function_graph(op.graph, op.get_attr("cond").name)
    body = function_graph(op.graph, op.get_attr("body").name)
    plan = plan_loop(cond, body, lambda k: g.get_constant(op.inputs[k].name))
    check_even(g, op, *(t.name for t in op.inputs if is_list(t)))
    loop = _Loop(g, op, cond, body, plan)
    trips = _trip_count(loop)
    values = _emit_recurrence(loop, trips) or _emit_loop(loop, trips)
    return _bind(g, op, outputs, _final_values(loop, trips, values))


@register_tf_op_converter("For")
def convert_for(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A loop over numbers from a start to a limit, whose body takes and gives the same values."""
    name = op.get_attr("body").name
    states = [t.name for t in op.inputs[3:]]
    for tensor, result in zip(op.inputs[3:], function_graph(op.graph, name).outputs, strict=True):
        if not g.has_name(tensor.name):
            unsupported(op, "a loop carries tensors", f"{tensor.name!r} of {tensor.dtype.name}")
        if result.shape.rank != tensor.shape.rank or any(
            a is not None and a != b for a, b in zip(tensor.shape, result.shape, strict=True)
        ):
            unsupported(
                op, "what a loop carries keeps its shape", f"{tensor.shape} and {result.shape}"
            )
    start, limit, step = (shapes.scalar(g, to_int64(g, t.name)) for t in op.inputs[:3])
    # The number of steps, rounded up.
    steps = g.op.Neg(floor_divide(g, g.op.Sub(start, limit), step))
    trips = g.op.Max(steps, np.array(0, np.int64))

    def turn(
        body: GraphBuilder, number: str, current: list[str]
    ) -> tuple[Sequence[str], Sequence[str]]:
        counter = body.op.Add(start, body.op.Mul(number, step))
        index = body.op.Cast(counter, to=6)
        return convert_function_body(body, name, [index, *current], prefix=op.name), []

    return _bind(g, op, outputs, list(counted(g, trips, states, turn)))


def _limit(loop: _Loop, bound: Bound) -> Any:
    """Return the limit of a bound: an integer, or the name of an int64 scalar."""
    if bound.is_constant:
        return int(bound.limit)
    name = loop.initial[int(bound.limit)]
    value = loop.g.get_constant(name)
    return int(value) if value is not None else shapes.scalar(loop.g, to_int64(loop.g, name))


def _start(loop: _Loop, k: int) -> Any:
    """Return the first value of a counter: an integer, or the name of an int64 scalar."""
    value = loop.g.get_constant(loop.initial[k])
    if value is not None:
        return int(value)
    return shapes.scalar(loop.g, to_int64(loop.g, loop.initial[k]))


def _trip_count(loop: _Loop) -> Any:
    """Return how often the body runs: an integer, an int64 scalar, or ``None`` if it depends."""
    if loop.plan.bounds is None:
        return None
    g = loop.g
    fixed: list[int] = []
    named: list[str] = []
    for bound in loop.plan.bounds:
        limit, start = _limit(loop, bound), _start(loop, bound.counter)
        extra = int(bound.inclusive)
        if isinstance(limit, int) and isinstance(start, int):
            fixed.append(limit - start + extra)
            continue
        zero = isinstance(start, int) and start == 0
        span = limit if zero else g.op.Sub(_scalar64(g, limit), _scalar64(g, start))
        named.append(g.op.Add(span, np.array(1, np.int64)) if extra else span)
    if not named:
        return max(min(fixed), 0)
    rest = [np.array(min(fixed), np.int64)] if fixed and min(fixed) < 2**31 - 1 else []
    least = g.op.Min(*named, *rest) if len(named) + len(rest) > 1 else named[0]
    return str(least)


def _scalar64(g: GraphBuilder, value: Any) -> str:
    return g.make_initializer(None, np.array(value, np.int64)) if isinstance(value, int) else value


def _emit_recurrence(loop: _Loop, trips: Any) -> list[str] | None:
    """Emit one recurrent node if the loop is a recurrent layer over all items of a list."""
    found = match_recurrence(loop.body, loop.plan)
    if found is None or trips == 0:
        return None
    g, plan = loop.g, loop.plan
    known = shapes.dims(g, loop.initial[found.items])
    if known is None or len(known) != 3 or _start(loop, found.counter) != 0:
        return None
    if isinstance(trips, int) and known[0] != trips:
        return None
    made = emit_recurrence(g, found, loop.op, trips)
    if made is None:
        return None
    every, last, cell = made
    values = [last if k == found.hidden else str(cell) for k in plan.carried]
    return [*values, *(every for _ in plan.written)]


def _declared_dims(loop: _Loop, k: int, loose: set[tuple[int, int]]) -> Any:
    """Return the shape of a carried variable in the body: as it starts, but for ``loose`` axes."""
    shape = loop.g.get_shape(loop.initial[k])
    stated = loop.body.inputs[k].shape
    if stated.rank is None and loop.body.inputs[k].dtype.name != "variant":
        return None
    if not shape.has_rank() or (k, -1) in loose:
        return None
    return [None if (k, i) in loose else d for i, d in enumerate(shape.dims())]


def _emit_loop(loop: _Loop, trips: Any) -> list[str]:
    """Emit the Loop or Scan; an axis that changes size in the body is declared open and retried."""
    if trips is not None and not loop.plan.carried and not loop.plan.written:
        return []  # it only counts
    loose: set[tuple[int, int]] = set()
    while True:
        sub, results, changed = _convert_body(loop, trips, loose)
        uneven = _uneven_lists(loop)
        settled = _settle(loop)
        if not changed - loose and not uneven and not settled:
            break
        # A list that has its shape now starts anew.
        loose = {(k, i) for k, i in loose | changed if k not in settled}
        loop.joined |= uneven
    names: list[Any] = [loop.initial[k] for k in loop.plan.carried]
    names += [
        np.array(shaped) if isinstance(shaped, bool) else shaped
        for shaped in (shaped_of(loop.g, loop.initial[k]) for k in loop.unsettled)
    ]
    names += [one.start for one in loop.joined.values()]
    count = len(results)
    if _is_scan(loop, trips, loose):
        index = np.arange(trips, dtype=np.int64)
        made = loop.g.op.Scan(
            *names, index, body=sub, num_scan_inputs=1, outputs=count, name=loop.op.name
        )
    else:
        limit = np.array(trips, np.int64) if isinstance(trips, int) else trips
        condition: Any = np.array(True)
        if trips is None:
            condition = convert_function_body(
                loop.g, loop.cond, loop.initial, prefix=f"{loop.op.name}_first"
            )[0]
        made = loop.g.op.Loop(limit, condition, *names, body=sub, outputs=count, name=loop.op.name)
    return [made] if isinstance(made, str) else list(made)


def _is_scan(loop: _Loop, trips: Any, loose: set[tuple[int, int]]) -> bool:
    """Tell whether the loop is a Scan, whose variables keep their shapes."""
    return isinstance(trips, int) and trips > 0 and not loose and not loop.joined


_JOINS = ("TensorListConcat", "TensorListConcatV2")


def _uneven_lists(loop: _Loop) -> dict[int, _Joined]:
    """Find lists that are only joined after the loop, of elements whose length may change."""
    g, found = loop.g, {}
    for k, (counter, item) in loop.plan.written.items():
        dims = loop.items.get(k)
        users = {op.type for op in readers(loop.op.outputs[k])}
        if k in loop.joined or not dims or not users & set(_JOINS):
            continue
        fresh = origin(loop.op.inputs[k]).op.type in ("TensorListReserve", "EmptyTensorList")
        if users - {*_JOINS, "TensorListLength"} or not fresh or _start(loop, counter) != 0:
            continue
        if dims[0].is_int() or _size_like(loop, dims[0]) is not None:
            continue
        if item.dtype.name == "string":  # which onnxruntime cannot pad
            continue
        rest = [dim.as_int() if dim.is_int() else _size_like(loop, dim) for dim in dims[1:]]
        if all(size is not None for size in rest):
            zero = np.array(0, item.dtype.as_numpy_dtype)
            start = lists.reserve(g, zero, [0, *(size for size in rest if size is not None)])
            found[k] = _Joined(start, g.get_type(start), [None, *dims[1:]])
    return found


def _convert_body(
    loop: _Loop, trips: Any, loose: set[tuple[int, int]]
) -> tuple[GraphBuilder, list[str], set[tuple[int, int]]]:
    """Write the body; also tell which axes of carried variables do not keep their size."""
    plan, g = loop.plan, loop.g
    scan = _is_scan(loop, trips, loose)
    state: list[tuple[str, Any, Any]] = [
        (f"{loop.op.name}/state_{k}", g.get_type(loop.initial[k]), _declared_dims(loop, k, loose))
        for k in plan.carried
    ]
    state += [(f"{loop.op.name}/shaped_{k}", np.bool_, []) for k in loop.unsettled]
    state += [(f"{loop.op.name}/joined_{k}", one.dtype, one.dims) for k, one in loop.joined.items()]
    step: tuple[str, Any, Any] = (f"{loop.op.name}/step", np.int64, [])
    inputs = [*state, step] if scan else [step, (f"{loop.op.name}/again", np.bool_, []), *state]
    sub = g.subgraph(f"{loop.op.name}_body", inputs=inputs)
    formal = list(sub.input_names)
    index, first = (formal[-1], 0) if scan else (formal[0], 2)
    carried = len(plan.carried)
    current = _body_inputs(loop, sub, index, formal[first : first + carried])
    flags = dict(zip(loop.unsettled, formal[first + carried :], strict=False))
    for k, flag in flags.items():
        current_conversion().shaped[current[k]] = flag
    loop.flags = flags
    wanted = [loop.body.outputs[k] for k in plan.carried]
    wanted += [item for _, item in plan.written.values()]
    view = BodyView(loop.body, wanted)
    values = convert_function_body(sub, view, current, prefix=loop.op.name)
    if not scan:
        again = formal[1] if trips is not None else _again(loop, sub, current, values)
        sub.make_tensor_output(f"{loop.op.name}/again_out", source=sub.op.Identity(again))
    rows = dict(zip(plan.written, values[carried:], strict=True))
    for k, value in rows.items():
        shape = sub.get_shape(value)
        loop.items[k] = shape.dims() if shape.has_rank() else None
    own = formal[first + carried + len(flags) : first + len(state)]
    joined = dict(zip(loop.joined, own, strict=True))
    longer = [legal(sub).Concat(before, rows[k], axis=0) for k, before in joined.items()]
    rows |= {k: sub.op.Shape(rows[k], end=1) for k in joined}
    final = dict(zip(plan.carried, values, strict=False))
    check_even(sub, loop.op, *(final[k] for k in plan.carried if is_list(loop.op.inputs[k])))
    after = [_as_value(sub, shaped_of(sub, final[k])) for k in flags]
    results = []
    for i, value in enumerate([*values[:carried], *after, *longer, *rows.values()]):
        results.append(
            sub.make_tensor_output(f"{loop.op.name}/out_{i}", source=sub.op.Identity(value))
        )
    changed = _changed_axes(loop, sub, state, values)
    return sub, results, changed


def _as_value(g: GraphBuilder, shaped: lists.Shaped) -> str:
    if isinstance(shaped, bool):
        return g.make_initializer(None, np.array(shaped))
    return shaped


def _settle(loop: _Loop) -> set[int]:
    """Give lists their shape before the loop if all that it writes has one shape, known there.

    Returns:
        The lists that have another shape, or at least rank, than before.
    """
    g, conversion = loop.g, current_conversion()
    settled: set[int] = set()
    for k, flag in loop.flags.items():
        written = conversion.written.get(flag, [])
        outer = loop.unsettled[k]
        if isinstance(outer, str):
            conversion.written.setdefault(outer, []).extend(written)
        ranks = {None if dims is None else len(dims) for dims in written}
        if outer is not False or len(ranks) != 1 or None in ranks:
            continue
        sizes = [d.as_int() if d.is_int() else _size_like(loop, d) for d in written[0]]
        known = [size for size in sizes if size is not None]
        if len(known) == len(sizes) and all(dims == written[0] for dims in written):
            loop.initial[k] = mark(g, lists.grow(g, loop.initial[k], known, shaped=False), True)
            del loop.unsettled[k]
            settled.add(k)
        elif g.get_rank(loop.initial[k]) != len(sizes) + 1:
            empty = lists.grow(g, loop.initial[k], [0] * len(sizes), shaped=False)
            loop.initial[k] = mark(g, empty, False)
            settled.add(k)
    return settled


def _changed_axes(
    loop: _Loop, sub: GraphBuilder, state: list[Any], values: list[str]
) -> set[tuple[int, int]]:
    changed: set[tuple[int, int]] = set()
    for k, (_, _, declared), value in zip(loop.plan.carried, state, values, strict=False):
        if declared is None:
            continue
        shape = sub.get_shape(value)
        if not shape.has_rank() or len(shape.dims()) != len(declared):
            changed.add((k, -1))
            continue
        for i, (before, after) in enumerate(zip(declared, shape.dims(), strict=True)):
            if before is not None and before != after:
                changed.add((k, i))
    return changed


def _body_inputs(loop: _Loop, sub: GraphBuilder, index: str, states: list[str]) -> list[str]:
    """Return the value of every loop variable at the start of a turn."""
    current = list(loop.initial)
    for k, name in zip(loop.plan.carried, states, strict=True):
        current[k] = name
    for k in loop.plan.counters - set(loop.plan.carried):
        dtype = loop.g.get_type(loop.initial[k])
        start = loop.g.get_constant(loop.initial[k])
        count = cast(sub, index, dtype)
        zero = start is not None and int(start) == 0
        current[k] = count if zero else str(sub.op.Add(count, loop.initial[k]))
    return current


def _again(loop: _Loop, sub: GraphBuilder, current: list[str], values: list[str]) -> str:
    """Return the condition for the values at the end of a turn."""
    after = list(current)
    for k, value in zip(loop.plan.carried, values, strict=False):
        after[k] = value
    return convert_function_body(sub, loop.cond, after, prefix=f"{loop.op.name}_cond")[0]


def _final_values(loop: _Loop, trips: Any, results: list[str]) -> list[str]:
    """Return the value of every loop variable after the loop."""
    g, plan = loop.g, loop.plan
    final = list(loop.initial)
    for k, value in zip(plan.carried, results, strict=False):
        final[k] = value
    flags = results[len(plan.carried) : len(plan.carried) + len(loop.flags)]
    for k, flag in zip(loop.flags, flags, strict=True):
        current_conversion().shaped[g.alias(final[k], final[k])] = flag
    for k, (index, source) in plan.replaced.items():
        final[k] = _replaced_list(loop, trips, k, index, final[source])
    for k in plan.counters - set(plan.carried):
        total = (
            np.array(trips, np.int64)
            if isinstance(trips, int)
            else g.op.Max(trips, np.array(0, np.int64))
        )
        end = g.op.Add(to_int64(g, final[k]), total)
        final[k] = cast(g, end, g.get_type(loop.initial[k]))
    parts = results[len(plan.carried) + len(loop.flags) :]
    joined = dict(zip(loop.joined, parts[: len(loop.joined)], strict=True))
    stacked = parts[len(joined) :]
    for (k, (counter, _)), made in zip(plan.written.items(), stacked, strict=True):
        if k in joined:
            final[k] = shapes.vector(g, made)
            current_conversion().joined[final[k]] = joined[k]
            continue
        rows = _exact_rows(loop, trips, made, loop.items.get(k))
        start = _start(loop, counter)
        if not g.has_name(loop.initial[k]):
            final[k] = rows
            continue
        shaped = shaped_of(g, loop.initial[k])
        filled = lists.fill_range(g, loop.initial[k], start, rows, shaped=shaped)
        final[k] = mark(g, filled, _after_turns(loop, trips, shaped))
    return final


def _replaced_list(loop: _Loop, trips: Any, k: int, index: int, value: str) -> str:
    """Return a list whose element ``index`` was written in every turn, last with ``value``."""
    g, items = loop.g, loop.initial[k]
    if not isinstance(trips, int):
        # Without any turn the element keeps what it was.
        sizes = [shapes.axis_size(g, value, i) for i in range(shapes.rank(g, value))]
        before = lists.grow(g, items, sizes, shaped=shaped_of(g, items))
        place = np.array(index, np.int64)
        old = g.op.Gather(before, place, axis=0)
        value = legal(g).Where(_has_run(loop, trips), value, old)
    elif trips == 0:
        return items
    row = g.op.Unsqueeze(value, np.array([0], np.int64))
    filled = lists.fill_range(g, items, index, row, shaped=shaped_of(g, items))
    return mark(g, filled, True)


def _after_turns(loop: _Loop, trips: Any, shaped: lists.Shaped) -> lists.Shaped:
    """Return whether elements have their shape after a loop that writes one in every turn."""
    if shaped is True:
        return True
    if isinstance(trips, int):
        return trips > 0 or shaped
    ran = _has_run(loop, trips)
    return ran if shaped is False else str(loop.g.op.Or(ran, shaped))


def _has_run(loop: _Loop, trips: Any) -> str:
    """Return whether the body runs at all."""
    if trips is not None:
        return str(loop.g.op.Greater(trips, np.array(0, np.int64)))
    prefix = f"{loop.op.name}_ran"
    return convert_function_body(loop.g, loop.cond, loop.initial, prefix=prefix)[0]


def _exact_rows(loop: _Loop, trips: Any, rows: str, dims: Any) -> str:
    """Give the rows of a loop their sizes also when it never ran.

    onnxruntime then makes every dynamic size zero. The sizes of an item are those of some variable
    of the loop wherever the engine sees that they are equal.
    """
    g = loop.g
    if (isinstance(trips, int) and trips > 0) or dims is None:
        return rows
    sizes: list[shapes.Dim] = []
    for dim in dims:
        size = dim.as_int() if dim.is_int() else _size_like(loop, dim)
        if size is None:
            return rows
        sizes.append(size)
    count: shapes.Dim = shapes.shape_of(g, rows, 0, 1)
    if isinstance(trips, str):
        count = str(g.op.Max(trips, np.array(0, np.int64)))
    return shapes.reshape(g, rows, [count, *sizes])


def _size_like(loop: _Loop, dim: Any) -> shapes.Dim | None:
    """Return a size equal to ``dim``, read from a variable of the loop."""
    for name in loop.initial:
        if not loop.g.has_name(name):
            continue
        shape = loop.g.get_shape(name)
        if not shape.has_rank():
            continue
        for axis, size in enumerate(shape.dims()):
            if size == dim:
                return shapes.shape_of(loop.g, name, axis, axis + 1)
    return None
