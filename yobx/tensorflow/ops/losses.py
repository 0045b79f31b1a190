"""Cross entropies, value and gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering.casts import to_int64
from yobx.lowering.legalise import legal
from yobx.tensorflow.ops._op import FLOATS
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_LAST = np.array([-1], np.int64)


@register_tf_op_converter("SoftmaxCrossEntropyWithLogits", dtypes=FLOATS)
def convert_cross_entropy(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """``-sum(labels * log_softmax(logits))`` of each row, and its gradient."""
    logits, labels = (i.name for i in op.inputs)
    terms = legal(g).Mul(labels, legal(g).LogSoftmax(logits, axis=-1))
    total = legal(g).ReduceSum(terms, _LAST, keepdims=0)
    legal(g).Neg(total, outputs=outputs[:1], name=op.name)
    if op.outputs[1].consumers():
        legal(g).Sub(legal(g).Softmax(logits, axis=-1), labels, outputs=outputs[1:2])
    return outputs[0]


@register_tf_op_converter("SparseSoftmaxCrossEntropyWithLogits", dtypes=(*FLOATS, "int32", "int64"))
def convert_sparse_cross_entropy(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """``-log_softmax(logits)`` at the label of each row, and its gradient."""
    logits, labels = op.inputs[0].name, to_int64(g, op.inputs[1].name)
    place = g.op.Unsqueeze(labels, _LAST)
    scores = legal(g).LogSoftmax(logits, axis=-1)
    picked = g.op.GatherElements(scores, place, axis=1)
    legal(g).Neg(g.op.Squeeze(picked, _LAST), outputs=outputs[:1], name=op.name)
    if op.outputs[1].consumers():
        one = np.array(1, op.outputs[1].dtype.as_numpy_dtype)
        ones = legal(g).Expand(one, g.op.Shape(place))
        zeros = legal(g).Sub(logits, logits)
        marks = g.op.ScatterElements(zeros, place, ones, axis=1)
        legal(g).Sub(legal(g).Softmax(logits, axis=-1), marks, outputs=outputs[1:2])
    return outputs[0]
