"""One-node models: inferred with symbols, run with several sizes, every statement compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from yobx.onnx_optim import OptimDim, OptimTensor, ShapesContext, compute_shapes

Dims = Sequence[int | str]
_STATE = onnxruntime.capi.onnxruntime_pybind11_state
RUN_ERRORS = (
    _STATE.RuntimeException,
    _STATE.InvalidArgument,
    _STATE.InvalidGraph,
    _STATE.NotImplemented,
    _STATE.Fail,
    # The reference evaluator raises what NumPy raises.
    RuntimeError,
    ValueError,
    IndexError,
    TypeError,
    AttributeError,
    NotImplementedError,
    ImportError,
)
PRIMES = (5, 7, 3, 11, 13, 2, 17)


@dataclass(frozen=True)
class In:
    """A run-time input.

    Attributes:
        dims: Sizes; a text is a symbol or an expression of symbols that others define.
        dtype: ONNX element type.
        low: Least value of the random contents.
        high: Value above the greatest one.
    """

    dims: Dims
    dtype: int = TensorProto.FLOAT
    low: float = 0
    high: float = 3


@dataclass
class Outcome:
    """What a check found."""

    tensors: list[Any]
    runs: int = 0
    failures: list[str] = field(default_factory=list)


def _array(spec: In, sizes: Mapping[str, int], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    shape = [d if isinstance(d, int) else OptimDim(d).evaluate(sizes) for d in spec.dims]
    if spec.dtype == TensorProto.STRING:
        return rng.choice(np.array(["a b", "c", "", "d e f"], dtype=object), size=shape)
    if spec.dtype == TensorProto.BOOL:
        return rng.integers(0, 2, size=shape).astype(bool)
    kind = helper.tensor_dtype_to_np_dtype(spec.dtype)
    if kind.kind in "iu":
        return rng.integers(
            int(spec.low), max(int(spec.high), int(spec.low) + 1), size=shape
        ).astype(kind)
    if kind == np.dtype(ml_dtypes.bfloat16) or kind.kind == "f":
        return rng.uniform(spec.low, spec.high, size=shape).astype(kind)
    return rng.standard_normal(shape).astype(kind)


def make_model(
    op_type: str,
    inputs: Sequence[Any],
    *,
    n_outputs: int,
    opset: int,
    domain: str,
    attributes: Mapping[str, Any],
) -> tuple[onnx.ModelProto, dict[str, In]]:
    """A model of one node; arrays become initializers, None an omitted input."""
    names, runtime, initializers = [], {}, []
    for index, item in enumerate(inputs):
        name = "" if item is None else f"i{index}"
        names.append(name)
        if isinstance(item, In):
            runtime[name] = item
        elif item is not None:
            initializers.append(numpy_helper.from_array(np.asarray(item), name))
    outputs = [f"o{index}" for index in range(n_outputs)]
    node = helper.make_node(op_type, names, outputs, domain=domain, **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(n, s.dtype, list(s.dims)) for n, s in runtime.items()],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        initializers,
    )
    opsets = [helper.make_opsetid("", opset if not domain else 21)]
    if domain:
        opsets.append(helper.make_opsetid(domain, opset))
    return helper.make_model(
        graph, opset_imports=opsets, ir_version=min(10, onnx.IR_VERSION)
    ), runtime


def run_model(model: onnx.ModelProto, feeds: Mapping[str, Any], dtypes: Sequence[int]) -> list[Any]:
    """Outputs of onnxruntime, or of the reference evaluator where onnxruntime has no kernel."""
    typed = onnx.ModelProto()
    typed.CopyFrom(model)
    for value, dtype in zip(typed.graph.output, dtypes, strict=True):
        value.type.tensor_type.elem_type = dtype
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(
            typed.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except RUN_ERRORS as error:
        if "NOT_IMPLEMENTED" not in str(error) and "opset" not in str(error).lower():
            raise
        return list(ReferenceEvaluator(model).run(None, dict(feeds)))
    return list(session.run(None, dict(feeds)))


def bind(dim: OptimDim, size: int, bindings: dict[str, int], what: str) -> None:
    """Compare a stated size with a run; a symbol that the run decides takes the run's size."""
    free = sorted(dim.symbols() - bindings.keys())
    if dim.is_symbol() and free:
        bindings[free[0]] = size
        return
    assert not free, f"{what}: {dim} mentions {free}, which no input defines"
    assert dim.evaluate(bindings) == size, f"{what}: stated {dim}, the run gave {size} ({bindings})"


