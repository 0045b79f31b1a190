"""Matrix products and Einstein sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering.casts import cast
from yobx.lowering.einsum import einsum
from yobx.lowering.layout import matrix_transpose
from yobx.lowering.legalise import legal
from yobx.tensorflow.ops._op import FLOATS, INTS, UINTS, attr, out_dtype, rank
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder


def _flag(op: Any, *names: str) -> bool:
    return any(bool(attr(op, name, False)) for name in names)


@register_tf_op_converter("MatMul", dtypes=(*FLOATS, "int32", "int64"))
@register_tf_op_converter("SparseMatMul", dtypes=("float32", "bfloat16"))
@register_tf_op_converter("BatchMatMul", dtypes=(*FLOATS, "int32", "int64"))
@register_tf_op_converter("BatchMatMulV2", dtypes=(*FLOATS, "int16", "int32", "int64"))
@register_tf_op_converter(
    "BatchMatMulV3", dtypes=(*FLOATS, "int8", "uint8", "int16", "int32", "int64")
)
def convert_matmul(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Product of matrices, or of stacks of matrices that broadcast."""
    a, b = (i.name for i in op.inputs)
    if _flag(op, "transpose_a", "adj_x"):
        a = matrix_transpose(g, a, rank(g, op, 0))
    if _flag(op, "transpose_b", "adj_y"):
        b = matrix_transpose(g, b, rank(g, op, 1))
    wanted = out_dtype(op)
    a, b = cast(g, a, wanted), cast(g, b, wanted)
    return str(legal(g).MatMul(a, b, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("Einsum", dtypes=(*FLOATS, "int32", "int64"))
def convert_einsum(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Einstein sum."""
    names = [i.name for i in op.inputs]
    equation = str(attr(op, "equation"))
    return einsum(g, names, equation, outputs=outputs[:1], name=op.name)


@register_tf_op_converter("Cross", dtypes=(*FLOATS, *INTS, *UINTS))
def convert_cross(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Cross product over a last axis of size 3."""
    a, b = (i.name for i in op.inputs)

    def turned(x: str, order: list[int]) -> str:
        return str(g.op.Gather(x, np.array(order, np.int64), axis=-1))

    left = legal(g).Mul(turned(a, [1, 2, 0]), turned(b, [2, 0, 1]))
    right = legal(g).Mul(turned(a, [2, 0, 1]), turned(b, [1, 2, 0]))
    return str(legal(g).Sub(left, right, outputs=outputs[:1], name=op.name))
