"""Runs of a model compared with all that is stated of its values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

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
from yobx.onnx_optim.optim_sequence import Descriptor

__all__ = [
    "RUN_ERRORS",
    "Checker",
    "RefutedError",
    "Tally",
    "floats",
    "refute",
    "session_of_all_values",
]

Sizes = Mapping[str, int]
Array = npt.NDArray[Any]

MAX_SOLVED = 400
# What onnxruntime says when a value has other sizes than its type in the model states.
_BUFFERS = "Shape mismatch attempting to re-use buffer"
_STATE = onnxruntime.capi.onnxruntime_pybind11_state
RUN_ERRORS: tuple[type[Exception], ...] = (
    _STATE.RuntimeException,
    _STATE.InvalidArgument,
    _STATE.InvalidGraph,
    _STATE.NotImplemented,
    _STATE.Fail,
)
# The reference evaluator raises what NumPy and its own operators raise.
_REFERENCE_ERRORS = (RuntimeError, ValueError, LookupError, TypeError, AttributeError)


class RefutedError(AssertionError):
    """A run shows something else than what was stated."""


@dataclass
class Tally:
    """What a number of graphs came to.

    Attributes:
        graphs: Graphs made.
        contradictory: Graphs that the engine refused, and no run succeeded with.
        unloadable: Graphs that onnxruntime refuses to load.
        runs: Runs that succeeded.
        refused: Runs that onnxruntime refused, mostly for the sizes.
        values: Values compared.
        statements: Sizes, lengths and elements compared.
        lenient: Differences in runs that the standard forbids and onnxruntime allows.
    """

    graphs: int = 0
    contradictory: int = 0
    unloadable: int = 0
    runs: int = 0
    refused: int = 0
    values: int = 0
    statements: int = 0
    lenient: int = 0

    def add(self, other: Tally) -> None:
        """Add the counts of another tally."""
        for name, number in vars(other).items():
            setattr(self, name, getattr(self, name) + number)


def floats(*shape: int) -> Array:
    """A float32 array of zeros and ones."""
    return (np.arange(int(np.prod(shape))).reshape(shape) % 3 > 0).astype(np.float32)


def session_options() -> onnxruntime.SessionOptions:
    """Options of a silent session on one thread."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return options


def session_of_all_values(
    model: onnx.ModelProto, context: ShapesContext
) -> tuple[onnxruntime.InferenceSession, list[str]]:
    """A session that gives every value that the main graph computes, and their names."""
    inputs = {v.name for v in model.graph.input}
    names = [o for node in model.graph.node for o in node.output if o and o not in inputs]
    names = [n for n in names if _exposable(context.lookup(n))]
    # With all types written in, because without iteration a runtime goes by what a body declares;
    # else without: onnxruntime's own inference is wrong at times (windows with ceil_mode).
    try:
        return _session(infer_shapes(model), names, context), names
    except RUN_ERRORS:
        plain = onnx.ModelProto()
        plain.CopyFrom(model)
        return _session(plain, names, context), names


def _session(
    model: onnx.ModelProto, names: Sequence[str], context: ShapesContext
) -> onnxruntime.InferenceSession:
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names)
    for value in model.graph.output:
        found = context.lookup(value.name)
        if isinstance(found, OptimTensor):
            value.type.tensor_type.elem_type = int(found.dtype)
        elif isinstance(found, OptimSequence):
            value.type.sequence_type.elem_type.tensor_type.elem_type = int(found.elem_dtype)
    return onnxruntime.InferenceSession(
        model.SerializeToString(), session_options(), providers=["CPUExecutionProvider"]
    )


def _exposable(descriptor: Descriptor | None) -> bool:
    if descriptor is None or isinstance(descriptor, OptimOptional):
        return False
    dtype = descriptor.elem_dtype if isinstance(descriptor, OptimSequence) else descriptor.dtype
    return bool(dtype)


