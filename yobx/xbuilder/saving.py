"""Weights into the proto, or streamed into a data file; a failed write leaves nothing behind."""

from __future__ import annotations

import uuid
from pathlib import Path

import onnx
import onnx_ir

__all__ = ["save", "serialize"]

_ALIGNMENT = 4096
_EXTERNAL_MIN_BYTES = 1024


def _restore(proto: onnx.ModelProto, model: onnx_ir.Model, hidden: frozenset[str]) -> None:
    """Undoes the skeleton: the hidden initializers are no inputs, and come in model order."""
    original = {value.name for value in model.graph.inputs}
    kept = [info for info in proto.graph.input if info.name in original]
    del proto.graph.input[:]
    proto.graph.input.extend(kept)
    small = {tensor.name: tensor for tensor in proto.graph.initializer}
    del proto.graph.initializer[:]
    for name, value in model.graph.initializers.items():
        if name in hidden:
            tensor = value.const_value
            if tensor is None:
                continue
            proto.graph.initializer.add(
                name=name, data_type=int(tensor.dtype), dims=tensor.shape.numpy()
            )
        else:
            proto.graph.initializer.append(small[name])


def serialize(
    proto: onnx.ModelProto, model: onnx_ir.Model, hidden: frozenset[str]
) -> onnx.ModelProto:
    """Puts the weights into the proto.

    Args:
        proto: Inferred skeleton, changed in place.
        model: Model with the weights.
        hidden: Initializers that the skeleton leaves out.

    Returns:
        The same proto, complete.
    """
    _restore(proto, model, hidden)
    for tensor in proto.graph.initializer:
        if tensor.name in hidden:
            _fill(tensor, model)
    return proto


def _fill(tensor: onnx.TensorProto, model: onnx_ir.Model) -> None:
    value = model.graph.initializers[tensor.name].const_value
    if value is None:
        return
    if isinstance(value, onnx_ir.StringTensor):
        tensor.string_data.extend(value.string_data())
    else:
        tensor.raw_data = value.tobytes()


def save(
    proto: onnx.ModelProto,
    model: onnx_ir.Model,
    hidden: frozenset[str],
    path: Path,
    *,
    external: bool,
) -> onnx.ModelProto:
    """Writes the model; both files appear at their names only when complete.

    Args:
        proto: Inferred skeleton, changed in place.
        model: Model with the weights.
        hidden: Initializers that the skeleton leaves out.
        path: File to write.
        external: Whether the weights go to ``<path>.data``.

    Returns:
        The proto as it was written.
    """
    _restore(proto, model, hidden)
    data_path = path.with_name(path.name + ".data")
    temporary: list[Path] = []
    try:
        if external:
            temporary.append(_temporary(path))
            _stream(proto, model, hidden, temporary[0], data_path.name)
        else:
            for tensor in proto.graph.initializer:
                if tensor.name in hidden:
                    _fill(tensor, model)
        temporary.append(_temporary(path))
        temporary[-1].write_bytes(proto.SerializeToString(deterministic=True))
        if external:
            temporary[0].replace(data_path)
        temporary[-1].replace(path)
    finally:
        for leftover in temporary:
            leftover.unlink(missing_ok=True)
    return proto


def _temporary(path: Path) -> Path:
    created = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    created.touch(exist_ok=False)
    return created


def _stream(
    proto: onnx.ModelProto,
    model: onnx_ir.Model,
    hidden: frozenset[str],
    data_path: Path,
    location: str,
) -> None:
    """Writes the hidden tensors one after the other, each from its own buffer."""
    with data_path.open("wb") as file:
        for tensor in proto.graph.initializer:
            value = model.graph.initializers[tensor.name].const_value
            if tensor.name not in hidden or value is None:
                continue
            if isinstance(value, onnx_ir.StringTensor):
                _fill(tensor, model)
                continue
            offset = -(-file.tell() // _ALIGNMENT) * _ALIGNMENT
            file.seek(offset)
            if isinstance(value, (onnx_ir.Tensor, onnx_ir.ExternalTensor)):
                value.tofile(file)
            else:
                file.write(value.tobytes())
            length = file.tell() - offset
            tensor.data_location = onnx.TensorProto.EXTERNAL
            for key, text in (("location", location), ("offset", offset), ("length", length)):
                tensor.external_data.add(key=key, value=str(text))
