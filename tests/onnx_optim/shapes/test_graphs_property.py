"""Random graphs of tensor operators with symbolic sizes: no statement is refuted by a run."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from yobx.errors import ShapeError
from yobx.onnx_optim import OptimTensor, ShapesContext, compute_shapes

OPSET = 18
SIZES = (0, 1, 2, 3, 5)
RUN_ERRORS = (
    onnxruntime.capi.onnxruntime_pybind11_state.RuntimeException,
    onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument,
    onnxruntime.capi.onnxruntime_pybind11_state.Fail,
)
INPUTS = {"x": ["n", "m", 4], "y": ["n", 4], "z": ["m", "k"], "w": [4]}


@dataclass
class Graph:
    """Nodes so far, and what the engine states of their outputs."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    context: ShapesContext = field(default_factory=lambda: ShapesContext({"": OPSET}))
    tensors: list[str] = field(default_factory=lambda: list(INPUTS))

    def __post_init__(self) -> None:
        for name, dims in INPUTS.items():
            self.context.set(name, OptimTensor(T.FLOAT, dims))

    def constant(self, values: Any, dtype: Any = np.int64) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.array(values, dtype)
        self.context.set(name, OptimTensor.of_constant(self.constants[name]))
        return name

    def add(
        self, op_type: str, inputs: list[str], outputs: int = 1, **attributes: Any
    ) -> list[str]:
        """Adds a node unless the engine refuses it."""
        names = [f"t{len(self.nodes)}_{index}" for index in range(outputs)]
        node = helper.make_node(op_type, inputs, names, **attributes)
        try:
            compute_shapes(self.context, node)
        except ShapeError:
            return []
        self.nodes.append(node)
        return names

    def keep(self, names: list[str]) -> None:
        """Lets later nodes use these float tensors, if their rank is known and small."""
        for name in names:
            shape = self.context.get(name).shape
            if shape.has_rank() and len(shape) <= 4:
                self.tensors.append(name)

    def rank(self, name: str) -> int:
        return len(self.context.get(name).shape)

    def model(self) -> onnx.ModelProto:
        values = [name for node in self.nodes for name in node.output]
        graph = helper.make_graph(
            self.nodes,
            "g",
            [helper.make_tensor_value_info(n, T.FLOAT, dims) for n, dims in INPUTS.items()],
            [
                helper.make_tensor_value_info(n, int(self.context.get(n).dtype), None)
                for n in values
            ],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8
        )


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    graph = Graph()
    for _ in range(draw(st.integers(1, 8))):
        draw(st.sampled_from(STEPS))(draw, graph)
    return graph


def pick(draw: st.DrawFn, graph: Graph, least: int = 0) -> str:
    return draw(st.sampled_from([name for name in graph.tensors if graph.rank(name) >= least]))


def axis_for(draw: st.DrawFn, graph: Graph, name: str) -> int:
    rank = graph.rank(name)
    return draw(st.integers(-rank, rank - 1))


def binary(draw: st.DrawFn, graph: Graph) -> None:
    op_type = draw(st.sampled_from(["Add", "Mul", "Max", "Sub"]))
    graph.keep(graph.add(op_type, [pick(draw, graph), pick(draw, graph)]))


def matmul(draw: st.DrawFn, graph: Graph) -> None:
    left, right = pick(draw, graph, 1), pick(draw, graph, 1)
    if draw(st.booleans()) and graph.rank(right) > 1:
        rank = graph.rank(right)
        perm = [*range(rank - 2), rank - 1, rank - 2]
        (right,) = graph.add("Transpose", [right], perm=perm)
    graph.keep(graph.add("MatMul", [left, right]))


def transpose(draw: st.DrawFn, graph: Graph) -> None:
    name = pick(draw, graph, 1)
    graph.keep(graph.add("Transpose", [name], perm=draw(st.permutations(range(graph.rank(name))))))


def reduce(draw: st.DrawFn, graph: Graph) -> None:
    name = pick(draw, graph, 1)
    axes = draw(st.lists(st.integers(0, graph.rank(name) - 1), unique=True, max_size=2))
    inputs = [name, graph.constant(axes)]
    graph.keep(graph.add("ReduceSum", inputs, keepdims=draw(st.integers(0, 1))))


