"""Values of a traced TensorFlow graph, those of called functions, branches and loops included.

The name of an ONNX value leads there: ``PartitionedCall/while/Sin:0`` is the value ``Sin:0`` of the
body of the operation ``while`` in the function that ``PartitionedCall`` calls. Each graph is run as
far as it is asked for, calls are followed with the values they receive, and loops turn by turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from yobx.verification.arguments import as_pairs
from yobx.verification.comparison import resemble

__all__ = [
    "CALLS",
    "IFS",
    "MOST_TURNS",
    "WHILES",
    "dtype_of",
    "first_other",
    "graph_function",
    "graph_values",
]

# Operations that run one function, a loop, one of two functions; how often a loop may turn.
CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
WHILES = frozenset({"While", "StatelessWhile"})
IFS = frozenset({"If", "StatelessIf"})
MOST_TURNS = 10_000
# Attributes that hold the functions of an operation.
_BODIES = {
    **dict.fromkeys(CALLS, ("f",)),
    **dict.fromkeys(WHILES, ("body", "cond")),
    **dict.fromkeys(IFS, ("then_branch", "else_branch")),
}


def graph_values(graph: Any, inputs: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
    """Evaluates values of a graph.

    Args:
        graph: A ``FuncGraph``.
        inputs: Tensors for all its inputs, captured ones too.
        names: Names of values.

    Returns:
        Name -> array, or a list of arrays for a value of a loop or a branch: one for each time
        that it is computed. Names that lead nowhere are left out.
    """
    return _Walk().values(graph, inputs, {name: name for name in names})


def first_other(graph: Any, other: Any, inputs: tuple[Sequence[Any], Sequence[Any]]) -> str:
    """The first operation of a graph that has another value in a second trace of the same model.

    Args:
        graph: A ``FuncGraph``.
        other: The second one, in which operations of the same meaning have the same names.
        inputs: Tensors for all inputs of the one and of the other.

    Returns:
        Its name, or ``""``.
    """
    names = _names(graph)
    found = [graph_values(g, i, names) for g, i in zip((graph, other), inputs, strict=True)]
    for name in names:
        one, two = (values.get(name) for values in found)
        if isinstance(one, list) or isinstance(two, list) or one is None or two is None:
            continue
        one, two = as_pairs(np.asarray(one)), as_pairs(np.asarray(two))
        # Of other shapes are operations that only happen to have one name.
        if one.shape == two.shape and one.dtype == two.dtype and not resemble(one, two):
            return str(name.partition(":")[0])
    return ""


def _names(graph: Any, prefix: str = "") -> list[str]:
    """Values of the operations with one result; those inside a call before what it gives."""
    from yobx.tensorflow.graph_walk import function_graph

    names = []
    for operation in graph.get_operations():
        if operation.type in CALLS:
            body = function_graph(graph, operation.get_attr("f").name)
            names += _names(body, f"{prefix}{operation.name}/")
        if len(operation.outputs) == 1 and operation.outputs[0].dtype.is_numpy_compatible:
            names.append(f"{prefix}{operation.outputs[0].name}")
    return names


def dtype_of(graph: Any, name: str) -> str:
    """Dtype of a value of a graph or of the functions that it calls.

    Args:
        graph: A ``FuncGraph``.
        name: Name of the value, as in :func:`graph_values`.

    Returns:
        The dtype's name, ``""`` where the name leads nowhere.
    """
    from yobx.tensorflow.graph_walk import function_graph

    tensor = _tensor(graph, name)
    if tensor is not None:
        return str(tensor.dtype.name)
    caller, inner = _caller(graph, name)
    if not caller:
        return ""
    operation = graph.get_operation_by_name(caller)
    bodies = _BODIES.get(operation.type, ())
    found = (dtype_of(function_graph(graph, operation.get_attr(b).name), inner) for b in bodies)
    return next((kind for kind in found if kind), "")


@dataclass
class _Walk:
    """Evaluates graphs; a function that is called again is not built again."""

    _built: dict[Any, Any] = field(default_factory=dict)

    def values(
        self, graph: Any, inputs: Sequence[Any], wanted: Mapping[str, str]
    ) -> dict[str, Any]:
        """Evaluates `wanted`, a name in this graph -> the full name."""
        import tensorflow as tf

        own: dict[str, Any] = {}
        below: dict[str, dict[str, str]] = {}
        for name, full in wanted.items():
            tensor = _tensor(graph, name)
            if tensor is not None and tensor.dtype not in (tf.resource, tf.variant):
                own[full] = tensor
            elif tensor is None:
                caller, inner = _caller(graph, name)
                if caller:
                    below.setdefault(caller, {})[inner] = full
        callers = [graph.get_operation_by_name(caller) for caller in below]
        needed = [tensor for caller in callers for tensor in caller.inputs]
        computed = self._run(graph, inputs, [*own.values(), *needed])
        found = {full: value.numpy() for full, value in zip(own, computed, strict=False)}
        rest = iter(computed[len(own) :])
        for caller in callers:
            arguments = [next(rest) for _ in caller.inputs]
            found.update(self._inside(graph, caller, arguments, below[caller.name]))
        return found

    def _run(self, graph: Any, inputs: Sequence[Any], tensors: Sequence[Any]) -> list[Any]:
        """Eager values of tensors of a graph."""
        feeds = list(graph.inputs[: len(inputs)])
        given = {feed.name: value for feed, value in zip(feeds, inputs, strict=True)}
        names = [tensor.name for tensor in tensors if tensor.name not in given]
        if names:
            key = (graph, *names)
            if key not in self._built:
                self._built[key] = graph_function(graph, feeds, names)
            given.update(zip(names, self._built[key](*inputs), strict=True))
        return [given[tensor.name] for tensor in tensors]

    def _inside(
        self, graph: Any, operation: Any, arguments: Sequence[Any], wanted: Mapping[str, str]
    ) -> dict[str, Any]:
        """Values of the functions of an operation."""
        from yobx.tensorflow.graph_walk import function_graph

        def body(attribute: str) -> Any:
            return function_graph(graph, operation.get_attr(attribute).name)

        if operation.type in CALLS:
            return self.values(body("f"), arguments, wanted)
        if operation.type in IFS:
            branch = body("then_branch" if bool(arguments[0]) else "else_branch")
            return _listed([self.values(branch, arguments[1:], wanted)])
        return _listed(self._turns(body("cond"), body("body"), list(arguments), wanted))

    def _turns(
        self, condition: Any, body: Any, state: list[Any], wanted: Mapping[str, str]
    ) -> list[dict[str, Any]]:
        turns: list[dict[str, Any]] = []
        while len(turns) < MOST_TURNS and bool(self._run(condition, state, condition.outputs)[0]):
            turns.append(self.values(body, state, wanted))
            state = self._run(body, state, body.outputs)
        return turns


def graph_function(graph: Any, feeds: Sequence[Any], names: Sequence[str]) -> Any:
    """A function from the inputs of a graph, captured ones too, to some of its values."""
    import tensorflow as tf

    definition = graph.as_graph_def()

    def part(*given: Any) -> Any:
        mapped = {feed.name: value for feed, value in zip(feeds, given, strict=True)}
        return tf.graph_util.import_graph_def(
            definition, input_map=mapped, return_elements=list(names), name=""
        )

    specs = [tf.TensorSpec(feed.shape, feed.dtype) for feed in feeds]
    return tf.compat.v1.wrap_function(part, specs)


def _tensor(graph: Any, name: str) -> Any | None:
    try:
        return graph.get_tensor_by_name(name)
    except (KeyError, ValueError):
        return None


def _caller(graph: Any, name: str) -> tuple[str, str]:
    """The operation whose function holds a value, and the value's name in there."""
    parts = name.split("/")
    for end in range(1, len(parts)):
        try:
            operation = graph.get_operation_by_name("/".join(parts[:end]))
        except (KeyError, ValueError):
            continue
        if operation.type in CALLS | WHILES | IFS:
            return operation.name, "/".join(parts[end:])
    return "", ""


def _listed(turns: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One list a value, in the order of the turns; what is a list already is joined."""
    found: dict[str, list[Any]] = {}
    for turn in turns:
        for name, value in turn.items():
            found.setdefault(name, []).extend(value if isinstance(value, list) else [value])
    return dict(found)
