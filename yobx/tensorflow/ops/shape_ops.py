"""Shapes and the operations that only rearrange elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.blocks import depth_to_space, space_to_depth
from yobx.lowering.casts import cast, to_int64
from yobx.lowering.diagonals import embed_diagonal
from yobx.lowering.gather import gather
from yobx.lowering.legalise import legal
from yobx.tensorflow.ops import _complex
from yobx.tensorflow.ops._complex import COMPLEX, by_parts, shape_of, with_complex
from yobx.tensorflow.ops._op import (
    ALL,
    attr,
    constant,
    data_format,
    dims,
    out_dtype,
    rank,
    require_constant,
    unsupported,
)
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder


@register_tf_op_converter(("Shape", "ShapeN"), dtypes=(*ALL, *COMPLEX))
def convert_shape(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Shape of each input."""
    for tensor, name in zip(op.inputs, outputs, strict=True):
        shape = shape_of(g, tensor)
        cast(g, shape, out_dtype(op), outputs=[name])
    return outputs[0]


@register_tf_op_converter("VariableShape")
def convert_variable_shape(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Shape of a variable, without the axis of pairs if it is complex."""
    import tensorflow as tf
    from tensorflow.python.ops.handle_data_util import get_resource_handle_data

    held = get_resource_handle_data(op.inputs[0]).shape_and_type
    pairs = any(tf.dtypes.as_dtype(one.dtype).is_complex for one in held)
    x = op.inputs[0].name
    shape = g.op.Shape(x, end=-1) if pairs else g.op.Shape(x)
    return cast(g, shape, out_dtype(op), outputs=outputs[:1])


@register_tf_op_converter("Size", dtypes=(*ALL, *COMPLEX))
def convert_size(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Number of elements."""
    count = g.op.ReduceProd(shape_of(g, op.inputs[0]), keepdims=0)
    return cast(g, count, out_dtype(op), outputs=outputs[:1])


@register_tf_op_converter("Rank", dtypes=(*ALL, *COMPLEX))
def convert_rank(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Number of axes."""
    known = dims(g, op, 0)
    if known is not None:
        return g.make_initializer(outputs[0], np.array(len(known), np.int32))
    count = g.op.Size(shape_of(g, op.inputs[0]))
    return cast(g, count, np.int32, outputs=outputs[:1])


@register_tf_op_converter("Reshape", dtypes=(*ALL, *COMPLEX))
@with_complex(_complex.reshape)
def convert_reshape(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The same elements in another shape; 0 is a size of zero, -1 is inferred."""
    x = op.inputs[0].name
    wanted = constant(g, op, 1)
    if wanted is not None:
        parts: list[shapes.Dim] = [int(v) for v in np.ravel(wanted)]
        return shapes.reshape(g, x, parts, outputs=outputs[:1], name=op.name)
    shape = shapes.vector(g, op.inputs[1].name)
    return str(g.op.Reshape(x, shape, allowzero=1, outputs=outputs[:1], name=op.name))


@register_tf_op_converter(("Transpose", "ConjugateTranspose"), dtypes=(*ALL, *COMPLEX))
@with_complex(_complex.transpose)
def convert_transpose(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Permutation of the axes, or one of two, as ``tf.vectorized_map`` writes some products."""
    orders = [constant(g, op, 1)]
    source = op.inputs[1].op
    choice = source if source.type in ("Select", "SelectV2") else None
    if orders[0] is None and choice is not None and choice.inputs[0].shape.rank == 0:
        orders = [constant(g, choice, i) for i in (1, 2)]
    if any(order is None for order in orders):
        orders = [require_constant(g, op, 1, "perm")]
    perms = [[int(p) % max(order.size, 1) for p in order] for order in orders if order is not None]
    if choice is None or all(perm == perms[0] for perm in perms):
        x = op.inputs[0].name
        return str(g.op.Transpose(x, perm=perms[0], outputs=outputs[:1], name=op.name))
    branches = []
    for perm in perms:
        branch = g.subgraph(g.unique_name("branch"), inputs=[])
        turned = branch.op.Transpose(op.inputs[0].name, perm=perm)
        branch.make_tensor_output(branch.unique_name("turned"), source=turned)
        branches.append(branch)
    return str(
        g.op.If(
            choice.inputs[0].name,
            then_branch=branches[0],
            else_branch=branches[1],
            outputs=outputs[:1],
            name=op.name,
        )
    )


@register_tf_op_converter("ExpandDims", dtypes=(*ALL, *COMPLEX))
@with_complex(_complex.expand_dims)
def convert_expand_dims(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A new axis of size 1."""
    axes = shapes.vector(g, op.inputs[1].name)
    return str(g.op.Unsqueeze(op.inputs[0].name, axes, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("Squeeze", dtypes=(*ALL, *COMPLEX))
@by_parts
def convert_squeeze(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Removal of axes of size 1: the given ones, or all."""
    axes = [int(a) for a in attr(op, "squeeze_dims", [])]
    if not axes:
        known, stated = dims(g, op, 0), op.outputs[0].shape.rank
        axes = [i for i, s in enumerate(known or ()) if s == 1]
        # tf.vectorized_map states the rank, so that an open number of rows is none of the sizes.
        settled = known is not None and stated == len(known) - len(axes)
        if known is None or (None in known and not settled):
            # Which sizes are 1 is known when the model runs, and so is the rank.
            return str(g.op.Squeeze(op.inputs[0].name, outputs=outputs[:1], name=op.name))
    if not axes:
        return str(g.op.Identity(op.inputs[0].name, outputs=outputs[:1], name=op.name))
    chosen = np.array(axes, np.int64)
    return str(g.op.Squeeze(op.inputs[0].name, chosen, outputs=outputs[:1], name=op.name))


@register_tf_op_converter(("Concat", "ConcatV2"), dtypes=(*ALL, *COMPLEX))
@with_complex(_complex.concat)
def convert_concat(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Tensors one behind the other along an axis."""
    where = len(op.inputs) - 1 if op.type == "ConcatV2" else 0
    axis = int(require_constant(g, op, where, "axis"))
    parts = [t.name for i, t in enumerate(op.inputs) if i != where]
    return str(g.op.Concat(*parts, axis=axis, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("Pack", dtypes=(*ALL, *COMPLEX))
@with_complex(_complex.concat)
def convert_pack(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Tensors of one shape stacked along a new axis."""
    axis = np.array([int(attr(op, "axis"))], np.int64)
    parts = [g.op.Unsqueeze(t.name, axis) for t in op.inputs]
    return str(g.op.Concat(*parts, axis=int(axis[0]), outputs=outputs[:1], name=op.name))


@register_tf_op_converter("Unpack", dtypes=(*ALL, *COMPLEX))
@by_parts
def convert_unpack(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A tensor cut into its slices along an axis."""
    axis = int(attr(op, "axis"))
    if not outputs:
        return ""
    if len(outputs) == 1:
        squeezed = np.array([axis], np.int64)
        return str(g.op.Squeeze(op.inputs[0].name, squeezed, outputs=outputs, name=op.name))
    for i, name in enumerate(outputs):
        index = np.array(i, np.int64)
        gather(g, op.inputs[0].name, index, axis, outputs=[name], name=op.name)
    return outputs[0]


@register_tf_op_converter("Split", dtypes=(*ALL, *COMPLEX))
@by_parts
def convert_split(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Equal parts along an axis."""
    axis = int(require_constant(g, op, 0, "axis"))
    x = op.inputs[1].name
    if len(outputs) == 1:
        return str(g.op.Identity(x, outputs=outputs, name=op.name))
    g.op.Split(x, axis=axis, num_outputs=len(outputs), outputs=outputs, name=op.name)
    return outputs[0]


@register_tf_op_converter("SplitV", dtypes={"T": (*ALL, *COMPLEX), "Tlen": ("int32", "int64")})
@by_parts
def convert_split_v(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Parts of given sizes along an axis; one size may be -1."""
    axis = int(require_constant(g, op, 2, "axis"))
    x = op.inputs[0].name
    if len(outputs) == 1:
        return str(g.op.Identity(x, outputs=outputs, name=op.name))
    sizes = _split_sizes(g, op, x, axis)
    g.op.Split(x, sizes, axis=axis, outputs=outputs, name=op.name)
    return outputs[0]


def _split_sizes(g: GraphBuilder, op: Any, x: str, axis: int) -> Any:
    """Return the sizes with a -1 replaced by what is left."""
    value = constant(g, op, 1)
    if value is not None and not np.any(value < 0):
        return value.astype(np.int64)
    given = shapes.vector(g, op.inputs[1].name)
    open_one = g.op.Less(given, np.array(0, np.int64))
    known = g.op.Where(open_one, np.array(0, np.int64), given)
    total = shapes.join_dims(g, [shapes.axis_size(g, x, axis)])
    rest = g.op.Sub(total, g.op.ReduceSum(known, keepdims=1))
    return g.op.Where(open_one, rest, known)


@register_tf_op_converter("Tile", dtypes=(*(d for d in ALL if d != "uint16"), *COMPLEX))
@by_parts
def convert_tile(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Repetition along each axis."""
    repeats = shapes.vector(g, op.inputs[1].name)
    return str(legal(g).Tile(op.inputs[0].name, repeats, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("ReverseV2", dtypes=(*ALL, *COMPLEX))
@by_parts
def convert_reverse(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The elements of some axes in reverse order."""
    axes = shapes.vector(g, op.inputs[1].name)
    value = constant(g, op, 1)
    if value is not None and value.size == 0:
        return str(g.op.Identity(op.inputs[0].name, outputs=outputs[:1], name=op.name))
    count = g.op.Shape(axes)
    minus = np.array(-1, np.int64)
    low = np.array(np.iinfo(np.int64).min + 1, np.int64)
    start, end = g.op.Expand(minus, count), g.op.Expand(low, count)
    return str(
        g.op.Slice(op.inputs[0].name, start, end, axes, start, outputs=outputs[:1], name=op.name)
    )


@register_tf_op_converter("Roll", dtypes=(*ALL, *COMPLEX))
@by_parts
def convert_roll(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Rotation along some axes."""
    axes = [int(a) for a in np.ravel(require_constant(g, op, 2, "axis"))]
    shift = shapes.vector(g, op.inputs[1].name)
    x = op.inputs[0].name
    for i, axis in enumerate(axes):
        size = shapes.join_dims(g, [shapes.axis_size(g, x, axis)])
        one = np.array([1], np.int64)
        step = shift if len(axes) == 1 else g.op.Gather(shift, np.array([i], np.int64))
        first = g.op.Mod(g.op.Neg(step), g.op.Max(size, one))
        axis_input = np.array([axis], np.int64)
        last = np.array([np.iinfo(np.int64).max], np.int64)
        head = g.op.Slice(x, first, last, axis_input)
        tail = g.op.Slice(x, np.array([0], np.int64), first, axis_input)
        x = g.op.Concat(head, tail, axis=axis)
    return str(g.op.Identity(x, outputs=outputs[:1], name=op.name))


@register_tf_op_converter(("DepthToSpace", "SpaceToDepth"), dtypes=(*ALL, *COMPLEX))
@by_parts
def convert_depth_space(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Blocks of pixels moved between channels and space."""
    last, name = data_format(op)
    if name == "NCHW_VECT_C":
        unsupported(op, "the layout must be NHWC or NCHW", f"data_format={name}")
    emit = depth_to_space if op.type == "DepthToSpace" else space_to_depth
    size = int(attr(op, "block_size"))
    return emit(g, op.inputs[0].name, size, last=last, outputs=outputs[:1], name=op.name)


@register_tf_op_converter("InvertPermutation", dtypes=("int32", "int64"))
def convert_invert_permutation(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """The permutation that undoes a permutation."""
    x = to_int64(g, op.inputs[0].name)
    size = shapes.scalar(g, g.op.Shape(x))
    positions = g.op.Range(np.array(0, np.int64), size, np.array(1, np.int64))
    places = g.op.Unsqueeze(x, np.array([1], np.int64))
    value = g.op.ScatterND(positions, places, positions)
    return cast(g, value, out_dtype(op), outputs=outputs[:1])


_DIAGONAL = ("float16", "float32", "float64", "int32", "int64")


@register_tf_op_converter("Diag", dtypes=(*_DIAGONAL, *COMPLEX))
@by_parts
def convert_diag(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A tensor on the diagonal of one of twice its rank."""
    n = rank(g, op, 0)
    x = op.inputs[0].name
    flat = embed_diagonal(g, shapes.flatten(g, x))
    shape = g.op.Shape(x)
    twice = g.op.Concat(shape, shape, axis=0) if n else shape
    return str(g.op.Reshape(flat, twice, allowzero=1, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("DiagPart", dtypes=(*_DIAGONAL, *COMPLEX))
@by_parts
def convert_diag_part(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The diagonal of a tensor whose shape is a shape twice."""
    n = rank(g, op, 0) // 2
    x = op.inputs[0].name
    half = g.op.Shape(x, start=0, end=n)
    flat = shapes.flatten(g, x)
    size = g.op.ReduceProd(half, keepdims=0)
    one = np.array(1, np.int64)
    indices = g.op.Mul(g.op.Range(np.array(0, np.int64), size, one), g.op.Add(size, one))
    diagonal = g.op.Gather(flat, indices)
    return str(g.op.Reshape(diagonal, half, allowzero=1, outputs=outputs[:1], name=op.name))
