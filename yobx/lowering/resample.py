"""Resizing by interpolation weights: exact for any filter, as two matrix products.

Each spatial axis is `out = weights @ in`, `weights` of shape `(out, in)`. Static sizes give
constant weights; otherwise they are computed in the graph by the same float32 formulas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from yobx.xbuilder import GraphBuilder

__all__ = [
    "KERNEL_RADIUS",
    "TINY_TOTAL",
    "Axis",
    "area_weights",
    "cubic_table",
    "cubic_weights",
    "kernel_weights",
    "resample",
    "scale_of",
]

F = np.float32
#: Weights whose sum is smaller than this are not divided by it.
TINY_TOTAL = F(1000 * np.finfo(F).tiny)


@dataclass(frozen=True)
class Axis:
    """One spatial axis to resize, both sizes static.

    Attributes:
        size: Elements it has.
        wanted: Elements it gets.
        align_corners: Whether the first and last elements coincide.
        half_pixel: Whether elements are centred at ``i + 0.5``.
    """

    size: int
    wanted: int
    align_corners: bool = False
    half_pixel: bool = False


def scale_of(axis: Axis) -> np.float32:
    """Return the step in the input for one step in the output, as float32.

    Args:
        axis: Sizes of the axis and how its pixels are counted.
    """
    if axis.align_corners and axis.wanted > 1:
        return F((axis.size - 1) / F(axis.wanted - 1))
    return F(F(axis.size) / F(axis.wanted))


def area_weights(axis: Axis) -> npt.NDArray[np.float32]:
    """Return the weights of an average over the area that each output element covers.

    Args:
        axis: Sizes of the input and of the output.

    Returns:
        Weights, float32, one row an element of the output and one column one of the input; rows add
        up to one.
    """
    scale = scale_of(axis)
    weights = np.zeros((axis.wanted, axis.size), F)
    for row in range(axis.wanted):
        low = F(F(row) * scale)
        high = F(F(row + 1) * scale)
        start, end = int(np.floor(low)), int(np.ceil(high))
        for j in range(start, end):
            if j < low:
                part = scale if j + 1 > high else F(j + 1) - low
            else:
                part = high - F(j) if j + 1 > high else F(1)
            weights[row, min(max(j, 0), axis.size - 1)] += part
        weights[row] /= scale
    return weights


_TABLE = 1024


def cubic_table(a: float) -> npt.NDArray[np.float32]:
    """Return the table of Keys' kernel that TensorFlow looks its weights up in.

    Args:
        a: Parameter of the kernel (Keys, Cubic convolution interpolation for digital image
            processing, 1981).

    Returns:
        Pairs of values, as many as TensorFlow has, float32.
    """
    x = np.arange(_TABLE + 1) / _TABLE
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far_x = x + 1.0
    far = ((a * far_x - 5 * a) * far_x + 8 * a) * far_x - 4 * a
    return np.stack([near, far], axis=1).astype(F)


def cubic_weights(axis: Axis) -> npt.NDArray[np.float32]:
    """Return bicubic weights: ``a`` is -0.5 with half-pixel centres, else -0.75.

    Args:
        axis: Sizes of the input and of the output.

    Returns:
        Weights, float32, one row an element of the output and one column one of the input.
    """
    scale = scale_of(axis)
    table = cubic_table(-0.5 if axis.half_pixel else -0.75)
    weights = np.zeros((axis.wanted, axis.size), F)
    for row in range(axis.wanted):
        place = F(F(row + 0.5) * scale - F(0.5)) if axis.half_pixel else F(F(row) * scale)
        base = int(np.floor(place))
        offset = int(np.rint((place - F(base)) * _TABLE))
        taps = [
            table[offset, 1],
            table[offset, 0],
            table[_TABLE - offset, 0],
            table[_TABLE - offset, 1],
        ]
        positions = [base - 1, base, base + 1, base + 2]
        if axis.half_pixel:
            taps = [t if 0 <= p < axis.size else F(0) for t, p in zip(taps, positions, strict=True)]
            total = F(sum(taps))
            if abs(total) >= TINY_TOTAL:
                taps = [F(t * (F(1) / total)) for t in taps]
        for tap, position in zip(taps, positions, strict=True):
            weights[row, min(max(position, 0), axis.size - 1)] += tap
    return weights


def kernel_weights(
    size: int, wanted: int, scale: float, translate: float, *, kernel: str, antialias: bool
) -> npt.NDArray[np.float32]:
    """Return the weights of TensorFlow's ``ScaleAndTranslate`` for one axis.

    Args:
        size: Size of the input.
        wanted: Size of the output.
        scale: How much larger the output is.
        translate: How far it is moved, in its own elements.
        kernel: Name of the kernel, as TensorFlow has it.
        antialias: Whether the kernel is widened where the output is smaller.

    Returns:
        Weights, float32, one row an element of the output and one column one of the input.
    """
    radius, function = _KERNELS[kernel]
    inverse = F(1) / F(scale)
    shift = -inverse * F(translate)
    stretch = max(inverse, F(1)) if antialias else F(1)
    reach, narrow = F(radius) * stretch, F(1) / stretch
    weights = np.zeros((wanted, size), F)
    for row in range(wanted):
        sample = F(row + 0.5) * inverse + shift
        if not 0 <= sample <= size:
            continue
        low = int(max(np.ceil(sample - reach - F(0.5)), 0))
        high = int(min(np.floor(sample + reach - F(0.5)), size - 1))
        places = np.arange(low, high + 1, dtype=F) + F(0.5) - sample
        taps = np.array([function(place) for place in np.abs(places * narrow)], F)
        total = sum(taps, F(0))  # one after the other, as TensorFlow does
        if abs(total) >= TINY_TOTAL:
            weights[row, low : high + 1] = taps * (F(1) / total)
    return weights


def _lanczos(radius: float) -> Any:
    def value(x: np.float32) -> np.float32:
        if x > radius:
            return F(0)
        if x <= 1e-3:
            return F(1)
        angle = F(np.pi)
        waves = radius * np.sin(angle * x) * np.sin(angle * x / radius)
        return F(waves / (angle * angle * x * x))

    return value


def _gaussian(x: np.float32) -> np.float32:
    radius = 1.5
    if x >= radius:
        return F(0)
    sigma = radius / 3.0
    return F(np.exp(-x * x / (2.0 * sigma * sigma)))


def _keys(x: np.float32) -> np.float32:
    if x >= 2.0:
        return F(0)
    if x >= 1.0:
        return F(((-0.5 * x + 2.5) * x - 4.0) * x + 2.0)
    return F(((1.5 * x - 2.5) * x) * x + 1.0)


def _mitchell(x: np.float32) -> np.float32:
    if x >= 2.0:
        return F(0)
    if x >= 1.0:
        return F((((-7.0 / 18.0) * x + 2.0) * x - 10.0 / 3.0) * x + 16.0 / 9.0)
    return F((((7.0 / 6.0) * x - 2.0) * x) * x + 8.0 / 9.0)


def _box(x: np.float32) -> np.float32:
    return F(1.0 if x < 0.5 else 0.5 if x == 0.5 else 0.0)


_KERNELS: dict[str, tuple[float, Any]] = {
    "lanczos1": (1.0, _lanczos(1.0)),
    "lanczos3": (3.0, _lanczos(3.0)),
    "lanczos5": (5.0, _lanczos(5.0)),
    "gaussian": (1.5, _gaussian),
    "box": (0.5, _box),
    "triangle": (1.0, lambda x: max(F(0), F(1) - x)),
    "keyscubic": (2.0, _keys),
    "mitchellcubic": (2.0, _mitchell),
}

#: Distance from the centre at which each filter ends.
KERNEL_RADIUS = {name: radius for name, (radius, _) in _KERNELS.items()}


def resample(
    g: GraphBuilder,
    x: str,
    rows: Any,
    columns: Any,
    *,
    outputs: list[str] | None = None,
    name: str | None = None,
) -> str:
    """Emit `(n, h, w, c)` resized by weights `(h2, h)` and `(w2, w)`, float32.

    Args:
        g: The builder.
        x: Images `(n, h, w, c)`, float32.
        rows: Weights `(h2, h)`, an array or the name of a value.
        columns: Weights `(w2, w)`, the same.
        outputs: Name of the result.
        name: Name of its node.

    Returns:
        Images `(n, h2, w2, c)`, float32.
    """
    tall = g.op.Einsum(x, rows, equation="nhwc,yh->nywc")
    return str(g.op.Einsum(tall, columns, equation="nywc,xw->nyxc", outputs=outputs, name=name))
