"""``XlaCallModule``: a StableHLO module inside a TensorFlow graph, as ``jax2tf`` writes it."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import complex as pairs
from yobx.stablehlo.convert import convert_module
from yobx.stablehlo.reader import read_artifact
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder


@register_tf_op_converter("XlaCallModule")
def convert_xla_call_module(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Every StableHLO operation of the module becomes ONNX nodes of the graph around."""
    module = read_artifact(op.get_attr("module"))
    inputs: list[tuple[str, ...]] = [
        pairs.parts(g, tensor.name) if tensor.dtype.is_complex else (tensor.name,)
        for tensor in op.inputs
    ]
    if len(module.main.body.arguments) == len(inputs) + 1:
        # a module for several platforms takes the index of the platform first; any of them does
        inputs.insert(0, (g.make_initializer(None, np.array(0, dtype=np.int32)),))
    for name, parts in zip(outputs, convert_module(g, module, inputs), strict=True):
        if len(parts) == 2:
            pairs.pack(g, *parts, outputs=[name])
        else:
            g.op.Identity(parts[0], outputs=[name], name=op.name)
    return outputs[0] if outputs else ""
