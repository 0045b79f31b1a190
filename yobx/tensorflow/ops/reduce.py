"""Reductions, positions of extremes and running sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.casts import cast
from yobx.lowering.legalise import legal
from yobx.lowering.reduce import reduce, reduce_logical
from yobx.lowering.scan import cumulative, log_add_exp
from yobx.lowering.transcendental import const
from yobx.tensorflow.ops import _complex_reduce
from yobx.tensorflow.ops._complex import COMPLEX, by_parts, with_complex
from yobx.tensorflow.ops._op import (
    BOOL,
    FLOATS,
    MOVABLE,
    NUMBERS,
    attr,
    constant,
    out_dtype,
    require_constant,
)
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder


def _axes(g: GraphBuilder, op: Any, index: int = 1) -> Any:
    """Return the reduced axes: constant int64, or the name of an int64 vector."""
    value = constant(g, op, index)
    if value is not None:
        return np.ravel(value).astype(np.int64)
    return shapes.vector(g, op.inputs[index].name)


def _keep(op: Any) -> bool:
    return bool(attr(op, "keep_dims"))


@register_tf_op_converter(("Sum", "Mean", "Prod"), dtypes=(*NUMBERS, *COMPLEX))
@register_tf_op_converter(("Max", "Min"), dtypes=NUMBERS)
@with_complex(_complex_reduce.reduction)
def convert_reduce(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Sum, mean, maximum, minimum or product over axes."""
    x = op.inputs[0].name
    if g.get_rank(x) == 0:  # Whatever the axes are, there are none.
        return g.alias(outputs[0], x)
    return reduce(
        g,
        op.type,
        x,
        _axes(g, op),
        keepdims=_keep(op),
        bits=_bits(op),
        outputs=outputs[:1],
        name=op.name,
    )


def _bits(op: Any) -> int | None:
    """Return how many bits the integers that are reduced have where a cast has widened them."""
    source, target = op.inputs[0].op, op.inputs[0].dtype
    if source.type != "Cast":
        return None
    kind = source.inputs[0].dtype
    if kind.is_bool:
        return 1
    widened = kind.is_integer and (kind.is_unsigned or not target.is_unsigned)
    return 8 * min(kind.size, target.size) if widened else None


@register_tf_op_converter(("All", "Any"), dtypes=(*BOOL, "int32", "int64"))
def convert_logical(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Whether all, or any, elements are true."""
    return reduce_logical(
        g,
        op.inputs[0].name,
        _axes(g, op),
        every=op.type == "All",
        keepdims=_keep(op),
        outputs=outputs[:1],
        name=op.name,
    )


@register_tf_op_converter("EuclideanNorm", dtypes=(*NUMBERS, *COMPLEX))
@with_complex(_complex_reduce.reduction)
def convert_euclidean_norm(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """``sqrt(sum(x * x))``."""
    x = op.inputs[0].name
    total = reduce(g, "Sum", legal(g).Mul(x, x), _axes(g, op), keepdims=_keep(op))
    if op.inputs[0].dtype.is_floating:
        return str(legal(g).Sqrt(total, outputs=outputs[:1], name=op.name))
    root = g.op.Sqrt(cast(g, total, np.float64))
    return cast(g, root, out_dtype(op), outputs=outputs[:1])


_POSITIONS = {
    "T": MOVABLE,
    "Tidx": ("int32", "int64"),
    "output_type": ("int16", "uint16", "int32", "int64"),
}


@register_tf_op_converter(("ArgMax", "ArgMin"), dtypes=_POSITIONS)
def convert_arg_extreme(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Position of the first extreme; a NaN is never one."""
    axis = int(require_constant(g, op, 1, "dimension"))
    x = op.inputs[0].name
    if op.inputs[0].dtype.name == "bool":
        x = cast(g, x, np.int32)
    if op.inputs[0].dtype.is_floating:
        lowest = const(g, x, -np.inf if op.type == "ArgMax" else np.inf)
        x = legal(g).Where(legal(g).IsNaN(x), lowest, x)
    position = getattr(legal(g), op.type)(x, axis=axis, keepdims=0, name=op.name)
    return cast(g, position, out_dtype(op), outputs=outputs[:1])


@register_tf_op_converter("Cumsum", dtypes=(*NUMBERS, *COMPLEX))
@by_parts
def convert_cumsum(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Running sum along an axis."""
    axis = shapes.scalar(g, cast(g, op.inputs[1].name, np.int64))
    return str(
        legal(g).CumSum(
            op.inputs[0].name,
            axis,
            exclusive=int(attr(op, "exclusive")),
            reverse=int(attr(op, "reverse")),
            outputs=outputs[:1],
            name=op.name,
        )
    )


@register_tf_op_converter("Cumprod", dtypes=(*NUMBERS, *COMPLEX))
@with_complex(_complex_reduce.cumulative_product)
def convert_cumprod(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Running product along an axis."""
    axis = int(require_constant(g, op, 1, "axis"))
    result = cumulative(
        g,
        op.inputs[0].name,
        axis,
        lambda inner, a, b: str(legal(inner).Mul(a, b)),
        1,
        exclusive=bool(attr(op, "exclusive")),
        reverse=bool(attr(op, "reverse")),
    )
    return str(g.op.Identity(result, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("CumulativeLogsumexp", dtypes=(*FLOATS, "int32", "int64"))
def convert_cumulative_logsumexp(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Running ``log(sum(exp(x)))`` along an axis."""
    axis = int(require_constant(g, op, 1, "axis"))
    result = cumulative(
        g,
        op.inputs[0].name,
        axis,
        log_add_exp,
        -np.inf,
        exclusive=bool(attr(op, "exclusive")),
        reverse=bool(attr(op, "reverse")),
    )
    return str(g.op.Identity(result, outputs=outputs[:1], name=op.name))
