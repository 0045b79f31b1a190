"""Before anything is converted: everything that cannot be, in the whole model, in one error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from yobx.errors import ConversionError, OpOccurrence, UnsupportedOpError
from yobx.tensorflow.graph_defs import TABLE_FILLERS, TABLES
from yobx.tensorflow.graph_walk import (
    PLACEHOLDERS,
    called_function,
    needed_operations,
    nested_bodies,
)
from yobx.tensorflow.layers import LayerIndex
from yobx.tensorflow.refused_ops import class_of
from yobx.tensorflow.register import TF_OP_CONVERTERS
from yobx.words import nearest

__all__ = ["check_convertible"]

_MAX_PLACES = 4

#: Handled by the walk itself.
_BUILT_IN = PLACEHOLDERS | {"PlaceholderWithDefault", "NoOp"}

#: Operations that write to a variable or to a table.
_WRITES = (
    "LookupTableImport",
    "LookupTableInsert",
    "LookupTableRemove",
    "AssignVariableOp",
    "AssignAddVariableOp",
    "AssignSubVariableOp",
    "ResourceScatter",
    "ResourceApply",
    "ResourceSparseApply",
    "ResourceStridedSliceAssign",
)

#: Operations that take a reference and write nothing.
_READS = frozenset(
    {
        "IsVariableInitialized",
        "RefEnter",
        "RefExit",
        "RefIdentity",
        "RefMerge",
        "RefNextIteration",
        "RefSelect",
        "RefSwitch",
    }
)


@dataclass(frozen=True)
class _Body:
    """A graph that is looked at.

    Attributes:
        place: Names of the operations that lead here, each with a ``/``.
        results: Tensors wanted.
        control: Operations wanted.
        variables: Resource tensor of this graph -> name of the variable.
    """

    place: str
    results: list[Any]
    control: list[Any]
    variables: dict[str, str]


def _enter(outer: _Body, op: Any, graph: Any, *, with_control: bool) -> _Body:
    # The last inputs of calls, branches and loops alike are the inputs of the body.
    given = list(op.inputs)[len(op.inputs) - len(graph.inputs) :]
    variables = {
        inner.name: outer.variables[value.name]
        for inner, value in zip(graph.inputs, given, strict=False)
        if value.name in outer.variables
    }
    control = list(graph.control_outputs) if with_control else []
    return _Body(f"{outer.place}{op.name}/", list(graph.outputs), control, variables)


def _bodies(
    results: Iterable[Any],
    control: Iterable[Any] = (),
    *,
    follow_control: bool = False,
    variables: Mapping[str, str] | None = None,
) -> Iterator[tuple[_Body, Any]]:
    """Yields every needed operation of a graph and of all it calls, with the body it is in."""
    pending = [_Body("", list(results), list(control), dict(variables or {}))]
    seen: set[int] = set()
    while pending:
        body = pending.pop()
        operations = needed_operations(
            body.results, control=body.control, follow_control=follow_control
        )
        for op in operations:
            yield body, op
            for nested in nested_bodies(op):
                if id(nested.graph) in seen:
                    continue
                seen.add(id(nested.graph))
                pending.append(_enter(body, op, nested.graph, with_control=follow_control))


def check_convertible(
    function: Any, extra_converters: Mapping[str, Any], layers: LayerIndex
) -> None:
    """Looks at every needed operation, also inside called functions, branches and loops.

    Args:
        function: The ``ConcreteFunction``.
        extra_converters: Converters that the caller brings.
        layers: For the layer path of an operation.

    Raises:
        UnsupportedOpError: If operations have no converter; all of them are listed.
        ConversionError: If a variable is written.
    """
    _check_writes(function, extra_converters, layers)
    unsupported = [
        OpOccurrence(op.type, body.place + op.name, layers.path(body.place + op.name), _detail(op))
        for body, op in _bodies(function.outputs)
        if op.type not in TF_OP_CONVERTERS
        and op.type not in extra_converters
        and op.type not in _BUILT_IN
        and called_function(op) is None
    ]
    if unsupported:
        raise UnsupportedOpError(_unsupported_message(unsupported, extra_converters), unsupported)


def _detail(op: Any) -> str:
    def side(tensors: Iterable[Any]) -> str:
        return ", ".join(f"{t.dtype.name}{t.shape}" for t in tensors)

    return f"({side(op.inputs)}) -> ({side(op.outputs)})"


def _unsupported_message(
    occurrences: list[OpOccurrence], extra_converters: Mapping[str, Any]
) -> str:
    by_type: dict[str, list[OpOccurrence]] = {}
    for item in occurrences:
        by_type.setdefault(item.op_type, []).append(item)
    lines = [
        f"Every operation of a model needs a converter. Received: {len(by_type)} op "
        f"type{'s'[: len(by_type) > 1]} without a converter:"
    ]
    for op_type in sorted(by_type):
        items = by_type[op_type]
        typo = nearest(op_type, extra_converters, n=1).removeprefix("did you mean ")
        advice = f" (extra_converters has {typo.rstrip('?')})" if typo else ""
        lines.append(f"  {op_type}, {len(items)} time{'s'[: len(items) > 1]}{advice}")
        refused = class_of(op_type)
        if refused is not None:
            lines.append(f"    {refused.title}: {refused.reason}")
        for item in items[:_MAX_PLACES]:
            where = f" in layer {item.layer!r}" if item.layer else ""
            lines.append(f"    {item.name!r}{where}: {item.detail}")
        if len(items) > _MAX_PLACES:
            lines.append(f"    and {len(items) - _MAX_PLACES} more")
    first = sorted(by_type)[0]
    lines.append(
        "To add one, write def convert(g, sts, outputs, op): return g.op.<OnnxOp>("
        "op.inputs[0].name, outputs=outputs, name=op.name) and pass "
        f"extra_converters={{{first!r}: convert}}, or decorate it with "
        f"@register_tf_op_converter({first!r})."
    )
    return "\n".join(lines)


def _writes(op: Any) -> bool:
    """Tells whether an operation writes to a variable or to a table."""
    if op.type.startswith(_WRITES):
        return True
    # Operations of TensorFlow 1 write to what they take by reference.
    return op.type not in _READS and any(arg.is_ref for arg in op.op_def.input_arg)


def _fills(op: Any) -> bool:
    """Tells whether an operation gives a table of the graph its contents before it is read."""
    return op.type in TABLE_FILLERS and op.inputs[0].op.type in TABLES


def _check_writes(function: Any, extra_converters: Mapping[str, Any], layers: LayerIndex) -> None:
    names = {id(variable.handle): variable.name for variable in function.variables}
    placeholders = function.inputs[len(function.inputs) - len(function.captured_inputs) :]
    variables = {
        tensor.name: names[id(handle)]
        for tensor, handle in zip(placeholders, function.captured_inputs, strict=True)
        if id(handle) in names
    }
    places = []
    for body, op in _bodies(
        function.outputs,
        function.graph.control_outputs,
        follow_control=True,
        variables=variables,
    ):
        if not _writes(op) or op.type in extra_converters or _fills(op):
            continue
        name = body.place + op.name
        layer = layers.path(name)
        variable = body.variables.get(op.inputs[0].name)
        what = f"variable {variable!r} by " if variable else ""
        places.append(f"{what}{name!r} ({op.type}){f' in layer {layer!r}' if layer else ''}")
    if places:
        raise ConversionError(
            "An ONNX model has no variables to write to, nor tables: they are constants of it. "
            "Received: "
            f"{'; '.join(places[:8])}. Make the state an input and an output of the model, or call "
            "the part that does not write."
        )
