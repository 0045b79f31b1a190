"""Sequences of tensors and optional values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_sequence import (
    ElemDims,
    OptimOptional,
    OptimSequence,
    Presence,
    common_dims,
)
from yobx.onnx_optim.optim_shape import OptimShape
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.registry import RuleResult
from yobx.onnx_optim.shapes._common import (
    ONE,
    Dims,
    argument,
    axis_of,
    dims_of,
    dtype_attribute,
    known_ints,
    register,
    tensor,
)
from yobx.onnx_optim.shapes._values import scalar, vector
from yobx.onnx_optim.shapes.joining import concat_dims
from yobx.onnx_optim.tensor_type import TensorType
from yobx.onnx_optim.type_protos import descriptor_of_type

__all__: list[str] = []

# Beyond this many elements a sequence is described by what its elements share.
_MAX_LISTED = 256


def _sequence(node: NodeView, index: int) -> OptimSequence:
    """Descriptor of a sequence input; one of which nothing is known for an unknown value."""
    found = node.inputs[index] if index < len(node.inputs) else None
    if isinstance(found, OptimSequence):
        return found
    if isinstance(found, OptimOptional) and isinstance(found.element, OptimSequence):
        return found.element
    if isinstance(found, OptimTensor) and not found.is_unknown():
        node.fail(f"input {index} must be a sequence, it is {found!r}")
    return OptimSequence()


def _position(node: NodeView, index: int, default: int | None) -> int | None:
    given = argument(node, index)
    if given is None:
        return default
    found = scalar(given)
    return found.as_int() if found is not None and found.is_int() else None


@register("SequenceConstruct")
def construct(node: NodeView) -> OptimSequence:
    """A sequence of the inputs."""
    items = [node.tensor(index) for index in range(len(node.inputs))]
    dtype = next((item.dtype for item in items if item.dtype), TensorType.kUndefined)
    for item in items:
        if item.dtype not in (dtype, TensorType.kUndefined):
            node.fail(f"the inputs have dtypes {dtype.name} and {item.dtype.name}")
    return OptimSequence(dtype, [item.shape for item in items])


@register("SequenceEmpty")
def empty(node: NodeView) -> OptimSequence:
    """A sequence of length 0."""
    return OptimSequence(dtype_attribute(node, "dtype", TensorType.kFloat), [])


@register("SequenceLength")
def length(node: NodeView) -> OptimTensor:
    """The number of elements, as a value when it is known."""
    count = _sequence(node, 0).length
    return OptimTensor(TensorType.kInt64, (), value=None if count is None else (count,))


@register("SequenceAt")
def at(node: NodeView) -> OptimTensor:
    """One element."""
    sequence = _sequence(node, 0)
    place = _position(node, 1, None)
    shapes = sequence.elem_shapes
    if shapes is not None and place is not None and not -len(shapes) <= place < len(shapes):
        node.fail(f"position {place} is outside a sequence of {len(shapes)} elements")
    if shapes and place is None:
        return _shared(node, sequence.elem_dtype, shapes)
    if shapes:
        found = sequence.element(place)
        if not found.shape.has_rank():
            return node.unknown("the element's shape is not known", dtype=found.dtype)
        return found
    if sequence.elem_dims is None:
        return node.unknown("the elements' rank is not known", dtype=sequence.elem_dtype)
    return tensor(sequence.elem_dtype, _chosen(node, sequence.elem_dims))


def _chosen(node: NodeView, dims: Sequence[OptimDim | None]) -> Dims:
    """The sizes of one element: what all share, and new symbols."""
    reason = "the elements may differ in this size"
    return tuple(node.fresh(a, reason) if d is None else d for a, d in enumerate(dims))


def _shared(node: NodeView, dtype: TensorType, shapes: tuple[OptimShape, ...]) -> OptimTensor:
    """What any of several shapes has in common."""
    dims = [shape.dims() for shape in shapes if shape.has_rank()]
    if len(dims) != len(shapes) or len({len(item) for item in dims}) != 1:
        return node.unknown("the elements have different ranks", dtype=dtype)
    merged = []
    for axis, sizes in enumerate(zip(*dims, strict=True)):
        if all(size == sizes[0] for size in sizes):
            merged.append(sizes[0])
        else:
            upper = OptimDim.max(*sizes)
            merged.append(node.fresh(axis, "the elements differ in this size", upper=upper))
    return tensor(dtype, merged)


def _with_one_more(sequence: OptimSequence, shape: OptimShape) -> ElemDims:
    """What all elements share with one more; that element's own shape for an empty sequence."""
    own = shape.dims() if shape.has_rank() else None
    return own if sequence.is_empty() else common_dims((sequence.elem_dims, own))


