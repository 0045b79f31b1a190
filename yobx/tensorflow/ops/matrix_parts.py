"""Diagonals and bands of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.casts import to_int64
from yobx.lowering.diagonals import (
    Band,
    band_mask,
    embed_diagonal,
    matrix_sizes,
    readable,
    row_minus_column,
    spread_band,
    take_band,
    zero_like,
)
from yobx.lowering.legalise import legal
from yobx.tensorflow.ops._complex import COMPLEX, by_parts
from yobx.tensorflow.ops._op import (
    ALL,
    MOVABLE,
    attr,
    constant,
    rank,
    require_constant,
    unsupported,
)
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder


def _distance(g: GraphBuilder, x: str) -> str:
    """Return ``column - row`` for the last two axes of ``x``."""
    return row_minus_column(g, *matrix_sizes(g, x))


def _limit(g: GraphBuilder, op: Any, index: int) -> str:
    """Return how many diagonals a band has on one side; a negative number means all."""
    every = np.array(np.iinfo(np.int64).max // 2, np.int64)
    value = constant(g, op, index)
    if value is not None:
        known = every if int(value) < 0 else np.array(int(value), np.int64)
        return g.make_initializer(None, known)
    name = to_int64(g, op.inputs[index].name)
    return str(g.op.Where(g.op.Less(name, np.array(0, np.int64)), every, name))


@register_tf_op_converter(("MatrixBandPart", "BatchMatrixBandPart"), dtypes=(*MOVABLE, *COMPLEX))
@by_parts
def convert_band_part(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A band around the diagonal, zero outside; a negative limit keeps that whole triangle."""
    x = op.inputs[0].name
    distance = _distance(g, x)
    low, high = (_limit(g, op, i) for i in (1, 2))
    inside = band_mask(g, distance, g.op.Neg(low), high)
    if op.inputs[0].dtype.name == "bool":
        return str(g.op.And(x, inside, outputs=outputs[:1], name=op.name))
    return str(legal(g).Where(inside, x, zero_like(g, x), outputs=outputs[:1], name=op.name))


