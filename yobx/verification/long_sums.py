"""The rounding of long sums of one sign, in a noisy twin.

Numbers of any sign that are added up one after the other are off by about ``|A|·|B|`` units. Those
of one sign, as the pixels of an image, are off by more: each of the K partial sums is rounded, and
the last ones are as large as the sum itself, which gives ``sqrt(K) |sum|``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

__all__ = ["SUMMING_SCATTERS", "reach_of_long_sum", "scatter_reduction"]

Namer = Callable[[str], str]

SUMMING_SCATTERS = frozenset({"ScatterElements", "ScatterND"})


def scatter_reduction(node: onnx.NodeProto) -> str:
    """How a scatter combines what goes to one place: ``none``, ``add``, ``mul``, and so on."""
    return next((a.s.decode() for a in node.attribute if a.name == "reduction"), "none")


def reach_of_long_sum(
    node: onnx.NodeProto, total: str, reach: str, *, dtype: int, amplitude: float, name: Namer
) -> tuple[list[onnx.NodeProto], str]:
    """Nodes for the larger one of a reach and that of a sum of as many terms of one sign.

    Args:
        node: The operator.
        total: Its result, before noise.
        reach: What bounds its error for terms of any sign.
        dtype: Element type of the result.
        amplitude: Of uniform noise, times ``sqrt(K) |sum|``.
        name: Makes names.

    Returns:
        The nodes and the name of the result; no nodes where the terms cannot be counted.
    """
    writer = _Writer(total, dtype, name)
    if node.op_type not in _TERMS:
        return [], reach
    count = _TERMS[node.op_type](node, writer)
    size = writer.emit("Abs", [_without_bias(node, total, writer)])
    grown = writer.emit("Mul", [writer.number(amplitude), writer.emit("Sqrt", [count])])
    writer.emit("Max", [reach, writer.emit("Mul", [size, grown])])
    return writer.nodes, writer.nodes[-1].output[0]


@dataclass
class _Writer:
    """Emits nodes in one dtype."""

    hint: str
    dtype: int
    name: Namer
    nodes: list[onnx.NodeProto] = field(default_factory=list)

    def emit(self, op_type: str, inputs: list[str], **attributes: Any) -> str:
        made = self.name(self.hint)
        self.nodes.append(helper.make_node(op_type, inputs, [made], **attributes))
        return made

    def emit_like(self, node: onnx.NodeProto, inputs: list[str]) -> str:
        """The same operator on something else."""
        made = self.emit(node.op_type, inputs)
        self.nodes[-1].attribute.extend(node.attribute)
        return made

    def number(self, value: float) -> str:
        array = np.array(value, helper.tensor_dtype_to_np_dtype(self.dtype))
        return self.emit("Constant", [], value=numpy_helper.from_array(array))

    def sizes(self, value: str, *axes: int) -> str:
        """Some sizes of a value, int64 `(n,)`."""
        places = self.emit("Constant", [], value_ints=list(axes))
        return self.emit("Gather", [self.emit("Shape", [value]), places])

    def cast(self, value: str) -> str:
        return self.emit("Cast", [value], to=self.dtype)

    def elements(self, value: str) -> str:
        return self.cast(self.emit("Size", [value]))

    def filled(self, like: str, value: float) -> str:
        return self.emit("Expand", [self.number(value), self.emit("Shape", [like])])


Counter = Callable[[onnx.NodeProto, _Writer], str]


def _of_product(node: onnx.NodeProto, writer: _Writer) -> str:
    turned = node.op_type == "Gemm" and bool(_integer(node, "transA", 0))
    return writer.cast(writer.sizes(node.input[0], 0 if turned else -1))


def _of_convolution(node: onnx.NodeProto, writer: _Writer) -> str:
    results = writer.cast(writer.sizes(node.input[1], 0))
    return writer.emit("Div", [writer.elements(node.input[1]), results])


def _of_transposed(node: onnx.NodeProto, writer: _Writer) -> str:
    """A stride leaves out as many of the products."""
    results = writer.cast(writer.sizes(node.input[1], 1))
    strides = next((a.ints for a in node.attribute if a.name == "strides"), ())
    apart = writer.number(float(math.prod(strides) * _integer(node, "group", 1)))
    terms = writer.emit("Div", [writer.elements(node.input[1]), results])
    return writer.emit("Div", [terms, apart])


def _of_einsum(node: onnx.NodeProto, writer: _Writer) -> str:
    """The product of the sizes that are summed over; 1 where an ellipsis hides what they are."""
    equation = next(a.s.decode() for a in node.attribute if a.name == "equation")
    given, _, made = equation.replace(" ", "").partition("->")
    if "." in equation or "->" not in equation:
        return writer.number(1.0)
    axes = {
        label: (name, axis)
        for name, labels in zip(node.input, given.split(","), strict=True)
        for axis, label in enumerate(labels)
        if label not in made
    }
    count = writer.number(1.0)
    for name, axis in axes.values():
        count = writer.emit("Mul", [count, writer.cast(writer.sizes(name, axis))])
    return count


def _of_reduction(node: onnx.NodeProto, writer: _Writer) -> str:
    return writer.emit("Div", [writer.elements(node.input[0]), writer.elements(writer.hint)])


def _of_pooling(node: onnx.NodeProto, writer: _Writer) -> str:
    window = next(a.ints for a in node.attribute if a.name == "kernel_shape")
    return writer.number(float(math.prod(window)))


def _of_running_sum(node: onnx.NodeProto, writer: _Writer) -> str:
    ones = writer.filled(node.input[0], 1.0)
    return writer.emit_like(node, [ones, *node.input[1:]])


def _of_scatter(node: onnx.NodeProto, writer: _Writer) -> str:
    x, places, updates = node.input
    return writer.emit_like(node, [writer.filled(x, 1.0), places, writer.filled(updates, 1.0)])


#: How the terms of a sum are counted: a scalar, or as many as results.
_TERMS: dict[str, Counter] = {
    "AveragePool": _of_pooling,
    "Conv": _of_convolution,
    "ConvTranspose": _of_transposed,
    "CumSum": _of_running_sum,
    "Einsum": _of_einsum,
    "Gemm": _of_product,
    "GlobalAveragePool": _of_reduction,
    "MatMul": _of_product,
    "ReduceL1": _of_reduction,
    "ReduceMean": _of_reduction,
    "ReduceSum": _of_reduction,
    "ReduceSumSquare": _of_reduction,
    "ScatterElements": _of_scatter,
    "ScatterND": _of_scatter,
}


def _integer(node: onnx.NodeProto, name: str, default: int) -> int:
    return next((a.i for a in node.attribute if a.name == name), default)


def _without_bias(node: onnx.NodeProto, total: str, writer: _Writer) -> str:
    """The sum of the products alone."""
    if node.op_type not in {"Conv", "ConvTranspose", "Gemm"} or len(node.input) < 3:
        return total
    bias = node.input[2]
    if not bias:
        return total
    if node.op_type == "Gemm":
        beta = next((a.f for a in node.attribute if a.name == "beta"), 1.0)
        return writer.emit("Sub", [total, writer.emit("Mul", [bias, writer.number(beta)])])
    rank = writer.emit("Shape", [writer.emit("Shape", [node.input[1]])])
    two = writer.emit("Constant", [], value_ints=[2])
    one = numpy_helper.from_array(np.array([1], np.int64))
    spatial = writer.emit("ConstantOfShape", [writer.emit("Sub", [rank, two])], value=one)
    head = writer.emit("Constant", [], value_ints=[1, -1])
    shape = writer.emit("Concat", [head, spatial], axis=0)
    return writer.emit("Sub", [total, writer.emit("Reshape", [bias, shape])])
