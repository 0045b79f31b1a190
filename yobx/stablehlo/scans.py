"""Recognise counted loops that take one slice of an array a turn, or write one.

``lax.scan`` arrives as a ``while`` with a counter: each scanned input is indexed at the counter
along its first axis, each stacked output is updated there. ONNX has ``Scan`` for that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from . import ir
from .loops import adds_one, scalar_constant

__all__ = ["Element", "ScanPlan", "Stack", "flatten_loops", "plan_scan"]

_Terms = tuple[int, int, int]
_INDEX = "dynamic_index_in_dim"
_UPDATE = "dynamic_update_index_in_dim"


@dataclass(frozen=True)
class Element:
    """What an operation of the body takes from an array in each turn.

    Attributes:
        place: Which carried value the array is.
        reverse: Whether the last element comes first.
    """

    place: int
    reverse: bool


@dataclass(frozen=True)
class Stack:
    """What the body writes into an array in each turn.

    Attributes:
        value: The slice.
        reverse: Whether the last element is written first.
    """

    value: ir.Value
    reverse: bool


@dataclass
class ScanPlan:
    """How a counted loop is a scan.

    Attributes:
        counters: Carried values that are the number of the turn.
        elements: Operations of the body that are one element of an array.
        stacks: By carried value, what is written into it.
    """

    counters: tuple[int, ...]
    elements: dict[ir.Operation, Element] = field(default_factory=dict)
    stacks: dict[int, Stack] = field(default_factory=dict)

    def body(self, block: ir.Block) -> ir.Block:
        """The block without the operations that the scan replaces.

        Args:
            block: The body of the loop.

        Returns:
            A block that returns, for each carried value, what the next turn or the stack gets.
        """
        outputs = list(block.outputs)
        for place, stack in self.stacks.items():
            outputs[place] = stack.value
        for place in self.counters:
            outputs[place] = block.arguments[place]
        needed, kept = set(outputs), []
        for operation in reversed(block.operations[:-1]):
            if operation in self.elements or needed.isdisjoint(operation.results):
                continue
            kept.append(operation)
            needed.update(_read(operation))
        end = ir.Operation(block.operations[-1].name, outputs)
        return ir.Block(block.arguments, [*kept[::-1], end])


def _read(operation: ir.Operation) -> set[ir.Value]:
    inner = {v for region in operation.regions for op in region.walk() for v in op.operands}
    return inner.union(operation.operands)


def plan_scan(
    operation: ir.Operation,
    functions: Mapping[str, ir.Function],
    *,
    zeros: Collection[int],
    bound: ir.Value,
    turns: int | None,
) -> ScanPlan:
    """Find what a counted loop reads and writes at its counter.

    Args:
        operation: A ``while``.
        functions: The functions of the module.
        zeros: Carried values that begin with 0.
        bound: The number of turns, as the condition reads it.
        turns: The number, if it is known.

    Returns:
        The plan; without elements and stacks it says nothing.
    """
    condition, body = operation.regions
    counters = tuple(k for k in sorted(zeros) if adds_one(body, k))
    limits = {bound}
    if bound in condition.arguments:
        limits = {body.arguments[condition.arguments.index(bound)]}
    index = _Index({body.arguments[k] for k in counters}, limits, turns)
    plan = ScanPlan(counters)
    fixed = {
        arg: k
        for k, (arg, out) in enumerate(zip(body.arguments, body.outputs, strict=True))
        if arg is out
    }
    for op in body.operations[:-1]:
        found = _indexed(op, body, functions)
        if found is not None and found[0] in fixed:
            reverse = index.direction(found[1])
            if reverse is not None:
                plan.elements[op] = Element(fixed[found[0]], reverse)
    for place, output in enumerate(body.outputs):
        stack = _stacked(output, body, place, functions, index)
        if stack is not None:
            plan.stacks[place] = stack
    return plan


class _Index:
    """Tells whether a scalar is the number of the turn, counted from either end."""

    def __init__(self, counters: set[ir.Value], limits: set[ir.Value], turns: int | None) -> None:
        self._counters = counters
        self._limits = limits
        self._turns = turns

    def direction(self, value: ir.Value) -> bool | None:
        """``False`` for the counter, ``True`` for ``turns - 1 - counter``, ``None`` for others."""
        terms = self._terms(value)
        if terms == (1, 0, 0):
            return False
        if terms is not None and terms[0] == -1:
            known = terms[1:] == (1, -1)
            if known or (self._turns is not None and terms[1:] == (0, self._turns - 1)):
                return True
        return None

    def _terms(self, value: ir.Value) -> _Terms | None:
        """Factors of the counter, of the limit and of 1."""
        constant = scalar_constant(value)
        if value in self._counters:
            return (1, 0, 0)
        if value in self._limits and constant is None:
            return (0, 1, 0)
        if constant is not None:
            return (0, 0, int(constant.ravel()[0])) if constant.dtype.kind in "iu" else None
        return None if value.owner is None else self._computed(value.owner)

    def _computed(self, op: ir.Operation) -> _Terms | None:
        if op.name == "stablehlo.convert" and op.operands[0].tensor.dtype.kind in "iu":
            return self._terms(op.operands[0])
        if op.name == "stablehlo.select" and self._is_wrapped(op):
            return self._terms(op.operands[2])
        if op.name not in ("stablehlo.add", "stablehlo.subtract"):
            return None
        first, second = (self._terms(v) for v in op.operands)
        if first is None or second is None:
            return None
        sign = 1 if op.name == "stablehlo.add" else -1
        return (
            first[0] + sign * second[0],
            first[1] + sign * second[1],
            first[2] + sign * second[2],
        )

    def _is_wrapped(self, op: ir.Operation) -> bool:
        """``i < 0 ? i + n : i`` of an index that is never negative."""
        test = op.operands[0].owner
        return (
            test is not None
            and test.name == "stablehlo.compare"
            and test.attributes["comparison_direction"] == "LT"
            and scalar_constant(test.operands[1]) == 0
            and self.direction(test.operands[0]) is not None
            and self._terms(test.operands[0]) == self._terms(op.operands[2])
        )


def _callee(
    op: ir.Operation, name: str, functions: Mapping[str, ir.Function]
) -> ir.Function | None:
    if op.name != "func.call" or not op.attributes["callee"].startswith(name):
        return None
    return functions.get(op.attributes["callee"])


def _indexed(
    op: ir.Operation, body: ir.Block, functions: Mapping[str, ir.Function]
) -> tuple[ir.Value, ir.Value] | None:
    """``(array, index)`` if an operation is one element of an array along its first axis."""
    function = _callee(op, _INDEX, functions)
    if function is not None:
        array, index = op.operands[-2:]
        drops = array.tensor.rank == op.results[0].tensor.rank + 1
        return (
            (array, index) if drops and _is_first(function, function.body.arguments[-1]) else None
        )
    if op.name != "stablehlo.reshape":
        return None
    cut = op.operands[0].owner
    if cut is None or cut.name != "stablehlo.dynamic_slice":
        return None
    array, index, *rest = cut.operands
    whole = (1, *array.tensor.shape[1:])
    same = tuple(cut.attributes["slice_sizes"]) == whole
    if not same or op.results[0].tensor.shape != whole[1:] or not all(map(_is_zero, rest)):
        return None
    return array, index


def _is_zero(value: ir.Value) -> bool:
    """Whether a start is 0, also when it is written as ``0 < 0 ? 0 + n : 0``."""
    op = value.owner
    if op is not None and op.name == "stablehlo.select":
        test = op.operands[0].owner
        return (
            _is_zero(op.operands[2])
            and test is not None
            and test.name == "stablehlo.compare"
            and test.attributes["comparison_direction"] == "LT"
            and all(map(_is_zero, test.operands))
        )
    constant = scalar_constant(value)
    return constant is not None and int(constant.ravel()[0]) == 0


def _is_first(function: ir.Function, index: ir.Value) -> bool:
    """Whether a function slices or updates at the index along the first axis, at 0 elsewhere."""
    for op in function.body.operations:
        if op.name in ("stablehlo.dynamic_slice", "stablehlo.dynamic_update_slice"):
            starts = op.operands[1 + op.name.endswith("update_slice") :]
            return starts[0] is index and all(map(_is_zero, starts[1:]))
        if op.name == "stablehlo.real_dynamic_slice":
            bounded = op.operands[1].owner
            joined = None
            if bounded is not None and bounded.name == "stablehlo.clamp":
                joined = bounded.operands[1].owner
            if joined is None or joined.name != "stablehlo.concatenate":
                return False
            scalars = [v.owner.operands[0] if v.owner is not None else v for v in joined.operands]
            return scalars[0] is index and all(map(_is_zero, scalars[1:]))
    return False


def _stacked(
    output: ir.Value,
    body: ir.Block,
    place: int,
    functions: Mapping[str, ir.Function],
    index: _Index,
) -> Stack | None:
    """What is written at the counter into an array that is not read."""
    op = output.owner
    function = None if op is None else _callee(op, _UPDATE, functions)
    if op is None or function is None:
        return None
    array, value, at = op.operands[-3:]
    argument = body.arguments[place]
    reverse = index.direction(at)
    users = [o for o in body.operations if argument in _read(o)]
    fits = array is argument and users == [op] and reverse is not None
    if not fits or value.tensor.rank + 1 != array.tensor.rank:
        return None
    if not _is_first(function, function.body.arguments[-1]):
        return None
    return Stack(value, bool(reverse))


def flatten_loops(module: ir.Module) -> None:
    """Move the only body of a loop that JAX made a function of its own back into the loop.

    Args:
        module: Changed in place. Functions that are called twice stay.
    """
    blocks = [function.body for function in module.functions.values()]
    operations = [op for block in blocks for op in block.walk()]
    calls = [op.attributes["callee"] for op in operations if op.name == "func.call"]
    for op in operations:
        if op.name == "stablehlo.while":
            _flatten(op.regions[1], module.functions, calls)


def _flatten(body: ir.Block, functions: Mapping[str, ir.Function], calls: Sequence[str]) -> None:
    for position, op in enumerate(body.operations):
        function = _callee(op, "closed_call", functions)
        if function is None or calls.count(function.name) != 1:
            continue
        inner = function.body
        replaced = dict(zip(inner.arguments, op.operands, strict=True))
        for moved in inner.walk():
            moved.operands = [replaced.get(v, v) for v in moved.operands]
            moved.location = _within(op.location, moved.location)
        results = dict(zip(op.results, inner.outputs, strict=True))
        for later in body.operations[position + 1 :]:
            for user in (later, *(o for region in later.regions for o in region.walk())):
                user.operands = [results.get(v, v) for v in user.operands]
        body.operations[position : position + 1] = inner.operations[:-1]
        return _flatten(body, functions, calls)
    return None


def _within(outer: ir.Location, inner: ir.Location) -> ir.Location:
    own = inner.name_stack
    if not outer.name_stack or own.startswith("jit("):
        return inner
    stack = f"{outer.name_stack}/{own}" if own else outer.name_stack
    return ir.Location(stack, inner.source or outer.source)