class Checker:
    """Binds symbols to what one run shows and finds the first statement that it refutes.

    Args:
        bindings: Values of the symbols of the inputs.
    """

    def __init__(self, bindings: Sizes) -> None:
        self.bindings = dict(bindings)
        self.pending: list[tuple[OptimDim, int, str]] = []
        self.sizes: list[tuple[OptimDim, int, str]] = []
        self.statements = 0

    def size(self, dim: OptimDim, size: int, what: str) -> None:
        """Compare one stated size with the size seen."""
        self.statements += 1
        self.pending.append((dim, size, what))

    def value(self, descriptor: Descriptor | None, got: Any, what: str) -> None:
        """Compare one descriptor with the value seen.

        Raises:
            RefutedError: The kind, element type or rank differs.
        """
        if isinstance(descriptor, OptimSequence):
            _require(isinstance(got, list), what, "a sequence", type(got).__name__)
            if descriptor.length is not None:
                self.size(descriptor.length, len(got), f"length of {what}")
            for i, item in enumerate(got):
                self.value(descriptor.element(i), item, f"{what}[{i}]")
                self.shared(descriptor, np.asarray(item), f"{what}[{i}]")
            return
        if not isinstance(descriptor, OptimTensor):
            return
        array = np.asarray(got)
        if descriptor.dtype and array.dtype.kind not in "OUS":
            expected = onnx.helper.tensor_dtype_to_np_dtype(int(descriptor.dtype))
            _require(array.dtype == expected, what, expected, array.dtype)
        if descriptor.shape.has_rank():
            shape = list(descriptor.shape)
            _require(len(shape) == array.ndim, what, descriptor.shape, array.shape)
            for axis, dim in enumerate(shape):
                self.size(dim, array.shape[axis], f"axis {axis} of {what}")
            self.sizes += [(d, n, what) for d, n in zip(shape, array.shape, strict=True)]
        if descriptor.value is not None:
            flat = array.ravel().tolist()
            _require(len(flat) == len(descriptor.value), what, descriptor, flat)
            for element, number in zip(descriptor.value, flat, strict=True):
                if element is not None:
                    self.size(element, int(number), f"contents of {what}")

    def shared(self, sequence: OptimSequence, item: Array, what: str) -> None:
        """Compare an element with the sizes that all elements are said to share.

        Raises:
            RefutedError: The rank differs.
        """
        if sequence.elem_dims is None:
            return
        _require(len(sequence.elem_dims) == item.ndim, what, sequence, item.shape)
        for axis, dim in enumerate(sequence.elem_dims):
            if dim is not None:
                self.size(dim, item.shape[axis], f"axis {axis} of {what}")

    def finish(self, context: ShapesContext) -> None:
        """Solve the symbols one by one, then compare every statement, bound and equality.

        Raises:
            RefutedError: One does not hold.
        """
        waiting = self.pending
        while waiting:
            left = []
            for dim, size, what in waiting:
                free = sorted(dim.symbols() - self.bindings.keys())
                if not free:
                    stated = dim.evaluate(self.bindings)
                    _require(stated == size, what, f"{dim} = {stated}", size)
                elif len(free) > 1 or not self._solve(dim, free[0], size, what):
                    left.append((dim, size, what))
            if len(left) == len(waiting):
                break
            waiting = left
        origins = context.session.origins
        for dim, size, what in self.sizes:
            most = (
                context.upper_bound(dim) if not origins.keys().isdisjoint(dim.symbols()) else None
            )
            if most is not None and most.symbols() <= self.bindings.keys():
                self.statements += 1
                greatest = most.evaluate(self.bindings)
                _require(size <= greatest, what, f"{dim} <= {most} = {greatest}", size)
        store = context.constraints_store
        for a, b in store.upper_bounds():
            if (a.symbols() | b.symbols()) <= self.bindings.keys():
                self.statements += 1
                low, high = a.evaluate(self.bindings), b.evaluate(self.bindings)
                _require(low <= high, "an upper bound", f"{a} <= {b}", (low, high))
        for a, b in store.equalities():
            if (a.symbols() | b.symbols()) <= self.bindings.keys():
                self.statements += 1
                left_size, right_size = a.evaluate(self.bindings), b.evaluate(self.bindings)
                _require(
                    left_size == right_size, "an equality", f"{a} == {b}", (left_size, right_size)
                )

    def _solve(self, dim: OptimDim, name: str, size: int, what: str) -> bool:
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
        _require(bool(found), what, f"{dim} with any {name}", size)
        if len(found) == 1:
            self.bindings[name] = found[0]
        return len(found) == 1


