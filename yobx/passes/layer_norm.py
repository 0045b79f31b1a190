"""The arithmetic of a layer normalisation, as LayerNormalization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from yobx.passes.graph_edit import (
    GraphEditor,
    constant,
    graphs_of,
    int_constant,
    known_dims,
    producer_of,
    rank_of,
    scalar_constant,
)

__all__ = ["merge_layer_norm"]

Array = npt.NDArray[Any]
#: Not float64: the operator adds an epsilon of float32, and by its ``stash_type`` computes so.
_FLOATS = frozenset((ir.DataType.FLOAT, ir.DataType.FLOAT16))


def merge_layer_norm(model: ir.Model) -> None:
    """Merges mean, variance, scaling and offset over the last axes into LayerNormalization.

    To be run before the layout is settled, while the axes are still the last ones.

    Args:
        model: Model, changed in place.
    """
    if model.opset_imports.get("", 0) < 17:
        return
    editor: GraphEditor | None = None
    for graph in graphs_of(model):
        for node in list(graph):
            if node.op_type != "Sqrt" or node.domain or node.graph is not graph:
                continue
            moments = _moments(node)
            if moments is None:
                continue
            for result in _results(graph, node, moments):
                editor = editor or GraphEditor(model)
                _replace(editor, graph, moments, result)


@dataclass(frozen=True)
class _Moments:
    """Mean and variance of ``x`` over its last axes.

    Attributes:
        x: What is normalised.
        mean: Its mean.
        centred: ``x - mean``.
        dims: Sizes of the axes normalised.
        epsilon: What is added to the variance.
    """

    x: ir.Value
    mean: ir.Value
    centred: ir.Value
    dims: tuple[int, ...]
    epsilon: float


@dataclass(frozen=True)
class _Result:
    """A value that is the normalised one, scaled and moved.

    Attributes:
        value: It.
        scale: Factor, or ``None``.
        offset: Summand, or ``None``.
    """

    value: ir.Value
    scale: Array | None
    offset: Array | None


def _moments(sqrt: ir.Node) -> _Moments | None:
    added = producer_of(sqrt.inputs[0], "Add")
    for variance, epsilon in _both_ways(added):
        centred = _squared(_mean_of(variance))
        subtraction = producer_of(centred, "Sub")
        if centred is None or subtraction is None:
            continue
        x, mean = subtraction.inputs
        source = _mean_of(mean)
        number = scalar_constant(epsilon)
        if x is None or mean is None or source is not x or number is None or number < 0:
            continue
        count = _last_axes(mean)
        sizes = known_dims(x)
        if count is None or sizes is None or _last_axes(variance) != count:
            continue
        dims = tuple(size for size in sizes[len(sizes) - count :] if isinstance(size, int))
        if len(dims) == count and x.dtype in _FLOATS:
            return _Moments(x, mean, centred, dims, number)
    return None


def _both_ways(node: ir.Node | None) -> list[tuple[ir.Value | None, ir.Value | None]]:
    if node is None or len(node.inputs) != 2:
        return []
    first, second = node.inputs
    return [(first, second), (second, first)]


def _mean_of(value: ir.Value | None) -> ir.Value | None:
    """What a ReduceMean that keeps its axes is the mean of."""
    node = producer_of(value, "ReduceMean")
    if node is None:
        return None
    keep = node.attributes.get("keepdims")
    return node.inputs[0] if keep is None or keep.as_int() else None


def _last_axes(value: ir.Value | None) -> int | None:
    """How many of the last axes a ReduceMean goes over."""
    node = producer_of(value, "ReduceMean")
    rank = rank_of(node.inputs[0]) if node is not None else None
    if node is None or rank is None:
        return None
    attribute = node.attributes.get("axes")
    given = int_constant(node.inputs[1]) if len(node.inputs) > 1 else None
    axes = tuple(attribute.as_ints()) if attribute is not None else given
    if not axes:
        return None
    positive = sorted(axis % rank for axis in axes)
    return len(axes) if positive == list(range(rank - len(axes), rank)) else None


def _squared(value: ir.Value | None) -> ir.Value | None:
    product = producer_of(value, "Mul")
    if product is not None and product.inputs[0] is product.inputs[1]:
        return product.inputs[0]
    power = producer_of(value, "Pow")
    if power is not None and scalar_constant(power.inputs[1]) == 2.0:
        return power.inputs[0]
    return None


def _results(graph: ir.Graph, sqrt: ir.Node, moments: _Moments) -> list[_Result]:
    root = sqrt.outputs[0]
    found: list[_Result] = []
    for user, index in list(root.uses()):
        if user.op_type == "Div" and index == 1 and user.inputs[0] is moments.centred:
            found += [_scaled(user.outputs[0], None, moments)]
        elif user.op_type == "Reciprocal":
            found += _from_factor(user.outputs[0], None, moments)
            for product, place in list(user.outputs[0].uses()):
                scale = _parameter(product, place, "Mul", moments)
                if scale is not None:
                    found += _from_factor(product.outputs[0], scale, moments)
    return [result for result in found if result.value.graph is graph]


def _from_factor(factor: ir.Value, scale: Array | None, moments: _Moments) -> list[_Result]:
    """Results of ``(x - mean) * factor`` and of ``x * factor + (offset - mean * factor)``."""
    found: list[_Result] = []
    for user, index in list(factor.uses()):
        if user.op_type != "Mul" or user.domain:
            continue
        other = user.inputs[1 - index]
        if other is moments.centred:
            found.append(_scaled(user.outputs[0], scale, moments))
        elif other is moments.x:
            for total, place in list(user.outputs[0].uses()):
                if total.op_type != "Add":
                    continue
                offset = _offset(total.inputs[1 - place], factor, moments)
                if offset is not None:
                    found.append(_Result(total.outputs[0], scale, offset))
    return found


def _offset(value: ir.Value | None, factor: ir.Value, moments: _Moments) -> Array | None:
    """Reads ``offset - mean * factor`` in either spelling."""
    difference = producer_of(value, "Sub")
    if difference is not None and _is_product(difference.inputs[1], moments.mean, factor):
        return _fitting(constant(difference.inputs[0]), moments)
    for product, offset in _both_ways(producer_of(value, "Add")):
        for negative, other in _both_ways(producer_of(product, "Mul")):
            negation = producer_of(negative, "Neg")
            if negation is not None and negation.inputs[0] is moments.mean and other is factor:
                return _fitting(constant(offset), moments)
    return None


def _is_product(value: ir.Value | None, first: ir.Value, second: ir.Value) -> bool:
    return any(a is first and b is second for a, b in _both_ways(producer_of(value, "Mul")))


def _scaled(value: ir.Value, scale: Array | None, moments: _Moments) -> _Result:
    """Follows a normalised value through the scale and offset that come after it."""
    if scale is None and (user := _only_user(value)) is not None:
        scale = _parameter(user[0], user[1], "Mul", moments)
        value = value if scale is None else user[0].outputs[0]
    offset = None
    if (user := _only_user(value)) is not None:
        offset = _parameter(user[0], user[1], "Add", moments)
        value = value if offset is None else user[0].outputs[0]
    return _Result(value, scale, offset)


def _only_user(value: ir.Value) -> tuple[ir.Node, int] | None:
    uses = list(value.uses())
    return (uses[0][0], uses[0][1]) if len(uses) == 1 and not value.is_graph_output() else None


def _parameter(user: ir.Node, index: int, op_type: str, moments: _Moments) -> Array | None:
    if user.op_type != op_type or user.domain or len(user.inputs) != 2:
        return None
    return _fitting(constant(user.inputs[1 - index]), moments)


def _fitting(array: Array | None, moments: _Moments) -> Array | None:
    """A constant that varies along the normalised axes only, in just their shape."""
    if array is None or array.size == 0:
        return None
    count = len(moments.dims)
    shape = (1,) * (count - array.ndim) + array.shape
    if any(size != 1 for size in shape[: len(shape) - count]) or array.ndim > (
        rank_of(moments.x) or 0
    ):
        return None
    inner = shape[len(shape) - count :]
    if any(size not in (1, wanted) for size, wanted in zip(inner, moments.dims, strict=True)):
        return None
    return np.broadcast_to(array.reshape(inner), moments.dims)


def _replace(editor: GraphEditor, graph: ir.Graph, moments: _Moments, result: _Result) -> None:
    value = result.value
    dtype = moments.x.dtype
    node = value.producer()
    if dtype is None or node is None or node.graph is not graph:
        return
    scale = np.ones(moments.dims) if result.scale is None else result.scale
    inputs: list[ir.Value | None] = [
        moments.x,
        editor.add_constant(scale.astype(dtype.numpy()), "scale"),
    ]
    if result.offset is not None:
        inputs.append(editor.add_constant(result.offset.astype(dtype.numpy()), "offset"))
    new = editor.make_node(
        "LayerNormalization",
        inputs,
        {"axis": -len(moments.dims), "epsilon": moments.epsilon},
        like=node,
        hint=f"{value.name}/normalized",
        dtype=dtype,
        shape=known_dims(value),
    )
    graph.insert_before(node, new)
    editor.replace(value, new.outputs[0])
