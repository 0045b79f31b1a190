"""Diagonals and bands of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.casts import to_int64
from yobx.lowering.diagonals import band_mask, embed_diagonal, row_minus_column, zero_like
from yobx.lowering.legalise import legal
from yobx.tensorflow.ops._op import ALL, MOVABLE, constant, rank, unsupported
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder


def _distance(g: GraphBuilder, x: str) -> str:
    """Return ``column - row`` for the last two axes of ``x``."""
    rows, columns = (g.op.Squeeze(g.op.Shape(x, start=s, end=e)) for s, e in ((-2, -1), (-1, None)))
    return row_minus_column(g, rows, columns)


def _limit(g: GraphBuilder, op: Any, index: int) -> str:
    """Return how many diagonals a band has on one side; a negative number means all."""
    every = np.array(np.iinfo(np.int64).max // 2, np.int64)
    value = constant(g, op, index)
    if value is not None:
        known = every if int(value) < 0 else np.array(int(value), np.int64)
        return g.make_initializer(None, known)
    name = to_int64(g, op.inputs[index].name)
    return str(g.op.Where(g.op.Less(name, np.array(0, np.int64)), every, name))


@register_tf_op_converter(("MatrixBandPart", "BatchMatrixBandPart"), dtypes=MOVABLE)
def convert_band_part(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A band around the diagonal, zero outside; a negative limit keeps that whole triangle."""
    x = op.inputs[0].name
    distance = _distance(g, x)
    low, high = (_limit(g, op, i) for i in (1, 2))
    inside = band_mask(g, distance, g.op.Neg(low), high)
    if op.inputs[0].dtype.name == "bool":
        return str(g.op.And(x, inside, outputs=outputs[:1], name=op.name))
    return str(legal(g).Where(inside, x, zero_like(g, x), outputs=outputs[:1], name=op.name))


@register_tf_op_converter("MatrixDiag", dtypes=MOVABLE)
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


@register_tf_op_converter("MatrixDiagPart", dtypes=MOVABLE)
def convert_matrix_diag_part(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """The main diagonal of each matrix."""
    value = _main_diagonal(g, op.inputs[0].name)
    return str(g.op.Identity(value, outputs=outputs[:1], name=op.name))


def _single_diagonal(g: GraphBuilder, op: Any, index: int) -> int:
    k = constant(g, op, index)
    if k is None or np.unique(k).size != 1:
        unsupported(op, "one diagonal, known while converting, is supported", f"k={k}")
    return int(np.ravel(k)[0])


@register_tf_op_converter(("MatrixDiagV2", "MatrixDiagV3"), dtypes=ALL)
def convert_matrix_diag_v3(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """Vectors as one diagonal of matrices of a given size, the rest filled with a value."""
    k = _single_diagonal(g, op, 1)
    x, padding = op.inputs[0].name, op.inputs[4].name
    n = rank(g, op, 0)
    length = shapes.shape_of(g, x, n - 1)
    rows, columns = (_matrix_size(g, op, i, length, k) for i in (2, 3))
    distance = row_minus_column(g, shapes.scalar(g, rows), shapes.scalar(g, columns))
    one, zero = np.array(1, np.int64), np.array(0, np.int64)
    position = g.op.Range(zero, shapes.scalar(g, columns if k < 0 else rows), one)
    if k < 0:
        spread = g.op.Unsqueeze(position, np.array([0], np.int64))
    else:
        spread = g.op.Unsqueeze(position, np.array([1], np.int64))
    where = g.op.Equal(distance, np.array(k, np.int64))
    index = g.op.Where(where, spread, zero)
    wide = g.op.Gather(x, index, axis=n - 1)
    return str(legal(g).Where(where, wide, padding, outputs=outputs[:1], name=op.name))


def _matrix_size(g: GraphBuilder, op: Any, index: int, length: str, k: int) -> str:
    """Return the number of rows (input 2) or columns (input 3).

    Either is given, or the least that fits; if neither is given, the matrix is square.
    """
    given = constant(g, op, index)
    if given is None:
        return shapes.vector(g, op.inputs[index].name)
    if int(given) >= 0:
        return g.make_initializer(None, np.array([int(given)], np.int64))
    other = constant(g, op, 5 - index)
    extra = max(-k, 0) if index == 2 else max(k, 0)
    if other is not None and int(other) < 0:
        extra = abs(k)
    return str(g.op.Add(length, np.array([extra], np.int64)))


@register_tf_op_converter(("MatrixDiagPartV2", "MatrixDiagPartV3"), dtypes=ALL)
def convert_matrix_diag_part_v3(
    g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any
) -> str:
    """One diagonal of each matrix."""
    k = _single_diagonal(g, op, 1)
    x = op.inputs[0].name
    if k:
        axis = np.array([-1 if k > 0 else -2], np.int64)
        start, end = np.array([abs(k)], np.int64), np.array([np.iinfo(np.int64).max], np.int64)
        x = g.op.Slice(x, start, end, axis)
    return str(g.op.Identity(_main_diagonal(g, x), outputs=outputs[:1], name=op.name))


@register_tf_op_converter(("MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3"), dtypes=ALL)
def convert_set_diag(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """Matrices with one diagonal replaced."""
    k = 0 if op.type == "MatrixSetDiag" else _single_diagonal(g, op, 2)
    x, diagonal = op.inputs[0].name, op.inputs[1].name
    distance = _distance(g, x)
    zero, one = np.array(0, np.int64), np.array(1, np.int64)
    axis = 0 if k < 0 else 1
    size = g.op.Squeeze(g.op.Shape(x, start=-1) if k < 0 else g.op.Shape(x, start=-2, end=-1))
    position = g.op.Unsqueeze(g.op.Range(zero, size, one), np.array([axis], np.int64))
    where = g.op.Equal(distance, np.array(k, np.int64))
    wide = g.op.Gather(diagonal, g.op.Where(where, position, zero), axis=-1)
    return str(legal(g).Where(where, wide, x, outputs=outputs[:1], name=op.name))
