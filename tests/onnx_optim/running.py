"""Whole models: everything stated about every value is compared with runs of onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime

from yobx.errors import ShapeError
from yobx.onnx_optim import (
    OptimDim,
    OptimOptional,
    OptimSequence,
    OptimTensor,
    ShapesContext,
    compute_shapes,
    infer_shapes,
)

MAX_SOLVED = 400


def parse(text: str) -> onnx.ModelProto:
    """A model from ONNX's text format, the header left out when it is the usual one."""
    if not text.lstrip().startswith("<"):
        text = '<ir_version: 10, opset_import: ["" : 20]>\n' + text
    model: onnx.ModelProto = onnx.parser.parse_model(text)
    return model


def infer(model: onnx.ModelProto, **options: Any) -> ShapesContext:
    """The context of the inferred model."""
    context = ShapesContext()
    compute_shapes(context, model, **options)
    return context


def dims(context: ShapesContext, name: str) -> list[int | str] | None:
    """Sizes of a tensor as texts and integers, ``None`` for an unknown rank."""
    shape = context.get(name).shape
    return [d.value for d in shape] if shape.has_rank() else None


def session_with_all_values(
    model: onnx.ModelProto, context: ShapesContext
) -> tuple[onnxruntime.InferenceSession, list[str]]:
    """A session that gives every value that the main graph computes."""
    # With all types written in: without iteration a runtime goes by what the body declares.
    exposed = infer_shapes(model)
    inputs = {v.name for v in exposed.graph.input}
    names = [o for node in exposed.graph.node for o in node.output if o and o not in inputs]
    names = [n for n in names if context.known(n) and _exposable(context.lookup(n))]
    del exposed.graph.output[:]
    exposed.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names)
    for value in exposed.graph.output:
        _typed(value, context)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        exposed.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session, names


def _exposable(descriptor: Any) -> bool:
    if isinstance(descriptor, OptimOptional):
        return False
    dtype = descriptor.elem_dtype if isinstance(descriptor, OptimSequence) else descriptor.dtype
    return bool(dtype)


def _typed(value: onnx.ValueInfoProto, context: ShapesContext) -> None:
    found = context.lookup(value.name)
    if isinstance(found, OptimTensor):
        value.type.tensor_type.elem_type = int(found.dtype)
    elif isinstance(found, OptimSequence):
        value.type.sequence_type.elem_type.tensor_type.elem_type = int(found.elem_dtype)


class Checker:
    """Binds symbols to what one run shows and finds the first statement that it refutes."""

    def __init__(self, bindings: Mapping[str, int]) -> None:
        self.bindings = dict(bindings)
        self.pending: list[tuple[OptimDim, int, str]] = []

    def size(self, dim: OptimDim, size: int, what: str) -> None:
        """One stated size against the size seen."""
        self.pending.append((dim, size, what))

    def value(self, descriptor: Any, got: Any, what: str) -> None:
        """One descriptor against the value seen."""
        if isinstance(descriptor, OptimSequence):
            assert isinstance(got, list), what
            if descriptor.length is not None:
                self.size(descriptor.length, len(got), f"length of {what}")
            for i, item in enumerate(got):
                self.value(descriptor.element(i), item, f"{what}[{i}]")
            return
        array = np.asarray(got)
        if descriptor.dtype:
            expected = onnx.helper.tensor_dtype_to_np_dtype(int(descriptor.dtype))
            assert array.dtype == expected or array.dtype.kind in "OUS", f"{what}: {array.dtype}"
        if descriptor.shape.has_rank():
            shape = list(descriptor.shape)
            assert len(shape) == array.ndim, f"{what}: stated {shape}, run gave {array.shape}"
            for axis, dim in enumerate(shape):
                self.size(dim, array.shape[axis], f"axis {axis} of {what}")
        if descriptor.value is not None:
            for dim, number in zip(descriptor.value, array.ravel().tolist(), strict=True):
                if dim is not None:
                    self.size(dim, int(number), f"contents of {what}")

    def finish(self, context: ShapesContext) -> None:
        """Solve the symbols one by one, then check every statement, bound and equality."""
        waiting = self.pending
        while waiting:
            left = []
            for dim, size, what in waiting:
                free = sorted(dim.symbols() - self.bindings.keys())
                if not free:
                    stated = dim.evaluate(self.bindings)
                    assert stated == size, f"{what}: stated {dim} = {stated}, the run gave {size}"
                elif len(free) == 1 and self._solve(dim, free[0], size):
                    continue
                else:
                    left.append((dim, size, what))
            if len(left) == len(waiting):
                break
            waiting = left
        store = context.constraints_store
        for a, b in store.upper_bounds():
            if (a.symbols() | b.symbols()) <= self.bindings.keys():
                assert a.evaluate(self.bindings) <= b.evaluate(self.bindings), f"{a} <= {b}"
        for a, b in store.equalities():
            if (a.symbols() | b.symbols()) <= self.bindings.keys():
                assert a.evaluate(self.bindings) == b.evaluate(self.bindings), f"{a} == {b}"

    def _solve(self, dim: OptimDim, name: str, size: int) -> bool:
        if dim.is_symbol():
            self.bindings[name] = size
            return True
        found = []
        for candidate in range(MAX_SOLVED):
            try:
                if dim.evaluate({**self.bindings, name: candidate}) == size:
                    found.append(candidate)
            except ShapeError:  # a divisor is zero there
                continue
        assert found, f"no value of {name} makes {dim} the {size} of the run"
        if len(found) == 1:
            self.bindings[name] = found[0]
        return len(found) == 1


def check_model(
    model: onnx.ModelProto, feeds: Sequence[Mapping[str, Any]], *, must_run: bool = True
) -> ShapesContext:
    """Infer a model once, run it with each feed, compare every value of the main graph."""
    context = infer(model)
    session, names = session_with_all_values(model, context)
    for feed in feeds:
        checker = Checker({})
        for value in model.graph.input:
            if value.name in feed:
                checker.value(context.lookup(value.name), feed[value.name], value.name)
        try:
            results = session.run(names, dict(feed))
        except Exception:
            if must_run:
                raise
            continue
        for name, got in zip(names, results, strict=True):
            checker.value(context.lookup(name), got, name)
        checker.finish(context)
    return context


def floats(*shape: int) -> np.ndarray[Any, Any]:
    """A float32 array with zeros and ones in it."""
    return (np.arange(int(np.prod(shape))).reshape(shape) % 3 > 0).astype(np.float32)
