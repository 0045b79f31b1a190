"""Complex tensors as pairs: `(..., 2)`, real part first."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from yobx.onnx_optim import TensorType
from yobx.xbuilder import GraphBuilder

from .casts import cast
from .complex_parts import absolute as length_of
from .fourier import (
    LONGEST_PRODUCT,
    chirp_transform,
    matrix_transform,
    of_real,
    one_sided,
    one_sided_inverse,
    onnx_dft,
)
from .legalise import legal
from .shapes import Dim, axis_size, dims, join_dims
from .transcendental import const

__all__ = [
    "absolute",
    "conjugate",
    "fft",
    "irfft",
    "pack",
    "parts",
    "rfft",
    "to_pairs",
]

_LAST = np.array([-1], np.int64)


def to_pairs(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a complex array as an array of pairs."""
    return np.stack([value.real, value.imag], axis=-1)


def pack(g: GraphBuilder, real: str, imaginary: str, outputs: list[str] | None = None) -> str:
    """Return pairs of two real tensors that broadcast.

    Args:
        g: The builder.
        real: The real part.
        imaginary: The imaginary part, of the same dtype.
        outputs: Name of the result.

    Returns:
        Pairs `(..., 2)`.
    """
    both = [g.op.Unsqueeze(x, _LAST) for x in (real, imaginary)]
    shape = g.get_shape(real)
    if shape.has_rank() and shape == g.get_shape(imaginary):
        return str(g.op.Concat(*both, axis=-1, outputs=outputs))
    first = np.array([True, False])
    return str(legal(g).Where(first, *both, outputs=outputs))


def parts(g: GraphBuilder, x: str) -> tuple[str, str]:
    """Return the real and the imaginary part."""
    real, imaginary = (g.op.Gather(x, np.array(i, np.int64), axis=-1) for i in (0, 1))
    return str(real), str(imaginary)


def conjugate(g: GraphBuilder, x: str, outputs: list[str] | None = None) -> str:
    """Emit the complex conjugate."""
    return str(legal(g).Mul(x, const(g, x, [1, -1]), outputs=outputs))


def absolute(g: GraphBuilder, x: str, outputs: list[str] | None = None) -> str:
    """Emit the absolute value, a real tensor; squares neither overflow nor vanish.

    Args:
        g: The builder.
        x: Pairs `(..., 2)`.
        outputs: Name of the result.

    Returns:
        Lengths `(...)`, of the dtype of the parts.
    """
    if g.get_type(x) is TensorType.kFloat:
        length = g.op.ReduceL2(cast(g, x, np.float64), _LAST, keepdims=0)
        return cast(g, length, np.float32, outputs=outputs)
    return str(g.op.Identity(length_of(g, parts(g, x)), outputs=outputs))


def _transform(g: GraphBuilder, x: str, axis: int, kind: TensorType, *, inverse: bool) -> str:
    """Emit the transform over one axis for a source of type ``kind``.

    onnxruntime rounds one over the length to float32, which float64 notices: of lengths that are
    not known the inverse is the conjugate of the transform of the conjugate.
    """
    length = axis_size(g, x, (g.get_rank(x) or 0) - 1 + axis)
    if isinstance(length, int) and _is_inexact([length]):
        if length <= LONGEST_PRODUCT:
            return matrix_transform(g, x, axis, length, inverse=inverse)
        if kind is TensorType.kDouble:
            return chirp_transform(g, x, axis, length, inverse=inverse)
    if isinstance(length, int) or kind is not TensorType.kDouble or not inverse:
        return onnx_dft(g, x, axis, inverse=int(inverse))
    done = onnx_dft(g, conjugate(g, x), axis)
    return str(g.op.Div(conjugate(g, done), cast(g, length, kind)))


def _is_inexact(lengths: Sequence[Dim | None]) -> bool:
    """Whether onnxruntime loses digits: it does unless all lengths are powers of two."""
    return not all(isinstance(n, int) and n & (n - 1) == 0 for n in lengths)


def _exact(g: GraphBuilder, x: str, lengths: Sequence[Dim | None]) -> str:
    """Widen pairs where onnxruntime loses digits."""
    return cast(g, x, np.float64) if _is_inexact(lengths) else x


def _told(g: GraphBuilder, x: str, lengths: Sequence[Dim | None]) -> AbstractContextManager[None]:
    """Note on the nodes made inside that the source rounds more coarsely than they do."""
    widened = g.get_type(x) is TensorType.kFloat and _is_inexact(lengths)
    return g.provenance(widened="float32" if widened else "")


