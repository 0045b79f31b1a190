"""``TensorList`` operations, which ``tf.TensorArray`` and Keras's recurrent layers are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import lists, shapes
from yobx.lowering.casts import cast, to_int64
from yobx.lowering.dtypes import element_type, numpy_dtype
from yobx.lowering.gather import gather
from yobx.lowering.legalise import legal
from yobx.lowering.shapes import Dim
from yobx.tensorflow.conversion import current_conversion
from yobx.tensorflow.ops._lists import check_even, mark, shaped_of, write_mark
from yobx.tensorflow.ops._loop import constant_of, origin
from yobx.tensorflow.ops._op import constant, unsupported
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_ZERO = np.array([0], np.int64)
_LAST = np.array([np.iinfo(np.int64).max], np.int64)


def _zero(op: Any) -> np.ndarray[Any, Any]:
    """Return what an element holds that was never written."""
    kind = op.get_attr("element_dtype")
    if kind.name in ("variant", "resource"):
        unsupported(op, "the elements of a list are tensors", f"element_dtype={kind.name}")
    real = kind.real_dtype if kind.is_complex else kind
    dtype = numpy_dtype(element_type(real.as_numpy_dtype))
    return np.array("", object) if dtype.kind == "O" else np.array(0, dtype)


def _pair(op: Any) -> list[int]:
    """Return the size of the axis that complex elements have besides."""
    return [2] if op.get_attr("element_dtype").is_complex else []


def _element_dims(g: GraphBuilder, op: Any, index: int) -> list[Dim]:
    """Return the element shape that an op states; unknown sizes, and an unknown rank, are zero."""
    value, pair = constant(g, op, index), _pair(op)
    if value is not None:
        return [*(max(int(d), 0) for d in np.ravel(value)), *pair] if value.ndim else [0]
    count = op.inputs[index].shape
    if count.rank != 1 or count[0] is None:
        return [0]
    sizes = shapes.vector(g, op.inputs[index].name)
    positive = g.op.Max(sizes, np.array(0, np.int64))
    places = (np.array([i], np.int64) for i in range(int(count[0])))
    return [*(str(g.op.Gather(positive, place)) for place in places), *pair]


def _count(g: GraphBuilder, op: Any, index: int) -> Dim:
    value = constant(g, op, index)
    return int(value) if value is not None else to_int64(g, op.inputs[index].name)


@register_tf_op_converter(("TensorListReserve", "EmptyTensorList"))
def convert_reserve(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A list with room for a number of elements, or an empty one."""
    length = _count(g, op, 1) if op.type == "TensorListReserve" else 0
    made = lists.reserve(g, _zero(op), [length, *_element_dims(g, op, 0)])
    stated = constant(g, op, 0)
    shaped = stated is not None and stated.ndim == 1 and bool(np.all(stated >= 0))
    return g.alias(outputs[0], mark(g, made, shaped))


def _items(g: GraphBuilder, op: Any) -> str:
    """Return the list that an op reads."""
    items = str(op.inputs[0].name)
    check_even(g, op, items)
    return items


