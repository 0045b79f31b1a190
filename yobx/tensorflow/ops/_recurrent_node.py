"""A recurrent layer that was found in a loop, as one ONNX node."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from yobx.lowering.shapes import dims
from yobx.tensorflow.ops._cell_activations import DEFAULTS
from yobx.tensorflow.ops._loop import constant_of, origin
from yobx.tensorflow.ops._recurrent import Recurrence
from yobx.xbuilder import GraphBuilder

__all__ = ["emit_recurrence"]

_FIRST, _ONE = np.array([0], np.int64), np.array([1], np.int64)
_BACKWARDS = np.array([-1], np.int64)
_LOWEST = np.array([np.iinfo(np.int64).min + 1], np.int64)
Array = npt.NDArray[Any]

# Order of the gates in ONNX, as positions in TensorFlow's order.
_ORDER = {"LSTM": (0, 3, 1, 2), "GRU": (0, 1, 2), "RNN": (0,)}


def _arranged(value: Array, kind: str) -> Array:
    """Return `(..., gates * units)` with the gates in the order of ONNX."""
    order = _ORDER[kind]
    parts = np.split(value, len(order), axis=-1)
    return np.concatenate([parts[i] for i in order], axis=-1)


def emit_recurrence(
    g: GraphBuilder, found: Recurrence, op: Any, steps: int | str
) -> tuple[str, str, str | None] | None:
    """Emit the node.

    Args:
        g: The graph.
        found: The layer.
        op: The loop.
        steps: Number of turns: an integer above zero, or the name of an int64 scalar.

    Returns:
        All hidden states `(steps, batch, units)`, the last one, and the last cell state; ``None``
        if the weights are not known while converting.
    """
    names, place = [str(t.name) for t in op.inputs], str(op.name)
    weights = [
        None if k is None else g.get_constant(names[k])
        for k in (found.kernel, found.recurrent, found.bias)
    ]
    kernel, recurrent, bias = weights
    if kernel is None or recurrent is None or (bias is None and found.bias is not None):
        return None
    items, backwards = _items(g, op.inputs[found.items], steps)
    sizes, missing = _open_sizes(g, items)
    states = [op.inputs[k] for k in (found.hidden, found.cell) if k is not None]
    zero = all(_is_zero(g, t) for t in states)
    starts = [] if zero else [_padded_start(g, str(t.name), missing) for t in states]
    inputs: list[Any] = [
        _padded(g, items, missing),
        *(
            g.make_initializer(
                g.unique_name(f"{place}/{label}"),
                np.ascontiguousarray(_arranged(np.asarray(w), found.kind).T)[None],
            )
            for label, w in (("kernel", kernel), ("recurrent", recurrent))
        ),
        _bias(g, found, bias, place),
        None,
        *starts,
    ]
    while inputs[-1] is None:
        inputs.pop()
    keywords: dict[str, Any] = {"hidden_size": int(recurrent.shape[0]), "name": place}
    if found.kind == "GRU" and not found.resets_before:
        keywords["linear_before_reset"] = 1
    keywords |= _activations(found)
    if backwards:
        keywords["direction"] = "reverse"
    every, *last = getattr(g.op, found.kind)(*inputs, outputs=1 + len(states), **keywords)
    if sizes is not None:
        batch = g.op.Slice(sizes, _ONE, np.array([2], np.int64), _FIRST)
        every = g.op.Slice(every, np.array([0, 0], np.int64), sizes, np.array([0, 2], np.int64))
        last = [g.op.Slice(x, _FIRST, batch, _ONE) for x in last]
    rows = g.op.Squeeze(every, _ONE)
    if backwards:
        rows = g.op.Slice(rows, _BACKWARDS, _LOWEST, _FIRST, _BACKWARDS)
    ends = [g.op.Squeeze(x, _FIRST) for x in last]
    if isinstance(steps, str):  # Without a turn, what there was at the start.
        some = g.op.Greater(steps, np.array(0, np.int64))
        before = [np.array(0, np.float32) if zero else str(t.name) for t in states]
        ends = [g.op.Where(some, x, start) for x, start in zip(ends, before, strict=True)]
    return str(rows), str(ends[0]), str(ends[1]) if len(ends) > 1 else None


def _activations(found: Recurrence) -> dict[str, Any]:
    """Return the attributes for activations that are not the usual ones."""
    if found.activations == DEFAULTS[found.kind]:
        return {}
    values = {
        "activations": [one.name for one in found.activations],
        "activation_alpha": [one.alpha for one in found.activations if one.alpha is not None],
        "activation_beta": [one.beta for one in found.activations if one.beta is not None],
    }
    return {name: value for name, value in values.items() if value}


def _items(g: GraphBuilder, tensor: Any, steps: int | str) -> tuple[str, bool]:
    """Return what is read, and whether it is read from its end."""
    items = str(tensor.name)
    if isinstance(steps, str):
        value = g.get_value(steps)
        if value is None or value[0] != g.get_shape(items).dims()[0]:
            count = g.op.Max(g.op.Reshape(steps, _ONE), _FIRST)
            return str(g.op.Slice(items, _FIRST, count, _FIRST)), False
    source = origin(tensor).op
    if source.type != "TensorListFromTensor":
        return items, False
    turned = origin(source.inputs[0]).op
    axes = constant_of(turned.inputs[1]) if turned.type == "ReverseV2" else None
    if axes is None or axes.ravel().tolist() != [0]:
        return items, False
    return str(turned.inputs[0].name), True


def _open_sizes(g: GraphBuilder, items: str) -> tuple[str | None, str | None]:
    """Return time and batch, and how many elements they lack of one; ``None`` if they lack none."""
    known = dims(g, items)
    if known is not None and known[0] and known[1]:
        return None, None
    sizes = g.op.Shape(items, end=2)
    return str(sizes), str(g.op.Max(g.op.Sub(_ONE, sizes), _FIRST))


def _padded(g: GraphBuilder, items: str, missing: str | None) -> str:
    """Return the items, an empty axis with one element: onnxruntime ends the process otherwise."""
    if missing is None:
        return items
    return str(g.op.Pad(items, g.op.Concat(np.zeros(3, np.int64), missing, _FIRST, axis=0)))


def _is_zero(g: GraphBuilder, tensor: Any) -> bool:
    """Tell whether all elements are known to be zero, which is where the node starts anyway."""
    value, source = g.get_constant(tensor.name), origin(tensor).op
    if value is None and source.type == "Fill":
        value = constant_of(source.inputs[1])
    return value is not None and not np.any(value)


def _padded_start(g: GraphBuilder, x: str, missing: str | None) -> str:
    if missing is not None:
        more = g.op.Slice(missing, _ONE, np.array([2], np.int64), _FIRST)
        x = g.op.Pad(x, g.op.Concat(np.zeros(2, np.int64), more, _FIRST, axis=0))
    return str(g.op.Unsqueeze(x, _FIRST))


def _bias(g: GraphBuilder, found: Recurrence, bias: Any, place: str) -> str | None:
    """Return both biases of ONNX, `(1, 2 * gates * units)`."""
    if bias is None:
        return None
    value = np.atleast_2d(np.asarray(bias))
    if len(value) == 1:
        value = np.concatenate([value, np.zeros_like(value)])
    flat = _arranged(value, found.kind).reshape(1, -1)
    return g.make_initializer(g.unique_name(f"{place}/bias"), flat)