def concat(draw: st.DrawFn, graph: Graph) -> None:
    first = pick(draw, graph, 1)
    same = [name for name in graph.tensors if graph.rank(name) == graph.rank(first)]
    others = draw(st.lists(st.sampled_from(same), min_size=1, max_size=2))
    graph.keep(graph.add("Concat", [first, *others], axis=axis_for(draw, graph, first)))


def slice_(draw: st.DrawFn, graph: Graph) -> None:
    name = pick(draw, graph, 1)
    far = st.sampled_from([-(2**62), -4, -2, -1, 0, 1, 2, 4, 2**62])
    limits = [graph.constant([draw(far)]), graph.constant([draw(far)])]
    limits += [
        graph.constant([axis_for(draw, graph, name)]),
        graph.constant([draw(st.sampled_from([1, 2, -1, -2]))]),
    ]
    graph.keep(graph.add("Slice", [name, *limits]))


def slice_by_size(draw: st.DrawFn, graph: Graph) -> None:
    name, other = pick(draw, graph, 1), pick(draw, graph, 1)
    (sizes,) = graph.add("Shape", [other])
    (size,) = graph.add("Gather", [sizes, graph.constant([axis_for(draw, graph, other)])])
    if draw(st.booleans()):
        (size,) = graph.add("Sub", [size, graph.constant([draw(st.integers(-1, 2))])])
    if draw(st.booleans()):
        (size,) = graph.add("Neg", [size])
    axis = graph.constant([axis_for(draw, graph, name)])
    limits = [size, graph.constant([2**62])] if draw(st.booleans()) else [graph.constant([0]), size]
    graph.keep(graph.add("Slice", [name, *limits, axis]))


def gather(draw: st.DrawFn, graph: Graph) -> None:
    name = pick(draw, graph, 1)
    places = draw(st.sampled_from([0, [0], [-1, 0], [[0, 0]]]))
    graph.keep(
        graph.add("Gather", [name, graph.constant(places)], axis=axis_for(draw, graph, name))
    )


def unsqueeze(draw: st.DrawFn, graph: Graph) -> None:
    name = pick(draw, graph)
    axis = draw(st.integers(-graph.rank(name) - 1, graph.rank(name)))
    graph.keep(graph.add("Unsqueeze", [name, graph.constant([axis])]))


def squeeze(draw: st.DrawFn, graph: Graph) -> None:
    name = pick(draw, graph, 1)
    axes = [graph.constant([axis_for(draw, graph, name)])] if draw(st.booleans()) else []
    graph.keep(graph.add("Squeeze", [name, *axes]))


def reshape(draw: st.DrawFn, graph: Graph) -> None:
    """To a mixture of -1, 0, numbers and sizes of other tensors."""
    name = pick(draw, graph)
    parts, wildcard = [], False
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["size", "size", "product", "number", "zero", "rest"]))
        if kind == "rest" and not wildcard:
            wildcard = True
            parts.append(graph.constant([-1]))
        elif kind in ("size", "product"):
            other = name if draw(st.booleans()) and graph.rank(name) else pick(draw, graph, 1)
            (sizes,) = graph.add("Shape", [other])
            (part,) = graph.add("Gather", [sizes, graph.constant([axis_for(draw, graph, other)])])
            if kind == "product":
                (second,) = graph.add(
                    "Gather", [sizes, graph.constant([axis_for(draw, graph, other)])]
                )
                (part,) = graph.add("Mul", [part, second])
            parts.append(part)
        else:
            parts.append(
                graph.constant([0 if kind == "zero" else draw(st.sampled_from([1, 2, 4]))])
            )
    target = graph.add("Concat", parts, axis=0)
    if target:
        keep_zero = 0 if wildcard else draw(st.integers(0, 1))
        graph.keep(graph.add("Reshape", [name, *target], allowzero=keep_zero))


def expand(draw: st.DrawFn, graph: Graph) -> None:
    (sizes,) = graph.add("Shape", [pick(draw, graph)])
    graph.keep(graph.add("Expand", [pick(draw, graph), sizes]))


def tile(draw: st.DrawFn, graph: Graph) -> None:
    name = pick(draw, graph, 1)
    counts = draw(st.lists(st.integers(0, 2), min_size=graph.rank(name), max_size=graph.rank(name)))
    graph.keep(graph.add("Tile", [name, graph.constant(counts)]))


