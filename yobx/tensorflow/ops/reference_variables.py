"""Variables of graphs that TensorFlow 1 wrote: tensors that operations may write in place."""

from __future__ import annotations

from typing import Any

from yobx.errors import ConversionError
from yobx.lowering.complex import to_pairs
from yobx.tensorflow.captures import tensor_value
from yobx.tensorflow.ops._complex import COMPLEX
from yobx.tensorflow.ops._op import ALL
from yobx.tensorflow.ops._shared import shared
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder


@register_tf_op_converter(("Variable", "VariableV2"), dtypes=(*ALL, *COMPLEX))
def convert_variable(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A variable with the value it has while converting; what writes to it was refused before."""
    import tensorflow as tf

    held = shared(op, tf.identity)
    if held is None:
        raise ConversionError(
            "The variables of a graph have values while it is converted. Received: "
            f"{op.name!r} ({op.type}), which has none. Load the SavedModel that the graph is of, "
            "or freeze the graph first (tf.compat.v1.graph_util.convert_variables_to_constants)."
        )
    value = tensor_value(held)
    return g.make_initializer(outputs[0], to_pairs(value) if value.dtype.kind == "c" else value)
