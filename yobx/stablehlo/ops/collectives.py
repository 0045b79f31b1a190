"""Communication between devices, in a program for one device: every device is a group by itself."""

from __future__ import annotations

import numpy as np

from yobx.stablehlo.op import Op
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.stablehlo.tensor import Tensor
from yobx.xbuilder import GraphBuilder

_ADVICE = "An ONNX model runs on one device: trace the function without shard_map."
_GROUPED = ("all_gather", "all_reduce", "all_to_all", "collective_broadcast", "reduce_scatter")


@register_stablehlo_op_converter(_GROUPED, complex_parts="each")
def convert_grouped(g: GraphBuilder, op: Op) -> tuple[Tensor, ...]:
    """What a group of one device tells itself is what it has."""
    groups = np.asarray(op.attr("replica_groups"))
    if groups.ndim != 2 or groups.shape[1] != 1:
        raise op.unsupported(f"replica_groups={groups.tolist()}", _ADVICE)
    return op.inputs


@register_stablehlo_op_converter("collective_permute", complex_parts="each")
def convert_collective_permute(g: GraphBuilder, op: Op) -> tuple[Tensor, ...]:
    """A device that sends to itself keeps what it has."""
    pairs = np.asarray(op.attr("source_target_pairs"))
    if pairs.tolist() != [[0, 0]]:
        raise op.unsupported(f"source_target_pairs={pairs.tolist()}", _ADVICE)
    return op.inputs


@register_stablehlo_op_converter(("partition_id", "replica_id"))
def convert_device_id(g: GraphBuilder, op: Op) -> str:
    """The number of the only device."""
    return g.make_initializer(None, np.array(0, dtype=np.uint32))
