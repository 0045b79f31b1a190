"""What convolutions and poolings read from their attributes: window, padding and layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from yobx.lowering.layout import channels_first, channels_last
from yobx.lowering.padding import Window, same_pads
from yobx.lowering.shapes import Dim
from yobx.tensorflow.ops._op import attr, data_format, int_list, unsupported
from yobx.xbuilder import GraphBuilder

__all__ = [
    "POOL_FORMAT",
    "in_channels_first",
    "padding_pairs",
    "pool_window",
    "spatial",
    "window_of",
]

#: Layout of a pooling without the attribute, by rank.
POOL_FORMAT = {4: "NHWC", 5: "NDHWC"}


def spatial(values: Sequence[int], last: bool) -> tuple[int, ...]:
    """Keep the spatial entries of a list with one entry per axis."""
    return tuple(values[1:-1] if last else values[2:])


def window_of(op: Any, kernel: Sequence[int], default_format: str = "NHWC") -> Window:
    """Return the window of an op with attributes ``strides`` and perhaps ``dilations``."""
    last, _ = data_format(op, default_format)
    strides = int_list(op, "strides")
    dilations = [int(d) for d in attr(op, "dilations", [1] * len(strides))]
    batch_channel = [strides[0], strides[-1 if last else 1]]
    if batch_channel != [1, 1]:
        unsupported(op, "strides over batch and channels must be 1", f"strides={strides}")
    return Window(tuple(kernel), spatial(strides, last), spatial(dilations, last))


def pool_window(op: Any, ksize: list[int], strides: list[int]) -> Window:
    """Return the window of a pooling over space.

    Args:
        op: The pooling.
        ksize: Size of the window along each axis, batch and channels too.
        strides: Steps along the same axes.

    Raises:
        UnsupportedAttributeError: If the window reaches over batch or channels, or the layout is
            another one.
    """
    last, name = data_format(op, POOL_FORMAT[len(ksize)])
    if name == "NCHW_VECT_C":
        unsupported(op, "the layout must be NHWC or NCHW", f"data_format={name}")
    kernel = spatial(ksize, last)
    outside = [ksize[0], ksize[-1 if last else 1], strides[0], strides[-1 if last else 1]]
    if outside != [1, 1, 1, 1]:
        unsupported(op, "windows over batch and channels must be 1", f"ksize={ksize}")
    return Window(kernel, spatial(strides, last), (1,) * len(kernel))


def padding_pairs(
    g: GraphBuilder, op: Any, x: str, window: Window, default_format: str = "NHWC"
) -> list[tuple[Dim, Dim]]:
    """Return (begin, end) per spatial axis of the channels-first ``x``."""
    padding = str(attr(op, "padding"))
    n = len(window.kernel)
    if padding == "VALID":
        return [(0, 0)] * n
    if padding == "SAME":
        return same_pads(g, x, range(2, 2 + n), window)
    flat = int_list(op, "explicit_paddings")
    last, _ = data_format(op, default_format)
    pairs = list(zip(flat[::2], flat[1::2], strict=True))
    return list(spatial(pairs, last))  # type: ignore[arg-type]


def in_channels_first(
    g: GraphBuilder,
    op: Any,
    x: str,
    outputs: list[str] | None,
    compute: Callable[[str, list[str] | None], str],
    *,
    n: int,
    default_format: str = "NHWC",
) -> str:
    """Run ``compute(channels-first x, output names)`` between the transposes the format needs.

    Args:
        g: The graph.
        op: The TensorFlow op.
        x: Its data input.
        outputs: Names to write, ``None`` for any.
        compute: Emits the operator.
        n: Number of spatial axes.
        default_format: Format if the op has no ``data_format``.

    Returns:
        Name of the result in the op's own format.
    """
    last, _ = data_format(op, default_format)
    names = None if outputs is None else outputs[:1]
    if not last:
        return compute(x, names)
    result = compute(channels_first(g, x, n + 2), None)
    return channels_last(g, result, n + 2, outputs=names)
