"""Loops that are a recurrent layer with its usual activations: one ONNX node each.

What counts is the body of the ``While`` alone, operation by operation, not who wrote it. A body
that does anything else, a mask for instance, does not match and stays a loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

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
    """

    kind: str
    items: int
    counter: int
    hidden: int
    cell: int | None
    kernel: int
    recurrent: int
    bias: int | None


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
        op = self.made_by(term, "MatMul")
        if op is None or op.get_attr("transpose_a") or op.get_attr("transpose_b"):
            return None
        weight = self.weight(op.inputs[1])
        if weight is None:
            return None
        if self.state(op.inputs[0]) == hidden:
            return {"recurrent": weight}
        reading = self.reading(op.inputs[0])
        return None if reading is None else {"reading": reading, "kernel": weight}

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

    def operands(self, tensor: Any, kind: str, *types: str) -> Any:
        """Return the inputs of a product or sum, the first made by an operation of ``types``."""
        op = self.made_by(tensor, *((kind,) if kind != "AddV2" else ("AddV2", "Add")))
        if op is None:
            return None
        for first, second in (op.inputs, reversed(op.inputs)):
            if self.made_by(first, *types) is not None:
                return first, second
        return None


def _channels_last(op: Any) -> bool:
    return bool(op.get_attr("data_format") == b"NHWC")


def _sliced_piece(op: Any, count: int) -> tuple[Any, int] | None:
    """Return which of ``count`` equal parts of the columns a slice of a matrix takes."""
    import tensorflow as tf

    width = op.inputs[0].shape[-1] if op.inputs[0].shape.rank == 2 else None
    bounds = [constant_of(t) for t in op.inputs[1:4]]
    if not width or width % count or any(b is None for b in bounds):
        return None
    names = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    masks = {name: op.get_attr(name) for name in names}
    # TensorFlow itself says which of two rows of column numbers remain.
    numbers = np.broadcast_to(np.arange(width), (2, width))
    with tf.init_scope():
        taken = tf.strided_slice(tf.constant(numbers), *bounds, **masks).numpy()
    size = width // count
    for i in range(count):
        if np.array_equal(taken, numbers[:, i * size : (i + 1) * size]):
            return origin(op.inputs[0]), i
    return None


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
    return _match_rnn(m, hidden) or _match_gru(m, hidden)


def _layer(kind: str, hidden: int, cell: int | None, total: _Sum | None) -> Recurrence | None:
    if total is None or total.reading is None:
        return None
    if total.kernel is None or total.recurrent is None:
        return None
    items, counter = total.reading
    return Recurrence(kind, items, counter, hidden, cell, total.kernel, total.recurrent, total.bias)


def _match_rnn(m: _Matcher, hidden: int) -> Recurrence | None:
    """``h = tanh(x W + h U + b)``."""
    op = m.made_by(m.body.outputs[hidden], "Tanh")
    return None if op is None else _layer("RNN", hidden, None, m.affine(op.inputs[0], hidden))


def _blends(m: _Matcher, state: int) -> Iterator[tuple[Any, Any]]:
    """Yield the operands of both products if a state becomes ``sigmoid(.) * state + . * tanh(.)``.

    The first of each pair is what the activation makes.
    """
    total = m.made_by(m.body.outputs[state], "AddV2", "Add")
    for kept, fresh in () if total is None else (total.inputs, reversed(total.inputs)):
        gate, candidate = m.operands(kept, "Mul", "Sigmoid"), m.operands(fresh, "Mul", "Tanh")
        if gate is not None and candidate is not None and m.state(gate[1]) == state:
            yield gate, candidate


def _match_lstm(m: _Matcher, hidden: int, cell: int) -> Recurrence | None:
    """``c = f c + i g`` and ``h = o tanh(c)``, the gates in the order i, f, g, o."""
    product = m.operands(m.body.outputs[hidden], "Mul", "Tanh")
    if product is None or origin(product[0].op.inputs[0]) is not origin(m.body.outputs[cell]):
        return None
    for forget, candidate in _blends(m, cell):
        gates = [candidate[1], forget[0], candidate[0], product[1]]
        if any(m.made_by(gate, "Sigmoid") is None for gate in (gates[0], gates[3])):
            return None
        pieces = [m.piece(origin(gate).op.inputs[0], 4) for gate in gates]
        whole = _in_order(pieces)
        return None if whole is None else _layer("LSTM", hidden, cell, m.affine(whole, hidden))
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
    """``h = z h + (1 - z) tanh(x_h + r u_h)``, the gates in the order z, r, h."""
    for update, candidate in _blends(m, hidden):
        rest = m.made_by(candidate[1], "Sub")
        one = constant_of(rest.inputs[0]) if rest is not None else None
        if rest is None or one is None or one.size != 1 or float(one.ravel()[0]) != 1.0:
            return None
        if origin(rest.inputs[1]) is not origin(update[0]):
            return None
        return _gru_gates(m, hidden, origin(update[0]).op, origin(candidate[0]).op)
    return None


def _gru_gates(m: _Matcher, hidden: int, update: Any, candidate: Any) -> Recurrence | None:
    inner = m.made_by(candidate.inputs[0], "AddV2", "Add")
    if inner is None:
        return None
    for x_part, product in (inner.inputs, reversed(inner.inputs)):
        reset = m.operands(product, "Mul", "Sigmoid")
        if reset is None:
            continue
        sums = [m.made_by(op.inputs[0], "AddV2", "Add") for op in (update, origin(reset[0]).op)]
        if None in sums:
            return None
        sides: list[tuple[Any, Any]] = [*(tuple(s.inputs) for s in sums), (x_part, reset[1])]
        for order in (0, 1):
            turned = [(s[order], s[1 - order]) for s in sides[:2]] + [sides[2]]
            xs = _in_order([m.piece(a, 3) for a, _ in turned])
            hs = _in_order([m.piece(b, 3) for _, b in turned])
            if xs is not None and hs is not None:
                return _gru_sums(m, hidden, xs, hs)
    return None


def _gru_sums(m: _Matcher, hidden: int, xs: Any, hs: Any) -> Recurrence | None:
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
    return _layer("GRU", hidden, None, whole)


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
