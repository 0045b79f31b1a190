"""What happens to an operator without a rule: schema function body, onnx's inference, unknown."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import onnx
from onnx import numpy_helper, shape_inference

from yobx.errors import ShapeError
from yobx.onnx_optim.local_functions import call_steps
from yobx.onnx_optim.node_view import NodeView
from yobx.onnx_optim.optim_dim import OptimDim
from yobx.onnx_optim.optim_sequence import Descriptor
from yobx.onnx_optim.optim_tensor import UNKNOWN_TENSOR, OptimTensor
from yobx.onnx_optim.registry import RuleResult
from yobx.onnx_optim.schemas import schema_function, schema_of
from yobx.onnx_optim.type_protos import descriptor_of_type, type_of_descriptor

__all__ = ["fallback"]


def fallback(view: NodeView) -> Generator[Any, Any, RuleResult]:
    """Descriptors of the outputs of an operator that has no rule."""
    domain = view.domain or "ai.onnx"
    reason = f"no shape rule for {domain}:{view.op_type} (opset {view.version})"
    if schema_of(view) is None:
        return _unknown(view, f"{reason}, and onnx does not know this operator")
    function = schema_function(view)
    if function is not None:
        try:
            outputs = yield call_steps(view, function)
        except ShapeError as error:
            reason = f"{reason}; its function body failed: {error}"
        else:
            if all(_is_known(d) for d in outputs):
                return tuple(outputs)
    return _by_onnx(view, reason)


def _is_known(descriptor: Descriptor) -> bool:
    return not isinstance(descriptor, OptimTensor) or descriptor.shape.has_rank()


def _unknown(view: NodeView, reason: str) -> RuleResult:
    return tuple(view.unknown(reason) for _ in range(view.n_outputs))


def _by_onnx(view: NodeView, reason: str) -> RuleResult:
    """Ask onnx about this one node."""
    types: dict[str, onnx.TypeProto] = {}
    data: dict[str, onnx.TensorProto] = {}
    for name, descriptor in zip(view.input_names, view.inputs, strict=True):
        if descriptor is None:
            continue
        proto = type_of_descriptor(descriptor)
        if proto is None:
            return _unknown(view, f"{reason}; the type of its input {name!r} is not known")
        types[name] = proto
        if isinstance(descriptor, OptimTensor) and descriptor.constant is not None:
            data[name] = numpy_helper.from_array(descriptor.constant, name)
    try:
        found = shape_inference.infer_node_outputs(
            onnx.defs.get_schema(view.op_type, view.version, view.domain),
            view.proto,
            types,
            data,
            opset_imports=[onnx.helper.make_opsetid(d, v) for d, v in view.context.opsets.items()],
        )
    except (shape_inference.InferenceError, onnx.checker.ValidationError, RuntimeError) as error:
        return _unknown(view, f"{reason}; onnx says: {str(error).strip().splitlines()[0]}")
    results: list[Descriptor] = []
    for position, name in enumerate(view.outputs):
        proto = found.get(name)
        if proto is None:
            view.reasons.append(reason)
            results.append(UNKNOWN_TENSOR)
            continue

        def new_dim(axis: int, output: int = position) -> OptimDim:
            return view.fresh(axis, f"{reason}, and onnx does not tell the size", output=output)

        results.append(descriptor_of_type(proto, new_dim, source="onnx"))
    return tuple(results)
