"""Faults of a converter, put into what it makes of a source whose own kernels are not exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.verification.models import copied

Change = Callable[[onnx.ModelProto], None]

#: How the note of a check begins that passes by the source in float64.
ACQUITTED = "the source itself is off by rounding"


def break_conversion(monkeypatch: pytest.MonkeyPatch, module: Any, change: Change) -> None:
    """Makes ``module.to_onnx`` change what it has converted."""
    convert = module.to_onnx

    def broken(*args: Any, **options: Any) -> onnx.ModelProto:
        wrong = copied(convert(*args, **options))
        change(wrong)
        return wrong

    monkeypatch.setattr(module, "to_onnx", broken)


def edit(
    model: onnx.ModelProto, chosen: Callable[[Any], bool], change: Callable[[Any], Any]
) -> None:
    """Changes those constants of a model that are chosen; there must be one."""
    tensors = [*model.graph.initializer]
    tensors += [a.t for n in model.graph.node for a in n.attribute if n.op_type == "Constant"]
    found = 0
    for tensor in tensors:
        array = numpy_helper.to_array(tensor)
        if array.dtype.kind == "f" and chosen(array):
            made = np.asarray(change(array), array.dtype)
            tensor.CopyFrom(numpy_helper.from_array(made, tensor.name))
            found += 1
    assert found


def scale_constant(old: float, factor: float) -> Change:
    """Multiplies a constant of one element."""

    def chosen(array: Any) -> bool:
        return bool(array.size == 1 and np.isclose(array.ravel()[0], old, rtol=1e-6, atol=0.0))

    return lambda model: edit(model, chosen, lambda array: array * factor)


def transpose_square(model: onnx.ModelProto) -> None:
    """Transposes the weights of a square matrix."""
    edit(model, lambda a: a.ndim == 2 and a.shape[0] == a.shape[1] > 1, lambda a: a.T)


def before_output(*nodes: tuple[str, Any]) -> Change:
    """Puts nodes before the output: a cast to a type, or a product with a number."""

    def change(model: onnx.ModelProto) -> None:
        name = model.graph.output[0].name
        last = f"{name}_right"
        for node in model.graph.node:
            node.output[:] = [last if o == name else o for o in node.output]
            node.input[:] = [last if i == name else i for i in node.input]
        for position, (kind, argument) in enumerate(nodes):
            result = name if position == len(nodes) - 1 else f"{name}_{position}"
            if kind == "Cast":
                made = [helper.make_node("Cast", [last], [result], to=argument)]
            else:
                number = numpy_helper.from_array(np.asarray(argument, np.float32))
                constant = helper.make_node("Constant", [], [f"{result}_k"], value=number)
                made = [constant, helper.make_node("Mul", [last, f"{result}_k"], [result])]
            model.graph.node.extend(made)
            last = result

    return change


#: A result that is less exact than that of the source.
THROUGH_16_BITS = before_output(("Cast", TensorProto.FLOAT16), ("Cast", TensorProto.FLOAT))

#: A result that is off by some units in the last place.
A_LITTLE_MORE = before_output(("Mul", 1.0 + 4e-6))
