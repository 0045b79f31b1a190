"""Before anything is converted: everything that cannot be, in the whole model, in one error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from yobx.errors import ConversionError, OpOccurrence, UnsupportedOpError
from yobx.tensorflow.graph_walk import CALLS, needed_operations, nested_bodies
from yobx.tensorflow.layers import LayerIndex
from yobx.tensorflow.register import TF_OP_CONVERTERS
from yobx.xbuilder.names import nearest

__all__ = ["check_convertible", "dtypes_of"]

_MAX_PLACES = 4

#: Handled by the walk itself.
_BUILT_IN = CALLS | {"Placeholder", "PlaceholderWithDefault", "NoOp"}

#: Operations that write to a variable.
_WRITES = (
    "AssignVariableOp",
    "AssignAddVariableOp",
    "AssignSubVariableOp",
    "ResourceScatter",
    "ResourceApply",
    "ResourceSparseApply",
    "ResourceStridedSliceAssign",
)


def dtypes_of(op: Any) -> list[str]:
    """Lists the dtypes of an operation, each once, inputs first."""
    return list(dict.fromkeys(t.dtype.name for t in (*op.inputs, *op.outputs)))


def _bodies(
    results: Iterable[Any], control: Iterable[Any], *, follow_control: bool
) -> Iterator[tuple[str, Any]]:
    """Yields every needed operation of a graph and of all it calls, with its place outside."""
    pending: list[tuple[str, list[Any], list[Any]]] = [("", list(results), list(control))]
    seen: set[int] = set()
    while pending:
        place, tensors, starts = pending.pop()
        operations = needed_operations(tensors, control=starts, follow_control=follow_control)
        for op in operations:
            yield place, op
            for body in nested_bodies(op):
                if id(body.graph) in seen:
                    continue
                seen.add(id(body.graph))
                also = body.graph.control_outputs if follow_control else ()
                pending.append((f"{place}{op.name}/", list(body.graph.outputs), list(also)))


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
        OpOccurrence(op.type, place + op.name, layers.path(place + op.name), _detail(op))
        for place, op in _bodies(function.outputs, (), follow_control=False)
        if op.type not in TF_OP_CONVERTERS
        and op.type not in extra_converters
        and op.type not in _BUILT_IN
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
        f"Every operation of a model needs a converter. Received: {len(by_type)} op types without "
        "one:"
    ]
    known = [*TF_OP_CONVERTERS, *extra_converters]
    for op_type in sorted(by_type):
        items = by_type[op_type]
        advice = nearest(op_type, known, n=1)
        lines.append(f"  {op_type}, {len(items)} times{f' ({advice})' if advice else ''}")
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


def _check_writes(function: Any, extra_converters: Mapping[str, Any], layers: LayerIndex) -> None:
    written = [
        (place + op.name, layers.path(place + op.name), op)
        for place, op in _bodies(
            function.outputs, function.graph.control_outputs, follow_control=True
        )
        if op.type.startswith(_WRITES) and op.type not in extra_converters
    ]
    if not written:
        return
    names = {id(variable.handle): variable.name for variable in function.variables}
    captured = dict(zip(function.inputs[::-1], function.captured_inputs[::-1], strict=False))
    places = []
    for name, layer, op in written:
        handle = captured.get(op.inputs[0]) if op.graph is function.graph else None
        variable = f"variable {names[id(handle)]!r} by " if id(handle) in names else ""
        where = f" in layer {layer!r}" if layer else ""
        places.append(f"{variable}{name!r} ({op.type}){where}")
    raise ConversionError(
        "An ONNX model has no variables to write to: a variable is a constant of it. Received: "
        f"{'; '.join(places[:8])}. Make the state an input and an output of the model, or call the "
        "part that does not write."
    )
