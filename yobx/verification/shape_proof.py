"""Compares every stated type and shape with what a run produces.

Statements are those of the model (inputs, outputs, ``value_info``) and those that shape inference
makes about every intermediate value. Symbols are bound by solving them from the sizes of the
inputs; a symbol that depends on data is bound where it first appears and must then have the same
size everywhere. What is unknown is counted, never called wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper

from yobx.onnx_optim.sizes import size_of, solved
from yobx.verification.called_functions import place_of
from yobx.verification.dtypes import dtype_name
from yobx.verification.error_classes import subgraphs
from yobx.verification.findings import ShapeMismatch, ShapeReport, ShapeRow
from yobx.verification.inner_values import inner_names

__all__ = [
    "Constraint",
    "Form",
    "Inner",
    "Statement",
    "describe_node",
    "inner_statements",
    "merge",
    "prove",
    "stated",
    "statements_of",
]

_LISTED_UNKNOWN = 12
_LISTED_ROWS = 100


@dataclass(frozen=True)
class Statement:
    """What is claimed of one value.

    Attributes:
        value: Its name.
        dtype: ONNX element type, 0 when unknown.
        dims: Sizes and expressions, ``None`` for an unknown one; ``None`` as a whole for an
            unknown rank.
        origin: ``declared`` or ``inferred``.
    """

    value: str
    dtype: int
    dims: tuple[int | str | None, ...] | None
    origin: str

    def __str__(self) -> str:
        if self.dims is None:
            return "rank unknown"
        return "[" + ", ".join("?" if d is None else str(d) for d in self.dims) + "]"


@dataclass(frozen=True)
class Constraint:
    """What is claimed between two sizes.

    Attributes:
        left: A symbol or expression.
        relation: ``<=`` or ``==``.
        right: A symbol or expression.
    """

    left: str
    relation: str
    right: str


@dataclass(frozen=True)
class Form:
    """A model and what inference says of it. Symbols mean something within one form alone.

    Attributes:
        model: The model.
        inferred: The same with inferred types and shapes, or ``None``.
        constraints: What inference states between sizes.
    """

    model: onnx.ModelProto
    inferred: onnx.ModelProto | None = None
    constraints: tuple[Constraint, ...] = ()


@dataclass(frozen=True)
class Inner:
    """Values inside control flow.

    Attributes:
        turns: Value -> one array for each time that it was computed.
        bodies: Value -> number of its body; values of one body belong together turn by turn.
        statements: What is stated of them, in order.
    """

    turns: Mapping[str, Sequence[Any]]
    bodies: Mapping[str, int]
    statements: Sequence[Statement]


def statements_of(values: Iterable[onnx.ValueInfoProto], origin: str) -> list[Statement]:
    """Reads statements about tensors; other kinds of values are left out."""
    result = []
    for value in values:
        if not value.type.HasField("tensor_type"):
            continue
        tensor = value.type.tensor_type
        dims: tuple[int | str | None, ...] | None = None
        if tensor.HasField("shape"):
            dims = tuple(
                int(d.dim_value) if d.HasField("dim_value") else (d.dim_param or None)
                for d in tensor.shape.dim
            )
        result.append(Statement(value.name, tensor.elem_type, dims, origin))
    return result


def stated(model: onnx.ModelProto, inferred: onnx.ModelProto | None) -> list[Statement]:
    """All statements, in topological order: inputs, then values as nodes produce them.

    Args:
        model: The model.
        inferred: The same model after shape inference, or ``None`` when there is none.

    Returns:
        Declared and inferred statements; equal ones once.
    """
    declared = [
        *statements_of(model.graph.input, "declared"),
        *statements_of(model.graph.value_info, "declared"),
        *statements_of(model.graph.output, "declared"),
    ]
    more: list[Statement] = []
    if inferred is not None:
        more = [
            *statements_of(inferred.graph.value_info, "inferred"),
            *statements_of(inferred.graph.output, "inferred"),
        ]
    order: dict[str, int] = {}
    for value in model.graph.input:
        order.setdefault(value.name, len(order))
    for node in model.graph.node:
        for name in node.output:
            order.setdefault(name, len(order))
    every = _distinct([*declared, *more])
    return sorted(every, key=lambda s: order.get(s.value, len(order)))


def _distinct(statements: Iterable[Statement]) -> list[Statement]:
    """Each statement once: what is declared is not inferred too."""
    found: dict[tuple[Any, ...], Statement] = {}
    for statement in statements:
        found.setdefault((statement.value, statement.dtype, statement.dims), statement)
    return list(found.values())


def inner_statements(model: onnx.ModelProto, inferred: onnx.ModelProto | None) -> list[Statement]:
    """Statements about the values that nodes in bodies produce, body by body.

    Args:
        model: The model.
        inferred: The same model after shape inference, or ``None`` when there is none.

    Returns:
        Declared and inferred statements; equal ones once, those of one body in its order.
    """
    found = _inner_statements(model.graph, "declared")
    if inferred is not None:
        found += _inner_statements(inferred.graph, "inferred")
    return _distinct(found)


def _inner_statements(graph: onnx.GraphProto, origin: str) -> list[Statement]:
    found: list[Statement] = []
    for node in graph.node:
        for body in subgraphs(node):
            names = [name for inner in body.node for name in inner.output if name]
            order = {name: index for index, name in enumerate(names)}
            one = statements_of([*body.value_info, *body.output], origin)
            one = [statement for statement in one if statement.value in order]
            found += sorted(one, key=lambda s, o=order: o[s.value])  # type: ignore[misc]
            found += _inner_statements(body, origin)
    return found


def describe_node(model: onnx.ModelProto, value: str) -> str:
    """``Transpose #3 "name"`` for the producer of a value; ``input`` for an input."""
    for index, node in enumerate(model.graph.node):
        place = place_of(node, index)
        if value in node.output:
            return f"{node.op_type} {place}{_quoted(node)}"
        inside = _inner_producer(node, value)
        if inside is not None:
            return f"{inside.op_type}{_quoted(inside)} in {node.op_type} {place}"
    return "input"


