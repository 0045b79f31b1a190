"""Tensors made from values: `Constant`, `Shape`, `Range`, windows, random numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from yobx.onnx_optim.attributes import tensor_of_proto
from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_shape import OptimShape
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.shapes._common import (
    ZERO,
    argument,
    dims_of,
    dtype_attribute,
    int_list,
    known_ints,
    register,
    tensor,
)
from yobx.onnx_optim.shapes._values import (
    MAX_ELEMENTS,
    Element,
    constant_scalar,
    scalar,
    vector,
    with_elements,
)
from yobx.onnx_optim.tensor_type import BY_NUMBER, TensorType, to_numpy

__all__ = ["filled_shape", "range_of"]


@register("Shape")
def shape(node: NodeView) -> OptimTensor:
    """The sizes of the input as a value, from axis `start` to axis `end`."""
    dims = dims_of(node.tensor(0))
    if dims is None:
        return tensor(TensorType.kInt64, [node.fresh(0, "the input's rank is not known")])
    if node.version >= 15:
        start, end = node.attr("start", None), node.attr("end", None)
        if start is not None or end is not None:
            dims = dims[_clamped(start, len(dims)) or 0 : _clamped(end, len(dims))]
    return OptimTensor(TensorType.kInt64, OptimShape((len(dims),)), value=dims)


def _clamped(axis: int | None, rank: int) -> int | None:
    if axis is None:
        return None
    return min(max(axis + rank if axis < 0 else axis, 0), rank)


_SCALAR_ATTRIBUTES: dict[str, tuple[TensorType, bool]] = {
    "value_float": (TensorType.kFloat, False),
    "value_floats": (TensorType.kFloat, True),
    "value_int": (TensorType.kInt64, False),
    "value_ints": (TensorType.kInt64, True),
    "value_string": (TensorType.kString, False),
    "value_strings": (TensorType.kString, True),
}


@register("Constant")
def constant(node: NodeView) -> OptimTensor:
    """The attribute's contents."""
    stored = node.attr_proto("value")
    if stored is not None:
        return tensor_of_proto(stored.t)
    sparse = node.attr("sparse_value", None)
    if sparse is not None:
        return OptimTensor(
            BY_NUMBER.get(sparse.values.data_type, TensorType.kUndefined), OptimShape(sparse.dims)
        )
    for name, (dtype, many) in _SCALAR_ATTRIBUTES.items():
        value = node.attr(name, None)
        if value is not None:
            array = np.asarray(value, dtype=to_numpy(dtype))
            if array.ndim != int(many):
                node.fail(f"attribute {name} does not hold what its name says")
            return OptimTensor.of_constant(array, dtype)
    return node.fail("no attribute gives the value")


def filled_shape(node: NodeView, item: OptimTensor | None, dtype: TensorType) -> OptimTensor:
    """Descriptor of a tensor whose shape is the contents of another one."""
    sizes = vector(item)
    if sizes is None:
        return node.unknown("the length of the shape is not known", dtype=dtype)
    return tensor(
        dtype,
        [
            node.fresh(axis, "the shape is not known") if size is None else size
            for axis, size in enumerate(sizes)
        ],
    )


@register("ConstantOfShape")
def constant_of_shape(node: NodeView) -> OptimTensor:
    """One value repeated over a shape that is given as a value."""
    stored = node.attr_proto("value")
    filler = np.zeros(1, dtype=np.float32)
    dtype = TensorType.kFloat
    if stored is not None:
        dtype = BY_NUMBER.get(stored.t.data_type, TensorType.kUndefined)
        given = node.attr("value", None)
        if given is None or given.size != 1:
            return filled_shape(node, argument(node, 0), dtype)
        filler = given
    result = filled_shape(node, argument(node, 0), dtype)
    sizes = result.shape.is_fully_known() and known_ints(result.shape.dims())
    if sizes is not False and sizes is not None and math.prod(sizes) <= MAX_ELEMENTS:
        if any(size < 0 for size in sizes):
            node.fail(f"the shape {sizes} has a negative size")
        return OptimTensor(dtype, result.shape, constant=np.full(sizes, filler.reshape(-1)[0]))
    return result


