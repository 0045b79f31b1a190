"""Loops that are a recurrent layer: one ONNX node each.

What counts is the body of the ``While`` alone, operation by operation, not who wrote it. A body
that does anything else, a mask for instance, does not match and stays a loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from yobx.tensorflow.ops._cell_activations import Activation, activated
from yobx.tensorflow.ops._loop import LoopPlan, constant_of, input_index, origin

__all__ = ["Recurrence", "match_recurrence"]

_SUMS = ("AddV2", "Add", "BiasAdd")


@dataclass(frozen=True)
class Recurrence:
    """A recurrent layer found in a loop; indices are those of the loop variables.

    Attributes:
        kind: ``LSTM``, ``GRU`` or ``RNN``.
        items: List that is read in order.
        counter: Position that is read.
        hidden: State that is also the output.
        cell: Cell state of an LSTM.
        kernel: Weights of the input, `(inputs, gates * units)`.
        recurrent: Weights of the state, `(units, gates * units)`.
        bias: Biases, `(gates * units,)`, or `(2, gates * units)` with one for each product.
        activations: Of the gates, of what is new, and of what an LSTM shows; an RNN has one.
        resets_before: Whether a GRU resets the state before its product with the weights.
    """

    kind: str
    items: int
    counter: int
    hidden: int
    cell: int | None
    kernel: int
    recurrent: int
    bias: int | None
    activations: tuple[Activation, ...] = ()
    resets_before: bool = False


@dataclass(frozen=True)
class _Sum:
    """``x @ kernel + h @ recurrent + bias``, with what stands for each, or ``None``."""

    reading: tuple[int, int] | None = None
    kernel: int | None = None
    recurrent: int | None = None
    bias: int | None = None


class _Matcher:
    """Questions about the body of a loop."""

    def __init__(self, body: Any, plan: LoopPlan) -> None:
        self.body = body
        self.plan = plan

    def made_by(self, tensor: Any, *types: str) -> Any:
        """Return the operation that makes a value if it is one of ``types``."""
        op = origin(tensor).op
        return op if op.type in types else None

    def state(self, tensor: Any) -> int | None:
        """Return which carried variable a value is, before the body changes it."""
        index = input_index(self.body, tensor)
        return index if index in self.plan.carried else None

    def weight(self, tensor: Any) -> int | None:
        """Return which fixed variable a value is, read or passed on."""
        source = origin(tensor)
        if source.op.type == "ReadVariableOp":
            source = source.op.inputs[0]
        index = input_index(self.body, source)
        return index if index in self.plan.fixed else None

    def reading(self, tensor: Any) -> tuple[int, int] | None:
        """Return list and counter of an element read in order."""
        op = self.made_by(tensor, "TensorListGetItem")
        if op is None:
            return None
        items, counter = (input_index(self.body, op.inputs[i]) for i in (0, 1))
        if items not in self.plan.fixed or counter not in self.plan.counters:
            return None
        return (items, counter) if items is not None and counter is not None else None

    def terms(self, tensor: Any) -> list[Any]:
        """Return what is added up to a value; a bias as its ``BiasAdd``."""
        op = self.made_by(tensor, *_SUMS)
        if op is None:
            return [origin(tensor)]
        if op.type == "BiasAdd":
            return [*self.terms(op.inputs[0]), op] if _channels_last(op) else [origin(tensor)]
        return [*self.terms(op.inputs[0]), *self.terms(op.inputs[1])]

    def affine(self, tensor: Any, hidden: int) -> _Sum | None:
        """Return a value as products of the input and the state with weights, and a bias."""
        found: dict[str, Any] = {}
        for term in self.terms(tensor):
            part = self._part(term, hidden)
            if part is None or part.keys() & found.keys():
                return None
            found |= part
        return _Sum(**found)

    def _part(self, term: Any, hidden: int) -> dict[str, Any] | None:
        if getattr(term, "type", "") == "BiasAdd":
            bias = self.weight(term.inputs[1])
            return None if bias is None else {"bias": bias}
        op = self.product(term)
        if op is None:
            return None
        weight = self.weight(op.inputs[1])
        if weight is None:
            return None
        if self.state(op.inputs[0]) == hidden:
            return {"recurrent": weight}
        reading = self.reading(op.inputs[0])
        return None if reading is None else {"reading": reading, "kernel": weight}

    def product(self, tensor: Any) -> Any:
        """Return the operation that makes a value if it is a product of two matrices."""
        op = self.made_by(tensor, "MatMul")
        if op is None or op.get_attr("transpose_a") or op.get_attr("transpose_b"):
            return None
        return op

    def piece(self, tensor: Any, count: int) -> tuple[Any, int] | None:
        """Return whole and number if a value is one of ``count`` equal parts of the last axis."""
        source = origin(tensor)
        op = source.op
        if op.type == "Split" and len(op.outputs) == count:
            axis = constant_of(op.inputs[0])
            rank = op.inputs[1].shape.rank
            if axis is not None and rank and int(axis) % rank == rank - 1:
                return origin(op.inputs[1]), source.value_index
        if op.type == "StridedSlice":
            return _sliced_piece(op, count)
        return None

    def pairs(self, tensor: Any, *types: str) -> list[tuple[Any, Any]]:
        """Return the operands of a sum or product both ways round, if an operation of ``types``."""
        op = self.made_by(tensor, *types)
        return [] if op is None else [tuple(op.inputs), tuple(reversed(op.inputs))]

    def columns(self, tensor: Any, width: int) -> tuple[Any, int, int] | None:
        """Return whole, begin and end if a value is some columns of a matrix of ``width``."""
        op = self.made_by(tensor, "StridedSlice")
        taken = None if op is None else _taken(op, width)
        if op is None or taken is None or not len(taken):
            return None
        return origin(op.inputs[0]), int(taken[0]), int(taken[-1]) + 1


def _channels_last(op: Any) -> bool:
    return bool(op.get_attr("data_format") == b"NHWC")


def _sliced_piece(op: Any, count: int) -> tuple[Any, int] | None:
    """Return which of ``count`` equal parts of the columns a slice of a matrix takes."""
    width = op.inputs[0].shape[-1] if op.inputs[0].shape.rank == 2 else None
    if not width or width % count:
        return None
    taken = _taken(op, width)
    if taken is None or len(taken) != width // count or taken[0] % len(taken):
        return None
    return origin(op.inputs[0]), int(taken[0]) // len(taken)


def _taken(op: Any, width: int) -> Any:
    """Return the numbers of the neighbouring columns that a slice of a matrix takes, if it does."""
    import tensorflow as tf

    bounds = [constant_of(t) for t in op.inputs[1:4]]
    if any(b is None for b in bounds):
        return None
    names = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    masks = {name: op.get_attr(name) for name in names}
    # TensorFlow itself says which of two rows of column numbers remain.
    numbers = np.broadcast_to(np.arange(width), (2, width))
    with tf.init_scope():
        taken = tf.strided_slice(tf.constant(numbers), *bounds, **masks).numpy()
    if taken.ndim != 2 or len(taken) != 2 or (np.diff(taken[0]) != 1).any():
        return None
    return taken[0]


def match_recurrence(body: Any, plan: LoopPlan) -> Recurrence | None:
    """Return the recurrent layer that a loop is, if it is one."""
    if plan.bounds is None or not 1 <= len(plan.carried) <= 2:
        return None
    m = _Matcher(body, plan)
    for hidden in plan.carried:
        if body.inputs[hidden].dtype.name != "float32" or body.inputs[hidden].shape.rank != 2:
            return None
        others = [k for k in plan.carried if k != hidden]
        found = _match_lstm(m, hidden, others[0]) if others else _match_one(m, hidden)
        if found is not None and _writes_only(body, plan, hidden):
            return found
    return None


def _writes_only(body: Any, plan: LoopPlan, hidden: int) -> bool:
    """Tell whether every list gets the new state and nothing else."""
    new = origin(body.outputs[hidden])
    return all(origin(item) is new for _, item in plan.written.values())


def _match_one(m: _Matcher, hidden: int) -> Recurrence | None:
    return _match_gru(m, hidden) or _match_rnn(m, hidden)


def _layer(
    kind: str,
    hidden: int,
    cell: int | None,
    total: _Sum | None,
    activations: tuple[Activation, ...],
    *,
    resets_before: bool = False,
) -> Recurrence | None:
    if total is None or total.reading is None:
        return None
    if total.kernel is None or total.recurrent is None:
        return None
    items, counter = total.reading
    weights = total.kernel, total.recurrent, total.bias
    return Recurrence(kind, items, counter, hidden, cell, *weights, activations, resets_before)


def _match_rnn(m: _Matcher, hidden: int) -> Recurrence | None:
    """``h = f(x W + h U + b)``."""
    activation, inner = activated(m.body.outputs[hidden])
    return _layer("RNN", hidden, None, m.affine(inner, hidden), (activation,))


def _blends(m: _Matcher, state: int) -> Iterator[tuple[Any, tuple[Any, Any]]]:
    """Yield ``a`` and ``(b, c)``, both ways round, if a state becomes ``a * state + b * c``."""
    for kept, fresh in m.pairs(m.body.outputs[state], "AddV2", "Add"):
        for gate, old in m.pairs(kept, "Mul"):
            if m.state(old) == state:
                for factors in m.pairs(fresh, "Mul"):
                    yield gate, factors


def _match_lstm(m: _Matcher, hidden: int, cell: int) -> Recurrence | None:
    """``c = f c + i g`` and ``h = o a(c)``, the gates in the order i, f, g, o."""
    for shown, output_gate in m.pairs(m.body.outputs[hidden], "Mul"):
        last, inner = activated(shown)
        if origin(inner) is not origin(m.body.outputs[cell]):
            continue
        for forget, (input_gate, candidate) in _blends(m, cell):
            parts = [activated(t) for t in (input_gate, forget, candidate, output_gate)]
            whole = _in_order([m.piece(t, 4) for _, t in parts])
            kinds = [kind for kind, _ in parts]
            if whole is not None and kinds[0] == kinds[1] == kinds[3]:
                found = (kinds[0], kinds[2], last)
                return _layer("LSTM", hidden, cell, m.affine(whole, hidden), found)
    return None


def _in_order(pieces: list[tuple[Any, int] | None]) -> Any:
    """Return the tensor that all pieces are of, if they are its parts one after the other."""
    whole = None
    for number, piece in enumerate(pieces):
        if piece is None or piece[1] != number or (whole is not None and piece[0] is not whole):
            return None
        whole = piece[0]
    return whole


def _match_gru(m: _Matcher, hidden: int) -> Recurrence | None:
    """``h = z h + (1 - z) g``, the gates in the order z, r, h."""
    for update, (rest, candidate) in _blends(m, hidden):
        minus = m.made_by(rest, "Sub")
        one = constant_of(minus.inputs[0]) if minus is not None else None
        if minus is None or one is None or one.size != 1 or float(one.ravel()[0]) != 1.0:
            continue
        if origin(minus.inputs[1]) is not origin(update):
            continue
        found = _gru_after(m, hidden, update, candidate) or _gru_before(
            m, hidden, update, candidate
        )
        if found is not None:
            return found
    return None


def _gru_after(m: _Matcher, hidden: int, update: Any, candidate: Any) -> Recurrence | None:
    """``g = a(x_h + r u_h)``: the state is reset after its product with the weights."""
    new, inner = activated(candidate)
    for x_part, product in m.pairs(inner, "AddV2", "Add"):
        for reset, u_part in m.pairs(product, "Mul"):
            for gate, zs, rs in _gates(m, update, reset):
                turned = [zs, rs, (x_part, u_part)]
                xs = _in_order([m.piece(a, 3) for a, _ in turned])
                hs = _in_order([m.piece(b, 3) for _, b in turned])
                if xs is not None and hs is not None:
                    return _gru_sums(m, hidden, xs, hs, (gate, new))
    return None


def _gru_before(m: _Matcher, hidden: int, update: Any, candidate: Any) -> Recurrence | None:
    """``g = a(x_h + (r h) U_h)``: the state is reset before its product with the weights."""
    new, inner = activated(candidate)
    for x_part, product in m.pairs(inner, "AddV2", "Add"):
        matmul = m.product(product)
        for reset, old in [] if matmul is None else m.pairs(matmul.inputs[0], "Mul"):
            for gate, zs, rs in _gates(m, update, reset) if m.state(old) == hidden else ():
                xs = _in_order([m.piece(t, 3) for t in (zs[0], rs[0], x_part)])
                weight = _thirds(m, hidden, zs[1], rs[1], matmul.inputs[1])
                total = None if xs is None or weight is None else m.affine(xs, hidden)
                if total is not None and total.recurrent is None:
                    whole = _Sum(total.reading, total.kernel, weight, total.bias)
                    found = gate, new
                    return _layer("GRU", hidden, None, whole, found, resets_before=True)
    return None


def _gates(m: _Matcher, update: Any, reset: Any) -> Iterator[tuple[Activation, Any, Any]]:
    """Yield the activation that two gates share and the operands of both sums, both ways round."""
    (gate, z), (other, r) = activated(update), activated(reset)
    if gate == other:
        for zs, rs in zip(m.pairs(z, "AddV2", "Add"), m.pairs(r, "AddV2", "Add"), strict=False):
            yield gate, zs, rs


def _thirds(m: _Matcher, hidden: int, z: Any, r: Any, last: Any) -> int | None:
    """Return the recurrent weights if three parts are products with their thirds, in order.

    Args:
        m: The body.
        hidden: The state.
        z: Its product with the first third.
        r: Its product with the second third.
        last: The last third.

    Returns:
        Number of the input of the body that holds all three.
    """
    units = m.body.inputs[hidden].shape[-1]
    if not units:
        return None
    first, second = m.columns(z, 2 * units), m.columns(r, 2 * units)
    if first is None or second is None or first[0] is not second[0]:
        return None
    if first[1:] != (0, units) or second[1:] != (units, 2 * units):
        return None
    product = m.product(first[0])
    if product is None or m.state(product.inputs[0]) != hidden:
        return None
    head, tail = m.columns(product.inputs[1], 3 * units), m.columns(last, 3 * units)
    if (
        head is None
        or tail is None
        or (*head[1:], *tail[1:]) != (0, 2 * units, 2 * units, 3 * units)
    ):
        return None
    weights = m.weight(head[0]), m.weight(tail[0])
    return weights[0] if weights[0] == weights[1] else None


def _gru_sums(
    m: _Matcher, hidden: int, xs: Any, hs: Any, activations: tuple[Activation, ...]
) -> Recurrence | None:
    """Return the layer if both sums are products with a row of one matrix of biases, or none."""
    one, one_bias = _without_bias(m, xs)
    two, two_bias = _without_bias(m, hs)
    if (one_bias is None) != (two_bias is None):
        return None
    rows = [_bias_row(m, b) for b in (one_bias, two_bias) if b is not None]
    if rows and (None in rows or rows[0][1] != 0 or rows[1] != (rows[0][0], 1)):  # type: ignore[index]
        return None
    left, right = m.affine(one, hidden), m.affine(two, hidden)
    if left is None or right is None or left.recurrent is not None or right.kernel is not None:
        return None
    bias = rows[0][0] if rows and rows[0] is not None else None
    whole = _Sum(left.reading, left.kernel, right.recurrent, bias)
    return _layer("GRU", hidden, None, whole, activations)


def _without_bias(m: _Matcher, tensor: Any) -> tuple[Any, Any]:
    """Return product and bias of a sum of both; the bias is ``None`` if there is only a product."""
    op = m.made_by(tensor, *_SUMS)
    if op is None:
        return tensor, None
    first, second = op.inputs
    return (first, second) if m.made_by(first, "MatMul") is not None else (second, first)


def _bias_row(m: _Matcher, tensor: Any) -> tuple[int, int] | None:
    """Return variable and row if a value is a row of a fixed matrix of two rows."""
    op = m.made_by(tensor, "Squeeze")
    source = origin(op.inputs[0]) if op is not None else origin(tensor)
    split = source.op
    if op is None or split.type != "Split" or len(split.outputs) != 2:
        return None
    axis, weight = constant_of(split.inputs[0]), m.weight(split.inputs[1])
    if axis is None or int(axis) != 0 or weight is None or split.inputs[1].shape.rank != 2:
        return None
    return weight, source.value_index