def _quoted(node: onnx.NodeProto) -> str:
    return f' "{node.name}"' if node.name else ""


def _inner_producer(node: onnx.NodeProto, value: str) -> onnx.NodeProto | None:
    for body in subgraphs(node):
        for inner in body.node:
            found = inner if value in inner.output else _inner_producer(inner, value)
            if found is not None:
                return found
    return None


@dataclass
class _Symbols:
    """Sizes of the symbols, found in one run."""

    sizes: dict[str, int]
    producers: dict[str, str] = field(default_factory=dict)

    def solve(self, dim: str, actual: int, value: str) -> bool:
        """Binds the only unbound symbol of an expression, if just one size fits."""
        found = solved(dim, actual, self.sizes)
        if found is not None:
            symbol, size = found
            self.sizes[symbol] = size
            self.producers[symbol] = value
        return found is not None

    def evaluate(self, dim: str) -> int | None:
        """Value of an expression, or ``None`` while a symbol is unbound."""
        return size_of(dim, self.sizes)


def prove(
    model: onnx.ModelProto,
    statements: Sequence[Statement],
    values: Mapping[str, Any],
    *,
    binding: str,
    constraints: Sequence[Constraint] = (),
    inner: Inner | None = None,
) -> ShapeReport:
    """Checks statements against one run.

    Args:
        model: The model, for the names of the nodes.
        statements: As `stated` lists them.
        values: Value name -> array, inputs included.
        binding: How the run was made, for the messages.
        constraints: What is stated between sizes.
        inner: Values inside control flow.

    Returns:
        What was confirmed, unknown and refuted.
    """
    symbols = _Symbols({})
    report = ShapeReport()
    produced = [name for node in model.graph.node for name in node.output if name]
    observed = {name for name in produced if isinstance(values.get(name), np.ndarray)}
    observed |= {name for name in produced if isinstance(values.get(name), np.generic)}
    inside = inner_names(model)
    collected = {name for name in inside if inner and inner.turns.get(name)}
    report.values = len(observed) + len(collected)
    hidden = [name for name in inside if name not in collected]
    report.unobserved = len(hidden) + len(set(produced) - observed)
    state: dict[str, str] = dict.fromkeys(observed, "unknown")
    for statement in statements:
        actual = values.get(statement.value)
        if not isinstance(actual, (np.ndarray, np.generic)):
            continue
        found = _check(model, statement, np.asarray(actual), symbols, binding)
        if isinstance(found, ShapeMismatch):
            report.mismatches.append(found)
            state[statement.value] = "refuted"
        elif statement.value in state and state[statement.value] != "refuted":
            state[statement.value] = max(state[statement.value], found, key=_RANK.index)
    _check_constraints(report, symbols, constraints, binding)
    if inner is not None:
        proven = _prove_turns(model, inner, symbols, report, binding)
        state.update({name: known for name, known in proven.items() if name in collected})
    for name, known in state.items():
        report.checked += known == "checked"
        report.partial += known == "partial"
        report.unknown += known == "unknown"
        if known in {"partial", "unknown"} and len(report.unknown_values) < _LISTED_UNKNOWN:
            report.unknown_values.append(name)
    more = inner.statements if inner is not None else ()
    shown = {**{k: v[0] for k, v in inner.turns.items() if v}, **values} if inner else values
    report.rows = _table(model, [*statements, *more], shown, state, report.mismatches)
    return report


