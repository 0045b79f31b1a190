"""Fused recurrent cells, one step each, and layers of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from yobx.lowering import shapes
from yobx.lowering.legalise import legal
from yobx.lowering.looping import counted
from yobx.lowering.transcendental import const
from yobx.tensorflow.ops._op import attr
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_KINDS = ("float16", "float32")


def _affine(g: GraphBuilder, x: str, h: str, w: str, b: str) -> str:
    """Return ``[x, h] @ w + b``."""
    both = g.op.Concat(x, h, axis=1)
    return str(legal(g).Add(legal(g).MatMul(both, w), b))


@dataclass(frozen=True)
class _Cell:
    """What one step of an LSTM needs besides the gates.

    Attributes:
        forget_bias: Added to the forget gate.
        clip: Bound of the state, none if it is not positive.
        peepholes: Weights of the state for the input, forget and output gate, or ``None``.
    """

    forget_bias: float
    clip: float
    peepholes: tuple[str, str, str] | None


def _cell_of(op: Any, names: list[str]) -> _Cell:
    peepholes = (names[0], names[1], names[2]) if bool(attr(op, "use_peephole")) else None
    return _Cell(float(attr(op, "forget_bias", 0.0)), float(attr(op, "cell_clip")), peepholes)


def _step(
    g: GraphBuilder, gates: tuple[str, str, str, str], state: str, cell: _Cell, outputs: list[str]
) -> None:
    """Emit input gate, state, forget gate, output gate, candidate, tanh and output of a step.

    Args:
        g: Builder.
        gates: What goes into input gate, candidate, forget gate and output gate.
        state: The state before.
        cell: The rest.
        outputs: Seven names.
    """
    gate, candidate, forget, out = gates
    if cell.forget_bias:
        forget = legal(g).Add(forget, const(g, state, cell.forget_bias))
    if cell.peepholes:
        gate = legal(g).Add(gate, legal(g).Mul(state, cell.peepholes[0]))
        forget = legal(g).Add(forget, legal(g).Mul(state, cell.peepholes[1]))
    i = legal(g).Sigmoid(gate, outputs=outputs[0:1])
    f = legal(g).Sigmoid(forget, outputs=outputs[2:3])
    ci = legal(g).Tanh(candidate, outputs=outputs[4:5])
    cs = legal(g).Add(legal(g).Mul(ci, i), legal(g).Mul(state, f))
    if cell.clip > 0:
        cs = legal(g).Clip(cs, const(g, state, -cell.clip), const(g, state, cell.clip))
    g.alias(outputs[1], cs)
    if cell.peepholes:
        out = legal(g).Add(out, legal(g).Mul(cs, cell.peepholes[2]))
    o = legal(g).Sigmoid(out, outputs=outputs[3:4])
    co = legal(g).Tanh(cs, outputs=outputs[5:6])
    legal(g).Mul(co, o, outputs=outputs[6:7])


@register_tf_op_converter("LSTMBlockCell", dtypes=_KINDS)
def convert_lstm_cell(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A step of an LSTM: input gate, state, forget gate, output gate, candidate, tanh, output."""
    x, state, h, w, *peepholes, b = (i.name for i in op.inputs)
    gates = g.op.Split(_affine(g, x, h, w, b), axis=1, num_outputs=4, outputs=4)
    _step(g, gates, state, _cell_of(op, peepholes), outputs)
    return outputs[0]


@register_tf_op_converter(("BlockLSTM", "BlockLSTMV2"), dtypes={"T": _KINDS})
def convert_lstm(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """An LSTM over `(time, batch, inputs)`, everything of every step; zeros after the last step."""
    length, x, state, h, w, *peepholes, b = (i.name for i in op.inputs)
    cell = _cell_of(op, peepholes)
    inputs = g.op.Shape(x, start=2, end=3)
    zero, axis = np.array([0], np.int64), np.array([0], np.int64)
    top = g.op.Slice(w, zero, inputs, axis)
    bottom = g.op.Slice(w, inputs, np.array([np.iinfo(np.int64).max], np.int64), axis)
    ready = legal(g).Add(legal(g).MatMul(x, top), b)
    steps = shapes.scalar(g, g.op.Shape(x, start=0, end=1))

    def turn(
        body: GraphBuilder, number: str, states: list[str]
    ) -> tuple[Sequence[str], Sequence[str]]:
        row = body.op.Gather(ready, number, axis=0)
        sums = legal(body).Add(row, legal(body).MatMul(states[1], bottom))
        first, second, third, out = body.op.Split(sums, axis=1, num_outputs=4, outputs=4)
        gates = (first, second, third, out)
        if op.type == "BlockLSTMV2":  # the order of the weights is another one
            gates = (first, third, second, out)
        names = [body.unique_name("step") for _ in range(7)]
        _step(body, gates, states[0], cell, names)
        return [names[1], names[6]], names

    made = counted(g, steps, [state, h], turn)[2:]
    done = g.op.Less(g.op.Range(np.array(0, np.int64), steps, np.array(1, np.int64)), length)
    done = g.op.Unsqueeze(done, np.array([1, 2], np.int64))
    for name, value in zip(outputs, made, strict=True):
        legal(g).Where(done, value, const(g, value, 0), outputs=[name])
    return outputs[0]


@register_tf_op_converter("GRUBlockCell", dtypes=_KINDS)
def convert_gru_cell(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A step of a GRU: reset gate, update gate, candidate, output."""
    x, h, w_gates, w_candidate, b_gates, b_candidate = (i.name for i in op.inputs)
    gates = legal(g).Sigmoid(_affine(g, x, h, w_gates, b_gates))
    r, u = g.op.Split(gates, axis=1, num_outputs=2, outputs=outputs[0:2])
    candidate = _affine(g, x, legal(g).Mul(h, r), w_candidate, b_candidate)
    c = legal(g).Tanh(candidate, outputs=outputs[2:3])
    kept = legal(g).Mul(u, h)
    new = legal(g).Mul(legal(g).Sub(const(g, x, 1), u), c)
    legal(g).Add(kept, new, outputs=outputs[3:4], name=op.name)
    return outputs[0]
