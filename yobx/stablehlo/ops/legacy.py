"""Operations that JAX does not write, but programs of others and of old versions hold.

Their meanings are those of the StableHLO specification and of its legacy operations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering.casts import to_int64
from yobx.stablehlo.op import Op
from yobx.stablehlo.ops.broadcasting import placed
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.stablehlo.tensor import Tensor
from yobx.xbuilder import GraphBuilder

_FLOATS = ("bfloat16", "float16", "float32", "float64")


@register_stablehlo_op_converter("stablehlo.broadcast", complex_parts="each")
def convert_broadcast(g: GraphBuilder, op: Op) -> Tensor:
    """Axes in front of those of the operand."""
    rank = op.out_type().rank
    return placed(op, op.inputs[0], tuple(range(rank - op.in_type().rank, rank)), None)


@register_stablehlo_op_converter("stablehlo.einsum", dtypes=_FLOATS)
def convert_einsum(g: GraphBuilder, op: Op) -> str:
    """``Einsum``, whose equations are written alike."""
    return str(op.emit.Einsum(*op.xs(), equation=str(op.attr("einsum_config"))))


@register_stablehlo_op_converter("stablehlo.torch_index_select")
def convert_torch_index_select(g: GraphBuilder, op: Op) -> str:
    """Slices along one axis; an index beyond the axis takes the slice at its end."""
    axis, batch = int(op.attr("dim")), int(op.attr("batch_dims"))
    if batch:
        raise op.unsupported(f"batch_dims={batch}", "Index each entry of the batch on its own.")
    size = g.op.Shape(op.x(), start=axis, end=axis + 1)
    last = g.op.Squeeze(g.op.Sub(size, np.array([1])), np.array([0]))
    inside = g.op.Min(g.op.Max(to_int64(g, op.x(1)), np.array(0)), last)
    return str(op.emit.Gather(op.x(), inside, axis=axis))


@register_stablehlo_op_converter("stablehlo.batch_norm_inference", dtypes=_FLOATS)
def convert_batch_norm_inference(g: GraphBuilder, op: Op) -> str:
    """Normalisation of each feature with statistics that are given."""
    scale, offset, mean, variance = (_of_feature(op, op.x(i)) for i in range(1, 5))
    return _normalised(op, scale, offset, mean, variance)


@register_stablehlo_op_converter("stablehlo.batch_norm_training", dtypes=_FLOATS)
def convert_batch_norm_training(g: GraphBuilder, op: Op) -> tuple[str, str, str]:
    """The same with the statistics of the batch, which are results too."""
    axes = _other_axes(op)
    mean = op.emit.ReduceMean(op.x(), axes, keepdims=1)
    away = op.emit.Sub(op.x(), mean)
    variance = op.emit.ReduceMean(op.emit.Mul(away, away), axes, keepdims=1)
    scale, offset = (_of_feature(op, op.x(i)) for i in (1, 2))
    result = _normalised(op, scale, offset, mean, variance)
    flat = [str(g.op.Squeeze(value, axes)) for value in (mean, variance)]
    return result, flat[0], flat[1]


def _of_feature(op: Op, vector: str) -> str:
    """A vector along the axis of the features."""
    axes = _other_axes(op)
    return str(op.g.op.Unsqueeze(vector, axes)) if axes.size else vector


def _other_axes(op: Op) -> np.ndarray[Any, Any]:
    """All axes but that of the features."""
    feature = int(op.attr("feature_index"))
    return np.array([i for i in range(op.in_type().rank) if i != feature], np.int64)


def _normalised(op: Op, scale: str, offset: str, mean: str, variance: str) -> str:
    deviation = op.emit.Sqrt(op.emit.Add(variance, op.scalar(float(op.attr("epsilon")))))
    standard = op.emit.Div(op.emit.Sub(op.x(), mean), deviation)
    return str(op.emit.Add(op.emit.Mul(standard, scale), offset))
