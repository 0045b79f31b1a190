"""Fourier transforms: `DFT` and `STFT`."""

from __future__ import annotations

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.shapes._common import ONE, argument, axis_of, dims_of, ranked, register, tensor
from yobx.onnx_optim.shapes._values import Element, scalar

__all__: list[str] = []

PAIR = OptimDim(2)


def _dft_axis(node: NodeView) -> int | None:
    """Axis of the transform: an attribute up to opset 19, an input after."""
    if node.version < 20:
        return int(node.attr("axis", 1))
    given = argument(node, 2)
    if given is None:
        return -2
    found = scalar(given)
    return found.as_int() if found is not None and found.is_int() else None


@register("DFT")
def dft(node: NodeView) -> OptimTensor:
    """One axis takes the length of the transform; the last holds real and imaginary parts."""
    item = node.tensor(0)
    dims = dims_of(item)
    axis = _dft_axis(node)
    if dims is None:
        return node.unknown("the input's rank is not known", dtype=item.dtype)
    one_sided, inverse = node.attr("onesided", 0) == 1, node.attr("inverse", 0) == 1
    last = ONE if one_sided and inverse else PAIR
    if axis is None:
        reason = "the axis is not known"
        return tensor(
            item.dtype, (*(node.fresh(place, reason) for place in range(len(dims) - 1)), last)
        )
    place = axis_of(node, axis, len(dims))
    given = argument(node, 1)
    length: Element
    if given is not None:
        length = scalar(given)
    elif one_sided and inverse:
        length = (dims[place] - ONE) * 2
    else:
        length = dims[place]
    if length is None:
        length = node.fresh(place, "dft_length is not known")
    elif one_sided and not inverse:
        length = length // 2 + ONE
    return tensor(item.dtype, (*dims[:place], length, *dims[place + 1 : -1], last))


@register("STFT")
def stft(node: NodeView) -> OptimTensor:
    """`(batch, frames, bins, 2)`."""
    item = node.tensor(0)
    dims, window = ranked(node, item, 2, 3), dims_of(argument(node, 2))
    step = scalar(argument(node, 1))
    if step == 0:
        node.fail("the step between frames is 0")
    length: Element = scalar(argument(node, 3))
    if length is None and window is not None and len(window) == 1:
        length = window[0]
    reason = "the signal, the frame length or the step is not known"
    signal = None if dims is None else dims[1]
    if length is None and argument(node, 3) is None and argument(node, 2) is None:
        length = signal
    batch = node.fresh(0, reason) if dims is None else dims[0]
    if signal is None or length is None or step is None:
        frames = node.fresh(1, reason)
    else:
        frames = (signal - length) // step + ONE
    if length is None:
        bins = node.fresh(2, reason)
    else:
        bins = length // 2 + ONE if node.attr("onesided", 1) == 1 else length
    return tensor(item.dtype, (batch, frames, bins, PAIR))