@register("SequenceInsert")
def insert(node: NodeView) -> OptimSequence:
    """One element more."""
    sequence, item = _sequence(node, 0), node.tensor(1)
    dtype = sequence.elem_dtype or item.dtype
    shapes = sequence.elem_shapes
    if shapes is not None and len(shapes) < _MAX_LISTED:
        place = _position(node, 2, len(shapes))
        if place is not None:
            if not -len(shapes) <= place <= len(shapes):
                node.fail(f"position {place} is outside a sequence of {len(shapes)} elements")
            place += len(shapes) if place < 0 else 0
            return OptimSequence(dtype, [*shapes[:place], item.shape, *shapes[place:]])
    size = None if sequence.length is None else sequence.length + ONE
    return OptimSequence(dtype, length=size, elem_dims=_with_one_more(sequence, item.shape))


@register("SequenceErase")
def erase(node: NodeView) -> OptimSequence:
    """One element less."""
    sequence = _sequence(node, 0)
    shapes = sequence.elem_shapes
    if shapes is not None:
        place = _position(node, 1, len(shapes) - 1)
        if place is not None:
            if not -len(shapes) <= place < len(shapes):
                node.fail(f"position {place} is outside a sequence of {len(shapes)} elements")
            kept = list(shapes)
            del kept[place]
            return OptimSequence(sequence.elem_dtype, kept)
    size = None if sequence.length is None else sequence.length - ONE
    return OptimSequence(sequence.elem_dtype, length=size, elem_dims=sequence.elem_dims)


@register("ConcatFromSequence")
def concat_from_sequence(node: NodeView) -> OptimTensor:
    """All elements joined along an axis, or stacked along a new one."""
    sequence = _sequence(node, 0)
    dtype, stacked = sequence.elem_dtype, node.attr("new_axis", 0) == 1
    shapes = sequence.elem_shapes
    listed = [shape.dims() for shape in shapes or () if shape.has_rank()]
    if shapes and len(listed) == len(shapes):
        rank = len(listed[0])
        axis = axis_of(node, int(node.attr("axis", 0)), rank + stacked)
        if stacked:
            common = concat_dims(node, [(*dims, ONE) for dims in listed], rank)[:rank]
            return tensor(dtype, (*common[:axis], OptimDim(len(listed)), *common[axis:]))
        return tensor(dtype, concat_dims(node, listed, axis))
    if sequence.elem_dims is None:
        return node.unknown("the elements' shapes are not known", dtype=dtype)
    axis = axis_of(node, int(node.attr("axis", 0)), len(sequence.elem_dims) + stacked)
    along = None if stacked else sequence.elem_dims[axis]
    dims: Dims = _chosen(node, sequence.elem_dims)
    count = sequence.length
    if not stacked and along is None:
        return tensor(dtype, dims)
    if count is None:
        count = node.fresh(axis, "the length of the sequence is not known")
    if stacked:
        return tensor(dtype, (*dims[:axis], count, *dims[axis:]))
    return tensor(dtype, (*dims[:axis], count * dims[axis], *dims[axis + 1 :]))


@dataclass(frozen=True)
class _Parts:
    """Sizes of the parts one by one, or else their number and the size all of them share."""

    sizes: list[OptimDim] | None = None
    count: OptimDim | None = None
    shared: OptimDim | None = None


