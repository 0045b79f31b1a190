"""Types and shapes of the values of an ONNX model, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnx import ModelProto, TypeProto, ValueInfoProto

__all__ = ["ValueRow", "describe_type", "describe_value", "rows"]


@dataclass(frozen=True)
class ValueRow:
    """One value of the main graph.

    Attributes:
        name: Its name.
        type: Its type and shape, for example ``"float32[batch, 4]"``.
        producer: The node that makes it, ``"input"`` for an input.
        is_known: Whether every size is known or named.
    """

    name: str
    type: str
    producer: str
    is_known: bool


def describe_type(proto: TypeProto) -> tuple[str, bool]:
    """Write a type as ``float32[batch, 4]``.

    Args:
        proto: A tensor, sequence, optional or map type.

    Returns:
        The text, in which ``?`` is an unknown size and ``[...]`` an unknown rank, and whether
        nothing is unknown.
    """
    from onnx import TensorProto, helper

    kind = proto.WhichOneof("value")
    if kind in {"sequence_type", "optional_type"}:
        text, known = describe_type(getattr(proto, kind).elem_type)
        return f"{kind.partition('_')[0]}({text})", known
    if kind == "map_type":
        key = TensorProto.DataType.Name(proto.map_type.key_type).lower()
        text, known = describe_type(proto.map_type.value_type)
        return f"map({key}, {text})", known
    if kind not in {"tensor_type", "sparse_tensor_type"}:
        return "?", False
    tensor = getattr(proto, kind)
    dtype = "?"
    if tensor.elem_type == TensorProto.STRING:
        dtype = "string"
    elif tensor.elem_type:
        dtype = str(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    if not tensor.HasField("shape"):
        return f"{dtype}[...]", False
    sizes = [
        str(dim.dim_value) if dim.HasField("dim_value") else dim.dim_param or "?"
        for dim in tensor.shape.dim
    ]
    return f"{dtype}[{', '.join(sizes)}]", dtype != "?" and "?" not in sizes


def describe_value(value: ValueInfoProto) -> str:
    """Write a value as ``name: float32[batch, 4]``.

    Args:
        value: The value.

    Returns:
        The text.
    """
    return f"{value.name}: {describe_type(value.type)[0]}"


def rows(model: ModelProto) -> Iterator[ValueRow]:
    """List the values of the main graph in the order in which they are made.

    Args:
        model: A model after shape inference.

    Yields:
        Inputs, then the outputs of every node.
    """
    graph = model.graph
    types = {value.name: value.type for value in (*graph.value_info, *graph.output)}
    for value in graph.input:
        yield ValueRow(value.name, *_split(value.type, "input"))
    for index, node in enumerate(graph.node):
        label = f"#{index} {node.op_type}" + (f" {node.name}" if node.name else "")
        for name in filter(None, node.output):
            if name in types:
                yield ValueRow(name, *_split(types[name], label))
            else:
                yield ValueRow(name, "?", label, False)


def _split(proto: TypeProto, producer: str) -> tuple[str, str, bool]:
    text, known = describe_type(proto)
    return text, producer, known
