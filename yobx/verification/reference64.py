"""The same graph computed in float64, to tell which side of a difference is right.

Every float tensor becomes float64 and the operators of the onnx reference evaluator, which follow
the standard's text, compute it. It is slow, so only the piece around a difference is evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from yobx.verification.boundary import Attempt
from yobx.verification.dtypes import is_complex, is_float
from yobx.verification.error_classes import subgraphs

__all__ = ["MAX_ELEMENTS", "evaluate", "in_float64", "piece"]

MAX_ELEMENTS = 50_000_000
_KEPT = "yobx: keeps its type"
_NARROW = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16})


def piece(
    model: onnx.ModelProto, starts: Sequence[str], target: str, values: Mapping[str, Any]
) -> onnx.ModelProto:
    """The part of a graph between known values and one value.

    Args:
        model: The whole model.
        starts: Values that are taken as given.
        target: The value wanted.
        values: Arrays of the values in `starts`, for their dtypes.

    Returns:
        A model with the needed nodes and weights; its inputs are those of `starts` that are used.
    """
    producers = {
        name: index for index, node in enumerate(model.graph.node) for name in node.output if name
    }
    given = set(starts)
    needed: set[int] = set()
    used: list[str] = []
    pending = [target]
    seen: set[str] = set()
    while pending:
        name = pending.pop()
        if not name or name in seen:
            continue
        seen.add(name)
        if name in given:
            used.append(name)
        elif name in producers:
            needed.add(producers[name])
            pending.extend(_reads(model.graph.node[producers[name]]))
    part = onnx.ModelProto()
    part.ir_version = model.ir_version
    part.opset_import.extend(model.opset_import)
    part.functions.extend(model.functions)
    part.graph.name = "piece"
    part.graph.node.extend(model.graph.node[index] for index in sorted(needed))
    part.graph.initializer.extend(t for t in model.graph.initializer if t.name in seen)
    for name in sorted(used):
        array = np.asarray(values[name])
        part.graph.input.append(
            helper.make_tensor_value_info(name, _elem_type(array), [None] * array.ndim)
        )
    part.graph.output.append(onnx.ValueInfoProto(name=target))
    return part


def _elem_type(array: NDArray[Any]) -> int:
    if array.dtype.kind in "OSU":
        return int(TensorProto.STRING)
    return int(helper.np_dtype_to_tensor_dtype(array.dtype))


def _reads(node: onnx.NodeProto) -> list[str]:
    names = list(node.input)
    for body in subgraphs(node):
        for inner in body.node:
            names += _reads(inner)
    return names


def in_float64(model: onnx.ModelProto, *, casts: bool = False) -> onnx.ModelProto:
    """A copy in which every float32, float16 and bfloat16 tensor is float64.

    Args:
        model: The model; it is not changed.
        casts: Whether casts to a narrower type still round, to float64 values of that type.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    if casts:
        _round_again(copy.graph)
    _widen_graph(copy.graph)
    return copy


def _round_again(graph: onnx.GraphProto) -> None:
    """Puts a cast in front of every cast to a narrow type, in a form that stays as it is."""
    nodes = []
    for node in graph.node:
        for body in subgraphs(node):
            _round_again(body)
        to = next((a.i for a in node.attribute if a.name == "to"), None)
        if node.op_type == "Cast" and to in _NARROW:
            rounded = f"{node.output[0]}__rounded"
            nodes.append(helper.make_node("Cast", node.input, [rounded], name=_KEPT, to=to))
            node.input[0] = rounded
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)


def _widen_graph(graph: onnx.GraphProto) -> None:
    for tensor in graph.initializer:
        _widen_tensor(tensor)
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.tensor_type.elem_type in _NARROW:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    for node in graph.node:
        if node.name == _KEPT:
            continue
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                _widen_tensor(attribute.t)
            narrow_cast = attribute.name in {"to", "dtype"} and attribute.i in _NARROW
            if narrow_cast and attribute.type == onnx.AttributeProto.INT:
                attribute.i = TensorProto.DOUBLE
        if node.op_type == "Constant":
            _widen_constant(node)
        for body in subgraphs(node):
            _widen_graph(body)


def _widen_constant(node: onnx.NodeProto) -> None:
    for attribute in list(node.attribute):
        if attribute.name in {"value_float", "value_floats"}:
            floats = attribute.f if attribute.name == "value_float" else list(attribute.floats)
            node.attribute.remove(attribute)
            wide = numpy_helper.from_array(np.asarray(floats, np.float64))
            node.attribute.append(helper.make_attribute("value", wide))


def _widen_tensor(tensor: onnx.TensorProto) -> None:
    if tensor.data_type in _NARROW:
        wide = numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(numpy_helper.from_array(wide, tensor.name))


def evaluate(
    model: onnx.ModelProto, feeds: Mapping[str, Any], *, casts: bool = False
) -> Any | None:
    """Evaluates a small model in float64.

    Args:
        model: A model as `piece` makes it.
        feeds: Its inputs in any float dtype.
        casts: Whether casts to a narrower type still round.

    Returns:
        Its first output, or ``None`` when the reference cannot compute it or it is too large.
    """
    size = sum(int(np.size(value)) for value in feeds.values())
    if size > MAX_ELEMENTS:
        return None
    wide = {name: _wide(np.asarray(value)) for name, value in feeds.items()}
    from onnx.reference import ReferenceEvaluator

    # The reference raises many classes; without a result there is no verdict.
    with Attempt(), np.errstate(all="ignore"):
        outputs: Any = ReferenceEvaluator(in_float64(model, casts=casts)).run(None, wide)
        return outputs[0]
    return None


def _wide(array: NDArray[Any]) -> NDArray[Any]:
    if is_float(array.dtype) and not is_complex(array.dtype):
        return array.astype(np.float64)
    return array