def _equal_parts(size: OptimDim, part: OptimDim) -> _Parts:
    """Parts of one size; the last one may be smaller."""
    most = part.bounds()[1]
    if most is not None and most <= 0:
        return _Parts()  # such a run fails
    if part.is_int() and size.is_int() and part.as_int() > 0:
        whole, rest = divmod(size.as_int(), part.as_int())
        if whole < _MAX_LISTED:
            return _Parts([part] * whole + ([OptimDim(rest)] if rest else []))
    return _Parts(count=size.ceil_div(part), shared=ONE if part == ONE else None)


def _chunks(node: NodeView, size: OptimDim) -> _Parts:
    given = argument(node, 1)
    if given is None:
        return _equal_parts(size, ONE)
    if given.shape.rank() == 0:
        part = scalar(given)
        return _Parts() if part is None else _equal_parts(size, part)
    values, dims = vector(given), dims_of(given)
    if values is not None and dims is not None:
        known = [value for value in values if value is not None]
        return _Parts(known) if len(known) == len(values) else _Parts(count=OptimDim(len(values)))
    return _Parts(count=dims[0] if dims is not None and len(dims) == 1 else None)


def _is_disputed(node: NodeView) -> bool:
    """Whether the rank of the parts is: the standard ignores keepdims beside sizes of parts.

    onnxruntime 1.32 takes it, where one size is given for all.
    """
    given = argument(node, 1)
    return given is not None and given.shape.rank() != 1 and node.attr("keepdims", 1) == 0


@register("SplitToSequence")
def split_to_sequence(node: NodeView) -> OptimSequence:
    """Parts along an axis."""
    item = node.tensor(0)
    dims = dims_of(item)
    if dims is None:
        return OptimSequence(item.dtype)
    axis = axis_of(node, int(node.attr("axis", 0)), len(dims))
    squeezed = argument(node, 1) is None and node.attr("keepdims", 1) == 0
    parts = _chunks(node, dims[axis])
    if _is_disputed(node):
        count = parts.count if parts.sizes is None else OptimDim(len(parts.sizes))
        return OptimSequence(item.dtype, length=count)

    def part(size: OptimDim | None) -> tuple[OptimDim | None, ...]:
        middle = () if squeezed else (size,)
        return (*dims[:axis], *middle, *dims[axis + 1 :])

    if parts.sizes is not None:
        numbers = known_ints(parts.sizes)
        if numbers and dims[axis].is_int() and sum(numbers) != dims[axis].as_int():
            node.fail(f"sizes {numbers} do not add up to {dims[axis]}")
        shapes = [OptimShape([d for d in part(size) if d is not None]) for size in parts.sizes]
        return OptimSequence(item.dtype, shapes)
    return OptimSequence(item.dtype, length=parts.count, elem_dims=part(parts.shared))


@register("Optional")
def optional(node: NodeView) -> OptimOptional:
    """An optional that holds the input, or nothing of the type given."""
    found = node.inputs[0] if node.inputs else None
    if found is None:
        kind = node.attr("type", None)
        if kind is None:
            node.fail("an optional without input needs attribute type")
        declared = descriptor_of_type(
            kind, lambda axis: node.fresh(axis, "the declared type does not tell")
        )
        inner = declared.element if isinstance(declared, OptimOptional) else declared
        return OptimOptional(inner, Presence.NO)
    return found if isinstance(found, OptimOptional) else OptimOptional(found, Presence.YES)


@register("OptionalHasElement")
def optional_has_element(node: NodeView) -> OptimTensor:
    """A truth value, known when the presence is."""
    found = node.inputs[0] if node.inputs else None
    if found is None:
        present = Presence.NO
    elif isinstance(found, OptimOptional):
        present = found.present
    else:
        known = not (isinstance(found, OptimTensor) and found.is_unknown())
        present = Presence.YES if known else Presence.MAYBE
    if present is Presence.MAYBE:
        return tensor(TensorType.kBool, ())
    return OptimTensor(TensorType.kBool, (), constant=np.array(present is Presence.YES))


@register("OptionalGetElement")
def optional_get_element(node: NodeView) -> RuleResult:
    """What the optional holds; a value that is no optional is its own element."""
    found = node.inputs[0]
    if found is None:
        node.fail("the optional is omitted")
    if isinstance(found, OptimOptional):
        if found.present is Presence.NO:
            node.fail("the optional holds nothing")
        return found.element
    return found