def _require(holds: bool, what: str, stated: object, got: object) -> None:
    if not holds:
        raise RefutedError(f"{what}: stated {stated}, the run gave {got}")


def _inferred(model: onnx.ModelProto) -> ShapesContext | None:
    """The context of the model; ``None`` when the engine calls it contradictory."""
    context = ShapesContext()
    try:
        compute_shapes(context, model)
    except ShapeError:
        return None
    return context


def plain_session(model: onnx.ModelProto) -> onnxruntime.InferenceSession | None:
    """A session of the model as it is; ``None`` when onnxruntime refuses it."""
    try:
        return onnxruntime.InferenceSession(
            model.SerializeToString(), session_options(), providers=["CPUExecutionProvider"]
        )
    except RUN_ERRORS:
        return None


def allowed_by_the_standard(model: onnx.ModelProto, feed: Mapping[str, Array]) -> bool:
    """Whether the reference runs it too: onnxruntime joins empty arrays of any shape."""
    try:
        ReferenceEvaluator(model).run(None, dict(feed))
    except _REFERENCE_ERRORS:
        return False
    return True


def feed_of(model: onnx.ModelProto, sizes: Sizes) -> dict[str, Array]:
    """Inputs of the model with these values of its symbols."""
    return {
        value.name: floats(
            *(
                OptimDim(d.dim_param).evaluate(sizes) if d.dim_param else d.dim_value
                for d in value.type.tensor_type.shape.dim
            )
        )
        for value in model.graph.input
    }


def refute(model: onnx.ModelProto, bindings: Iterable[Sizes]) -> Tally:
    """Infer a model once, run it with each binding, compare every value of the main graph.

    Args:
        model: A model whose inputs are float tensors.
        bindings: Values of the symbols of the inputs.

    Raises:
        RefutedError: A run that the standard allows contradicts a statement.
    """
    tally = Tally(graphs=1)
    context = _inferred(model)
    if context is None:
        _no_run_succeeds(model, bindings, tally)
        return tally
    try:
        session, names = session_of_all_values(model, context)
    except RUN_ERRORS:
        tally.unloadable = 1  # onnxruntime refuses a branch that is never taken
        return tally
    for sizes in bindings:
        feed = feed_of(model, sizes)
        try:
            results = session.run(names, feed)
        except RUN_ERRORS as error:
            if _BUFFERS in str(error):
                _require_failure(model, feed, str(error))
            tally.refused += 1
            continue
        tally.runs += 1
        tally.values += len(results)
        try:
            tally.statements += _compare(context, dict(zip(names, results, strict=True)), sizes)
        except RefutedError as error:
            if allowed_by_the_standard(model, feed):
                raise RefutedError(f"{error} (with {dict(sizes)})") from None
            tally.lenient += 1
    return tally


def _require_failure(model: onnx.ModelProto, feed: Mapping[str, Array], reason: str) -> None:
    """A run that fails for the types written into the model must fail without them, too.

    Raises:
        RefutedError: It succeeds.
    """
    session = plain_session(model)
    if session is None:
        return
    try:
        session.run(None, dict(feed))
    except RUN_ERRORS:
        return
    if allowed_by_the_standard(model, feed):
        raise RefutedError(f"a type that was written is wrong: {reason[-600:]}")


def _compare(context: ShapesContext, results: Mapping[str, Any], sizes: Sizes) -> int:
    checker = Checker(sizes)
    for name, got in results.items():
        checker.value(context.lookup(name), got, name)
    checker.finish(context)
    return checker.statements


def _no_run_succeeds(model: onnx.ModelProto, bindings: Iterable[Sizes], tally: Tally) -> None:
    tally.contradictory = 1
    session = plain_session(model)
    if session is None:
        return
    for sizes in bindings:
        feed = feed_of(model, sizes)
        try:
            session.run(None, feed)
        except RUN_ERRORS:
            tally.refused += 1
            continue
        if allowed_by_the_standard(model, feed):
            raise RefutedError(f"called contradictory, but it runs with {dict(sizes)}")
        tally.lenient += 1
