"""Blocks moved between batch and space, sequences reversed, patches cut out, layouts renamed."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.blocks import divided, times
from yobx.lowering.casts import cast, to_int64
from yobx.lowering.legalise import legal
from yobx.lowering.padding import Window, pad_spatial, same_pads
from yobx.lowering.pool import window_slices
from yobx.lowering.shapes import Dim
from yobx.tensorflow.ops._complex import COMPLEX, by_parts
from yobx.tensorflow.ops._dilated import dilated_convolution
from yobx.tensorflow.ops._op import (
    ALL,
    MOVABLE,
    attr,
    constant,
    int_list,
    out_dtype,
    rank,
    require_constant,
)
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder


def _block_shape(g: GraphBuilder, op: Any) -> list[int]:
    if op.type in ("SpaceToBatch", "BatchToSpace"):
        return [int(attr(op, "block_size"))] * 2
    return [int(b) for b in require_constant(g, op, 1, "block_shape")]


def _pairs(g: GraphBuilder, op: Any, count: int) -> list[tuple[Dim, Dim]]:
    """Return (begin, end) of the paddings or crops, the last input but for ``BatchToSpace``."""
    index = 1 if op.type in ("SpaceToBatch", "BatchToSpace") else 2
    value = constant(g, op, index)
    if value is not None:
        return [(int(a), int(b)) for a, b in value]
    flat = shapes.vector(g, op.inputs[index].name)
    picked = [str(g.op.Gather(flat, np.array([i], np.int64))) for i in range(2 * count)]
    return [(picked[2 * i], picked[2 * i + 1]) for i in range(count)]


@register_tf_op_converter(("SpaceToBatchND", "SpaceToBatch"), dtypes=MOVABLE)
def convert_space_to_batch(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Positions inside spatial blocks become batch entries."""
    blocks = _block_shape(g, op)
    m = len(blocks)
    pairs = _pairs(g, op, m)
    x = pad_spatial(g, op.inputs[0].name, range(1, 1 + m), pairs)
    n = rank(g, op, 0)
    sizes = [shapes.axis_size(g, x, i) for i in range(n)]
    small = [divided(g, s, b) for s, b in zip(sizes[1 : 1 + m], blocks, strict=True)]
    inner = [d for pair in zip(small, blocks, strict=True) for d in pair]
    split = shapes.reshape(g, x, [sizes[0], *inner, *sizes[1 + m :]])
    perm = [
        *(2 + 2 * i for i in range(m)),
        0,
        *(1 + 2 * i for i in range(m)),
        *range(1 + 2 * m, n + m),
    ]
    moved = g.op.Transpose(split, perm=perm)
    batch = times(g, sizes[0], int(np.prod(blocks)))
    return shapes.reshape(
        g, moved, [batch, *small, *sizes[1 + m :]], outputs=outputs[:1], name=op.name
    )


@register_tf_op_converter(("BatchToSpaceND", "BatchToSpace"), dtypes=MOVABLE)
def convert_batch_to_space(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Batch entries become positions inside spatial blocks; borders are cropped."""
    blocks = _block_shape(g, op)
    whole = dilated_convolution(g, op, blocks, outputs) if op.type == "BatchToSpaceND" else None
    if whole is not None:
        return whole
    m = len(blocks)
    x = op.inputs[0].name
    n = rank(g, op, 0)
    sizes = [shapes.axis_size(g, x, i) for i in range(n)]
    batch = divided(g, sizes[0], int(np.prod(blocks)))
    split = shapes.reshape(g, x, [*blocks, batch, *sizes[1:]])
    perm = [m, *(d for i in range(m) for d in (m + 1 + i, i)), *range(2 * m + 1, n + m)]
    moved = g.op.Transpose(split, perm=perm)
    large = [times(g, s, b) for s, b in zip(sizes[1 : 1 + m], blocks, strict=True)]
    whole = shapes.reshape(g, moved, [batch, *large, *sizes[1 + m :]])
    pairs = _pairs(g, op, m)
    begins = shapes.join_dims(g, [p for p, _ in pairs])
    tails = shapes.join_dims(g, [p for _, p in pairs])
    ends = g.op.Sub(shapes.join_dims(g, large), tails)
    axes = np.arange(1, 1 + m, dtype=np.int64)
    return str(g.op.Slice(whole, begins, ends, axes, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("ReverseSequence", dtypes=(*ALL, *COMPLEX))
@by_parts
def convert_reverse_sequence(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """The first elements of each sequence in reverse order, as many as its length says."""
    batch, time = int(attr(op, "batch_dim")), int(attr(op, "seq_dim"))
    lengths = to_int64(g, op.inputs[1].name)
    x, n = op.inputs[0].name, rank(g, op, 0)
    if {batch, time} == {0, 1}:
        return str(
            legal(g).ReverseSequence(
                x, lengths, batch_axis=batch, time_axis=time, outputs=outputs[:1], name=op.name
            )
        )
    perm = [batch, time, *(i for i in range(n) if i not in (batch, time))]
    moved = legal(g).ReverseSequence(
        g.op.Transpose(x, perm=perm), lengths, batch_axis=0, time_axis=1
    )
    back = [int(i) for i in np.argsort(perm)]
    return str(g.op.Transpose(moved, perm=back, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("ExtractImagePatches", dtypes=(*MOVABLE, *COMPLEX))
@register_tf_op_converter("ExtractVolumePatches", dtypes=MOVABLE)
@by_parts
def convert_patches(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The elements under each window, one window after the other in the last axis."""
    kernel = int_list(op, "ksizes")[1:-1]
    strides = int_list(op, "strides")[1:-1]
    n = len(kernel)
    rates = int_list(op, "rates")[1:-1] if op.type == "ExtractImagePatches" else [1] * n
    window = Window(tuple(kernel), tuple(strides), tuple(rates))
    x = op.inputs[0].name
    if str(attr(op, "padding")) == "SAME":
        x = pad_spatial(g, x, range(1, 1 + n), same_pads(g, x, range(1, 1 + n), window))
    parts = window_slices(g, x, window, first_axis=1)
    return str(g.op.Concat(*parts, axis=-1, outputs=outputs[:1], name=op.name))


def _layout_order(op: Any) -> list[int]:
    source, target = str(attr(op, "src_format")), str(attr(op, "dst_format"))
    return [source.index(c) for c in target]


@register_tf_op_converter("DataFormatVecPermute", dtypes=("int32", "int64"))
def convert_vec_permute(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Entries (or rows) of one layout in the order of another."""
    order = _layout_order(op)
    size = op.inputs[0].shape[0]
    if size is not None and int(size) == len(order) - 2:
        source, target = str(attr(op, "src_format")), str(attr(op, "dst_format"))
        spatial = [c for c in source if c not in "NC"]
        order = [spatial.index(c) for c in target if c not in "NC"]
    index = np.array(order, np.int64)
    return str(g.op.Gather(op.inputs[0].name, index, axis=0, outputs=outputs[:1], name=op.name))


@register_tf_op_converter("DataFormatDimMap", dtypes=("int32", "int64"))
def convert_dim_map(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """The axis in another layout of each axis of one."""
    source, target = str(attr(op, "src_format")), str(attr(op, "dst_format"))
    table = np.array([target.index(c) for c in source], np.int64)
    value = g.op.Gather(table, to_int64(g, op.inputs[0].name), axis=0)
    return cast(g, value, out_dtype(op), outputs=outputs[:1])
