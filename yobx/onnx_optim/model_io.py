"""Reading a model without its weights, and the checks that need the whole graph."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import onnx
from google.protobuf import json_format, text_format
from google.protobuf.message import DecodeError

from yobx.errors import ArgumentError, InvalidModelError
from yobx.onnx_optim.attributes import is_external
from yobx.onnx_optim.optim_dim import OptimDim

__all__ = ["declared_symbols", "external_tensors", "load_model", "run_order", "subgraphs"]

_UNREADABLE = (
    DecodeError,
    ValueError,
    onnx.parser.ParseError,
    json_format.ParseError,
    text_format.ParseError,
)


class MissingInputError(InvalidModelError):
    """A node reads a name that nothing before it produces."""


def load_model(source: onnx.ModelProto | str | os.PathLike[str]) -> onnx.ModelProto:
    """The model of a file, external data not read (so no path in it is ever followed).

    Raises:
        ArgumentError: There is no such file.
        InvalidModelError: The file is no ONNX model, or is cut off.
    """
    if isinstance(source, onnx.ModelProto):
        return source
    if not isinstance(source, str | os.PathLike):
        raise ArgumentError(
            f"A model is a ModelProto or the path of a file. Received: {type(source).__name__}.",
            argument="model",
        )
    path = Path(source)
    try:
        model = onnx.load(path, load_external_data=False)
    except OSError as error:
        raise ArgumentError(
            f"The model file must be readable. Received: {str(path)!r}: {error.strerror}.",
            argument="model",
        ) from None
    except _UNREADABLE as error:
        raise InvalidModelError(
            f"A model file must hold a whole ONNX model. Received: {str(path)!r}, "
            f"{path.stat().st_size} bytes, which cannot be read ({error}). It may be cut off or "
            "not be an ONNX file."
        ) from None
    _require_text(model, path)
    return model


def _require_text(model: onnx.ModelProto, path: Path) -> None:
    """Require names to be text: a damaged file may hold any bytes in their place."""
    headers: list[str] = [o.domain for o in model.opset_import]
    for function in model.functions:
        headers += [function.domain, function.overload, *function.attribute]
        headers += [o.domain for o in function.opset_import]
    for graph in subgraphs([model.graph, *model.functions]):
        names = [graph.name, *headers]
        for node in graph.node:
            names += [node.op_type, node.domain, node.name, *node.input, *node.output]
            names += [attribute.name for attribute in node.attribute]
        values = list(graph.value_info)
        if isinstance(graph, onnx.GraphProto):
            values += [*graph.input, *graph.output]
            names += [tensor.name for tensor in graph.initializer]
        else:
            names += [*graph.input, *graph.output]
        for value in values:
            names.append(value.name)
            names += [d.dim_param for d in value.type.tensor_type.shape.dim]
        # Protocol buffers hand out bytes for what is no text.
        broken = next((name for name in names if not isinstance(name, str)), None)
        if broken is not None:
            raise InvalidModelError(
                f"The names in a model must be UTF-8 text. Received: {broken!r} in {str(path)!r}. "
                "The file may be damaged."
            )


def require_graph(model: onnx.ModelProto) -> None:
    """Require that the model is not empty.

    Raises:
        InvalidModelError: It has no graph or imports no opset.
    """
    if not model.HasField("graph"):
        raise InvalidModelError(
            "A model must have a graph. Received: a model without. Is it a whole ONNX file?"
        )
    if not model.opset_import and model.ir_version >= 3:
        raise InvalidModelError(
            "A model must import an opset. Received: no opset_import.",
            hint="Try onnx.checker.check_model.",
        )


def subgraphs(
    roots: Sequence[onnx.GraphProto | onnx.FunctionProto],
) -> Iterator[onnx.GraphProto | onnx.FunctionProto]:
    """The graphs and all graphs inside their nodes, without recursion."""
    stack = list(roots)
    while stack:
        graph = stack.pop()
        yield graph
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH or attribute.HasField("g"):
                    stack.append(attribute.g)
                elif attribute.type == onnx.AttributeProto.GRAPHS:
                    stack.extend(attribute.graphs)


def declared_symbols(model: onnx.ModelProto) -> set[str]:
    """Symbols of all dimensions that the model names anywhere."""
    found: set[str] = set()
    for graph in subgraphs([model.graph, *model.functions]):
        values = list(graph.value_info)
        if isinstance(graph, onnx.GraphProto):
            values += [*graph.input, *graph.output]
        for value in values:
            found |= symbols_of_type(value.type)
    return found


def symbols_of_type(proto: onnx.TypeProto) -> set[str]:
    """Symbols of the dimensions of a type."""
    found: set[str] = set()
    while True:
        kind = proto.WhichOneof("value")
        if kind in ("sequence_type", "optional_type"):
            proto = getattr(proto, kind).elem_type
            continue
        if kind in ("tensor_type", "sparse_tensor_type"):
            for dim in getattr(proto, kind).shape.dim:
                if dim.dim_param:
                    found |= OptimDim(dim.dim_param).symbols()
        return found


def captured_names(node: onnx.NodeProto) -> set[str]:
    """Names that a node reads: its inputs, and what its subgraphs read from outside."""
    read = {name for name in node.input if name}
    bodies = [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
    if bodies:
        made: set[str] = set()
        for graph in subgraphs(bodies):
            made.update(t.name for t in getattr(graph, "initializer", ()))
            made.update(v if isinstance(v, str) else v.name for v in graph.input)
            for inner in graph.node:
                made.update(inner.output)
                read.update(name for name in inner.input if name)
        read -= made
    return read


def run_order(nodes: Sequence[onnx.NodeProto], known: Collection[str]) -> list[int]:
    """Positions of the nodes in an order in which each runs after those it reads from.

    Args:
        nodes: The nodes of one graph.
        known: Names that exist before the first node runs.

    Raises:
        InvalidModelError: A name does not exist, or nodes wait for each other.
    """
    producer = {name: i for i, node in enumerate(nodes) for name in node.output if name}
    waits: list[int] = []
    readers: dict[int, list[int]] = {}
    for i, node in enumerate(nodes):
        sources = set()
        for name in captured_names(node):
            if name in producer:
                sources.add(producer[name])
            elif name not in known and name in node.input:
                raise MissingInputError(
                    "Every input of a node must be a graph input, an initializer or the output of "
                    f"a node. Received: {name!r}. Where: {node.op_type} {node.name!r} at index "
                    f"{i} -> {', '.join(node.output)}.",
                    hint="Try onnx.checker.check_model.",
                )
        waits.append(len(sources))
        for source in sources:
            readers.setdefault(source, []).append(i)
    ready = [i for i, count in enumerate(waits) if not count]
    order: list[int] = []
    for i in ready:
        order.append(i)
        for reader in readers.get(i, ()):
            waits[reader] -= 1
            if not waits[reader]:
                ready.append(reader)
    if len(order) < len(nodes):
        stuck = [i for i, count in enumerate(waits) if count]
        shown = ", ".join(f"{nodes[i].op_type} -> {', '.join(nodes[i].output)}" for i in stuck[:4])
        raise InvalidModelError(
            f"The nodes of a graph must not wait for each other in a cycle. Received: {len(stuck)} "
            f"nodes that do or depend on such: {shown}."
        )
    return order


def external_tensors(model: onnx.ModelProto) -> list[str]:
    """Names of the tensors whose contents are in other files: weights and attributes, anywhere."""
    found: list[onnx.TensorProto] = []
    for graph in subgraphs([model.graph, *model.functions]):
        if isinstance(graph, onnx.GraphProto):
            found += graph.initializer
            found += [t for s in graph.sparse_initializer for t in (s.values, s.indices)]
        for node in graph.node:
            for attribute in node.attribute:
                found += [attribute.t, *attribute.tensors]
    return [tensor.name for tensor in found if is_external(tensor)]
