"""Variables of graphs that TensorFlow 1 wrote: tensors that operations may write in place."""

from __future__ import annotations

from typing import Any

from yobx.errors import ConversionError
from yobx.lowering.complex import to_pairs
from yobx.tensorflow.captures import tensor_value
from yobx.tensorflow.ops._complex import COMPLEX
from yobx.tensorflow.ops._op import ALL
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder


@register_tf_op_converter(("Variable", "VariableV2"), dtypes=(*ALL, *COMPLEX))
def convert_variable(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A variable with the value it has while converting; what writes to it was refused before."""
    value = tensor_value(_held(op))
    return g.make_initializer(outputs[0], to_pairs(value) if value.dtype.kind == "c" else value)


def _held(op: Any) -> Any:
    """Returns the value of the variable that all operations of this name share."""
    import tensorflow as tf

    attributes = {name: op.get_attr(name) for name in ("shape", "dtype", "container")}
    shared_name = op.get_attr("shared_name") or op.name

    def read() -> Any:
        return tf.identity(tf.raw_ops.VariableV2(shared_name=shared_name, **attributes))

    function = tf.function(read, autograph=False).get_concrete_function()
    try:
        return function()
    except tf.errors.FailedPreconditionError as error:
        raise ConversionError(
            "The variables of a graph have values while it is converted. Received: "
            f"{op.name!r} ({op.type}), which has none. Load the SavedModel that the graph is of, "
            "or freeze the graph first (tf.compat.v1.graph_util.convert_variables_to_constants)."
        ) from error
