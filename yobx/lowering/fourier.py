"""Fourier transforms of lengths that are no powers of two, as exact as float64 allows.

onnxruntime's ``DFT`` of such a length has an error that grows with it, of about two units in the
last place for each element. A short transform is a product with a matrix; a long one is the
convolution with a chirp (Bluestein's algorithm), whose transforms have a power of two as length.
Complex tensors are pairs, real part first, in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yobx.xbuilder import GraphBuilder

from .legalise import legal
from .shapes import Dim, scalar
from .transcendental import const

__all__ = [
    "LONGEST_PRODUCT",
    "chirp_transform",
    "matrix_transform",
    "of_real",
    "one_sided",
    "one_sided_inverse",
    "onnx_dft",
]

#: Above it the matrix is larger than 128 KB.
LONGEST_PRODUCT = 64
_LAST, _FIRST = np.array([-1], np.int64), np.array([0], np.int64)


def onnx_dft(g: GraphBuilder, x: str, axis: int, **flags: Any) -> str:
    """Emit ``DFT`` over one axis, counted from the end and before the pairs.

    Args:
        g: The builder.
        x: Pairs, or one number in the place of a pair, `(..., 2)` or `(..., 1)`.
        axis: The axis, negative, with that of the pairs not counted.
        **flags: Attributes of the operator: ``inverse``, ``onesided``.

    Returns:
        The transform, of the dtype of `x`.
    """
    wide = g.op.Unsqueeze(x, _FIRST)
    place = (g.get_rank(wide) or 0) - 1 + axis
    if g.opset("") >= 20:
        done = g.op.DFT(wide, None, np.array(place, np.int64), **flags)
    else:
        done = g.op.DFT(wide, axis=place, **flags)
    return str(g.op.Squeeze(done, _FIRST))


def matrix_transform(g: GraphBuilder, x: str, axis: int, size: int, *, inverse: bool) -> str:
    """Emit the transform of pairs over one axis, counted from the end and before the pairs.

    Args:
        g: The builder.
        x: Pairs, `(..., 2)`, float64.
        axis: The axis.
        size: Its size.
        inverse: Whether the inverse is meant, which is divided by `size`.

    Returns:
        The transform, of the shape and dtype of `x`: a product with the matrix of all powers of a
        root of one.
    """
    roots = _roots(np.outer(np.arange(size), np.arange(size)), size)
    if inverse:
        roots = np.conj(roots) / size
    # the real matrix of (a + ib)(c + id), pairs on both sides
    table = np.stack([_pairs(roots), _pairs(1j * roots)], axis=1).reshape(2 * size, 2 * size)
    rank = g.get_rank(x) or 2
    order = list(range(rank))
    order[axis - 1], order[-2] = order[-2], order[axis - 1]
    moved = x if axis == -1 else g.op.Transpose(x, perm=order)
    flat = g.op.Reshape(moved, np.array([0] * (rank - 2) + [2 * size], np.int64))
    shape = np.array([0] * (rank - 2) + [size, 2], np.int64)
    done = g.op.Reshape(g.op.MatMul(flat, table), shape)
    return str(done if axis == -1 else g.op.Transpose(done, perm=order))


def one_sided(g: GraphBuilder, x: str, size: int) -> str:
    """Emit the first half of the transform of a real tensor over its last axis, as pairs.

    Args:
        g: The builder.
        x: Real numbers, `(..., size)`, float64.
        size: Size of the last axis.

    Returns:
        The first ``size // 2 + 1`` elements, `(..., size // 2 + 1, 2)`.
    """
    half = size // 2 + 1
    roots = _roots(np.outer(np.arange(size), np.arange(half)), size)
    flat = g.op.MatMul(x, _pairs(roots).reshape(size, 2 * half))
    rank = g.get_rank(x) or 1
    return str(g.op.Reshape(flat, np.array([0] * (rank - 1) + [half, 2], np.int64)))


def one_sided_inverse(g: GraphBuilder, x: str, size: int) -> str:
    """Emit the real tensor of ``size`` whose transform begins with these pairs.

    Args:
        g: The builder.
        x: Pairs, `(..., size // 2 + 1, 2)`, float64.
        size: Size of the result.

    Returns:
        The tensor, `(..., size)`.
    """
    half = size // 2 + 1
    roots = np.conj(_roots(np.outer(np.arange(half), np.arange(size)), size)) / size
    weight = np.full((half, 1), 2.0)  # elements that the other half mirrors count twice
    weight[0] = 1.0
    if size % 2 == 0:
        weight[-1] = 1.0
    table = np.stack([roots.real, -roots.imag], axis=1) * weight[:, None]
    rank = g.get_rank(x) or 2
    flat = g.op.Reshape(x, np.array([0] * (rank - 2) + [2 * half], np.int64))
    return str(g.op.MatMul(flat, table.reshape(2 * half, size)))


def of_real(g: GraphBuilder, x: str, sizes: Sequence[Dim]) -> str:
    """Emit the first half ``x`` of a real tensor's spectrum with real numbers where it has them.

    Those are the elements that mirror themselves: the first and that of half the length. The
    frameworks give them an imaginary part of exactly 0, and do not read it on the way back; a tiny
    one turns the angle of a negative number by a whole turn.

    Args:
        g: The builder.
        x: Pairs: the half of the last transformed axis that is not mirrored.
        sizes: Lengths of the transformed axes, of the real tensor.

    Returns:
        Pairs of the shape of `x`.
    """
    masks = [_own_mirror(g, size, i, len(sizes)) for i, size in enumerate(sizes)]
    mask = masks[-1]
    for other in masks[:-1]:
        mask = g.op.And(mask, other)
    return str(legal(g).Where(mask, const(g, x, 0), x))


def _own_mirror(g: GraphBuilder, size: Dim, place: int, count: int) -> str | NDArray[Any]:
    """Which elements of an axis mirror themselves: their number is, twice, 0 or the size.

    Of the last axis, which is before the pairs, only the first half; real parts do not count.
    """
    last = place == count - 1
    shape = np.array([-1, *[1] * (count - place)], np.int64)
    # No product of two even numbers is -1: real parts stay.
    looked_for = np.array([-1, 0] if last else [0], np.int64)
    if isinstance(size, int):
        twice = np.arange(0, size + 1 if last else 2 * size, 2)
        found: NDArray[Any] = (twice * (twice - size)).reshape(shape) == looked_for
        return found
    length = scalar(g, size)
    end = g.op.Add(length, np.int64(1)) if last else g.op.Add(length, length)
    double = g.op.Range(np.array(0, np.int64), end, np.array(2, np.int64))
    product = g.op.Mul(double, g.op.Sub(double, length))
    return str(g.op.Equal(g.op.Reshape(product, shape), looked_for))


def chirp_transform(g: GraphBuilder, x: str, axis: int, size: int, *, inverse: bool) -> str:
    """Emit the transform of pairs over one axis by three of a power of two.

    Args:
        g: The builder.
        x: Pairs, `(..., 2)`, float64.
        axis: The axis.
        size: Its size.
        inverse: Whether the inverse is meant, which is divided by `size`.

    Returns:
        The transform, of the shape and dtype of `x` (Bluestein, A linear filtering approach to the
        computation of the discrete Fourier transform, 1970).
    """
    chirp = _roots(np.arange(size) ** 2, 2 * size)
    if inverse:
        chirp = np.conj(chirp)
    length = 1 << (2 * size - 2).bit_length()
    filtering = np.zeros(length, np.complex128)
    filtering[:size] = np.conj(chirp)
    filtering[length - size + 1 :] = np.conj(chirp[:0:-1])
    filtering = np.fft.fft(filtering) / (size if inverse else 1)
    rank = g.get_rank(x) or 2
    place = rank - 1 + axis
    pads = np.zeros(2 * rank, np.int64)
    pads[rank + place] = length - size
    padded = g.op.Pad(_times(g, x, axis, chirp), pads)
    spectrum = _times(g, onnx_dft(g, str(padded), axis), axis, filtering)
    back = onnx_dft(g, spectrum, axis, inverse=1)
    cut = g.op.Slice(back, _FIRST, np.array([size]), np.array([place]))
    return _times(g, str(cut), axis, chirp)


def _times(g: GraphBuilder, x: str, axis: int, factors: NDArray[Any]) -> str:
    """Emit the products of pairs with complex numbers along an axis."""
    shape = (-1, *[1] * (-axis - 1), 2)
    own = np.stack([factors.real, factors.real], axis=-1).reshape(shape)
    crossed = np.stack([-factors.imag, factors.imag], axis=-1).reshape(shape)
    turned = g.op.Gather(x, np.array([1, 0]), axis=-1)
    return str(g.op.Add(g.op.Mul(x, own), g.op.Mul(turned, crossed)))


def _pairs(x: NDArray[Any]) -> NDArray[Any]:
    return np.stack([x.real, x.imag], axis=-1)


def _roots(numbers: NDArray[Any], size: int) -> NDArray[Any]:
    """``exp(-2 pi i k / size)`` for integers ``k``, from angles of an eighth of a turn at most."""
    numbers = numbers % size
    quarters = np.rint(4 * numbers / size).astype(np.int64)
    angles = (4 * numbers - quarters * size) * (np.pi / 2) / size
    roots: NDArray[Any] = (np.cos(angles) - 1j * np.sin(angles)) * np.array([1, -1j, -1, 1j])[
        quarters % 4
    ]
    return roots
