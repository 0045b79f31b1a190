"""Keras, TensorFlow and JAX models to ONNX."""

from __future__ import annotations

from yobx.tensorflow.convert import to_onnx
from yobx.tensorflow.function_body import convert_function_body
from yobx.tensorflow.graph_defs import load_graph_def
from yobx.tensorflow.register import (
    TF_OP_CONVERTERS,
    get_tf_op_converter,
    get_tf_op_converters,
    register_tf_op_converter,
)

__all__ = [
    "TF_OP_CONVERTERS",
    "convert_function_body",
    "get_tf_op_converter",
    "get_tf_op_converters",
    "load_graph_def",
    "register_tf_op_converter",
    "to_onnx",
]
