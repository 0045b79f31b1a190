"""Fused recurrent cells, one step each."""

from __future__ import annotations

from typing import Any

from yobx.lowering.legalise import legal
from yobx.lowering.transcendental import const
from yobx.tensorflow.ops._op import attr
from yobx.tensorflow.register import register_tf_op_converter
from yobx.xbuilder import GraphBuilder

_KINDS = ("float16", "float32")


def _affine(g: GraphBuilder, x: str, h: str, w: str, b: str) -> str:
    """Return ``[x, h] @ w + b``."""
    both = g.op.Concat(x, h, axis=1)
    return str(legal(g).Add(legal(g).MatMul(both, w), b))


@register_tf_op_converter("LSTMBlockCell", dtypes=_KINDS)
def convert_lstm_cell(g: GraphBuilder, sts: dict[str, Any], outputs: list[str], op: Any) -> str:
    """A step of an LSTM: input gate, state, forget gate, output gate, candidate, tanh, output."""
    x, state, h, w, wci, wcf, wco, b = (i.name for i in op.inputs)
    parts = g.op.Split(_affine(g, x, h, w, b), axis=1, num_outputs=4, outputs=4)
    gate, candidate, forget, out = parts
    forget = legal(g).Add(forget, const(g, x, float(attr(op, "forget_bias"))))
    peephole = bool(attr(op, "use_peephole"))
    if peephole:
        gate = legal(g).Add(gate, legal(g).Mul(state, wci))
        forget = legal(g).Add(forget, legal(g).Mul(state, wcf))
    i = legal(g).Sigmoid(gate, outputs=outputs[0:1])
    f = legal(g).Sigmoid(forget, outputs=outputs[2:3])
    ci = legal(g).Tanh(candidate, outputs=outputs[4:5])
    cs = legal(g).Add(legal(g).Mul(ci, i), legal(g).Mul(state, f))
    clip = float(attr(op, "cell_clip"))
    if clip > 0:
        cs = legal(g).Clip(cs, const(g, x, -clip), const(g, x, clip))
    g.alias(outputs[1], cs)
    if peephole:
        out = legal(g).Add(out, legal(g).Mul(cs, wco))
    o = legal(g).Sigmoid(out, outputs=outputs[3:4])
    co = legal(g).Tanh(cs, outputs=outputs[5:6])
    legal(g).Mul(co, o, outputs=outputs[6:7], name=op.name)
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
