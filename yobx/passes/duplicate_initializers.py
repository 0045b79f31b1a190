"""Equal initializers, kept once."""

from __future__ import annotations

import hashlib

import onnx_ir as ir

from yobx.passes.graph_edit import graphs_of

__all__ = ["merge_initializers"]

_HASHED_BYTES = 1 << 20


def merge_initializers(model: ir.Model) -> None:
    """Makes all users of equal initializers share one; graph outputs keep their own.

    Args:
        model: Model, changed in place.
    """
    for graph in graphs_of(model):
        seen: dict[tuple[object, ...], ir.Value] = {}
        for value in list(graph.initializers.values()):
            tensor = value.const_value
            if (
                tensor is None
                or tensor.dtype == ir.DataType.STRING
                or value.is_graph_input()
                or value.is_graph_output()
            ):
                continue
            # Large weights that are equal are one array, passed by reference.
            raw = tensor.raw if isinstance(tensor, ir.Tensor) else tensor
            content: object = id(raw)
            if tensor.nbytes <= _HASHED_BYTES:
                content = hashlib.sha256(tensor.tobytes()).digest()
            first = seen.setdefault((tensor.dtype, tuple(tensor.shape.numpy()), content), value)
            if first is not value:
                value.replace_all_uses_with(first)
                del graph.initializers[value.name or ""]
