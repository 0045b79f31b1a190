"""Matrix products and Einstein sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from yobx.lowering.casts import cast
from yobx.lowering.complex import conjugate, pack, parts
from yobx.lowering.einsum import einsum
from yobx.lowering.layout import matrix_transpose
from yobx.lowering.legalise import legal
from yobx.tensorflow.ops._complex import COMPLEX, with_complex
from yobx.tensorflow.ops._op import FLOATS, INTS, UINTS, attr, out_dtype, rank, unsupported
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder


def _flag(op: Any, *names: str) -> bool:
    return any(bool(attr(op, name, False)) for name in names)


Product = Callable[[str, str], str]


def _of_pairs(g: GraphBuilder, both: list[str], emit: Product, outputs: list[str]) -> str:
    """Emit a product of complex tensors from products of their parts."""
    (a, b), (c, d) = (parts(g, x) for x in both)
    real = g.op.Sub(emit(a, c), emit(b, d))
    return pack(g, str(real), str(g.op.Add(emit(a, d), emit(b, c))), outputs[:1])


def _complex_matmul(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Product of complex matrices; ``adj_x`` and ``adj_y`` also conjugate."""
    names = []
    for i, letter in enumerate("xy"):
        x = str(op.inputs[i].name)
        if _flag(op, f"adj_{letter}"):
            x = conjugate(g, x)
        if _flag(op, f"adj_{letter}", f"transpose_{'ab'[i]}"):
            n = rank(g, op, i)
            x = str(g.op.Transpose(x, perm=[*range(n - 2), n - 1, n - 2, n]))
        names.append(x)
    return _of_pairs(g, names, lambda a, b: str(legal(g).MatMul(a, b)), outputs)


def _complex_einsum(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Einstein sum of one or two complex tensors."""
    names, equation = [str(i.name) for i in op.inputs], str(attr(op, "equation"))
    if len(names) == 1:
        real, imaginary = (einsum(g, [part], equation) for part in parts(g, names[0]))
        return pack(g, real, imaginary, outputs[:1])
    if len(names) != 2:
        unsupported(op, "at most two tensors are multiplied at a time", f"inputs={len(names)}")
    return _of_pairs(g, names, lambda a, b: einsum(g, [a, b], equation), outputs)


@register_tf_op_converter("MatMul", dtypes=(*FLOATS, "int32", "int64", *COMPLEX))
@register_tf_op_converter("SparseMatMul", dtypes=("float32", "bfloat16"))
@register_tf_op_converter("BatchMatMul", dtypes=(*FLOATS, "int32", "int64", *COMPLEX))
@register_tf_op_converter("BatchMatMulV2", dtypes=(*FLOATS, "int16", "int32", "int64", *COMPLEX))
@register_tf_op_converter(
    "BatchMatMulV3", dtypes=(*FLOATS, "int8", "uint8", "int16", "int32", "int64", *COMPLEX)
)
@with_complex(_complex_matmul)
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


@register_tf_op_converter("Einsum", dtypes=(*FLOATS, "int32", "int64", *COMPLEX))
@with_complex(_complex_einsum)
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
