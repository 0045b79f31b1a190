"""Writing the log of an inference: what was set, computed and found equal, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx

from yobx.onnx_optim.events import ShapeEvent, ShapeEventAction
from yobx.onnx_optim.optim_dim import DimLike, OptimDim
from yobx.onnx_optim.optim_sequence import Descriptor, OptimOptional
from yobx.onnx_optim.optim_tensor import OptimTensor

if TYPE_CHECKING:
    from yobx.onnx_optim.context import ShapesContext

__all__ = ["log_node", "log_pair", "log_value"]


def _where(context: ShapesContext) -> dict[str, Any]:
    path = context.path
    index, attr = path[-1] if path else (-1, "")
    return {"subgraph_node_index": index, "subgraph_attr_name": attr, "path": path}


def log_value(
    context: ShapesContext, name: str, descriptor: Descriptor, node_index: int, *, replaces: bool
) -> None:
    """Log that a value got a descriptor."""
    action = ShapeEventAction.kReplace if replaces else ShapeEventAction.kAdd
    inner = descriptor.element if isinstance(descriptor, OptimOptional) else descriptor
    tensor = inner if isinstance(inner, OptimTensor) else inner.element()
    dims = tuple(map(str, tensor.shape)) if tensor.shape.has_rank() else None
    context.session.log(
        ShapeEvent(
            action,
            name=name,
            data_type=tensor.dtype,
            shape=dims,
            node_index=node_index,
            detail="" if isinstance(descriptor, OptimTensor) else repr(descriptor),
            **_where(context),
        )
    )


def log_pair(context: ShapesContext, action: ShapeEventAction, a: DimLike, b: DimLike) -> None:
    """Log an equality or an upper bound."""
    pair = (str(OptimDim(a)), str(OptimDim(b)))
    context.session.log(ShapeEvent(action, inputs=pair, **_where(context)))


def log_node(context: ShapesContext, node: onnx.NodeProto, index: int) -> None:
    """Log that a node was inferred."""
    context.session.log(
        ShapeEvent(
            ShapeEventAction.kComputeNode,
            op_domain=node.domain or "ai.onnx",
            op_type=node.op_type,
            inputs=tuple(node.input),
            node_index=index,
            **_where(context),
        )
    )