_RANK = ("unknown", "partial", "checked")


def _prove_turns(
    model: onnx.ModelProto, inner: Inner, symbols: _Symbols, report: ShapeReport, binding: str
) -> dict[str, str]:
    """Checks values inside control flow; what is bound in a turn is forgotten after it."""
    state = {name: "unknown" for name, arrays in inner.turns.items() if arrays}
    scopes: dict[tuple[int | None, int], _Symbols] = {}
    for statement in inner.statements:
        name = statement.value
        for turn, array in enumerate(inner.turns.get(name, ())):
            key = inner.bodies.get(name), turn
            own = scopes.setdefault(key, _Symbols(dict(symbols.sizes)))
            found = _check(model, statement, np.asarray(array), own, binding)
            if isinstance(found, ShapeMismatch):
                if state[name] != "refuted":
                    report.mismatches.append(found)
                state[name] = "refuted"
            elif state[name] != "refuted":
                state[name] = max(state[name], found, key=_RANK.index)
    return state


def _table(
    model: onnx.ModelProto,
    statements: Sequence[Statement],
    values: Mapping[str, Any],
    state: Mapping[str, str],
    mismatches: Sequence[ShapeMismatch],
) -> list[ShapeRow]:
    """One row a value; the rows that prove least are kept when there are too many."""
    said: dict[str, str] = {}
    for statement in statements:
        text = f"{_dtype_of(statement)} {statement}" if statement.dtype else str(statement)
        said[statement.value] = text  # what inference adds comes after what is declared
    for mismatch in reversed(mismatches):
        said[mismatch.value] = f"{mismatch.static}, refuted"
    rows = []
    for name, where in _producers(model):
        if name in state:
            array = np.asarray(values[name])
            shown = f"{dtype_name(array.dtype)} {list(array.shape)}"
            rows.append(ShapeRow(name, where, said.get(name, "nothing"), [shown], state[name]))
    if len(rows) <= _LISTED_ROWS:
        return rows
    least_first = sorted(range(len(rows)), key=lambda i: (rows[i].state == "checked", i))
    return [rows[i] for i in sorted(least_first[:_LISTED_ROWS])]


def _producers(model: onnx.ModelProto) -> list[tuple[str, str]]:
    """Every value with its node, those inside control flow before the node that holds them."""
    found = []
    for index, node in enumerate(model.graph.node):
        shown = f"{node.op_type} {place_of(node, index)}"
        found += _inner_producers(node, shown)
        found += [(name, shown) for name in node.output]
    return found


def _inner_producers(node: onnx.NodeProto, place: str) -> list[tuple[str, str]]:
    found = []
    for body in subgraphs(node):
        for inner in body.node:
            found += _inner_producers(inner, place)
            found += [(name, f"{inner.op_type} in {place}") for name in inner.output]
    return found


def _dtype_of(statement: Statement) -> str:
    if statement.dtype == onnx.TensorProto.STRING:
        return "string"
    return dtype_name(np.dtype(helper.tensor_dtype_to_np_dtype(statement.dtype)))


def _merged_rows(total: list[ShapeRow], one: list[ShapeRow]) -> list[ShapeRow]:
    fresh = {row.value: row for row in one}
    order = ("refuted", *_RANK)
    result = []
    for row in total:
        other = fresh.get(row.value, row)
        runtime = [*row.runtime, *(r for r in other.runtime if r not in row.runtime)]
        state = min(row.state, other.state, key=order.index)
        result.append(ShapeRow(row.value, row.node, row.stated, runtime, state))
    return result


