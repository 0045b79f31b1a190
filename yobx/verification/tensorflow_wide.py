"""Runs a TensorFlow graph operation by operation, in float64 where it computes in fewer bits.

What is rounded all the same says ``wide_types.py``; a variable is, too. Operations without a kernel
for float64, those that look at bits and those that step from one number to the next run in their
own type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from yobx.verification.boundary import Attempt
from yobx.verification.tensorflow_values import CALLS, IFS, MOST_TURNS, WHILES
from yobx.verification.wide_types import keeps_all, wide_name, within_range

__all__ = ["NotRunError", "Watcher", "run_graph"]

_CASES = frozenset({"Case", "StatelessCase"})

_READS = frozenset(
    {
        "LookupTableFind",
        "LookupTableFindV2",
        "LookupTableSizeV2",
        "ReadVariableOp",
        "ResourceGather",
        "ResourceGatherNd",
        "VariableShape",
    }
)
# What they give goes by the bits of what they are given.
_BITS = frozenset(
    {
        "AsString",
        "Bitcast",
        "DecodePaddedRaw",
        "DecodeRaw",
        "NextAfter",
        "ParseTensor",
        "SerializeTensor",
        "StringFormat",
    }
)

# Where they step from one number to the next one, more bits decide otherwise.
_STEPS = frozenset(
    {
        "Bucketize",
        "FakeQuantWithMinMaxArgs",
        "FakeQuantWithMinMaxVars",
        "FakeQuantWithMinMaxVarsPerChannel",
        "FloorDiv",
        "FloorMod",
        "Mod",
        "QuantizeAndDequantizeV2",
        "QuantizeAndDequantizeV3",
        "QuantizeAndDequantizeV4",
        "QuantizeV2",
        "Range",
        "TruncateDiv",
        "TruncateMod",
    }
)


class NotRunError(Exception):
    """A graph that cannot be run like this: it draws numbers, say, or changes variables."""


#: Sees an operation, its inputs and its outputs; gives its outputs. Last is how often it ran before
#: if it is in a loop or a branch, else ``None``.
Watcher = Callable[[Any, list[Any], list[Any], "int | None"], list[Any]]


def run_graph(
    graph: Any,
    inputs: Sequence[Any],
    *,
    wide: bool,
    rounded: bool = False,
    in_range: bool = False,
    watch: Watcher | None = None,
) -> tuple[list[Any], tuple[str, ...]]:
    """Runs a graph.

    Args:
        graph: A ``FuncGraph``.
        inputs: Eager tensors for all its inputs, captured ones too.
        wide: Whether floats of fewer bits are computed in float64.
        rounded: Whether each result is then rounded to its own type.
        in_range: Whether results of float16 have the range of float32.
        watch: Sees every operation but calls, loops and branches, and gives what to go on with.

    Returns:
        Its outputs, and the types of operations that ran in their own type since they have no
        kernel for float64.

    Raises:
        NotRunError: If an operation cannot be run.
    """
    walk = _Walk(wide, rounded, in_range, watch)
    return walk.run(graph, inputs), tuple(walk.kept)


@dataclass
class _Walk:
    """Runs graphs; `kept` are types of operations that ran in their own dtype, in order."""

    wide: bool
    rounded: bool
    in_range: bool = False
    watch: Watcher | None = None
    kept: dict[str, None] = field(default_factory=dict)
    _turns: dict[Any, int] = field(default_factory=dict)
    _depth: int = 0
    _orders: dict[Any, list[tuple[Any, list[Any]]]] = field(default_factory=dict)

    def run(self, graph: Any, inputs: Sequence[Any]) -> list[Any]:
        """Outputs of a graph or of the body of a function."""
        if graph not in self._orders:
            self._orders[graph] = _order(graph)
        pairs = zip(graph.inputs, inputs, strict=True)
        known = {tensor.ref(): self._result(value, tensor) for tensor, value in pairs}
        for op, finished in self._orders[graph]:
            results = self._watched(op, [known[tensor.ref()] for tensor in op.inputs])
            made = zip(op.outputs, results, strict=True)
            known.update((tensor.ref(), self._result(value, tensor)) for tensor, value in made)
            for reference in finished:
                del known[reference]
        return [known[tensor.ref()] for tensor in graph.outputs]

    def _result(self, value: Any, tensor: Any) -> Any:
        """A result in the dtype in which it is computed with, in the range of its own."""
        import tensorflow as tf

        kind = _widened(tensor.dtype) if self.wide else tensor.dtype
        if kind == tensor.dtype:
            return value
        return within_range(
            value,
            (tensor.dtype, kind),
            rounded=self.rounded,
            ends=tf.float32 if self.in_range and tensor.dtype == tf.float16 else tensor.dtype,
            cast=tf.cast,
            with_infinities=_with_infinities,
        )

    def _watched(self, op: Any, inputs: list[Any]) -> list[Any]:
        entered = self._flow(op) is not None
        turning = entered and op.type not in CALLS
        self._depth += turning
        results = self._operation(op, inputs)
        self._depth -= turning
        if self.watch is None or entered:
            return results
        turn = self._turns.get(op, 0)
        self._turns[op] = turn + 1
        return self.watch(op, inputs, results, turn if self._depth else None)

    def _operation(self, op: Any, inputs: list[Any]) -> list[Any]:
        flow = self._flow(op)
        if flow is not None:
            return flow(op, inputs)
        if op.type == "Const":
            import tensorflow as tf

            return [tf.constant(tf.make_ndarray(op.get_attr("value")), op.outputs[0].dtype)]
        if op.op_def.is_stateful and op.type not in _READS:
            raise NotRunError(f"{op.type} has a state")
        if not self.wide or op.type in _READS or op.type in _BITS or op.type in _STEPS:
            return self._in_own_type(op, inputs)
        return self._cast(op, inputs) if op.type == "Cast" else self._in_float64(op, inputs)

    def _flow(self, op: Any) -> Callable[[Any, list[Any]], list[Any]] | None:
        """What runs an operation that runs functions."""
        if op.type in CALLS:
            return lambda op, inputs: self.run(_body(op, "f"), inputs)
        if op.type in IFS:
            return self._branch
        if op.type in _CASES:
            return self._case
        return self._loop if op.type in WHILES else None

    def _branch(self, op: Any, inputs: list[Any]) -> list[Any]:
        branch = "then_branch" if bool(inputs[0]) else "else_branch"
        return self.run(_body(op, branch), inputs[1:])

    def _case(self, op: Any, inputs: list[Any]) -> list[Any]:
        branches = op.get_attr("branches")
        index = int(inputs[0])
        chosen = branches[index if 0 <= index < len(branches) else -1]
        return self.run(_function(op, chosen), inputs[1:])

    def _loop(self, op: Any, state: list[Any]) -> list[Any]:
        condition, body = _body(op, "cond"), _body(op, "body")
        for _ in range(MOST_TURNS):
            if not bool(self.run(condition, state)[0]):
                return state
            state = self.run(body, state)
        raise NotRunError(f"{op.name} makes more than {MOST_TURNS} turns")

    def _cast(self, op: Any, inputs: list[Any]) -> list[Any]:
        """A cast rounds where it did."""
        import tensorflow as tf

        source, to = op.get_attr("SrcT"), op.get_attr("DstT")
        if keeps_all(source.name, to.name):
            to = _widened(to)
        return [tf.raw_ops.Cast(x=inputs[0], DstT=to, Truncate=op.get_attr("Truncate"))]

    def _in_float64(self, op: Any, inputs: list[Any]) -> list[Any]:
        results: list[Any] = []
        with Attempt() as attempt:  # there is no such kernel, or the operation has no such type
            results = _run(op, inputs, wide=True)
        if attempt.error is not None:
            results = self._in_own_type(op, inputs)
        pairs = zip(results, op.outputs, strict=True)
        if any(_narrow(made.dtype) and made.dtype == t.dtype for made, t in pairs):
            self.kept[op.type] = None
        return results

    def _in_own_type(self, op: Any, inputs: list[Any]) -> list[Any]:
        import tensorflow as tf

        own = [
            tf.cast(value, tensor.dtype) if value.dtype != tensor.dtype else value
            for value, tensor in zip(inputs, op.inputs, strict=True)
        ]
        results: list[Any] = []
        with Attempt() as attempt:
            results = _run(op, own, wide=False)
        if attempt.error is not None:
            raise NotRunError(f"{op.type} does not run by itself") from attempt.error
        return results


def _order(graph: Any) -> list[tuple[Any, list[Any]]]:
    """Operations that outputs need, in order, each with the values that nobody needs after it."""
    from yobx.tensorflow.graph_walk import needed_operations

    given = {tensor.op for tensor in graph.inputs}
    operations = [op for op in needed_operations(graph.outputs) if op not in given]
    seen = {tensor.ref() for tensor in graph.outputs}
    order = []
    for op in reversed(operations):
        touched = dict.fromkeys(tensor.ref() for tensor in [*op.inputs, *op.outputs])
        order.append((op, [reference for reference in touched if reference not in seen]))
        seen.update(touched)
    return order[::-1]


def _narrow(dtype: Any) -> bool:
    return bool(_widened(dtype) != dtype)


def _widened(dtype: Any) -> Any:
    """The type that stands for a narrower one."""
    import tensorflow as tf

    wide = wide_name(dtype.name)
    return dtype if wide == dtype.name else tf.as_dtype(wide)


def _with_infinities(value: Any, narrow: Any) -> Any:
    """A value that is infinite where the same one in a narrower type is."""
    import tensorflow as tf

    beyond = tf.math.is_inf(narrow)
    if not bool(tf.reduce_any(beyond)):
        return value
    return tf.where(beyond, tf.sign(value) * tf.constant(float("inf"), value.dtype), value)


def _function(op: Any, attribute: Any) -> Any:
    from yobx.tensorflow.graph_walk import function_graph

    return function_graph(op.graph, attribute.name)


def _body(op: Any, name: str) -> Any:
    return _function(op, op.get_attr(name))


def _run(op: Any, inputs: list[Any], *, wide: bool) -> list[Any]:
    """Runs one operation on eager tensors; ``wide`` puts float64 into its attributes too."""
    from tensorflow.python.eager import context, execute

    # By the names of the operation itself: those of tf.raw_ops are others.
    attributes: list[Any] = []
    for attribute in op.op_def.attr:
        value = _attribute(op, attribute, wide=wide)
        attributes += [attribute.name, value]
    made = execute.execute(
        op.type.encode(), len(op.outputs), inputs, tuple(attributes), context.context()
    )
    return list(made)


def _attribute(op: Any, attribute: Any, *, wide: bool) -> Any:
    """The value of an attribute as TensorFlow's eager runtime takes it."""
    from tensorflow.python.eager import execute

    value, name = op.get_attr(attribute.name), attribute.name
    if attribute.type == "type":
        return (_widened(value) if wide else value).as_datatype_enum
    if attribute.type == "list(type)":
        return [(_widened(kind) if wide else kind).as_datatype_enum for kind in value]
    if attribute.type == "shape":
        return execute.make_shape(value, name)
    if attribute.type == "list(shape)":
        return [execute.make_shape(shape, name) for shape in value]
    if attribute.type in {"func", "list(func)"}:
        raise NotRunError(f"{op.type} calls functions")
    return value