def fft(
    g: GraphBuilder,
    x: str,
    axes: Sequence[int],
    *,
    inverse: bool,
    kind: TensorType | None = None,
) -> str:
    """Emit the Fourier transform of pairs over ``axes`` (negative, before the pairs).

    Args:
        g: The builder.
        x: Pairs `(..., 2)`.
        axes: Axes that are transformed.
        inverse: Whether the way back is meant, divided by the number of elements.
        kind: Type of the source, if that is not the type of `x`.

    Returns:
        Pairs of the shape of `x`.
    """
    kind = g.get_type(x) if kind is None else kind
    sizes = dims(g, x) or [None] * (g.get_rank(x) or 0)
    lengths = [sizes[axis - 1] for axis in axes]
    done = _exact(g, x, lengths)
    with _told(g, x, lengths):
        for axis in axes:
            done = _transform(g, done, axis, kind, inverse=inverse)
    return cast(g, done, g.get_type(x))


def fit_axis(g: GraphBuilder, x: str, axis: int, size: Dim, tail: int) -> str:
    """Cut or pad with zeros ``axis`` (negative, before ``tail`` more axes) to ``size``.

    Args:
        g: The builder.
        x: The tensor.
        axis: The axis, negative.
        size: The size that is wanted.
        tail: Number of axes after those that `axis` counts.

    Returns:
        The tensor with that size.
    """
    rank = g.get_rank(x) or 0
    place = rank - tail + axis
    wanted = join_dims(g, [size])
    cut = g.op.Slice(x, np.array([0], np.int64), wanted, np.array([place], np.int64))
    shape = g.get_shape(cut)
    if shape.has_rank() and shape[place] == size:
        return str(cut)
    missing = g.op.Sub(wanted, g.op.Shape(cut, start=place, end=place + 1))
    zeros = [np.zeros(rank + place, np.int64), np.zeros(rank - place - 1, np.int64)]
    pieces = [zeros[0], missing, *([zeros[1]] if zeros[1].size else [])]
    return str(legal(g).Pad(cut, g.op.Concat(*pieces, axis=0)))


def rfft(g: GraphBuilder, x: str, sizes: Sequence[Dim]) -> str:
    """Emit the one-sided transform of a real tensor over its last ``len(sizes)`` axes.

    Args:
        g: The builder.
        x: Real numbers.
        sizes: Sizes of the transform; axes of other sizes are cut or padded with zeros.

    Returns:
        Pairs; the last axis has ``size // 2 + 1`` elements.
    """
    for i, size in enumerate(sizes):
        x = fit_axis(g, x, i - len(sizes), size, 0)
    axes = [-i for i in range(1, len(sizes) + 1)]
    with _told(g, x, sizes):
        pairs = _one_sided(g, _exact(g, x, sizes), sizes[-1], g.get_type(x))
        done = fft(g, pairs, axes[1:], inverse=False, kind=g.get_type(x))
        return of_real(g, cast(g, done, g.get_type(x)), sizes)


def _one_sided(g: GraphBuilder, x: str, size: Dim, kind: TensorType) -> str:
    """Emit the first half of the transform of a real tensor over its last axis."""
    if _is_inexact([size]) and isinstance(size, int):
        if size <= LONGEST_PRODUCT:
            return one_sided(g, x, size)
        if kind is TensorType.kDouble:
            both = pack(g, x, str(g.op.Mul(x, const(g, x, 0))))
            whole = chirp_transform(g, both, -1, size, inverse=False)
            return fit_axis(g, whole, -1, size // 2 + 1, 1)
    return onnx_dft(g, str(g.op.Unsqueeze(x, _LAST)), -1, onesided=1)


def irfft(g: GraphBuilder, x: str, sizes: Sequence[Dim]) -> str:
    """Emit the real tensor whose one-sided transform over the last axes is ``x``.

    Args:
        g: The builder.
        x: Pairs, the first half of a spectrum.
        sizes: Sizes of the axes of the result.

    Returns:
        Real numbers with these sizes.
    """
    last = sizes[-1]
    one, two = np.array([1], np.int64), np.array([2], np.int64)
    length = join_dims(g, [last])
    half: Dim = (
        last // 2 + 1 if isinstance(last, int) else str(g.op.Add(g.op.Div(length, two), one))
    )
    for i, size in enumerate(sizes[:-1]):
        x = fit_axis(g, x, i - len(sizes), size, 1)
    x, dtype = fit_axis(g, x, -1, half, 1), g.get_type(x)
    with _told(g, x, sizes):
        x = _exact(g, x, sizes)
        others = [-i for i in range(2, len(sizes) + 1)]
        x = of_real(g, fft(g, x, others, inverse=True, kind=dtype), [last])
        if isinstance(last, int) and _is_inexact([last]) and last <= LONGEST_PRODUCT:
            return cast(g, one_sided_inverse(g, x, last), dtype)
        place = np.array([(g.get_rank(x) or 0) - 2], np.int64)
        # The other half is the mirrored conjugate: elements (n - 1) // 2 down to 1.
        top = g.op.Div(g.op.Sub(length, one), two)
        mirrored = g.op.Slice(x, top, np.array([0], np.int64), place, np.array([-1], np.int64))
        whole = g.op.Concat(x, conjugate(g, mirrored), axis=-2)
        return cast(g, parts(g, _transform(g, str(whole), -1, dtype, inverse=True))[0], dtype)
