"""Reading and writing by index, selection by condition."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.casts import cast, to_int64
from yobx.lowering.diagonals import zero_like
from yobx.lowering.gather import gather, gather_batched
from yobx.lowering.legalise import legal
from yobx.lowering.scatter import inside, scatter_nd, without_outside
from yobx.tensorflow.ops import _complex_math
from yobx.tensorflow.ops._complex import COMPLEX, by_parts, with_complex
from yobx.tensorflow.ops._op import (
    ALL,
    MOVABLE,
    NUMBERS,
    attr,
    out_dtype,
    rank,
    require_constant,
    unsupported,
)
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder


def _index(g: GraphBuilder, tensor: Any) -> str:
    """Return an index tensor in a type that ONNX takes."""
    name = str(tensor.name)
    return name if tensor.dtype.name in ("int32", "int64") else to_int64(g, name)


@register_tf_op_converter(("Gather", "GatherV2", "ResourceGather"))
def convert_gather(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Slices of a tensor at some positions of an axis, within each batch."""
    x, index = op.inputs[0].name, _index(g, op.inputs[1])
    batch = int(attr(op, "batch_dims", 0))
    axis = int(require_constant(g, op, 2, "axis")) if op.type == "GatherV2" else batch
    if batch < 0:
        batch += rank(g, op, 1)
    if axis < 0 and op.outputs[0].dtype.is_complex:
        axis += shapes.rank(g, x) - 1  # pairs are no axis of TensorFlow
    if batch == 0:
        return gather(g, x, index, axis, outputs=outputs[:1], name=op.name)
    n = shapes.rank(g, x)
    return gather_batched(
        g, x, index, shapes.normalise_axis(axis, n), batch, outputs=outputs[:1], name=op.name
    )


def _ignores_bad_indices(op: Any) -> bool:
    return str(attr(op, "bad_indices_policy", "")) == "IGNORE"


