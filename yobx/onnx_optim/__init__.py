"""Symbolic shape inference for ONNX models: sound, fast, and able to say why."""

from yobx.onnx_optim.context import ShapesContext
from yobx.onnx_optim.events import ShapeEvent, ShapeEventAction
from yobx.onnx_optim.explain import explain
from yobx.onnx_optim.inference import (
    blame,
    compute_shapes,
    expand_local_function_call,
    infer_shapes,
)
from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_sequence import OptimOptional, OptimSequence
from yobx.onnx_optim.optim_shape import OptimShape
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.registry import register_shape_function
from yobx.onnx_optim.tensor_type import TensorType

__all__ = [
    "NodeView",
    "OptimDim",
    "OptimOptional",
    "OptimSequence",
    "OptimShape",
    "OptimTensor",
    "ShapeEvent",
    "ShapeEventAction",
    "ShapesContext",
    "TensorType",
    "blame",
    "compute_shapes",
    "expand_local_function_call",
    "explain",
    "infer_shapes",
    "register_shape_function",
]
