"""Random graphs of tensor operators: three symbols, ranks 1 to 4."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from conformance.shapes.chooser import Chooser
from yobx.errors import ShapeError
from yobx.onnx_optim import OptimTensor, ShapesContext, compute_shapes

__all__ = ["tensor_model"]

OPSET = 18
FLOAT = int(TensorProto.FLOAT)
MAX_RANK = 4
INPUTS: dict[str, list[int | str]] = {"x": ["n", "m", 4], "y": ["n", 4], "z": ["m", "k"], "w": [4]}
PLACES: list[Any] = [0, [0], [-1, 0], [[0, 0]]]


class NodeRefusedError(Exception):
    """The engine says that a node can never run."""


@dataclass
class Graph:
    """Nodes so far, and what the engine states of their outputs."""

    choose: Chooser
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    context: ShapesContext = field(default_factory=lambda: ShapesContext({"": OPSET}))
    tensors: list[str] = field(default_factory=lambda: list(INPUTS))

    def __post_init__(self) -> None:
        """Declare the inputs."""
        for name, dims in INPUTS.items():
            self.context.set(name, OptimTensor(FLOAT, dims))

    def constant(self, values: Any, dtype: Any = np.int64) -> str:
        """An initializer."""
        name = f"c{len(self.constants)}"
        self.constants[name] = np.array(values, dtype)
        self.context.set(name, OptimTensor.of_constant(self.constants[name]))
        return name

    def add(
        self, op_type: str, inputs: list[str], outputs: int = 1, **attributes: Any
    ) -> list[str]:
        """Add a node unless the engine refuses it; returns the names of its outputs."""
        names = [f"t{len(self.nodes)}_{index}" for index in range(outputs)]
        node = helper.make_node(op_type, inputs, names, **attributes)
        try:
            compute_shapes(self.context, node)
        except ShapeError:
            return []
        self.nodes.append(node)
        return names

    def one(self, op_type: str, inputs: list[str], **attributes: Any) -> str:
        """Add a node that others are to use.

        Raises:
            NodeRefusedError: The engine refuses it.
        """
        found = self.add(op_type, inputs, **attributes)
        if not found:
            raise NodeRefusedError(op_type)
        return found[0]

    def keep(self, names: list[str]) -> None:
        """Let later nodes use these float tensors, if their rank is known and small."""
        for name in names:
            shape = self.context.get(name).shape
            if shape.has_rank() and len(shape) <= MAX_RANK:
                self.tensors.append(name)

    def rank(self, name: str) -> int:
        """Rank of a tensor."""
        return len(self.context.get(name).shape)

    def model(self) -> onnx.ModelProto:
        """The model; all values are outputs."""
        values = [name for node in self.nodes for name in node.output]
        graph = helper.make_graph(
            self.nodes,
            "g",
            [helper.make_tensor_value_info(n, FLOAT, dims) for n, dims in INPUTS.items()],
            [
                helper.make_tensor_value_info(n, int(self.context.get(n).dtype), None)
                for n in values
            ],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )
        made: onnx.ModelProto = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8
        )
        return made


def pick(graph: Graph, least: int = 0) -> str:
    """Any tensor of at least that rank."""
    return graph.choose.one_of([name for name in graph.tensors if graph.rank(name) >= least])


def axis_for(graph: Graph, name: str) -> int:
    """Any axis of a tensor."""
    rank = graph.rank(name)
    return graph.choose.integer(-rank, rank - 1)


def binary(graph: Graph) -> None:
    """Two tensors that may broadcast."""
    op_type = graph.choose.one_of(["Add", "Mul", "Max", "Sub"])
    graph.keep(graph.add(op_type, [pick(graph), pick(graph)]))


def matmul(graph: Graph) -> None:
    """A product of two tensors."""
    left, right = pick(graph, 1), pick(graph, 1)
    if graph.choose.flag() and graph.rank(right) > 1:
        rank = graph.rank(right)
        perm = [*range(rank - 2), rank - 1, rank - 2]
        right = graph.one("Transpose", [right], perm=perm)
    graph.keep(graph.add("MatMul", [left, right]))


def transpose(graph: Graph) -> None:
    """Any permutation."""
    name = pick(graph, 1)
    graph.keep(graph.add("Transpose", [name], perm=graph.choose.shuffled(range(graph.rank(name)))))


def reduce(graph: Graph) -> None:
    """A sum over some axes."""
    name = pick(graph, 1)
    axes = graph.choose.some_of(range(graph.rank(name)), 2)
    inputs = [name, graph.constant(axes)]
    graph.keep(graph.add("ReduceSum", inputs, keepdims=graph.choose.integer(0, 1)))


def concat(graph: Graph) -> None:
    """Two or three tensors joined."""
    first = pick(graph, 1)
    same = [name for name in graph.tensors if graph.rank(name) == graph.rank(first)]
    others = [graph.choose.one_of(same) for _ in range(graph.choose.integer(1, 2))]
    graph.keep(graph.add("Concat", [first, *others], axis=axis_for(graph, first)))


def slice_(graph: Graph) -> None:
    """A slice with constant limits, far ones too."""
    name = pick(graph, 1)
    far = [-(2**62), -4, -2, -1, 0, 1, 2, 4, 2**62]
    limits = [
        graph.constant([graph.choose.one_of(far)]),
        graph.constant([graph.choose.one_of(far)]),
    ]
    limits += [
        graph.constant([axis_for(graph, name)]),
        graph.constant([graph.choose.one_of([1, 2, -1, -2])]),
    ]
    graph.keep(graph.add("Slice", [name, *limits]))


def slice_by_size(graph: Graph) -> None:
    """A slice whose limit is computed from a size."""
    name, other = pick(graph, 1), pick(graph, 1)
    sizes = graph.one("Shape", [other])
    size = graph.one("Gather", [sizes, graph.constant([axis_for(graph, other)])])
    if graph.choose.flag():
        size = graph.one("Sub", [size, graph.constant([graph.choose.integer(-1, 2)])])
    if graph.choose.flag():
        size = graph.one("Neg", [size])
    axis = graph.constant([axis_for(graph, name)])
    limits = [size, graph.constant([2**62])] if graph.choose.flag() else [graph.constant([0]), size]
    graph.keep(graph.add("Slice", [name, *limits, axis]))


def gather(graph: Graph) -> None:
    """Elements at constant places."""
    name = pick(graph, 1)
    places: Any = graph.choose.one_of(PLACES)
    graph.keep(graph.add("Gather", [name, graph.constant(places)], axis=axis_for(graph, name)))


def unsqueeze(graph: Graph) -> None:
    """One more axis."""
    name = pick(graph)
    axis = graph.choose.integer(-graph.rank(name) - 1, graph.rank(name))
    graph.keep(graph.add("Unsqueeze", [name, graph.constant([axis])]))


def squeeze(graph: Graph) -> None:
    """One axis less, or all axes of size 1."""
    name = pick(graph, 1)
    axes = [graph.constant([axis_for(graph, name)])] if graph.choose.flag() else []
    graph.keep(graph.add("Squeeze", [name, *axes]))


def reshape(graph: Graph) -> None:
    """To a mixture of -1, 0, numbers and sizes of other tensors."""
    name = pick(graph)
    parts, wildcard = [], False
    for _ in range(graph.choose.integer(1, 3)):
        kind = graph.choose.one_of(["size", "size", "product", "number", "zero", "rest"])
        if kind == "rest" and not wildcard:
            wildcard = True
            parts.append(graph.constant([-1]))
        elif kind in ("size", "product"):
            other = name if graph.choose.flag() and graph.rank(name) else pick(graph, 1)
            sizes = graph.one("Shape", [other])
            part = graph.one("Gather", [sizes, graph.constant([axis_for(graph, other)])])
            if kind == "product":
                second = graph.one("Gather", [sizes, graph.constant([axis_for(graph, other)])])
                part = graph.one("Mul", [part, second])
            parts.append(part)
        else:
            parts.append(graph.constant([0 if kind == "zero" else graph.choose.one_of([1, 2, 4])]))
    target = graph.add("Concat", parts, axis=0)
    if target:
        keep_zero = 0 if wildcard else graph.choose.integer(0, 1)
        graph.keep(graph.add("Reshape", [name, *target], allowzero=keep_zero))


def expand(graph: Graph) -> None:
    """To the shape of another tensor."""
    sizes = graph.one("Shape", [pick(graph)])
    graph.keep(graph.add("Expand", [pick(graph), sizes]))


def tile(graph: Graph) -> None:
    """Repeated along each axis."""
    name = pick(graph, 1)
    counts = [graph.choose.integer(0, 2) for _ in range(graph.rank(name))]
    graph.keep(graph.add("Tile", [name, graph.constant(counts)]))


def pad(graph: Graph) -> None:
    """Padded, or cut where the amount is negative."""
    name = pick(graph, 1)
    count = 2 * graph.rank(name)
    amounts = [graph.choose.integer(-1, 2) for _ in range(count)]
    graph.keep(graph.add("Pad", [name, graph.constant(amounts)]))


def split(graph: Graph) -> None:
    """In equal parts."""
    name = pick(graph, 1)
    count = graph.choose.integer(1, 3)
    axis = axis_for(graph, name)
    graph.keep(graph.add("Split", [name], outputs=count, num_outputs=count, axis=axis))


def flatten(graph: Graph) -> None:
    """To two axes."""
    name = pick(graph)
    graph.keep(graph.add("Flatten", [name], axis=graph.choose.integer(0, graph.rank(name))))


def pool(graph: Graph) -> None:
    """A window over the last axes."""
    name = pick(graph, 3)
    spatial = graph.rank(name) - 2
    kernel = graph.choose.integer(1, 3)
    attributes: dict[str, Any] = {
        "kernel_shape": [kernel] * spatial,
        "strides": [graph.choose.integer(1, 2)] * spatial,
    }
    if graph.choose.flag():
        attributes["auto_pad"] = graph.choose.one_of(["SAME_UPPER", "SAME_LOWER", "VALID"])
    elif kernel > 1:
        attributes["pads"] = [graph.choose.integer(0, 1) for _ in range(2 * spatial)]
    op_type = graph.choose.one_of(["MaxPool", "AveragePool"])
    graph.keep(graph.add(op_type, [name], ceil_mode=graph.choose.integer(0, 1), **attributes))


def non_zero(graph: Graph) -> None:
    """A size that depends on data."""
    places = graph.one("NonZero", [pick(graph, 1)])
    graph.keep(graph.add("Cast", [places], to=FLOAT))


# No Einsum: onnxruntime's ends the process when a size is 0.
STEPS: list[Callable[[Graph], None]] = [
    binary, binary, matmul, transpose, reduce, concat, slice_, slice_by_size, gather, unsqueeze,
    squeeze, reshape, reshape, expand, tile, pad, split, flatten, pool, non_zero,
]  # fmt: skip


def tensor_model(choose: Chooser) -> onnx.ModelProto:
    """A random model; its inputs have the sizes ``n``, ``m`` and ``k``."""
    graph = Graph(choose)
    binary(graph)
    for _ in range(choose.integer(1, 8)):
        with contextlib.suppress(NodeRefusedError):
            choose.one_of(STEPS)(graph)
    if not graph.nodes:
        graph.add("Identity", ["x"])
    return graph.model()
