"""Copies of a model that name its large weights without holding them.

A check loads several forms of one model: with all values as outputs, with what collects values in
loops, with noise. Each would hold the weights several times: in the proto, in its serialised form,
in what the run time parses, and in the tensors it makes of that. Of a light copy they are written
to a file instead, which the run time maps into memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto

from yobx.verification.error_classes import subgraphs

__all__ = ["SERIAL_LIMIT", "byte_size", "is_light", "light", "save_light"]

#: protobuf refuses to serialise more; some room is left for what serialising adds.
SERIAL_LIMIT = 2**31 - 2**24
#: Models below are copied as they are.
_LARGE_MODEL = 2**25
_LARGE_TENSOR = 2**12
_PAGE = 2**12
_FILE = "weights.bin"
# In the description of a tensor without its data, before its number among those of the model.
_NUMBER = "yobx: weight "


def byte_size(model: onnx.ModelProto) -> int:
    """Bytes of a model when serialised, also where protobuf would refuse to."""
    weights = sum(tensor.ByteSize() for tensor in _initializers(model.graph))
    return weights if weights >= SERIAL_LIMIT else model.ByteSize()


def light(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy of a model; where that is large its weights have a type and a shape, and no data.

    Args:
        model: The model; it is not changed.

    Returns:
        The copy, for `save_light` with the model itself.
    """
    copy = onnx.ModelProto()
    if byte_size(model) < _LARGE_MODEL:
        copy.CopyFrom(model)
        return copy
    _copy_fields(model, copy, {"graph"})
    _copy_graph(model.graph, copy.graph, itertools.count())
    return copy


def is_light(model: onnx.ModelProto) -> bool:
    """Whether a model has tensors, in its graph or in bodies, whose data are elsewhere."""
    return any(t.data_location == TensorProto.EXTERNAL for t in _initializers(model.graph))


def _initializers(graph: onnx.GraphProto) -> Iterator[TensorProto]:
    """The initializers of a graph, then those of the bodies of its nodes."""
    yield from graph.initializer
    for node in graph.node:
        for body in subgraphs(node):
            yield from _initializers(body)


def _copy_graph(source: onnx.GraphProto, target: onnx.GraphProto, numbers: Iterator[int]) -> None:
    """Copies a graph and its bodies, with numbers in the place of the data of large weights."""
    _copy_fields(source, target, {"initializer", "node"})
    for tensor in source.initializer:
        number = next(numbers)
        if tensor.ByteSize() < _LARGE_TENSOR or not tensor.HasField("raw_data"):
            target.initializer.append(tensor)
            continue
        stub = target.initializer.add(name=tensor.name, data_type=tensor.data_type)
        stub.dims.extend(tensor.dims)
        stub.data_location = TensorProto.EXTERNAL
        stub.doc_string = f"{_NUMBER}{number}"
    for node in source.node:
        if not any(True for _ in subgraphs(node)):
            target.node.append(node)
            continue
        copy = target.node.add()
        _copy_fields(node, copy, {"attribute"})
        for attribute in node.attribute:
            own = copy.attribute.add()
            _copy_fields(attribute, own, {"g", "graphs"})
            if attribute.type == onnx.AttributeProto.GRAPH:
                _copy_graph(attribute.g, own.g, numbers)
            for body in attribute.graphs:
                _copy_graph(body, own.graphs.add(), numbers)


def save_light(model: onnx.ModelProto, weights: onnx.ModelProto, folder: Path) -> Path:
    """Writes a light copy with its weights beside it.

    Args:
        model: What `light` made, perhaps with other nodes since; it gets the places of its weights.
        weights: The model that it is a copy of.
        folder: Where.

    Returns:
        The file to load.
    """
    data = list(_initializers(weights.graph))
    with (folder / _FILE).open("wb") as file:
        for stub in _initializers(model.graph):
            if not stub.doc_string.startswith(_NUMBER):
                continue  # the data are there, or the model itself does not hold them
            tensor = data[int(stub.doc_string.removeprefix(_NUMBER))]
            file.write(b"\0" * (-file.tell() % _PAGE))  # a mapped tensor starts on a page
            place = file.tell()
            length = file.write(tensor.raw_data)
            del stub.external_data[:]
            for key, value in (("location", _FILE), ("offset", place), ("length", length)):
                stub.external_data.add(key=key, value=str(value))
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def _copy_fields(source: Any, target: Any, left_out: set[str]) -> None:
    """Copies every field of a message but some."""
    for field, value in source.ListFields():
        if field.name in left_out:
            continue
        if hasattr(value, "CopyFrom"):
            getattr(target, field.name).CopyFrom(value)
        elif hasattr(value, "extend"):
            getattr(target, field.name).extend(value)
        else:
            setattr(target, field.name, value)
