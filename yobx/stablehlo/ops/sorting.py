"""Sorting: ``TopK`` of all elements, which is stable and takes NaN for the largest, as XLA does."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering.casts import cast
from yobx.lowering.float_bits import can_reread, total_order
from yobx.stablehlo.dims import dims_of
from yobx.stablehlo.op import Op
from yobx.stablehlo.regions import SortKey, sort_keys
from yobx.stablehlo.registry import register_stablehlo_op_converter
from yobx.xbuilder import GraphBuilder

_BITS = ("float16", "bfloat16", "float32", "float64")


@register_stablehlo_op_converter("stablehlo.sort")
def convert_sort(g: GraphBuilder, op: Op) -> Any:
    """One ``TopK`` for each key, least significant first; the other operands follow by index."""
    axis = int(op.attr("dimension", -1)) % max(op.in_type().rank, 1)
    keys = sort_keys(op.source.regions[0])
    if keys is None:
        raise op.unsupported("a comparator of its own", "Sort by comparing operands in order.")
    operands = op.xs()
    order = ""
    for key in reversed(keys):
        values, index = _sorted(op, operands[key.operand], key, axis, order)
        order = index if not order else str(g.op.GatherElements(order, index, axis=axis))
    if len(operands) == 1:
        return values
    alone = keys[0].operand if len(keys) == 1 else -1
    return tuple(
        values if i == alone else str(g.op.GatherElements(name, order, axis=axis))
        for i, name in enumerate(operands)
    )


@register_stablehlo_op_converter("stablehlo.sort", complex_parts="pair")
def convert_complex_sort(g: GraphBuilder, op: Op) -> list[tuple[str, ...]]:
    """The same; the key of a complex operand is its real part, then its imaginary part."""
    axis = int(op.attr("dimension", -1)) % max(op.in_type().rank, 1)
    keys = sort_keys(op.source.regions[0])
    if keys is None:
        raise op.unsupported("a comparator of its own", "Sort by comparing operands in order.")
    lineage = op.scope.lineage
    operands = [tuple(part.full(g, lineage) for part in parts) for parts in op.parts]
    order = ""
    for key in reversed(keys):
        _, index = _sorted(op, operands[key.operand][key.part], key, axis, order)
        order = index if not order else str(g.op.GatherElements(order, index, axis=axis))
    return [
        tuple(str(g.op.GatherElements(part, order, axis=axis)) for part in parts)
        for parts in operands
    ]


def _sorted(op: Op, x: str, key: SortKey, axis: int, order: str) -> tuple[str, str]:
    """Sorted values and where they came from, of ``x`` in the order found so far."""
    g = op.g
    dtype = op.in_type(key.operand).dtype
    if order:
        x = str(g.op.GatherElements(x, order, axis=axis))
    if dtype == np.bool_:
        values, index = top_k(op, cast(g, x, np.int32), axis, None, largest=key.descending)
        return cast(g, values, np.bool_), index
    return top_k(op, x, axis, None, largest=key.descending)


def top_k(op: Op, x: str, axis: int, k: int | None, *, largest: bool) -> tuple[str, str]:
    """Emit the ``k`` first elements (``None``: all) in order, and their int64 positions."""
    g = op.g
    size = dims_of(g, x)[axis]
    if k is not None:
        count: Any = np.array([k])
    elif size is not None and size.is_int():
        count = np.array([size.as_int()])
    else:
        count = g.op.Shape(x, start=axis, end=axis + 1)
    values, index = op.emit.TopK(x, count, axis=axis, largest=int(largest), outputs=2)
    return str(values), str(index)


@register_stablehlo_op_converter("custom_call.ApproxTopK")
def convert_approximate_top_k(g: GraphBuilder, op: Op) -> tuple[str, str]:
    """The exact ``TopK`` of elements that carry an index."""
    config = op.attr("mhlo.backend_config", {})
    if not config.get("aggregate_to_topk", True):
        raise op.unsupported("aggregate_to_topk=False", "Aggregate to the k elements.")
    comparator = op.scope.converters.module.functions[op.attr("called_computations")[0]].body
    keys = sort_keys(comparator)
    if keys is None or keys[0].operand != 0:
        raise op.unsupported("a comparator of its own", "Take the largest or the smallest.")
    axis = int(config["reduction_dim"])
    x, index = op.x(0), op.x(1)
    values, place = top_k(op, x, axis, int(config["top_k"]), largest=keys[0].descending)
    return values, str(g.op.GatherElements(index, place, axis=axis))


@register_stablehlo_op_converter(("chlo.top_k", "composite.chlo.top_k"))
def convert_top_k(g: GraphBuilder, op: Op) -> tuple[str, str]:
    """``TopK`` on the last axis, of floats by their bits where the opset has them (from 26)."""
    k = op.attr("k")
    if k is None:
        k = op.attr("composite_attributes")["k"]
    axis = op.in_type().rank - 1
    x, dtype = op.x(), op.in_type().dtype
    is_bool = dtype == np.bool_
    if dtype.name in _BITS and can_reread(g, dtype):
        # XLA goes by the bits: a NaN with its sign bit set is last, and 0.0 is before -0.0.
        _, index = top_k(op, total_order(g, x, dtype), axis, int(k), largest=True)
        values = str(g.op.GatherElements(x, index, axis=axis))
        return values, cast(g, index, op.out_dtype(1))
    values, index = top_k(op, cast(g, x, np.int32) if is_bool else x, axis, int(k), largest=True)
    index = cast(g, index, op.out_dtype(1))
    return cast(g, values, np.bool_) if is_bool else values, index
