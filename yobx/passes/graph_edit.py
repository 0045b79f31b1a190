"""What the passes share: reading constants, making nodes and values, replacing values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

__all__ = [
    "GraphEditor",
    "constant",
    "graphs_of",
    "int_constant",
    "known_dims",
    "producer_of",
    "rank_of",
    "scalar_constant",
]

Array = npt.NDArray[Any]
_SMALL_BYTES = 4096


def constant(value: ir.Value | None) -> Array | None:
    """Returns the array of an initializer or of a Constant node, ``None`` for anything else.

    Args:
        value: Value or omitted input.
    """
    if value is None:
        return None
    if value.is_initializer():
        # An initializer that is also an input is a default which a run may override.
        tensor = None if value.is_graph_input() else value.const_value
        return None if tensor is None else tensor.numpy()
    producer = value.producer()
    if producer is None or producer.op_type != "Constant" or producer.domain:
        return None
    if any(name in _UNREAD or item.is_ref() for name, item in producer.attributes.items()):
        return None
    tensor = ir.convenience.get_const_tensor(value)
    return None if tensor is None else tensor.numpy()


_UNREAD = frozenset(("sparse_value", "value_string", "value_strings"))


def int_constant(value: ir.Value | None) -> tuple[int, ...] | None:
    """Returns the elements of a constant of integers of rank 0 or 1.

    Args:
        value: Value or omitted input.
    """
    array = constant(value)
    if array is None or array.ndim > 1 or array.dtype.kind not in "iu":
        return None
    return tuple(int(item) for item in array.reshape(-1))


def scalar_constant(value: ir.Value | None) -> float | None:
    """Returns the only element of a numeric constant.

    Args:
        value: Value or omitted input.
    """
    array = constant(value)
    if array is None or array.size != 1 or array.dtype.kind in "OUSc":
        return None
    return float(array.reshape(-1)[0])


def producer_of(value: ir.Value | None, op_type: str) -> ir.Node | None:
    """Returns the node of a standard operator that makes a value, ``None`` for any other.

    Args:
        value: Value or omitted input.
        op_type: Operator.
    """
    node = None if value is None else value.producer()
    return node if node is not None and node.op_type == op_type and not node.domain else None


def rank_of(value: ir.Value | None) -> int | None:
    """Returns the rank of a value, ``None`` when unknown.

    Args:
        value: Value or omitted input.
    """
    return None if value is None or value.shape is None else value.shape.rank()


def known_dims(value: ir.Value | None) -> tuple[int | str | None, ...] | None:
    """Returns the sizes of a value: a number, a name, or ``None`` where unknown.

    Args:
        value: Value or omitted input.

    Returns:
        The sizes, or ``None`` when the rank is unknown.
    """
    if value is None or value.shape is None:
        return None
    return tuple(dim if isinstance(dim, int) else dim.value for dim in value.shape)


def graphs_of(model: ir.Model) -> list[ir.Graph]:
    """Returns the main graph and all graphs nested in it; the bodies of functions are left out.

    Args:
        model: Model.
    """
    found = [model.graph]
    for graph in found:
        for node in graph:
            if node.op_type in _PLAIN:
                continue
            for attribute in node.attributes.values():
                if attribute.type == ir.AttributeType.GRAPH and not attribute.is_ref():
                    found.append(attribute.as_graph())
                elif attribute.type == ir.AttributeType.GRAPHS and not attribute.is_ref():
                    found.extend(attribute.as_graphs())
    return found


# The most frequent operators, which hold no graphs; looking at their attributes would take longer
# than all the rest.
_PLAIN = frozenset(("Conv", "Add", "Mul", "Sub", "Relu", "MatMul", "Transpose", "Reshape", "Cast"))


def _string_tensor(array: Array, name: str) -> ir.StringTensor:
    """Wraps an array of text or bytes as a tensor."""
    data = [item if isinstance(item, bytes) else str(item).encode() for item in array.ravel()]
    return ir.StringTensor(data, shape=ir.Shape(array.shape), name=name)


class GraphEditor:
    """Edits one model: every new value gets a name that is free, the same one in every run.

    Args:
        model: Model to edit.
    """

    def __init__(self, model: ir.Model) -> None:
        self.model = model
        self._names: set[str] = set()
        self._constants: dict[tuple[str, tuple[int, ...], bytes], ir.Value] = {}
        for graph in graphs_of(model):
            self._names.update(value.name or "" for value in graph.inputs)
            self._names.update(graph.initializers)
            for node in graph:
                self._names.add(node.name or "")
                self._names.update(value.name or "" for value in node.outputs)

    def unique_name(self, hint: str) -> str:
        """Reserves a name.

        Args:
            hint: Wanted name.

        Returns:
            The name, with a number if it was taken.
        """
        name, count = hint, 0
        while name in self._names:
            count += 1
            name = f"{hint}_{count}"
        self._names.add(name)
        return name

    def add_constant(self, array: Array, hint: str = "cst") -> ir.Value:
        """Adds an initializer to the main graph; small equal ones are made once.

        Args:
            array: Its value.
            hint: Wanted name.

        Returns:
            The value, to be used in any graph of the model.
        """
        # A turned weight stays a view: it is copied once, into the model.
        small = array.nbytes <= _SMALL_BYTES
        text = array.dtype.kind in "OSU"
        content = repr(array.tolist()).encode() if text else array.tobytes() if small else b""
        key = (str(array.dtype), array.shape, content)
        found = self._constants.get(key) if small else None
        if found is not None and self.model.graph.initializers.get(found.name or "") is found:
            return found
        name = self.unique_name(hint)
        tensor = _string_tensor(array, name) if text else ir.Tensor(array, name=name)
        value = self._register(name, tensor)
        if small:
            self._constants[key] = value
        return value

    def add_lazy_constant(
        self, make: Callable[[], Array], shape: Sequence[int], dtype: np.dtype[Any], hint: str
    ) -> ir.Value:
        """Adds an initializer whose values, when it is large, are computed as they are written.

        Args:
            make: Computes the array.
            shape: Its shape.
            dtype: Its element type, a numeric one.
            hint: Wanted name.

        Returns:
            The value, to be used in any graph of the model.
        """
        if math.prod(shape) * dtype.itemsize <= _SMALL_BYTES:
            return self.add_constant(make(), hint)
        name = self.unique_name(hint)
        tensor = ir.LazyTensor(
            lambda: ir.Tensor(make(), name=name),
            dtype=ir.DataType.from_numpy(dtype),
            shape=ir.Shape(shape),
            name=name,
        )
        return self._register(name, tensor)

    def _register(self, name: str, tensor: ir.TensorProtocol) -> ir.Value:
        value = ir.Value(
            name=name,
            type=ir.TensorType(tensor.dtype),
            shape=ir.Shape(tensor.shape.numpy()),
            const_value=tensor,
        )
        self.model.graph.register_initializer(value)
        return value

    def make_node(
        self,
        op_type: str,
        inputs: Sequence[ir.Value | None],
        attributes: Mapping[str, Any] | None = None,
        *,
        like: ir.Node | None = None,
        hint: str | None = None,
        dtype: ir.DataType | None = None,
        shape: Iterable[int | str | None] | None = None,
    ) -> ir.Node:
        """Makes a node with one output, not yet in any graph.

        Args:
            op_type: Operator of the standard domain.
            inputs: Its inputs.
            attributes: Its attributes as Python values.
            like: Node whose provenance it takes over.
            hint: Wanted name of the output.
            dtype: Element type of the output.
            shape: Shape of the output.

        Returns:
            The node.
        """
        name = self.unique_name(hint or (inputs[0].name if inputs and inputs[0] else op_type) or "")
        output = ir.Value(
            name=name,
            type=None if dtype is None else ir.TensorType(dtype),
            shape=None if shape is None else ir.Shape(shape),
        )
        return ir.Node(
            "",
            op_type,
            inputs,
            [
                ir.convenience.convert_attribute(key, value)
                for key, value in (attributes or {}).items()
            ],
            outputs=[output],
            name=self.unique_name(f"{name}/{op_type}"),
            metadata_props=dict(like.metadata_props) if like is not None else None,
        )

    def insert_after(self, anchor: ir.Value, node: ir.Node, graph: ir.Graph) -> None:
        """Puts a node right behind the producer of a value, or first in the graph.

        Args:
            anchor: Value the node reads.
            node: Node to insert.
            graph: Graph to use when the value has no producer there.
        """
        producer = anchor.producer()
        if producer is not None and producer.graph is graph:
            graph.insert_after(producer, node)
        elif len(graph):
            graph.insert_before(graph[0], node)
        else:
            graph.append(node)

    @staticmethod
    def replace(old: ir.Value, new: ir.Value) -> bool:
        """Makes every user of a value read another one, keeping the names of graph outputs.

        Args:
            old: Value to be replaced.
            new: Value to read instead, of the same type and shape.

        Returns:
            Whether it was possible; an output of the graph cannot become one of its inputs,
            initializers, outer values, or another output.
        """
        if old is new:
            return False
        if old.is_graph_output():
            if (
                new.is_graph_output()
                or new.is_graph_input()
                or new.is_initializer()
                or old.graph is not new.graph
            ):
                return False
            name, old_name = new.name, old.name
            old.name = f"{old_name}/replaced"
            new.name = old_name
            old.name = name
        old.replace_all_uses_with(new, replace_graph_outputs=True)
        return True