def pad(draw: st.DrawFn, graph: Graph) -> None:
    name = pick(draw, graph, 1)
    count = 2 * graph.rank(name)
    amounts = draw(st.lists(st.integers(-1, 2), min_size=count, max_size=count))
    graph.keep(graph.add("Pad", [name, graph.constant(amounts)]))


def split(draw: st.DrawFn, graph: Graph) -> None:
    name = pick(draw, graph, 1)
    count = draw(st.integers(1, 3))
    axis = axis_for(draw, graph, name)
    graph.keep(graph.add("Split", [name], outputs=count, num_outputs=count, axis=axis))


def flatten(draw: st.DrawFn, graph: Graph) -> None:
    name = pick(draw, graph)
    graph.keep(graph.add("Flatten", [name], axis=draw(st.integers(0, graph.rank(name)))))


def pool(draw: st.DrawFn, graph: Graph) -> None:
    name = pick(draw, graph, 3)
    spatial = graph.rank(name) - 2
    kernel = draw(st.integers(1, 3))
    attributes: dict[str, Any] = {
        "kernel_shape": [kernel] * spatial,
        "strides": [draw(st.integers(1, 2))] * spatial,
    }
    if draw(st.booleans()):
        attributes["auto_pad"] = draw(st.sampled_from(["SAME_UPPER", "SAME_LOWER", "VALID"]))
    elif kernel > 1:
        attributes["pads"] = [draw(st.integers(0, 1)) for _ in range(2 * spatial)]
    op_type = draw(st.sampled_from(["MaxPool", "AveragePool"]))
    graph.keep(graph.add(op_type, [name], ceil_mode=draw(st.integers(0, 1)), **attributes))


def non_zero(draw: st.DrawFn, graph: Graph) -> None:
    (places,) = graph.add("NonZero", [pick(draw, graph, 1)])
    graph.keep(graph.add("Cast", [places], to=T.FLOAT))


# No Einsum: onnxruntime's ends the process when a size is 0.
STEPS = [
    binary, binary, matmul, transpose, reduce, concat, slice_, slice_by_size, gather, unsqueeze,
    squeeze, reshape, reshape, expand, tile, pad, split, flatten, pool, non_zero,
]  # fmt: skip


def verify(graph: Graph, results: dict[str, Any], sizes: dict[str, int]) -> None:
    """Compares all that is stated with one run."""
    known = dict(sizes)
    for name, got in results.items():
        stated = graph.context.get(name)
        if stated.shape.has_rank():
            assert len(stated.shape) == got.ndim, (name, stated, got.shape)
            for dim, size in zip(stated.shape.dims(), got.shape, strict=True):
                if dim.symbols() <= known.keys():
                    assert dim.evaluate(known) == size, (name, str(stated.shape), got.shape, known)
                elif dim.is_symbol():
                    known[str(dim)] = size
        if stated.value is not None:
            for element, number in zip(stated.value, got.ravel().tolist(), strict=True):
                if element is not None and element.symbols() <= known.keys():
                    assert element.evaluate(known) == number, (name, stated, got)
    store = graph.context.constraints_store
    for left, right in store.equalities():
        if left.symbols() | right.symbols() <= known.keys():
            assert left.evaluate(known) == right.evaluate(known), f"{left} == {right} ({known})"
    for left, right in store.upper_bounds():
        if left.symbols() | right.symbols() <= known.keys():
            assert left.evaluate(known) <= right.evaluate(known), f"{left} <= {right} ({known})"


def run_all(graph: Graph) -> int:
    """Runs the graph with many sizes; returns how many runs succeeded."""
    model = graph.model()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except RUN_ERRORS:
        return 0
    names = [item.name for item in model.graph.output]
    runs = 0
    for values in itertools.product(SIZES, repeat=3):
        sizes = dict(zip("nmk", values, strict=True))
        feeds = {
            name: np.ones([sizes.get(dim, dim) for dim in dims], np.float32)
            for name, dims in INPUTS.items()
        }
        try:
            results = session.run(None, feeds)
        except RUN_ERRORS:
            continue
        runs += 1
        verify(graph, dict(zip(names, results, strict=True)), sizes)
    return runs


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(graphs())
def test_no_statement_is_refuted(graph: Graph) -> None:
    if graph.nodes:
        run_all(graph)
