"""Activations that the recurrent operators of ONNX know, found in the body of a loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from yobx.tensorflow.ops._loop import constant_of, origin

__all__ = ["DEFAULTS", "Activation", "activated"]


@dataclass(frozen=True)
class Activation:
    """One activation.

    Attributes:
        name: As ONNX calls it.
        alpha: First parameter, if it has one.
        beta: Second parameter, if it has one.
    """

    name: str
    alpha: float | None = None
    beta: float | None = None


_LINEAR = Activation("Affine", 1.0, 0.0)
# Not the two that onnxruntime's recurrent kernels compute otherwise: Softplus overflows from 88
# on, and Elu loses the digits of small numbers.
_PLAIN = ("Relu", "Sigmoid", "Softsign", "Tanh")
#: What the operators take when nothing is said.
DEFAULTS = {
    "LSTM": (Activation("Sigmoid"), Activation("Tanh"), Activation("Tanh")),
    "GRU": (Activation("Sigmoid"), Activation("Tanh")),
    "RNN": (Activation("Tanh"),),
}


def activated(tensor: Any) -> tuple[Activation, Any]:
    """Return the activation that makes a value, and what it is applied to.

    Args:
        tensor: A value in the body of a loop.

    Returns:
        The activation and its argument; for any other value the identity and the value itself.
    """
    op = origin(tensor).op
    if op.type in _PLAIN:
        return Activation(op.type), op.inputs[0]
    if op.type == "LeakyRelu":
        return Activation("LeakyRelu", float(op.get_attr("alpha"))), op.inputs[0]
    hard = _hard_sigmoid(op)
    if hard is not None:
        return Activation("HardSigmoid", 1 / 6, 0.5), hard
    return _LINEAR, tensor


def _hard_sigmoid(op: Any) -> Any:
    """Return ``x`` of ``relu6(x + 3) / 6``."""
    if op.type != "RealDiv" or not _is(op.inputs[1], 6.0):
        return None
    limited = origin(op.inputs[0]).op
    moved = origin(limited.inputs[0]).op if limited.type == "Relu6" else None
    if moved is None or moved.type not in ("AddV2", "Add") or not _is(moved.inputs[1], 3.0):
        return None
    return moved.inputs[0]


def _is(tensor: Any, wanted: float) -> bool:
    value = constant_of(tensor)
    return value is not None and value.size == 1 and float(value.ravel()[0]) == wanted
