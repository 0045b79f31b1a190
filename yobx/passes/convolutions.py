"""Arithmetic beside a convolution, put into its weights, bias and pads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from yobx.passes.graph_edit import (
    GraphEditor,
    constant,
    graphs_of,
    int_constant,
    known_dims,
    rank_of,
    scalar_constant,
)

__all__ = ["fold_into_convolutions", "per_channel"]

Array = npt.NDArray[Any]
_NONNEGATIVE = frozenset(("Relu", "Sigmoid", "HardSigmoid", "Abs", "Exp", "Softplus"))


def fold_into_convolutions(model: ir.Model) -> None:
    """Folds per-channel Mul, Add, Sub, Div and BatchNormalization into the Conv before them.

    A Pad by zeros goes into the pads of the Conv (or, where the values cannot be negative, of
    the MaxPool) after it. Weights are never changed in place: another node may use them.

    Args:
        model: Model, changed in place.
    """
    editor: GraphEditor | None = None
    for graph in graphs_of(model):
        for node in list(graph):
            if node.graph is not graph or node.op_type not in _TARGETS or node.domain:
                continue
            editor = editor or GraphEditor(model)
            if node.op_type != "ConvTranspose":
                _fold_pad(editor, graph, node)
            if node.op_type != "MaxPool":
                _fold_users(editor, graph, node)


_TARGETS = frozenset(("Conv", "ConvTranspose", "MaxPool"))
_CHANNELS_AT_A_TIME = 64


@dataclass(frozen=True)
class _Affine:
    """``scale * x + offset`` by channel, in float64."""

    scale: Array
    offset: Array

    @classmethod
    def nothing(cls) -> _Affine:
        """The change that changes nothing."""
        return cls(np.ones(1), np.zeros(1))

    def then(self, after: _Affine) -> _Affine:
        """This change followed by another one."""
        return _Affine(self.scale * after.scale, self.offset * after.scale + after.offset)

    def fits(self, channels: int) -> bool:
        """True when there is one entry for each channel, or one for all."""
        return self.scale.size in (1, channels) and self.offset.size in (1, channels)


def _fold_users(editor: GraphEditor, graph: ir.Graph, node: ir.Node) -> None:
    """Folds the chain of nodes that read the convolution, rounding its weights once."""
    weights = constant(node.inputs[1])
    bias_value = node.inputs[2] if len(node.inputs) > 2 else None
    bias = constant(bias_value)
    if weights is None or (bias_value is not None and bias is None):
        return
    group = node.attributes.get("group")
    groups = 1 if group is None else group.as_int()
    transposed = node.op_type == "ConvTranspose"
    channels = weights.shape[1] * groups if transposed else weights.shape[0]
    total, folded = _Affine.nothing(), False
    while (found := _change_after(graph, node)) is not None:
        user, output, change = found
        if not change.fits(channels) or (transposed and groups > 1 and change.scale.size > 1):
            break
        total, folded = total.then(change), True
        GraphEditor.replace(user.outputs[0], output)
        graph.remove(user, safe=True)
    if folded:
        offset = np.zeros(channels) if bias is None else bias.astype(np.float64)
        _rewrite(editor, node, weights, offset, total, axis=1 if transposed else 0)


def _change_after(graph: ir.Graph, node: ir.Node) -> tuple[ir.Node, ir.Value, _Affine] | None:
    """The only reader, what it reads (perhaps behind a Squeeze of space) and what it does."""
    output = node.outputs[0]
    user, index = _only_user(graph, output)
    if user is not None and _squeezes_space(user):
        output = user.outputs[0]
        user, index = _only_user(graph, output)
    rank = rank_of(output)
    if user is None or rank is None:
        return None
    change = _batch_norm(user, index) or _binary(user, index, rank)
    return None if change is None else (user, output, change)


def _only_user(graph: ir.Graph, value: ir.Value) -> tuple[ir.Node | None, int]:
    uses = list(value.uses())
    if value.is_graph_output() or len(uses) != 1:
        return None, 0
    user, index = uses[0]
    return (user, index) if user.graph is graph and not user.domain else (None, 0)


def _squeezes_space(node: ir.Node) -> bool:
    rank = rank_of(node.inputs[0]) if node.inputs else None
    if node.op_type != "Squeeze" or len(node.inputs) < 2 or rank is None:
        return False
    axes = int_constant(node.inputs[1])
    return axes is not None and all(axis % rank >= 2 for axis in axes)


def _rewrite(
    editor: GraphEditor,
    node: ir.Node,
    weights: Array,
    bias: Array,
    change: _Affine,
    *,
    axis: int,
) -> None:
    """Puts the change into weights (channels along ``axis``) and bias."""
    if np.any(change.scale != 1):
        name = node.inputs[1].name if node.inputs[1] is not None else None
        scaled = editor.add_lazy_constant(
            lambda: _scaled(weights, change.scale, axis),
            weights.shape,
            weights.dtype,
            f"{name}/folded",
        )
        node.replace_input_with(1, scaled)
        # The source rounds a factor of its own here, which comparisons must allow for.
        node.metadata_props["yobx.folded"] = "scale"
    new_bias = bias * change.scale + change.offset
    if len(node.inputs) < 3:
        node.resize_inputs(3)
    named = f"{node.outputs[0].name}/bias"
    node.replace_input_with(2, editor.add_constant(new_bias.astype(weights.dtype), named))


def _scaled(weights: Array, scale: Array, axis: int) -> Array:
    """``weights * scale`` with one entry of ``scale`` for each channel along ``axis``, or one.

    A few channels at a time: in float64 without a float64 copy of the weights, and so that
    turned weights are read and written within the cache.
    """
    scaled = np.empty(weights.shape, weights.dtype)
    factors = np.broadcast_to(scale, weights.shape[axis])
    shape = [1] * weights.ndim
    shape[axis] = -1
    before = (slice(None),) * axis
    for start in range(0, weights.shape[axis], _CHANNELS_AT_A_TIME):
        part = slice(start, start + _CHANNELS_AT_A_TIME)
        block = weights[(*before, part)]
        scaled[(*before, part)] = np.multiply(
            block, factors[part].reshape(shape), dtype=np.float64, casting="same_kind"
        )
    return scaled


def _binary(user: ir.Node, index: int, rank: int) -> _Affine | None:
    if user.op_type not in ("Mul", "Add", "Sub", "Div") or len(user.inputs) != 2:
        return None
    other = per_channel(constant(user.inputs[1 - index]), rank)
    one, zero = np.ones(1), np.zeros(1)
    if other is None:
        return None
    if user.op_type == "Mul":
        return _Affine(other, zero)
    if user.op_type == "Add":
        return _Affine(one, other)
    if user.op_type == "Sub":
        return _Affine(one, -other) if index == 0 else _Affine(-one, other)
    return _Affine(1.0 / other, zero) if index == 0 and np.all(other != 0) else None


def per_channel(array: Array | None, rank: int) -> Array | None:
    """Reads the entries by channel of a constant that varies along axis 1 only.

    Args:
        array: Constant, or ``None``.
        rank: Rank of the value it is combined with.

    Returns:
        One float64 for each channel, or one for all; ``None`` if it varies otherwise.
    """
    if array is None or array.ndim > rank or array.dtype.kind in "OUSb":
        return None
    shape = (1,) * (rank - array.ndim) + array.shape
    if any(size != 1 for axis, size in enumerate(shape) if axis != 1):
        return None
    return array.reshape(-1).astype(np.float64)


def _batch_norm(user: ir.Node, index: int) -> _Affine | None:
    if user.op_type != "BatchNormalization" or index != 0:
        return None
    training = user.attributes.get("training_mode")
    if training is not None and training.as_int():
        return None
    arrays = [constant(value) for value in user.inputs[1:5]]
    scale, offset, mean, variance = (
        None if array is None else array.astype(np.float64) for array in arrays
    )
    if scale is None or offset is None or mean is None or variance is None:
        return None
    epsilon = user.attributes.get("epsilon")
    factor = scale / np.sqrt(variance + (1e-5 if epsilon is None else epsilon.as_float()))
    return _Affine(factor, offset - mean * factor)


def _fold_pad(editor: GraphEditor, graph: ir.Graph, node: ir.Node) -> None:
    source = node.inputs[0]
    widening = _widening(graph, node)
    reader = node if widening is None else widening
    padded = reader.inputs[0]
    pad = padded.producer() if padded is not None else None
    rank = rank_of(source)
    if pad is None or pad.op_type != "Pad" or pad.graph is not graph or rank is None:
        return
    axes = () if widening is None else _new_axes(widening, rank)
    full = None if axes is None else _zero_pads(pad, rank - len(axes))
    added = None if full is None else _spatial(_with_axes(full, axes or ()))
    automatic = node.attributes.get("auto_pad")
    if added is None or (automatic is not None and automatic.as_string() != "NOTSET"):
        return
    spatial = rank - 2
    old = node.attributes.get("pads")
    total = [
        a + b for a, b in zip(old.as_ints() if old else (0,) * 2 * spatial, added, strict=True)
    ]
    if node.op_type == "MaxPool" and not _pool_may_pad(node, pad.inputs[0], total, spatial):
        return
    node.attributes["pads"] = ir.AttrInt64s("pads", total)
    reader.replace_input_with(0, pad.inputs[0])
    if widening is not None:
        sizes = known_dims(pad.inputs[0])
        left = iter(sizes or ())
        wide = (
            [1 if axis in (axes or ()) else next(left) for axis in range(rank)] if sizes else None
        )
        widening.outputs[0].shape = None if wide is None else ir.Shape(wide)


def _widening(graph: ir.Graph, node: ir.Node) -> ir.Node | None:
    """The Unsqueeze that only makes the axes of size 1 of a convolution over fewer axes."""
    source = node.inputs[0]
    before = source.producer() if source is not None else None
    if (
        before is None
        or before.op_type != "Unsqueeze"
        or before.domain
        or before.graph is not graph
    ):
        return None
    alone = len(before.outputs[0].uses()) == 1 and not before.outputs[0].is_graph_output()
    return before if alone and node.op_type == "Conv" else None


def _new_axes(widening: ir.Node, rank: int) -> tuple[int, ...] | None:
    """The axes that an Unsqueeze to a rank makes."""
    given = int_constant(widening.inputs[1]) if len(widening.inputs) > 1 else None
    return None if given is None else tuple(axis % rank for axis in given)


def _zero_pads(pad: ir.Node, rank: int) -> list[int] | None:
    """The numbers of zeros that a Pad adds, before and after every axis."""
    mode = pad.attributes.get("mode")
    pads = int_constant(pad.inputs[1]) if len(pad.inputs) > 1 else None
    value = pad.inputs[2] if len(pad.inputs) > 2 else None
    axes_input = pad.inputs[3] if len(pad.inputs) > 3 else None
    axes = tuple(range(rank)) if axes_input is None else int_constant(axes_input)
    if (
        pads is None
        or axes is None
        or (mode is not None and mode.as_string() != "constant")
        or (value is not None and scalar_constant(value) != 0.0)
        or min(pads, default=0) < 0
    ):
        return None
    full = [0] * (2 * rank)
    for place, axis in enumerate(axes):
        full[axis % rank] = pads[place]
        full[rank + axis % rank] = pads[len(axes) + place]
    return full


def _with_axes(full: list[int], axes: tuple[int, ...]) -> list[int]:
    """Pads with those of new axes, which are 0."""
    half = len(full) // 2
    before, after = iter(full[:half]), iter(full[half:])
    places = [axis not in axes for axis in range(half + len(axes))]
    return [next(side) if kept else 0 for side in (before, after) for kept in places]


def _spatial(full: list[int]) -> list[int] | None:
    """The pads of the axes of space, if batch and channels have none."""
    rank = len(full) // 2
    if any(full[axis] or full[rank + axis] for axis in (0, 1)):
        return None
    return full[2:rank] + full[rank + 2 :]


def _pool_may_pad(node: ir.Node, source: ir.Value | None, total: list[int], spatial: int) -> bool:
    """A MaxPool pads with minus infinity: the same as zero if nothing is negative."""
    producer = source.producer() if source is not None else None
    kernel = node.attributes["kernel_shape"].as_ints()
    dilations = node.attributes.get("dilations")
    if producer is None or len(node.outputs) > 1:
        return False
    if dilations is not None and set(dilations.as_ints()) != {1}:
        return False
    if any(
        total[axis] >= size or total[spatial + axis] >= size for axis, size in enumerate(kernel)
    ):
        return False  # a window could hold padding only
    if known_dims(source) is None:
        return False
    if producer.op_type == "Clip":
        lowest = scalar_constant(producer.inputs[1]) if len(producer.inputs) > 1 else None
        return lowest is not None and lowest >= 0
    return producer.op_type in _NONNEGATIVE