def compare(context: ShapesContext, name: str, got: Any, bindings: dict[str, int]) -> None:
    """Compare one output with all that is stated of it."""
    stated = context.get(name)
    array = np.asarray(got)
    if stated.dtype and array.dtype.kind not in "OUS":
        assert array.dtype == helper.tensor_dtype_to_np_dtype(int(stated.dtype)), name
    if stated.shape.has_rank():
        assert stated.shape.rank() == array.ndim, f"{name}: {stated.shape} against {array.shape}"
        for axis, dim in enumerate(stated.shape.dims()):
            bind(dim, array.shape[axis], bindings, f"{name} axis {axis}")
    if stated.value is not None:
        flat = array.ravel().tolist()
        assert len(flat) == len(stated.value), name
        for element, number in zip(stated.value, flat, strict=True):
            if element is not None:
                assert element.evaluate(bindings) == number, f"{name}: {stated} against {flat}"
    elif stated.constant is not None and array.dtype.kind in "iufb":
        np.testing.assert_allclose(array, stated.constant, rtol=1e-6)
    for dim, bound in context.constraints_store.upper_bounds():
        if not (dim.symbols() | bound.symbols()) - bindings.keys():
            assert dim.evaluate(bindings) <= bound.evaluate(bindings), f"{dim} <= {bound}"
    for dim, other in context.constraints_store.equalities():
        if not (dim.symbols() | other.symbols()) - bindings.keys():
            assert dim.evaluate(bindings) == other.evaluate(bindings), f"{dim} == {other}"


def check_node(
    op_type: str,
    inputs: Sequence[Any],
    *,
    n_outputs: int = 1,
    opset: int = 21,
    domain: str = "",
    sizes: Sequence[Mapping[str, int]] | None = None,
    exact: bool = True,
    need_runs: int = 1,
    **attributes: Any,
) -> list[OptimTensor]:
    """Infer one node with symbols, run it with several sizes, compare.

    Args:
        op_type: Operator.
        inputs: `In`, an array (constant), or None (omitted).
        n_outputs: Number of outputs.
        opset: Opset version of the domain.
        domain: Operator domain.
        sizes: Values of the symbols for each run; by default distinct primes, then all 1.
        exact: Whether every size must be an expression of the inputs' symbols.
        need_runs: Least number of runs that must succeed; the others may be refused.
        **attributes: Attributes of the node.

    Returns:
        The descriptors of the outputs.
    """
    model, runtime = make_model(
        op_type, inputs, n_outputs=n_outputs, opset=opset, domain=domain, attributes=attributes
    )
    context = ShapesContext()
    compute_shapes(context, model)
    stated = [context.get(f"o{index}") for index in range(n_outputs)]
    symbols = sorted(
        {
            s
            for spec in runtime.values()
            for d in spec.dims
            if isinstance(d, str)
            for s in OptimDim(d).symbols()
        }
    )
    if exact:
        for item in stated:
            assert item.dtype, item
            assert item.shape.has_rank(), item
            for dim in item.shape.dims():
                assert dim.symbols() <= set(symbols), (
                    f"{op_type}: {dim} is no expression of {symbols}"
                )
    if sizes is None:
        sizes = [dict(zip(symbols, PRIMES, strict=False)), dict.fromkeys(symbols, 1)]
    rng = np.random.default_rng(0)
    runs, refused = 0, []
    for values in sizes:
        feeds = {name: _array(spec, values, rng) for name, spec in runtime.items()}
        try:
            results = run_model(model, feeds, [int(item.dtype) for item in stated])
        except RUN_ERRORS as error:  # sizes that the operator does not allow
            refused.append(f"{dict(values)}: {str(error)[:300]}")
            continue
        runs += 1
        bindings = dict(values)
        for index, got in enumerate(results):
            compare(context, f"o{index}", got, bindings)
    assert runs >= min(need_runs, len(sizes)), f"{op_type}: no run succeeded: {refused}"
    return stated


@pytest.fixture
def check() -> Callable[..., list[OptimTensor]]:
    """The function `check_node`."""
    return check_node


@pytest.fixture
def runtime_input() -> type[In]:
    """The class of run-time inputs."""
    return In
