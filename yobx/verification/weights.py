"""Copies of a model that name its large weights without holding them.

A check loads several forms of one model: with all values as outputs, with what collects values in
loops, with noise. Each would hold the weights several times: in the proto, in its serialised form,
in what the run time parses, and in the tensors it makes of that. Of a light copy they are written
to a file instead, which the run time maps into memory.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto

__all__ = ["SERIAL_LIMIT", "byte_size", "light", "save_light"]

#: protobuf refuses to serialise more; some room is left for what serialising adds.
SERIAL_LIMIT = 2**31 - 2**24
#: Models below are copied as they are.
_LARGE_MODEL = 2**25
_LARGE_TENSOR = 2**12
_PAGE = 2**12
_FILE = "weights.bin"


def byte_size(model: onnx.ModelProto) -> int:
    """Bytes of a model when serialised, also where protobuf would refuse to."""
    weights = sum(tensor.ByteSize() for tensor in model.graph.initializer)
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
    _copy_fields(model, copy, "graph")
    _copy_fields(model.graph, copy.graph, "initializer")
    for tensor in model.graph.initializer:
        if tensor.ByteSize() < _LARGE_TENSOR or not tensor.HasField("raw_data"):
            copy.graph.initializer.append(tensor)
            continue
        stub = copy.graph.initializer.add(name=tensor.name, data_type=tensor.data_type)
        stub.dims.extend(tensor.dims)
        stub.data_location = TensorProto.EXTERNAL
    return copy


def save_light(model: onnx.ModelProto, weights: onnx.ModelProto, folder: Path) -> Path:
    """Writes a light copy with its weights beside it.

    Args:
        model: What `light` made, perhaps with other nodes since; it gets the places of its weights.
        weights: The model that it is a copy of.
        folder: Where.

    Returns:
        The file to load.
    """
    data = {tensor.name: tensor for tensor in weights.graph.initializer}
    with (folder / _FILE).open("wb") as file:
        for stub in model.graph.initializer:
            if stub.data_location != TensorProto.EXTERNAL:
                continue
            tensor = data[stub.name]
            if tensor.data_location == TensorProto.EXTERNAL:
                continue  # the model itself does not hold it
            file.write(b"\0" * (-file.tell() % _PAGE))  # a mapped tensor starts on a page
            place = file.tell()
            length = file.write(tensor.raw_data)
            del stub.external_data[:]
            for key, value in (("location", _FILE), ("offset", place), ("length", length)):
                stub.external_data.add(key=key, value=str(value))
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def _copy_fields(source: Any, target: Any, left_out: str) -> None:
    """Copies every field of a message but one."""
    for field, value in source.ListFields():
        if field.name == left_out:
            continue
        if hasattr(value, "CopyFrom"):
            getattr(target, field.name).CopyFrom(value)
        elif hasattr(value, "extend"):
            getattr(target, field.name).extend(value)
        else:
            setattr(target, field.name, value)