@register_tf_op_converter("MatrixDiag", dtypes=(*MOVABLE, *COMPLEX))
@by_parts
def convert_matrix_diag(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Vectors as the diagonals of square matrices."""
    return str(
        g.op.Identity(embed_diagonal(g, op.inputs[0].name), outputs=outputs[:1], name=op.name)
    )


def _main_diagonal(g: GraphBuilder, x: str) -> str:
    """Return the main diagonals of the matrices in the last two axes."""
    n = shapes.rank(g, x)
    size = g.op.ReduceMin(g.op.Shape(x, start=-2), keepdims=0)
    index = g.op.Range(np.array(0, np.int64), size, np.array(1, np.int64))
    places = g.op.Concat(
        *(g.op.Unsqueeze(index, np.array([1], np.int64)) for _ in range(2)), axis=1
    )
    if n == 2:
        return str(g.op.GatherND(x, places))
    first = g.op.Transpose(x, perm=[n - 2, n - 1, *range(n - 2)])
    return str(g.op.Transpose(g.op.GatherND(first, places), perm=[*range(1, n - 1), 0]))


@register_tf_op_converter("MatrixDiagPart", dtypes=(*MOVABLE, *COMPLEX))
@by_parts
def convert_matrix_diag_part(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """The main diagonal of each matrix."""
    value = _main_diagonal(g, op.inputs[0].name)
    return str(g.op.Identity(value, outputs=outputs[:1], name=op.name))


def _band(g: GraphBuilder, op: Any, index: int) -> Band:
    """Return the band that an input names."""
    k = np.ravel(require_constant(g, op, index, "k"))
    if k.size not in (1, 2):
        unsupported(op, "k is one diagonal or the lowest and the highest one", f"k={k}")
    align = str(attr(op, "align", "LEFT_LEFT"))
    above, _, below = align.partition("_")
    return Band(int(k[0]), int(k[-1]), left_above=above == "LEFT", left_below=below == "LEFT")


@register_tf_op_converter(("MatrixDiagV2", "MatrixDiagV3"), dtypes=(*ALL, *COMPLEX))
@by_parts
def convert_matrix_diag_v3(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Vectors as diagonals of matrices of a given size, the rest filled with a value."""
    band = _band(g, op, 1)
    x, padding = op.inputs[0].name, op.inputs[4].name
    n = rank(g, op, 0)
    length = shapes.shape_of(g, x, n - 1)
    rows, columns = (_matrix_size(g, op, i, length, band) for i in (2, 3))
    if band.low != band.high:
        sizes = shapes.scalar(g, rows), shapes.scalar(g, columns)
        wide, inside = spread_band(g, x, sizes, band)
        return str(legal(g).Where(inside, wide, padding, outputs=outputs[:1], name=op.name))
    k = band.low
    distance = row_minus_column(g, shapes.scalar(g, rows), shapes.scalar(g, columns))
    one, zero = np.array(1, np.int64), np.array(0, np.int64)
    position = g.op.Range(zero, shapes.scalar(g, columns if k < 0 else rows), one)
    if k < 0:
        spread = g.op.Unsqueeze(position, np.array([0], np.int64))
    else:
        spread = g.op.Unsqueeze(position, np.array([1], np.int64))
    where = g.op.Equal(distance, np.array(k, np.int64))
    index = g.op.Where(where, spread, zero)
    wide = g.op.Gather(readable(g, x, band), index, axis=n - 1)
    return str(legal(g).Where(where, wide, padding, outputs=outputs[:1], name=op.name))


def _matrix_size(g: GraphBuilder, op: Any, index: int, length: str, band: Band) -> str:
    """Return the number of rows (input 2) or columns (input 3).

    Either is given, or the least that fits; if neither is given, the matrix is square.
    """
    given = constant(g, op, index)
    if given is None:
        return shapes.vector(g, op.inputs[index].name)
    if int(given) >= 0:
        return g.make_initializer(None, np.array([int(given)], np.int64))
    other = constant(g, op, 5 - index)
    needed = max(-band.high, 0), max(band.low, 0)
    extra = needed[index - 2]
    if other is not None and int(other) < 0:
        extra = max(needed)
    return str(g.op.Add(length, np.array([extra], np.int64)))


@register_tf_op_converter(("MatrixDiagPartV2", "MatrixDiagPartV3"), dtypes=(*ALL, *COMPLEX))
@by_parts
def convert_matrix_diag_part_v3(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """One diagonal of each matrix, or a band with the diagonals as rows."""
    band = _band(g, op, 1)
    x = op.inputs[0].name
    if band.low != band.high:
        taken, inside = take_band(g, x, band)
        return str(
            legal(g).Where(inside, taken, op.inputs[2].name, outputs=outputs[:1], name=op.name)
        )
    k = band.low
    if k:
        axis = np.array([-1 if k > 0 else -2], np.int64)
        start, end = np.array([abs(k)], np.int64), np.array([np.iinfo(np.int64).max], np.int64)
        x = g.op.Slice(x, start, end, axis)
    return str(g.op.Identity(_main_diagonal(g, x), outputs=outputs[:1], name=op.name))


@register_tf_op_converter(
    ("MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3"), dtypes=(*ALL, *COMPLEX)
)
@by_parts
def convert_set_diag(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Matrices with one diagonal or a band replaced."""
    band = Band(0, 0) if op.type == "MatrixSetDiag" else _band(g, op, 2)
    x, diagonal = op.inputs[0].name, op.inputs[1].name
    if band.low != band.high:
        wide, inside = spread_band(g, diagonal, matrix_sizes(g, x), band)
        return str(legal(g).Where(inside, wide, x, outputs=outputs[:1], name=op.name))
    k = band.low
    distance = _distance(g, x)
    zero, one = np.array(0, np.int64), np.array(1, np.int64)
    axis = 0 if k < 0 else 1
    size = g.op.Squeeze(g.op.Shape(x, start=-1) if k < 0 else g.op.Shape(x, start=-2, end=-1))
    position = g.op.Unsqueeze(g.op.Range(zero, size, one), np.array([axis], np.int64))
    where = g.op.Equal(distance, np.array(k, np.int64))
    wide = g.op.Gather(diagonal, g.op.Where(where, position, zero), axis=-1)
    return str(legal(g).Where(where, wide, x, outputs=outputs[:1], name=op.name))