@register_tf_op_converter("TensorListFromTensor")
def convert_from_tensor(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The rows of a tensor as a list: the tensor itself."""
    return g.alias(outputs[0], op.inputs[0].name)


@register_tf_op_converter("TensorListStack")
def convert_stack(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """All elements as one tensor: the list itself."""
    items, wanted = _items(g, op), op.outputs[0].shape
    shaped, n = shaped_of(g, items), g.get_rank(items)
    if shaped is not True and wanted.rank is not None and n is not None:
        # Where nothing was ever written, the shape that this op states is that of the elements.
        stated = [*wanted.as_list()[1:], *_pair(op)]
        known = n == len(stated) + 1
        dims: list[Dim] = [
            size if size is not None else shapes.axis_size(g, items, 1 + i) if known else 0
            for i, size in enumerate(stated)
        ]
        items = lists.grow(g, items, dims, shaped=shaped)
    return g.alias(outputs[0], items)


@register_tf_op_converter("TensorListGetItem")
def convert_get_item(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """One element."""
    place = constant_of(op.inputs[1])
    apart = None if place is None else _written_at(op.inputs[0], int(place))
    if apart is not None:
        return str(g.op.Identity(apart, outputs=outputs[:1], name=op.name))
    return lists.get_item(g, _items(g, op), op.inputs[1].name, outputs=outputs[:1])


@register_tf_op_converter("TensorListSetItem")
def convert_set_item(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The list with one element replaced."""
    items, index, item = (i.name for i in op.inputs)
    # A TensorArray with dynamic_size grows when it is written behind its end.
    lengthen = bool(op.get_attr("resize_if_index_out_of_bounds"))
    shaped = shaped_of(g, items)
    uneven = write_mark(g, op, items, item, shaped)
    if uneven is not None:
        return g.alias(outputs[0], uneven)
    made = lists.set_item(g, items, index, item, shaped=shaped, lengthen=lengthen)
    return g.alias(outputs[0], mark(g, made, True))


@register_tf_op_converter("TensorListLength")
def convert_length(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Number of elements, int32."""
    size = shapes.scalar(g, g.op.Shape(op.inputs[0].name, end=1))
    return cast(g, size, np.int32, outputs=outputs[:1])


def _has_complex(graph: Any) -> bool:
    return any(t.dtype.is_complex for op in graph.get_operations() for t in op.outputs)


@register_tf_op_converter("TensorListElementShape")
def convert_element_shape(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Shape of the elements."""
    made = origin(op.inputs[0]).op
    known = any(a.name == "element_dtype" for a in made.op_def.attr)
    if not known and _has_complex(op.graph):
        unsupported(
            op,
            "the shape of elements is asked where the list is made, in a graph of complex numbers",
            f"list={op.inputs[0].name}",
        )
    pair = len(_pair(made)) if known else 0
    shape = g.op.Shape(op.inputs[0].name, start=1, end=-1 if pair else None)
    return cast(g, shape, op.outputs[0].dtype.as_numpy_dtype, outputs=outputs[:1])


@register_tf_op_converter("TensorListPushBack")
def convert_push_back(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The list with one more element."""
    items, item = (i.name for i in op.inputs)
    shaped = shaped_of(g, items)
    uneven = write_mark(g, op, items, item, shaped)
    if uneven is not None:
        return g.alias(outputs[0], uneven)
    return g.alias(outputs[0], mark(g, lists.append(g, items, item, shaped=shaped), True))


@register_tf_op_converter("TensorListPopBack")
def convert_pop_back(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The list without its last element, and that element."""
    items = _items(g, op)
    rest = g.op.Slice(items, _ZERO, np.array([-1], np.int64), _ZERO)
    g.alias(outputs[0], mark(g, rest, shaped_of(g, items)))
    return gather(g, items, np.array(-1, np.int64), outputs=outputs[1:2])


@register_tf_op_converter("TensorListGather")
def convert_gather(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Some elements as one tensor."""
    index = to_int64(g, op.inputs[1].name)
    return gather(g, _items(g, op), index, outputs=outputs[:1], name=op.name)


@register_tf_op_converter(("TensorListScatterV2", "TensorListScatter"))
def convert_scatter(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A new list whose elements at some positions are the rows of a tensor."""
    tensor, index = op.inputs[0].name, to_int64(g, op.inputs[1].name)
    one = np.array([1], np.int64)
    length: Dim = _count(g, op, 3) if op.type == "TensorListScatterV2" else -1
    if isinstance(length, int) and length < 0:
        length = str(g.op.Add(g.op.ReduceMax(index, keepdims=1), one))
    rows = [shapes.axis_size(g, tensor, i) for i in range(1, shapes.rank(g, tensor))]
    base = lists.reserve(g, _zero(op), [length, *rows])
    return g.alias(outputs[0], g.op.ScatterND(base, g.op.Unsqueeze(index, one), tensor))


@register_tf_op_converter("TensorListScatterIntoExistingList")
def convert_scatter_into(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The list with the elements at some positions replaced by the rows of a tensor."""
    items, tensor, index = (i.name for i in op.inputs)
    check_even(g, op, items)
    rows = [shapes.axis_size(g, tensor, i) for i in range(1, shapes.rank(g, tensor))]
    filled = lists.grow(g, items, rows, shaped=shaped_of(g, items))
    places = g.op.Unsqueeze(to_int64(g, index), np.array([1], np.int64))
    return g.alias(outputs[0], mark(g, g.op.ScatterND(filled, places, tensor), True))


@register_tf_op_converter("TensorListResize")
def convert_resize(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The list cut, or filled up with zeros, to a length."""
    items = _items(g, op)
    wanted = shapes.join_dims(g, [_count(g, op, 1)])
    cut = g.op.Slice(items, _ZERO, wanted, _ZERO)
    missing = g.op.Sub(wanted, g.op.Shape(cut, end=1))
    n = shapes.rank(g, items)
    parts = [np.zeros(n, np.int64), missing, np.zeros(n - 1, np.int64)]
    pads = g.op.Concat(*(p for p in parts if isinstance(p, str) or p.size), axis=0)
    return g.alias(outputs[0], mark(g, legal(g).Pad(cut, pads), shaped_of(g, items)))


@register_tf_op_converter(("TensorListConcat", "TensorListConcatV2"))
def convert_concat(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The elements one behind the other, and their lengths."""
    items = g.alias(op.inputs[0].name, op.inputs[0].name)
    joined = current_conversion().joined.get(items)
    parts = _written_apart(op.inputs[0])
    if joined is not None:
        g.op.Identity(items, outputs=outputs[1:2])
        return str(g.op.Identity(joined, outputs=outputs[:1], name=op.name))
    scalar_rank = len(_pair(op))
    if parts is not None and all((g.get_rank(part) or 0) > scalar_rank for part in parts):
        lengths = [g.op.Shape(part, end=1) for part in parts]
        g.op.Concat(*lengths, axis=0, outputs=outputs[1:2])
        return str(legal(g).Concat(*parts, axis=0, outputs=outputs[:1], name=op.name))
    check_even(g, op, items)
    n = shapes.rank(g, items)
    if n < 2 + scalar_rank:
        unsupported(op, "elements need at least one axis", f"rank={n - 1 - scalar_rank}")
    rest = [shapes.axis_size(g, items, i) for i in range(2, n)]
    count = shapes.join_dims(g, [lists.length_of(g, items)])
    each = shapes.join_dims(g, [shapes.axis_size(g, items, 1)])
    total = g.op.Mul(count, each)
    shapes.reshape(g, items, [str(total), *rest], outputs=outputs[:1], name=op.name)
    g.op.Expand(each, count, outputs=outputs[1:2])
    return outputs[0]


def _written_apart(items: Any) -> list[str] | None:
    """Return the elements of a list if each is written once, at a known place, in one graph."""
    found: dict[int, str] = {}
    op = origin(items).op
    while op.type == "TensorListSetItem":
        place = constant_of(op.inputs[1])
        if place is None:
            return None
        found.setdefault(int(place), str(op.inputs[2].name))
        op = origin(op.inputs[0]).op
    count = constant_of(op.inputs[1]) if op.type == "TensorListReserve" else None
    if count is None or sorted(found) != list(range(max(int(count), len(found)))) or not found:
        return None
    return [found[i] for i in sorted(found)]


def _written_at(items: Any, place: int) -> str | None:
    """Return what was written last at a known place of a list in this graph, if it is known."""
    op = origin(items).op
    while op.type == "TensorListSetItem":
        written = constant_of(op.inputs[1])
        if written is None:
            return None
        if int(written) == place:
            return str(op.inputs[2].name)
        op = origin(op.inputs[0]).op
    return None


@register_tf_op_converter("TensorListSplit")
def convert_split(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A tensor cut into elements of one length."""
    lengths = constant(g, op, 2)
    if lengths is None or np.unique(lengths).size > 1:
        unsupported(op, "lengths must be known and equal", f"lengths={lengths}")
    tensor = op.inputs[0].name
    rest = [shapes.axis_size(g, tensor, i) for i in range(1, shapes.rank(g, tensor))]
    each = int(lengths[0]) if lengths.size else 0
    parts: list[Dim] = [int(lengths.size), each, *rest]
    return g.alias(outputs[0], shapes.reshape(g, tensor, parts))
