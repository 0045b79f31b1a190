"""A model without its large weights: what inference and the checker need, at no memory cost."""

from __future__ import annotations

import onnx
import onnx_ir

__all__ = ["SMALL_TENSOR_BYTES", "skeleton"]

SMALL_TENSOR_BYTES = 4096
"""Initializers up to this size stay, since shapes may depend on their values."""


def skeleton(model: onnx_ir.Model) -> tuple[onnx.ModelProto, frozenset[str]]:
    """Serialises a model with its large initializers declared as inputs.

    Args:
        model: Model, left as it is.

    Returns:
        The proto, and the names of the initializers that became inputs.
    """
    graph = model.graph
    tensors = {
        name: value.const_value
        for name, value in graph.initializers.items()
        if value.const_value is not None
        and value.const_value.dtype != onnx_ir.DataType.STRING  # Strings have no size in bytes.
        and value.const_value.nbytes > SMALL_TENSOR_BYTES
    }
    large = {name: graph.initializers[name] for name in tensors}
    try:
        for name, value in large.items():
            value.const_value = _without_data(name, tensors[name])
        proto = onnx_ir.to_proto(model)
    finally:
        for name, value in large.items():
            value.const_value = tensors[name]
    # An initializer says its own type; a second statement in value_info is redundant.
    inner = [info for info in proto.graph.value_info if info.name not in graph.initializers]
    del proto.graph.value_info[:]
    proto.graph.value_info.extend(inner)
    small = [tensor for tensor in proto.graph.initializer if tensor.name not in large]
    already = {info.name for info in proto.graph.input}
    proto.graph.input.extend(
        onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tuple(tensor.dims))
        for tensor in proto.graph.initializer
        if tensor.name in large and tensor.name not in already
    )
    del proto.graph.initializer[:]
    proto.graph.initializer.extend(small)
    return proto, frozenset(large)


def _without_data(name: str, tensor: onnx_ir.TensorProtocol) -> onnx_ir.TensorProtocol:
    sizes = [int(size) for size in tensor.shape.numpy()]
    stub = onnx.TensorProto(name=name, data_type=int(tensor.dtype), dims=sizes)
    return onnx_ir.serde.TensorProtoTensor(stub)
