"""The way out: passes, clean-up, a last inference, the checker, and one serialisation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import onnx
import onnx_ir
from onnx_ir.passes import PassResult, common

from yobx.errors import ArgumentError, GraphError, YobxError
from yobx.onnx_optim import infer_shapes
from yobx.xbuilder.ir_bridge import lowest_ir_version
from yobx.xbuilder.saving import save, serialize
from yobx.xbuilder.skeleton import skeleton

__all__ = ["MAX_DEPTH", "PROTO_LIMIT", "finish", "run_passes"]

MAX_DEPTH = 30
"""Graphs inside each other that protobuf still reads: three messages each, of a hundred."""
PROTO_LIMIT = (1 << 31) - (1 << 20)
"""Bytes of weights from which a model cannot be one protobuf message; some room for the graph."""


def run_passes(
    model: onnx_ir.Model, passes: Iterable[Callable[[onnx_ir.Model], Any]]
) -> onnx_ir.Model:
    """Runs graph passes.

    Args:
        model: Model, changed in place.
        passes: Callables on a model; an ``onnx_ir`` pass, or a function that changes its
            argument, or returns a model.

    Returns:
        The model that the last pass left.
    """
    for one in passes:
        result = one(model)
        if isinstance(result, PassResult):
            model = result.model
        elif isinstance(result, onnx_ir.Model):
            model = result
    return model


def drop_unused(model: onnx_ir.Model) -> None:
    """Removes dead nodes, unused initializers, functions and opset imports; inputs stay.

    Args:
        model: Model, changed in place.
    """
    common.RemoveUnusedNodesPass()(model)
    common.RemoveUnusedFunctionsPass()(model)  # type: ignore[no-untyped-call]
    common.RemoveUnusedOpsetsPass()(model)


def finish(
    model: onnx_ir.Model,
    *,
    filename: str | Path | None,
    external_threshold: int,
) -> onnx.ModelProto:
    """Turns a finished graph into a checked proto, and a file if wanted.

    The engine and the checker see the model without its large weights, so these are serialised
    once at most.

    Args:
        model: Model, changed in place.
        filename: Where to write it, or ``None``.
        external_threshold: Bytes of weights above which a file gets external data.

    Returns:
        The proto; its large tensors refer to the data file when one was written.

    Raises:
        GraphError: If the model is invalid or too large for one message without a file.
        ArgumentError: If the folder of the file does not exist.
    """
    if filename is not None and not Path(filename).absolute().parent.is_dir():
        raise ArgumentError(
            f"The folder of the file must exist. Received: filename={str(filename)!r}.",
            argument="filename",
        )
    drop_unused(model)
    model.ir_version = lowest_ir_version(model.opset_imports)
    size = sum(
        value.const_value.nbytes
        for value in model.graph.initializers.values()
        if value.const_value is not None and value.const_value.dtype != onnx_ir.DataType.STRING
    )
    if filename is None and size > PROTO_LIMIT:
        raise GraphError(
            "A model over 2 GB cannot be one protobuf message. "
            f"Received: {size} bytes of weights, filename=None.",
            hint="Try filename='model.onnx': the weights go to a second file.",
        )
    proto, hidden = skeleton(model)
    try:
        inferred = infer_shapes(proto)
    except YobxError as error:
        raise GraphError(
            f"The finished graph contradicts itself. {error.said}", hint=error.hint
        ) from error
    _check(inferred)
    external = filename is not None and size > min(external_threshold, PROTO_LIMIT)
    if filename is None:
        return serialize(inferred, model, hidden)
    return save(inferred, model, hidden, Path(filename), external=external)


def _check(proto: onnx.ModelProto) -> None:
    known = {"", "ai.onnx", "ai.onnx.ml"} | {function.domain for function in proto.functions}
    full = all(opset.domain in known for opset in proto.opset_import)
    for kind, infos in (("input", proto.graph.input), ("output", proto.graph.output)):
        for info in infos:
            _check_described(kind, info)
    try:
        onnx.checker.check_model(_without_sizes(proto), full_check=full)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise GraphError(f"The onnx checker refuses the model. Received: {error}") from error


def _without_sizes(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model without inferred sizes: what onnx infers itself is sometimes less, or wrong."""
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    del copy.graph.value_info[:]
    for output in copy.graph.output:
        for dim in output.type.tensor_type.shape.dim:
            dim.Clear()
    return copy


def _check_described(kind: str, info: onnx.ValueInfoProto) -> None:
    tensor = info.type.tensor_type
    if info.HasField("type") and (
        not info.type.HasField("tensor_type") or tensor.HasField("shape")
    ):
        return
    missing = "rank" if info.HasField("type") else "element type"
    advice = (
        f"g.declare({info.name!r}, dtype, shape)"
        if kind == "output"
        else "a shape in make_tensor_input"
    )
    raise GraphError(
        f"ONNX wants element type and rank of every input and output. Received: {kind} "
        f"{info.name!r} of unknown {missing}.",
        value=info.name,
        hint=f"Try {advice}, with one name or number per axis.",
    )
