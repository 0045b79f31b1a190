"""What onnx knows of the operator of a node: its schema, and the body that defines it."""

from __future__ import annotations

from typing import Any

import onnx

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.type_protos import type_of_descriptor

__all__ = ["input_types", "schema_function", "schema_of"]


def schema_of(view: NodeView) -> onnx.defs.OpSchema | None:
    """Schema of the operator in this opset, or ``None``."""
    try:
        return onnx.defs.get_schema(view.op_type, view.version, view.domain)
    except onnx.defs.SchemaError:
        return None


def input_types(view: NodeView) -> list[onnx.TypeProto] | None:
    """Types of the inputs; an omitted one is an empty type; ``None`` if one is unknown."""
    types = []
    for descriptor in view.inputs:
        proto = onnx.TypeProto() if descriptor is None else type_of_descriptor(descriptor)
        if proto is None:
            return None
        types.append(proto)
    return types


def schema_function(view: NodeView) -> onnx.FunctionProto | None:
    """Body that the operator's schema defines for this opset and these types, or ``None``."""
    # The stubs of onnx do not know these members of a schema.
    schema: Any = schema_of(view)
    if schema is None:
        return None
    version = view.context.opset_version("")
    proto = onnx.FunctionProto()
    if schema.has_function:
        known = [v for v in schema.function_opset_versions if v <= version]
        if not known:
            return None
        data = schema.get_function_with_opset_version(max(known))
    elif schema.has_context_dependent_function:
        types = input_types(view)
        known = [v for v in schema.context_dependent_function_opset_versions if v <= version]
        if not known or types is None:
            return None
        data = schema.get_context_dependent_function_with_opset_version(
            max(known), view.proto.SerializeToString(), [t.SerializeToString() for t in types]
        )
    else:
        return None
    if not data:
        return None
    proto.ParseFromString(data)
    # Its name would shadow the operator in the guard against recursion otherwise.
    proto.domain = proto.domain or "ai.onnx"
    return proto
