"""Nodes that give back an input: Identity, Cast to the same type, empty Pad, integer plus 0."""

from __future__ import annotations

from collections.abc import Callable

import onnx_ir as ir

from yobx.passes.graph_edit import (
    GraphEditor,
    graphs_of,
    int_constant,
    known_dims,
    producer_of,
    rank_of,
    scalar_constant,
)

__all__ = ["remove_identities"]


def remove_identities(model: ir.Model) -> None:
    """Removes nodes whose output is one of their inputs, whatever the values are.

    Args:
        model: Model, changed in place.
    """
    for graph in graphs_of(model):
        for node in list(graph):
            if node.op_type not in _TESTED or node.domain not in ("", "ai.onnx"):
                continue
            if any(output.uses() or output.is_graph_output() for output in node.outputs[1:]):
                continue
            source = _given_back(node)
            if source is not None and GraphEditor.replace(node.outputs[0], source):
                graph.remove(node, safe=True)


def _given_back(node: ir.Node) -> ir.Value | None:
    """The input that a node gives back, if it surely does."""
    if not node.inputs:
        return None
    neutral = _NEUTRAL.get(node.op_type)
    if neutral is None:
        return node.inputs[0] if _DOES_NOTHING[node.op_type](node) else None
    first, second = node.inputs
    if _repeats(second, neutral, first):
        return first
    return second if node.op_type != "Sub" and _repeats(first, neutral, second) else None


def _repeats(value: ir.Value | None, number: int, other: ir.Value | None) -> bool:
    """Whether a value is one integer, and broadcasts to the shape of another."""
    if other is None or other.dtype is None or not other.dtype.is_integer():
        return False
    rank, constant = rank_of(value), scalar_constant(value)
    return constant == number and rank is not None and rank <= (rank_of(other) or 0)


def same_dims(first: ir.Value | None, second: ir.Value | None) -> bool:
    """Tells whether two values surely have the same shape.

    Args:
        first: A value.
        second: Another.

    Returns:
        Whether every size is the same number or has the same name.
    """
    mine, theirs = known_dims(first), known_dims(second)
    return mine is not None and mine == theirs and None not in mine


def _identity(node: ir.Node) -> bool:
    return True


def _cast(node: ir.Node) -> bool:
    source = node.inputs[0]
    return source is not None and source.dtype == ir.DataType(node.attributes["to"].as_int())


def _cast_like(node: ir.Node) -> bool:
    source, like = node.inputs
    return source is not None and like is not None and source.dtype == like.dtype is not None


def _dropout(node: ir.Node) -> bool:
    training = node.inputs[2] if len(node.inputs) > 2 else None
    return training is None or int_constant(training) == (0,)


def _pad(node: ir.Node) -> bool:
    pads = int_constant(node.inputs[1]) if len(node.inputs) > 1 else None
    return pads is not None and not any(pads)


def _tile(node: ir.Node) -> bool:
    repeats = int_constant(node.inputs[1])
    return repeats is not None and set(repeats) <= {1}


def _single(node: ir.Node) -> bool:
    return len(node.inputs) == 1 and len(node.outputs) == 1


def _same_shape(node: ir.Node) -> bool:
    return same_dims(node.inputs[0], node.outputs[0])


def _concat_with_empty(node: ir.Node) -> bool:
    return len(node.inputs) == 1


def _slice(node: ir.Node) -> bool:
    starts, ends = (int_constant(value) for value in node.inputs[1:3])
    if starts is None or ends is None or len(node.inputs) > 5:
        return False
    steps = int_constant(node.inputs[4]) if len(node.inputs) > 4 and node.inputs[4] else None
    if len(node.inputs) > 4 and node.inputs[4] is not None and set(steps or (0,)) != {1}:
        return False
    return not any(starts) and all(end >= _LARGE for end in ends)


def _gather(node: ir.Node) -> bool:
    """Takes all there is along one axis, in order, as each tf.vectorized_map does first."""
    source, indices = node.inputs
    return rank_of(indices) == 1 and same_dims(source, node.outputs[0]) and _counts(indices)


def _counts(value: ir.Value | None) -> bool:
    """Tells whether a vector is 0, 1, 2, ..."""
    known = int_constant(value)
    if known is not None:
        return known == tuple(range(len(known)))
    span = producer_of(value, "Range")
    if span is not None:
        return scalar_constant(span.inputs[0]) == 0 and scalar_constant(span.inputs[2]) == 1
    choice = producer_of(value, "Where")
    if choice is None:
        return False
    condition, counted, zero = choice.inputs
    # Where there are fewer than two elements, zero is the count.
    return (
        scalar_constant(zero) == 0
        and same_dims(counted, value)
        and _counts(counted)
        and _several(condition, known_dims(value))
    )


def _several(condition: ir.Value | None, dims: tuple[int | str | None, ...] | None) -> bool:
    """Tells whether a scalar says that the only one of these sizes is above one."""
    test = producer_of(condition, "Greater")
    if test is None or scalar_constant(test.inputs[1]) != 1:
        return False
    return dims is not None and dims == (_size_read(test.inputs[0]),)


def _size_read(value: ir.Value | None) -> int | str | None:
    """Returns the size that a scalar is read from by Shape and Gather, ``None`` for others."""
    pick = producer_of(value, "Gather")
    position = None if pick is None else int_constant(pick.inputs[1])
    if pick is None or position is None or rank_of(value) != 0:
        return None
    cast = producer_of(pick.inputs[0], "Cast")
    shape = producer_of(pick.inputs[0] if cast is None else cast.inputs[0], "Shape")
    dims = None if shape is None or shape.attributes else known_dims(shape.inputs[0])
    index = position[0]
    return dims[index] if dims is not None and -len(dims) <= index < len(dims) else None


_LARGE = (1 << 31) - 1
_DOES_NOTHING: dict[str, Callable[[ir.Node], bool]] = {
    "Cast": _cast,
    "CastLike": _cast_like,
    "Concat": _concat_with_empty,
    "Dropout": _dropout,
    "Expand": _same_shape,
    "Flatten": _same_shape,
    "Gather": _gather,
    "Identity": _identity,
    "Max": _single,
    "Mean": _single,
    "Min": _single,
    "Pad": _pad,
    "Reshape": _same_shape,
    "Slice": _slice,
    "Sum": _single,
    "Tile": _tile,
}
# Of integers alone: of floats, -0.0 + 0.0 is 0.0.
_NEUTRAL = {"Add": 0, "Sub": 0, "Mul": 1}
_TESTED = _DOES_NOTHING.keys() | _NEUTRAL.keys()