def _check(
    model: onnx.ModelProto, statement: Statement, actual: Any, symbols: _Symbols, binding: str
) -> ShapeMismatch | str:
    if statement.dtype:
        wanted = _dtype_of(statement)
        if wanted != dtype_name(actual.dtype):
            detail = f"{statement.origin} dtype {wanted} but run time {dtype_name(actual.dtype)}"
            return _mismatch(model, statement, actual, binding, ("dtype", detail))
    if statement.dims is None:
        return "partial" if statement.dtype else "unknown"
    runtime = list(actual.shape)
    if len(statement.dims) != len(runtime):
        detail = (
            f"{statement.origin} {statement} (rank {len(statement.dims)}) but run time {runtime} "
            f"(rank {len(runtime)})"
        )
        return _mismatch(model, statement, actual, binding, ("rank", detail))
    complete = bool(statement.dtype)
    wrong: list[str] = []
    for axis, (dim, size) in enumerate(zip(statement.dims, runtime, strict=True)):
        expected = _expected(dim, size, symbols, statement.value)
        if expected is None:
            complete = False
        elif expected != size:
            wrong.append(_explain(axis, dim, expected, size, symbols))
    if wrong:
        detail = f"{statement.origin} {statement} but run time {runtime}: {', '.join(wrong)}"
        return _mismatch(model, statement, actual, binding, ("shape", detail))
    return "checked" if complete else "partial"


def _expected(dim: int | str | None, size: int, symbols: _Symbols, value: str) -> int | None:
    if dim is None or isinstance(dim, int):
        return dim
    known = symbols.evaluate(dim)
    if known is None and symbols.solve(dim, size, value):
        known = size
    return known


def _explain(axis: int, dim: int | str | None, expected: int, size: int, symbols: _Symbols) -> str:
    """``dim 0 is B = 7 but runs as 4``, with the symbol of that size when exactly one has it."""
    stated_dim = f"{dim} = {expected}" if isinstance(dim, str) else str(expected)
    same = [name for name, value in symbols.sizes.items() if value == size]
    hint = (
        f" (should be {same[0]})" if len(same) == 1 else f" (should be {size})" if not same else ""
    )
    return f"dim {axis} is {stated_dim} but runs as {size}{hint}"


def _mismatch(
    model: onnx.ModelProto,
    statement: Statement,
    actual: Any,
    binding: str,
    found: tuple[str, str],
) -> ShapeMismatch:
    kind, detail = found
    node = describe_node(model, statement.value)
    return ShapeMismatch(
        value=statement.value,
        node=node,
        static=str(statement),
        runtime=str(list(actual.shape)),
        binding=binding,
        message=f"value %{statement.value} ({node}): {detail}, under {binding}",
        kind=kind,
    )


def _check_constraints(
    report: ShapeReport, symbols: _Symbols, constraints: Sequence[Constraint], binding: str
) -> None:
    """Checks what inference states between sizes: bounds of data-dependent ones, equalities."""
    for constraint in constraints:
        left, right = symbols.evaluate(constraint.left), symbols.evaluate(constraint.right)
        if left is None or right is None:
            continue
        if left == right or (constraint.relation == "<=" and left < right):
            continue
        value = symbols.producers.get(constraint.left, "")
        words = "exceeds its bound" if constraint.relation == "<=" else "is stated to equal"
        message = (
            f"value %{value}: size {constraint.left} = {left} {words} "
            f"{constraint.right} = {right}, under {binding}"
        )
        stated_text = f"{constraint.left} {constraint.relation} {constraint.right}"
        report.mismatches.append(
            ShapeMismatch(value, "", stated_text, str(left), binding, message, "constraint")
        )


def merge(total: ShapeReport, one: ShapeReport) -> ShapeReport:
    """Adds the result of one more binding; a value counts once, at its worst.

    Args:
        total: Result so far.
        one: Result of the next binding.

    Returns:
        The combined report.
    """
    first = total.values == 0 and not total.mismatches
    if first:
        return one
    known = {(m.value, m.message) for m in total.mismatches}
    fresh = [m for m in one.mismatches if (m.value, m.message) not in known]
    return ShapeReport(
        values=max(total.values, one.values),
        checked=min(total.checked, one.checked),
        partial=max(total.partial, one.partial),
        unknown=max(total.unknown, one.unknown),
        unobserved=max(total.unobserved, one.unobserved),
        mismatches=[*total.mismatches, *fresh],
        unknown_values=total.unknown_values or one.unknown_values,
        rows=_merged_rows(total.rows, one.rows),
    )