def _number_of_steps(start: Any, limit: Any, delta: Any, dtype: TensorType) -> int:
    """Elements of a constant range, counted as runtimes do: the difference in the type itself."""
    kind = to_numpy(dtype)
    if kind.kind in "iu":
        return int(max(-((start - limit) // delta), 0))
    with np.errstate(all="ignore"):
        difference = float(kind.type(limit) - kind.type(start))
        return max(math.ceil(difference / float(kind.type(delta))), 0)


def _symbolic_length(start: Element, limit: Element, delta: Element) -> OptimDim | None:
    if start is None or limit is None or delta is None:
        return None
    low, high = delta.bounds()
    if low is not None and low >= 0:
        span = limit - start
    elif high is not None and high <= 0:
        span, delta = start - limit, -delta
    else:
        return None
    if delta == ZERO:
        return None
    return OptimDim.max(span.ceil_div(delta), ZERO)


def range_of(node: NodeView, items: list[OptimTensor | None]) -> OptimTensor:
    """Result of counting from a start to a limit in steps; a missing step is 1."""
    dtype = next(
        (item.dtype for item in items if item is not None and item.dtype), TensorType.kUndefined
    )
    numbers = [1 if item is None else constant_scalar(item) for item in items]
    integral = dtype.is_integer
    if all(number is not None for number in numbers) and (integral or dtype.is_float):
        start, limit, delta = numbers
        if delta == 0:
            node.fail("the step is 0")
        if integral or all(math.isfinite(number) for number in numbers):
            count = _number_of_steps(start, limit, delta, dtype)
            if count <= MAX_ELEMENTS and integral:
                values = np.asarray(
                    [start + delta * place for place in range(count)], dtype=to_numpy(dtype)
                )
                return OptimTensor(dtype, OptimShape((count,)), constant=values)
            return tensor(dtype, [count])
    if integral:
        first, last, step = (OptimDim(1) if item is None else scalar(item) for item in items)
        length = _symbolic_length(first, last, step)
        if length is not None:
            if (
                length.is_int()
                and length.as_int() <= MAX_ELEMENTS
                and first is not None
                and step is not None
            ):
                contents = [first + step * place for place in range(length.as_int())]
                return with_elements(dtype, (length,), contents)
            return tensor(dtype, [length])
    return tensor(dtype, [node.fresh(0, "the limits of the range are not known")])


@register("Range")
def range_(node: NodeView) -> OptimTensor:
    """Counting from start to limit; the count is a ceiling and never negative."""
    return range_of(node, [argument(node, 0), argument(node, 1), argument(node, 2)])


@register("RandomNormal RandomUniform")
def random(node: NodeView) -> OptimTensor:
    """Shape and dtype are attributes."""
    return tensor(
        dtype_attribute(node, "dtype", TensorType.kFloat),
        map(OptimDim, int_list(node.attr("shape", ())) or ()),
    )


@register("Multinomial")
def multinomial(node: NodeView) -> OptimTensor:
    """`(batch, sample_size)`."""
    dims = dims_of(node.tensor(0))
    dtype = dtype_attribute(node, "dtype", TensorType.kInt32)
    if dims is not None and len(dims) != 2:
        node.fail(f"input must have rank 2, its rank is {len(dims)}")
    batch = node.fresh(0, "the input's rank is not known") if dims is None else dims[0]
    return tensor(dtype, (batch, OptimDim(int(node.attr("sample_size", 1)))))


@register("BlackmanWindow HammingWindow HannWindow")
def window(node: NodeView) -> OptimTensor:
    """A vector of the given length."""
    size = scalar(argument(node, 0))
    dtype = dtype_attribute(node, "output_datatype", TensorType.kFloat)
    return tensor(dtype, [node.fresh(0, "the size is not known") if size is None else size])


@register("MelWeightMatrix")
def mel_weight_matrix(node: NodeView) -> OptimTensor:
    """`(dft_length // 2 + 1, num_mel_bins)`."""
    bins, length = scalar(argument(node, 0)), scalar(argument(node, 1))
    rows = node.fresh(0, "dft_length is not known") if length is None else length // 2 + 1
    columns = node.fresh(1, "num_mel_bins is not known") if bins is None else bins
    return tensor(dtype_attribute(node, "output_datatype", TensorType.kFloat), (rows, columns))
