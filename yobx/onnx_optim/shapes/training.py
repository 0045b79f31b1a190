"""Losses and the training operators of `ai.onnx.preview.training`."""

from __future__ import annotations

from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_tensor import OptimTensor
from yobx.onnx_optim.shapes._common import argument, register, tensor, without_value

__all__: list[str] = []

TRAINING = "ai.onnx.preview.training"


def _loss(node: NodeView) -> OptimTensor:
    scores, target = node.tensor(0), node.tensor(1)
    if node.attr("reduction", "mean") == "none":
        return without_value(target, scores.dtype)
    return tensor(scores.dtype, ())


@register("NegativeLogLikelihoodLoss")
def negative_log_likelihood(node: NodeView) -> OptimTensor:
    """One number, or one per target without reduction."""
    return _loss(node)


@register("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy(node: NodeView) -> tuple[OptimTensor, ...]:
    """The loss, and the log probabilities in the shape of the scores."""
    return (_loss(node), without_value(node.tensor(0)))[: node.n_outputs]


# Tensors per optimised one among the inputs, after learning rate and step count.
_STATES = {"Adagrad": 3, "Momentum": 3, "Adam": 4}


@register(" ".join(_STATES), domain=TRAINING)
def optimizer(node: NodeView) -> tuple[OptimTensor, ...]:
    """New tensors, then new states; the gradients give no output."""
    groups = _STATES[node.op_type]
    count, rest = divmod(len(node.inputs) - 2, groups)
    if rest or count < 1:
        node.fail(f"the number of inputs must be 2 and a multiple of {groups}")
    kept = [0, *range(2, groups)]
    return tuple(
        without_value(node.tensor(2 + group * count + place))
        for group in kept
        for place in range(count)
    )


@register("Gradient", domain=TRAINING)
def gradient(node: NodeView) -> tuple[OptimTensor, ...]:
    """One derivative per differentiated input, of its shape."""
    count = len(node.attr("xs", ()))
    found = (argument(node, index) for index in range(count))
    return tuple(
        node.unknown("an input is omitted") if item is None else without_value(item)
        for item in found
    )
