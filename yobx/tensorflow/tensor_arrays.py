"""Tensor arrays of TensorFlow 1 become the lists of TensorFlow 2, in a ``GraphDef``.

A ``TensorArrayV3`` is a resource beside a "flow", a float that orders reads and writes. A list is a
value: it takes the place of the flow, and the resource goes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from yobx.errors import ConversionError

__all__ = ["PASSING", "split_input", "with_lists"]

#: What passes values on between frames and branches, as they are.
PASSING = frozenset({"Enter", "Exit", "Identity", "Merge", "NextIteration", "Switch"})
_FAMILY = "TensorArray"


def split_input(text: str) -> tuple[str, int]:
    """Returns the node and the output that an input of a node names; -1 for a control input."""
    if text.startswith("^"):
        return text[1:], -1
    name, _, index = text.partition(":")
    return name, int(index or 0)


def with_lists(graph_def: Any) -> Any:
    """Replaces tensor arrays by lists.

    Args:
        graph_def: A ``GraphDef``; it is not changed.

    Returns:
        The same graph if it holds no ``TensorArrayV3``, else a new one.

    Raises:
        ConversionError: If an operation of another kind takes part, or an array is used in a way
            that lists do not have.
    """
    if not any(node.op == "TensorArrayV3" for node in graph_def.node):
        return graph_def
    made = type(graph_def)()
    made.CopyFrom(graph_def)
    _Rewriting(made).run()
    return made


@dataclass
class _Rewriting:
    """One graph under change.

    Attributes:
        graph: The ``GraphDef``.
        nodes: Name -> node.
        users: Name -> the nodes that take an output of it.
        array: Output of a node -> the array whose handle or flow it is.
        handles: Outputs that are handles.
        made: Name of an array -> its node as it was.
    """

    graph: Any
    nodes: dict[str, Any] = field(init=False)
    users: dict[str, list[Any]] = field(init=False)
    array: dict[tuple[str, int], Any] = field(default_factory=dict)
    handles: set[tuple[str, int]] = field(default_factory=set)
    made: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.made = {
            node.name: type(node).FromString(node.SerializeToString())
            for node in self.graph.node
            if node.op == "TensorArrayV3"
        }
        self.nodes = {node.name: node for node in self.graph.node}
        self.users = {}
        for node in self.graph.node:
            for text in node.input:
                self.users.setdefault(split_input(text)[0], []).append(node)

    def run(self) -> None:
        """Replace all arrays."""
        for node in list(self.graph.node):
            if node.op == "TensorArrayV3":
                self._spread((node.name, 0), node, is_handle=True)
                self._spread((node.name, 1), node, is_handle=False)
        flows = {name for name, _ in set(self.array) - self.handles}
        gone = {name for name, _ in self.handles} - flows
        gone |= {node.name for node in self.graph.node if node.op == "TensorArrayCloseV3"}
        for node in list(self.graph.node):
            if node.name in gone:
                continue
            change = _CHANGES.get(node.op)
            if change is not None:
                array = node if node.op == "TensorArrayV3" else self._array_of(node)
                change(self, node, array)
            elif node.op in PASSING and node.name in flows:
                node.attr["T"].type = _variant()
        kept = [node for node in self.graph.node if node.name not in gone]
        for node in kept:
            kept_inputs = [
                self._renamed(text) for text in node.input if split_input(text)[0] not in gone
            ]
            node.input[:] = kept_inputs
        for i in reversed(range(len(self.graph.node))):
            if self.graph.node[i].name in gone:
                del self.graph.node[i]

    def _renamed(self, text: str) -> str:
        """Name the list where the flow of a new array, its second output, was named."""
        name, index = split_input(text)
        made = self.nodes.get(name)
        return name if index == 1 and made is not None and made.op == "TensorListReserve" else text

    def _spread(self, value: tuple[str, int], array: Any, *, is_handle: bool) -> None:
        """Follow a handle or a flow to all places where it is known under another name."""
        pending = [value]
        while pending:
            value = pending.pop()
            if value in self.array:
                continue
            self.array[value] = array
            if is_handle:
                self.handles.add(value)
            for node in self.users.get(value[0], ()):
                if all(split_input(text) != value for text in node.input):
                    continue
                if node.op in PASSING:
                    outputs = 2 if node.op == "Switch" else 1
                    pending.extend((node.name, i) for i in range(outputs))
                elif not node.op.startswith(_FAMILY):
                    raise ConversionError(
                        "The resource and the flow of a TensorArrayV3 go to operations on tensor "
                        f"arrays only. Received: {array.name!r}, which {node.op} {node.name!r} "
                        "takes. Trace the model with TensorFlow 2, which writes lists."
                    )
                elif not is_handle and node.op in _WRITES:
                    pending.append((node.name, 0))

    def _array_of(self, node: Any) -> Any:
        found = self.array.get(split_input(node.input[0]))
        if found is None:
            raise ConversionError(
                "Every tensor array is made in the graph. Received: the array of "
                f"{node.op} {node.name!r}, which is not."
            )
        return found

    def grows(self, array: Any) -> bool:
        """Tell whether an array has room for more elements than its size."""
        return bool(self.made[array.name].attr["dynamic_size"].b)

    def constant(self, near: Any, label: str, value: Any, dtype: Any) -> str:
        """Add a constant and return its name."""
        import tensorflow as tf

        name = f"{near.name}/{label}"
        while name in self.nodes:
            name += "_"
        node = self.graph.node.add(name=name, op="Const")
        self.nodes[name] = node
        node.attr["dtype"].type = dtype.as_datatype_enum
        node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value, dtype))
        return name

    def element_shape(self, near: Any, shape: Any) -> str:
        """Add a constant with the shape of elements; -1 for what is not known."""
        import tensorflow as tf

        if shape.unknown_rank:
            return self.constant(near, "element_shape", -1, tf.int32)
        sizes = [dim.size for dim in shape.dim]
        return self.constant(near, "element_shape", sizes, tf.int32)

    def become(self, node: Any, op: str, inputs: list[str], dtype: int, *types: str) -> None:
        """Turn a node into an operation on lists; further type attributes are int32."""
        import tensorflow as tf

        control = [text for text in node.input if text.startswith("^")]
        node.op = op
        node.input[:] = [*inputs, *control]
        node.attr.clear()
        node.attr["element_dtype"].type = dtype
        for name in types:
            node.attr[name].type = tf.int32.as_datatype_enum


def _variant() -> int:
    import tensorflow as tf

    return int(tf.variant.as_datatype_enum)


def _made(graph: _Rewriting, node: Any, array: Any) -> None:
    shape = graph.element_shape(node, node.attr["element_shape"].shape)
    inputs = [shape, node.input[0]]
    graph.become(node, "TensorListReserve", inputs, node.attr["dtype"].type, "shape_type")


def _written(graph: _Rewriting, node: Any, array: Any) -> None:
    _, index, value, flow = node.input[:4]
    graph.become(node, "TensorListSetItem", [flow, index, value], node.attr["T"].type)
    node.attr["resize_if_index_out_of_bounds"].b = graph.grows(array)


def _read(graph: _Rewriting, node: Any, array: Any) -> None:
    _, index, flow = node.input[:3]
    shape = graph.element_shape(node, graph.made[array.name].attr["element_shape"].shape)
    inputs = [flow, index, shape]
    graph.become(node, "TensorListGetItem", inputs, node.attr["dtype"].type)


def _gathered(graph: _Rewriting, node: Any, array: Any) -> None:
    _, indices, flow = node.input[:3]
    shape = graph.element_shape(node, node.attr["element_shape"].shape)
    graph.become(node, "TensorListGather", [flow, indices, shape], node.attr["dtype"].type)


def _scattered(graph: _Rewriting, node: Any, array: Any) -> None:
    import tensorflow as tf

    _, indices, value, flow = node.input[:4]
    dtype = node.attr["T"].type
    if not graph.grows(array):
        inputs = [flow, value, indices]
        graph.become(node, "TensorListScatterIntoExistingList", inputs, dtype)
        return
    if split_input(flow) != (array.name, 1):
        raise ConversionError(
            "A TensorArrayV3 of dynamic_size is filled by TensorArrayScatterV3 while it is empty. "
            f"Received: {node.name!r}, which fills one that was written before."
        )
    shape = graph.constant(node, "element_shape", -1, tf.int32)
    count = graph.constant(node, "num_elements", -1, tf.int32)
    inputs = [value, indices, shape, count]
    graph.become(node, "TensorListScatterV2", inputs, dtype, "shape_type")


def _sized(graph: _Rewriting, node: Any, array: Any) -> None:
    _, flow = node.input[:2]
    graph.become(node, "TensorListLength", [flow], 0)
    node.attr.clear()


def _joined(graph: _Rewriting, node: Any, array: Any) -> None:
    import tensorflow as tf

    _, flow = node.input[:2]
    shape = graph.constant(node, "element_shape", -1, tf.int32)
    sizes = graph.constant(node, "leading_dims", [], tf.int64)
    inputs = [flow, shape, sizes]
    graph.become(node, "TensorListConcatV2", inputs, node.attr["dtype"].type, "shape_type")


def _cut(graph: _Rewriting, node: Any, array: Any) -> None:
    import tensorflow as tf

    _, value, lengths, _ = node.input[:4]
    shape = graph.constant(node, "element_shape", -1, tf.int32)
    inputs = [value, shape, lengths]
    graph.become(node, "TensorListSplit", inputs, node.attr["T"].type, "shape_type")


_WRITES = frozenset({"TensorArrayWriteV3", "TensorArrayScatterV3", "TensorArraySplitV3"})
_CHANGES: dict[str, Callable[[_Rewriting, Any, Any], None]] = {
    "TensorArrayV3": _made,
    "TensorArrayWriteV3": _written,
    "TensorArrayReadV3": _read,
    "TensorArrayGatherV3": _gathered,
    "TensorArrayScatterV3": _scattered,
    "TensorArraySizeV3": _sized,
    "TensorArrayConcatV3": _joined,
    "TensorArraySplitV3": _cut,
}
