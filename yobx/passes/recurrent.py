"""Recurrent layers that read the same items in both directions, as one node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import onnx_ir as ir

from yobx.passes.graph_edit import (
    Array,
    GraphEditor,
    constant,
    graphs_of,
    int_constant,
    known_dims,
    producer_of,
)

__all__ = ["merge_directions"]

#: Names of the inputs that are weights, and both values.
_Weights = list[tuple[str, Array, Array]]
_KINDS = ("LSTM", "GRU", "RNN")
_SHARED = ("hidden_size", "linear_before_reset")
#: Lists that hold the entries of one direction, then those of the other.
_PER_DIRECTION = ("activations", "activation_alpha", "activation_beta")
#: Time, directions, batch, units -> batch, time, directions, units.
_BATCH_FIRST = [2, 0, 1, 3]


def merge_directions(model: ir.Model) -> None:
    """Merges two recurrent nodes, one for each direction, and what reverses their results twice.

    Args:
        model: Model, changed in place.
    """
    editor: GraphEditor | None = None
    for graph in graphs_of(model):
        found: defaultdict[ir.Value | None, list[ir.Node]] = defaultdict(list)
        for node in graph:
            if node.op_type in _KINDS and not node.domain:
                found[node.inputs[0]].append(node)
        if not found:
            continue
        editor = editor or GraphEditor(model)
        _cancel_reversals(editor, graph)
        for nodes in found.values():
            for forward, backward, weights in _pairs(nodes):
                _merge(editor, graph, forward, backward, weights)


def _cancel_reversals(editor: GraphEditor, graph: ir.Graph) -> None:
    """Takes out two reversals of the same axis with a transposition between them."""
    for node in list(graph):
        axis = _reversed_axis(node)
        turned = producer_of(node.inputs[0] if node.inputs else None, "Transpose")
        if axis is None or turned is None:
            continue
        inner = producer_of(turned.inputs[0], "Slice")
        order = turned.attributes.get("perm")
        if inner is None or order is None or inner.inputs[0] is None:
            continue
        perm, before = order.as_ints(), _reversed_axis(inner)
        if before is None or perm[axis] != before:
            continue
        plain = editor.make_node(
            "Transpose",
            [inner.inputs[0]],
            {"perm": list(perm)},
            like=turned,
            hint=f"{node.outputs[0].name}/turned",
            dtype=node.outputs[0].dtype,
            shape=known_dims(node.outputs[0]),
        )
        graph.insert_before(node, plain)
        editor.replace(node.outputs[0], plain.outputs[0])


def _reversed_axis(node: ir.Node) -> int | None:
    """Returns the axis whose elements a Slice puts in reverse order, all of them."""
    if node.op_type != "Slice" or node.domain or len(node.inputs) != 5:
        return None
    values = [int_constant(value) for value in node.inputs[1:]]
    starts, ends, axes, steps = values
    if starts != (-1,) or steps != (-1,) or not ends or not axes or len(axes) != 1:
        return None
    return axes[0] if ends[0] < -(2**31) and axes[0] >= 0 else None


def _pairs(nodes: list[ir.Node]) -> Iterator[tuple[ir.Node, ir.Node, _Weights]]:
    """Yields nodes that differ in nothing but weights and direction, and the weights of both."""
    waiting = [node for node in nodes if _direction(node) == "reverse"]
    for forward in nodes:
        if _direction(forward) != "forward":
            continue
        for backward in waiting:
            weights = _weights(forward, backward)
            if weights is not None:
                waiting.remove(backward)
                yield forward, backward, weights
                break


def _direction(node: ir.Node) -> str:
    given = node.attributes.get("direction")
    return "forward" if given is None else given.as_string()


def _weights(forward: ir.Node, backward: ir.Node) -> _Weights | None:
    """Returns the name and both values of every weight, `None` if the nodes are not alike."""
    if forward.op_type != backward.op_type or len(forward.inputs) != len(backward.inputs):
        return None
    if len(forward.inputs) > 4 or len(forward.outputs) != len(backward.outputs):
        return None  # lengths of the sequences, states to start with
    both = [
        {k: v.value for k, v in node.attributes.items() if k != "direction"}
        for node in (forward, backward)
    ]
    if both[0] != both[1] or not both[0].keys() <= {*_SHARED, *_PER_DIRECTION}:
        return None
    found: _Weights = []
    for here, there in zip(forward.inputs[1:], backward.inputs[1:], strict=True):
        one, other = constant(here), constant(there)
        if here is None or one is None or other is None or one.shape != other.shape:
            return None
        found.append((here.name or "", one, other))
    return found


def _merge(
    editor: GraphEditor,
    graph: ir.Graph,
    forward: ir.Node,
    backward: ir.Node,
    weights: _Weights,
) -> None:
    """Puts a node of both directions in the place of two."""
    hidden = forward.attributes.get_int("hidden_size")
    merged = [
        editor.add_constant(np.concatenate([one, other]), f"{name}/both")
        for name, one, other in weights
    ]
    outputs = [
        ir.Value(
            name=editor.unique_name(f"{old.name}/both"),
            type=None if old.dtype is None else ir.TensorType(old.dtype),
            shape=None if (shape := _both(old, axis)) is None else ir.Shape(shape),
        )
        for old, axis in zip(forward.outputs, (1, 0, 0), strict=False)
    ]
    attributes = {
        k: ir.Attr(k, v.type, [*v.value, *v.value]) if k in _PER_DIRECTION else v
        for k, v in forward.attributes.items()
    }
    attributes["direction"] = ir.AttrString("direction", "bidirectional")
    node = ir.Node(
        "",
        forward.op_type,
        [forward.inputs[0], *merged],
        list(attributes.values()),
        outputs=outputs,
        name=editor.unique_name(f"{forward.name}/both"),
        metadata_props=dict(forward.metadata_props),
    )
    first = next(n for n in graph if n in (forward, backward))
    graph.insert_before(first, node)
    if hidden is not None:
        _join(editor, outputs[0], [forward.outputs[0], backward.outputs[0]], hidden)
    for new, axis, *olds in zip(
        outputs, (1, 0, 0), forward.outputs, backward.outputs, strict=False
    ):
        if any(old.uses() or old.is_graph_output() for old in olds):
            _split(editor, new, axis, olds)


def _both(value: ir.Value, axis: int) -> list[int | str | None] | None:
    known = known_dims(value)
    return None if known is None else [2 if i == axis else d for i, d in enumerate(known)]


def _split(editor: GraphEditor, both: ir.Value, axis: int, olds: list[ir.Value]) -> None:
    """Gives both directions of a result to those who read them."""
    for i, old in enumerate(olds):
        part = editor.make_node(
            "Slice",
            [both, *(editor.add_constant(np.array([n], np.int64)) for n in (i, i + 1, axis))],
            hint=f"{old.name}/part",
            dtype=old.dtype,
            shape=known_dims(old),
        )
        graph, producer = both.graph, both.producer()
        if graph is not None and producer is not None:
            graph.insert_after(producer, part)
            editor.replace(old, part.outputs[0])


def _join(editor: GraphEditor, both: ir.Value, olds: list[ir.Value], hidden: int) -> None:
    """Reads both directions side by side where their units are concatenated, batch first."""
    for concat in list(_readers(olds[0])):
        if concat.op_type != "Concat" or concat.domain or len(concat.inputs) != 2:
            continue
        paths = [_path(value, old) for value, old in zip(concat.inputs, olds, strict=True)]
        if concat.attributes["axis"].as_int() not in (-1, 2) or None in paths:
            continue
        cut = paths[0]
        if cut != paths[1] or cut is None:
            continue
        known = known_dims(concat.outputs[0])
        value = both
        if cut:
            shape = None if known is None else [known[1], 2, known[0], hidden]
            value = _add(editor, concat, "Slice", [both, *cut], shape=shape)
        shape = None if known is None else [known[0], known[1], 2, hidden]
        value = _add(editor, concat, "Transpose", [value], {"perm": _BATCH_FIRST}, shape=shape)
        wanted = editor.add_constant(np.array([0, 0, 2 * hidden], np.int64))
        value = _add(editor, concat, "Reshape", [value, wanted], shape=known)
        editor.replace(concat.outputs[0], value)


def _add(
    editor: GraphEditor,
    place: ir.Node,
    op_type: str,
    inputs: list[ir.Value | None],
    attributes: dict[str, list[int]] | None = None,
    *,
    shape: Sequence[int | str | None] | None,
) -> ir.Value:
    """Puts a node before another one and returns what it makes."""
    dtype = place.outputs[0].dtype
    node = editor.make_node(op_type, inputs, attributes, like=place, dtype=dtype, shape=shape)
    if place.graph is not None:
        place.graph.insert_before(place, node)
    return node.outputs[0]


def _readers(value: ir.Value) -> Iterator[ir.Node]:
    """Yields the nodes that read a value through what changes nothing but its arrangement."""
    for node in value.consumers():
        yield node
        if node.op_type in ("Slice", "Squeeze", "Transpose") and not node.domain:
            yield from _readers(node.outputs[0])


def _path(value: ir.Value | None, source: ir.Value) -> tuple[ir.Value | None, ...] | None:
    """Reads a value as one direction of a result, batch first.

    Returns:
        The bounds that time and batch are cut at, none without a cut; ``None`` if it is not.
    """
    turned = producer_of(value, "Transpose")
    order = None if turned is None else turned.attributes.get("perm")
    if turned is None or order is None or list(order.as_ints()) != [1, 0, 2]:
        return None
    flat = producer_of(turned.inputs[0], "Squeeze")
    if flat is None or len(flat.inputs) != 2 or int_constant(flat.inputs[1]) != (1,):
        return None
    if flat.inputs[0] is source:
        return ()
    cut = producer_of(flat.inputs[0], "Slice")
    if cut is None or cut.inputs[0] is not source or len(cut.inputs) != 4:
        return None
    return tuple(cut.inputs[1:]) if int_constant(cut.inputs[3]) == (0, 2) else None
