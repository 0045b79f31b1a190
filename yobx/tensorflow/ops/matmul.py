"""Matrix products and Einstein sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering.casts import cast
from yobx.lowering.einsum import einsum
from yobx.lowering.legalise import legal
from yobx.tensorflow.ops._op import FLOATS, INTS, UINTS, attr, out_dtype, rank
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder


def _swapped(g: GraphBuilder, x: str, n: int, swap: bool) -> str:
    """Return ``x`` with its last two axes exchanged; a constant is exchanged while converting."""
    if not swap:
        return x
    perm = [*range(n - 2), n - 1, n - 2]
    value = g.get_constant(x)
    if value is None:
        return str(g.op.Transpose(x, perm=perm))
    name = f"{g.alias(x, x)}/transposed"  # a local name would not tell weights apart
    return name if g.has_name(name) else g.make_initializer(name, np.transpose(value, perm))


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
    a = _swapped(g, a, rank(g, op, 0), _flag(op, "transpose_a", "adj_x"))
    b = _swapped(g, b, rank(g, op, 1), _flag(op, "transpose_b", "adj_y"))
    wanted = out_dtype(op)
    if g.get_type(a) != wanted:
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