@register_tf_op_converter(("GatherNd", "ResourceGatherNd"))
def convert_gather_nd(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Slices of a tensor at index tuples; zero where a bad index is ignored."""
    index, x = to_int64(g, op.inputs[1].name), op.inputs[0].name
    if _ignores_bad_indices(op):
        width = op.inputs[1].shape[-1]
        if width is None:
            unsupported(op, "the number of indexed axes must be static", f"shape={index}")
        good = inside(g, g.op.Shape(x, end=width), index)
        found = g.op.GatherND(x, g.op.Where(good, index, np.array(0, np.int64)))
        flat = g.op.Squeeze(good, np.array([-1], np.int64))
        more = rank(g, op, 0) + op.outputs[0].dtype.is_complex - width  # pairs are one axis more
        if more:
            flat = g.op.Unsqueeze(flat, np.arange(-more, 0))
        return str(legal(g).Where(flat, found, zero_like(g, x), outputs=outputs[:1], name=op.name))
    return str(g.op.GatherND(op.inputs[0].name, index, outputs=outputs[:1], name=op.name))


def _places(g: GraphBuilder, op: Any, base: str, first: int) -> tuple[str, str]:
    """Return index tuples and updates, inputs `first` and the next, without the ignored ones."""
    index, updates = (op.inputs[i].name for i in (first, first + 1))
    if not _ignores_bad_indices(op):
        return index, updates
    width = op.inputs[first].shape[-1]
    if width is None:
        unsupported(op, "the number of indexed axes must be static", f"shape={index}")
    return without_outside(g, g.op.Shape(base, end=width), index, updates)


@register_tf_op_converter("ScatterNd", dtypes=(*NUMBERS, *COMPLEX))
@by_parts
def convert_scatter_nd(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Updates summed into zeros at index tuples."""
    shape = op.inputs[2].name
    zero = np.array(0, op.outputs[0].dtype.as_numpy_dtype)
    base = legal(g).Expand(zero, shapes.vector(g, shape))
    index, updates = _places(g, op, base, 0)
    return scatter_nd(g, base, index, updates, "add", outputs=outputs[:1], name=op.name)


_SCATTERS = {
    "ScatterNdNonAliasingAdd": "add",
    "TensorScatterAdd": "add",
    "TensorScatterMax": "max",
    "TensorScatterMin": "min",
    "TensorScatterSub": "sub",
}


@register_tf_op_converter(("TensorScatterMax", "TensorScatterMin"), dtypes=NUMBERS)
@register_tf_op_converter(
    ("ScatterNdNonAliasingAdd", "TensorScatterAdd", "TensorScatterSub"),
    dtypes=(*NUMBERS, *COMPLEX),
)
@by_parts
def convert_tensor_scatter(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """A copy of a tensor with updates combined into it at index tuples."""
    x = op.inputs[0].name
    index, updates = _places(g, op, x, 1)
    kind = _SCATTERS[op.type]
    return scatter_nd(g, x, index, updates, kind, outputs=outputs[:1], name=op.name)


@register_tf_op_converter("TensorScatterUpdate", dtypes=(*ALL, *COMPLEX))
@by_parts
def convert_tensor_scatter_update(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """A copy of a tensor with slices replaced at index tuples."""
    x = op.inputs[0].name
    index, updates = _places(g, op, x, 1)
    return scatter_nd(g, x, index, updates, "none", outputs=outputs[:1], name=op.name)


@register_tf_op_converter(("Select", "SelectV2"), dtypes=(*ALL, *COMPLEX))
@by_parts
def convert_select(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Elements of one of two tensors; ``Select`` takes a vector as condition on the first axis."""
    condition, x, y = (i.name for i in op.inputs)
    if op.type == "Select" and op.inputs[0].shape.rank == 1:
        extra = rank(g, op, 1) - 1
        if extra > 0:
            condition = g.op.Unsqueeze(condition, np.arange(1, 1 + extra, dtype=np.int64))
    return str(legal(g).Where(condition, x, y, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("Where", dtypes=(*(d for d in MOVABLE if d != "float16"), *COMPLEX))
@with_complex(_complex_math.places)
def convert_where(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Index tuples of the elements that are not zero."""
    x = op.inputs[0].name
    if op.inputs[0].dtype.name != "bool":
        x = g.op.Not(legal(g).Equal(x, np.array(0, op.inputs[0].dtype.as_numpy_dtype)))
    return str(g.op.Transpose(g.op.NonZero(x), perm=[1, 0], outputs=outputs[:1], name=op.name))


@register_tf_op_converter("OneHot", dtypes=(*ALL, *COMPLEX))
@by_parts
def convert_one_hot(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A new axis that is "on" at the index; an index outside of it is "off" everywhere."""
    index, on, off = to_int64(g, op.inputs[0].name), op.inputs[2].name, op.inputs[3].name
    depth = shapes.scalar(g, to_int64(g, op.inputs[1].name))
    n = rank(g, op, 0)
    axis = shapes.normalise_axis(int(attr(op, "axis")), n + 1)
    classes = g.op.Range(np.array(0, np.int64), depth, np.array(1, np.int64))
    if axis < n:
        classes = g.op.Unsqueeze(classes, np.arange(1, n + 1 - axis, dtype=np.int64))
    hit = g.op.Equal(g.op.Unsqueeze(index, np.array([axis], np.int64)), classes)
    if op.outputs[0].dtype.name == "bool":
        wanted = g.op.Where(hit, cast(g, on, np.int32), cast(g, off, np.int32))
        return cast(g, wanted, out_dtype(op), outputs=outputs[:1])
    return str(legal(g).Where(hit, on, off, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("XlaDynamicUpdateSlice", dtypes=(*NUMBERS, *COMPLEX))
@by_parts
def convert_dynamic_update_slice(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """A block overwritten at a start, which is moved so that the block fits."""
    x, update, starts = (i.name for i in op.inputs)
    n = rank(g, op, 0)
    if n == 0:
        return str(g.op.Identity(update, outputs=outputs[:1]))
    sizes = g.op.Shape(update)
    room = g.op.Sub(g.op.Shape(x), sizes)
    first = g.op.Min(g.op.Max(to_int64(g, starts), np.array(0, np.int64)), room)
    places = []
    for axis in range(n):
        at = np.array(axis, np.int64)
        steps = g.op.Range(np.array(0, np.int64), g.op.Gather(sizes, at), np.array(1, np.int64))
        column = g.op.Reshape(
            g.op.Add(steps, g.op.Gather(first, at)),
            np.array([-1 if i == axis else 1 for i in range(n)], np.int64),
        )
        places.append(g.op.Unsqueeze(g.op.Expand(column, sizes), np.array([-1], np.int64)))
    where = g.op.Concat(*places, axis=-1)
    return str(legal(g).ScatterND(x, where, update, outputs=outputs[:1]))
