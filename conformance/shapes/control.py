"""Random graphs of shape arithmetic, control flow, sequences and functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from conformance.shapes.chooser import Chooser

__all__ = ["control_model"]

OPSET = 20
MAX_DEPTH = 2
FLOAT, INT64, BOOL = int(TensorProto.FLOAT), int(TensorProto.INT64), int(TensorProto.BOOL)
Step = Callable[["Graph"], None]


@dataclass
class Graph:
    """A graph under construction: nodes, and the values it has by kind."""

    choose: Chooser
    prefix: str = ""
    depth: int = 0
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    matrices: list[str] = field(default_factory=list)
    vectors: list[str] = field(default_factory=list)
    scalars: list[str] = field(default_factory=list)
    sequences: list[str] = field(default_factory=list)
    functions: list[onnx.FunctionProto] = field(default_factory=list)
    count: int = 0

    def name(self) -> str:
        """A new name."""
        self.count += 1
        return f"{self.prefix}v{self.count}"

    def node(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output; returns the name of that."""
        output = self.name()
        self.nodes.append(helper.make_node(op_type, list(inputs), [output], **attributes))
        return output

    def ints(self, *values: int) -> str:
        """A constant vector."""
        return self.node("Constant", value=numpy_helper.from_array(np.array(values, np.int64)))

    def number(self, value: int) -> str:
        """A constant scalar."""
        return self.node("Constant", value=numpy_helper.from_array(np.array(value, np.int64)))

    def matrix(self) -> str:
        """Any matrix so far."""
        return self.choose.one_of(self.matrices)

    def vector(self) -> str:
        """Any vector of two integers so far."""
        return self.choose.one_of(self.vectors)

    def small(self, low: int = -3, high: int = 4) -> int:
        """A small integer."""
        return self.choose.integer(low, high)

    def count_of(self, most: int) -> str:
        """A scalar from the sizes, or a constant."""
        if self.scalars:
            return self.node("Min", self.choose.one_of(self.scalars), self.number(most))
        return self.number(self.small(0, most))


def value(name: str, dtype: int, shape: Sequence[int] | None = None) -> onnx.ValueInfoProto:
    """A declared tensor."""
    made: onnx.ValueInfoProto = helper.make_tensor_value_info(name, dtype, shape)
    return made


# ------------------------------------------------------------------------------- shape arithmetic


def add_arithmetic(g: Graph) -> None:
    """A vector of two sizes from a shape, combined with another."""
    op = g.choose.one_of(["Add", "Sub", "Mul", "Max", "Min", "Div", "Mod"])
    other = g.ints(g.small(1, 4)) if op in ("Div", "Mod") else g.vector()
    g.vectors.append(g.node(op, g.vector(), other))


def add_shape(g: Graph) -> None:
    """The shape of a matrix."""
    g.vectors.append(g.node("Shape", g.matrix()))


def add_scalar(g: Graph) -> None:
    """One size, used as number of trips, end of a slice or divisor."""
    place = g.number(g.choose.one_of([0, 1, -1]))
    g.scalars.append(g.node("Gather", g.vector(), place))


def add_filled(g: Graph) -> None:
    """A matrix whose sizes were computed; negative ones are cut at 0, big ones at 9."""
    low = g.node("Max", g.vector(), g.ints(0))
    one = numpy_helper.from_array(np.ones(1, np.float32))
    g.matrices.append(g.node("ConstantOfShape", g.node("Min", low, g.ints(9)), value=one))


def add_slice(g: Graph) -> None:
    """A slice with any start, end and step, on either axis."""
    axes = g.ints(g.choose.one_of([0, 1, -1]))
    big = int(np.iinfo(np.int64).max)
    start = g.choose.one_of([0, 1, 2, -1, -3, 7])
    end = g.choose.one_of([0, 1, 3, -1, -2, 9, big])
    step = g.choose.one_of([1, 2, -1, -2, 3])
    if step < 0:
        end = g.choose.one_of([-big, 0, 1, -2])
    parts = [g.ints(start), g.ints(end), axes, g.ints(step)]
    g.matrices.append(g.node("Slice", g.matrix(), *parts))


def add_slice_by_size(g: Graph) -> None:
    """A slice whose end is a size."""
    if not g.scalars:
        add_scalar(g)
        return
    end = g.node("Unsqueeze", g.choose.one_of(g.scalars), g.ints(0))
    g.matrices.append(g.node("Slice", g.matrix(), g.ints(g.small()), end, g.ints(0)))


def add_concat(g: Graph) -> None:
    """Two matrices side by side; mostly the same one, so that most runs succeed."""
    left = g.matrix()
    right = g.matrix() if g.choose.one_of([0, 0, 1]) else left
    g.matrices.append(g.node("Concat", left, right, axis=g.choose.one_of([0, 1, -2])))


def add_transpose(g: Graph) -> None:
    """A transposed matrix."""
    g.matrices.append(g.node("Transpose", g.matrix()))


def add_reshape(g: Graph) -> None:
    """To one row, to a column, or to the shape of the transposed."""
    source = g.matrix()
    kind = g.choose.one_of(["row", "column", "swap", "keep"])
    if kind == "swap":
        target = g.node("Gather", g.node("Shape", source), g.ints(1, 0))
        g.matrices.append(g.node("Reshape", source, target, allowzero=1))
    else:
        wanted = {"row": (1, -1), "column": (-1, 1), "keep": (0, 0)}[kind]
        g.matrices.append(g.node("Reshape", source, g.ints(*wanted)))


def add_expand(g: Graph) -> None:
    """A row repeated."""
    row = g.node("ReduceMax", g.node("Pad", g.matrix(), g.ints(0, 0, 1, 1)), g.ints(0))
    g.matrices.append(g.node("Expand", row, g.ints(g.small(1, 3), 1)))


def add_nonzero(g: Graph) -> None:
    """A matrix whose width depends on data."""
    g.matrices.append(g.node("Cast", g.node("NonZero", g.matrix()), to=FLOAT))


def add_broadcast(g: Graph) -> None:
    """Any two matrices: most runs are refused, the others must agree."""
    g.matrices.append(g.node("Add", g.matrix(), g.matrix()))


# -------------------------------------------------------------------------------------- sequences


def add_sequence(g: Graph) -> None:
    """A sequence of matrices, one of its elements, its length."""
    pair = [g.matrix(), g.matrix()]
    sequence = g.node("SequenceConstruct", *pair[: g.small(1, 2)])
    if g.choose.flag():
        sequence = g.node("SequenceInsert", sequence, g.matrix())
    g.sequences.append(sequence)
    g.matrices.append(g.node("SequenceAt", sequence, g.number(g.choose.one_of([0, -1]))))
    g.scalars.append(g.node("SequenceLength", sequence))


def add_pieces(g: Graph) -> None:
    """A matrix cut into pieces; the pieces joined again, or one of them."""
    axis = g.choose.one_of([0, 1])
    inputs = [g.matrix()]
    if g.choose.flag():
        inputs.append(g.node("Max", g.count_of(3), g.number(1)))
    pieces = g.node("SplitToSequence", *inputs, axis=axis)
    g.sequences.append(pieces)
    g.scalars.append(g.node("SequenceLength", pieces))
    if g.choose.flag():
        g.matrices.append(g.node("ConcatFromSequence", pieces, axis=g.choose.one_of([0, 1])))
    else:
        g.matrices.append(g.node("SequenceAt", pieces, g.number(g.choose.one_of([0, -1]))))


def add_erased(g: Graph) -> None:
    """A sequence without one of its elements."""
    if not g.sequences:
        add_sequence(g)
        return
    shorter = g.node(
        "SequenceErase", g.choose.one_of(g.sequences), g.number(g.choose.one_of([0, -1]))
    )
    g.sequences.append(shorter)
    g.scalars.append(g.node("SequenceLength", shorter))


def add_mapped(g: Graph) -> None:
    """A graph for each element of a sequence."""
    if not g.sequences:
        add_sequence(g)
        return
    g.count += 1
    name = f"{g.prefix}m{g.count}"
    op, axis = g.choose.one_of(["Relu", "Transpose", "Concat"]), g.choose.one_of([0, 1])
    inputs = [f"{name}_in"] * (2 if op == "Concat" else 1)
    extra: dict[str, Any] = {"axis": axis} if op == "Concat" else {}
    body = helper.make_graph(
        [helper.make_node(op, inputs, [f"{name}_out"], **extra)],
        "mapped",
        [value(f"{name}_in", FLOAT)],
        [value(f"{name}_out", FLOAT)],
    )
    mapped = g.node("SequenceMap", g.choose.one_of(g.sequences), body=body)
    g.sequences.append(mapped)
    g.matrices.append(g.node("SequenceAt", mapped, g.number(0)))


# ----------------------------------------------------------------------------------- control flow


def inner(g: Graph, letter: str) -> Graph:
    """A graph inside ``g`` that reads its values."""
    return Graph(
        g.choose,
        f"{g.prefix}{letter}{g.count}_",
        g.depth + 1,
        matrices=list(g.matrices),
        vectors=list(g.vectors),
        scalars=list(g.scalars),
        sequences=list(g.sequences),
        functions=g.functions,
    )


def fill(g: Graph, steps: int) -> None:
    """Add some random nodes."""
    for _ in range(steps):
        g.choose.one_of(STEPS if g.depth < MAX_DEPTH else FLAT_STEPS)(g)


def add_if(g: Graph) -> None:
    """Two branches, and a condition on a size or on both sizes of a vector."""
    g.count += 1
    op = g.choose.one_of(["Less", "Equal", "Greater"])
    flag = g.node(op, g.number(g.small()), g.choose.one_of(g.scalars) if g.scalars else g.number(1))
    if g.choose.one_of([0, 0, 1]):
        flag = g.node("Not", flag)
    branches = []
    for letter in "te":
        branch = inner(g, letter)
        fill(branch, branch.small(0, 2))
        last = branch.node("Identity", branch.matrix())
        vector = branch.node("Identity", branch.vector())
        outputs = [value(last, FLOAT), value(vector, INT64)]
        branches.append(helper.make_graph(branch.nodes, letter, [], outputs))
    names = [g.name(), g.name()]
    g.nodes.append(
        helper.make_node("If", [flag], names, then_branch=branches[0], else_branch=branches[1])
    )
    g.matrices.append(names[0])
    g.vectors.append(names[1])


def add_loop(g: Graph) -> None:
    """A loop over a matrix, with a stop condition now and then."""
    g.count += 1
    trips = g.count_of(3)
    body = inner(g, "l")
    i, c, a = (body.prefix + n for n in ("i", "c", "a"))
    body.matrices = [a, *body.matrices[:2]]
    fill(body, body.small(0, 2))
    stop = body.node("Identity", c)
    if g.choose.flag():
        stop = body.node("Less", i, body.number(body.small(0, 2)))
    grown = g.choose.one_of(["same", "concat", "any"])
    if grown == "concat":
        out = body.node("Concat", a, body.matrix(), axis=0)
    else:
        out = body.node("Identity", a if grown == "same" else body.matrix())
    stacked = body.node("Identity", body.vector())
    graph = helper.make_graph(
        body.nodes,
        "body",
        [value(i, INT64, []), value(c, BOOL, []), value(a, FLOAT)],
        [value(stop, BOOL, []), value(out, FLOAT), value(stacked, INT64)],
    )
    names = [g.name(), g.name()]
    g.nodes.append(helper.make_node("Loop", [trips, "", g.matrix()], names, body=graph))
    g.matrices.append(names[0])
    g.vectors.append(g.node("Shape", names[1]))


def add_collecting_loop(g: Graph) -> None:
    """A loop that puts a matrix per iteration into a sequence."""
    g.count += 1
    body = inner(g, "c")
    i, c, s = (body.prefix + n for n in ("i", "c", "s"))
    body.sequences = []
    fill(body, body.small(0, 1))
    item = body.matrix()
    if g.choose.flag():  # its size differs from iteration to iteration
        shifted = body.node("Sub", item, body.node("Cast", i, to=FLOAT))
        found = body.node("NonZero", body.node("Relu", shifted))
        item = body.node("Cast", found, to=FLOAT)
    longer = body.node("SequenceInsert", s, item)
    place = body.number(g.choose.one_of([0, -1]))
    size = body.node("Size", body.node("Relu", body.node("SequenceAt", longer, place)))
    stop = body.node("Identity", c)
    matrices = helper.make_tensor_sequence_value_info
    graph = helper.make_graph(
        body.nodes,
        "body",
        [value(i, INT64, []), value(c, BOOL, []), matrices(s, FLOAT, None)],
        [value(stop, BOOL, []), matrices(longer, FLOAT, None), value(size, INT64, [])],
    )
    start = g.node("SequenceEmpty") if g.choose.flag() else g.node("SequenceConstruct", g.matrix())
    name = g.name()
    outputs = [name, g.name()]
    g.nodes.append(helper.make_node("Loop", [g.count_of(3), "", start], outputs, body=graph))
    g.sequences.append(name)
    g.matrices.append(g.node("SequenceAt", name, g.number(g.choose.one_of([0, -1]))))
    g.scalars.append(g.node("SequenceLength", name))
    if g.choose.flag():
        g.matrices.append(g.node("ConcatFromSequence", name, axis=0))


def add_scan(g: Graph) -> None:
    """A scan over the rows or columns of a matrix that is not empty.

    onnxruntime dies of a division by zero (not an exception) on some scans of an empty one.
    """
    g.count += 1
    body = inner(g, "s")
    row, state = f"{body.prefix}row", f"{body.prefix}state"
    op = g.choose.one_of(["Relu", "Concat", "Shape"])
    out = body.node(op, row, row, axis=0) if op == "Concat" else body.node(op, row)
    kept = body.node("Add", state, state)
    kind = INT64 if op == "Shape" else FLOAT
    graph = helper.make_graph(
        body.nodes,
        "scan",
        [value(state, FLOAT), value(row, FLOAT)],
        [value(kept, FLOAT), value(out, kind)],
    )
    start = g.node("Constant", value=numpy_helper.from_array(np.ones(1, np.float32)))
    names = [g.name(), g.name()]
    g.nodes.append(
        helper.make_node(
            "Scan",
            [start, g.node("Pad", g.matrix(), g.ints(0, 0, 1, 1))],
            names,
            body=graph,
            num_scan_inputs=1,
            scan_input_axes=[g.choose.one_of([0, 1, -1])],
            scan_input_directions=[g.choose.one_of([0, 1])],
            scan_output_axes=[g.choose.one_of([0, 1, -1])],
        )
    )
    if kind == FLOAT:
        g.matrices.append(names[1])


def add_function(g: Graph) -> None:
    """A function of a matrix and a size, called once or twice; it may call earlier ones."""
    g.count += 1
    body = Graph(g.choose, f"f{len(g.functions)}_{g.prefix}{g.count}_", g.depth + 1)
    formal = f"{body.prefix}in"
    body.matrices = [formal]
    body.functions = list(g.functions)
    add_shape(body)
    known = len(body.functions)
    fill(body, body.small(1, 3))
    g.functions.extend(body.functions[known:])
    outputs = [body.node("Identity", body.matrix()), body.node("Identity", body.vector())]
    name = f"Function{len(g.functions)}"
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("local", 1)]
    g.functions.append(helper.make_function("local", name, [formal], outputs, body.nodes, opsets))
    for _ in range(g.small(1, 2)):
        call_function(g, name)


def call_function(g: Graph, name: str) -> None:
    """One call of a function."""
    names = [g.name(), g.name()]
    g.nodes.append(helper.make_node(name, [g.matrix()], names, domain="local"))
    g.matrices.append(names[0])
    g.vectors.append(names[1])


def add_call(g: Graph) -> None:
    """A call of any function so far."""
    if g.functions:
        call_function(g, g.choose.one_of(g.functions).name)
    else:
        add_function(g)


FLAT_STEPS: list[Step] = [
    *(add_arithmetic, add_shape, add_scalar, add_filled, add_slice, add_slice_by_size),
    *(add_concat, add_transpose, add_reshape, add_expand, add_nonzero, add_broadcast),
]
STEPS: list[Step] = [
    *FLAT_STEPS,
    *(add_sequence, add_pieces, add_erased, add_mapped, add_collecting_loop, add_scan),
    *(add_if, add_if, add_loop, add_loop, add_function, add_call),
]


def control_model(choose: Chooser) -> onnx.ModelProto:
    """A random model with two matrices of symbolic sizes, ``n``, ``m`` and ``n``, 3, as inputs."""
    g = Graph(choose, matrices=["x", "w"])
    add_shape(g)
    fill(g, choose.integer(1, 7))
    inputs = [
        helper.make_tensor_value_info("x", FLOAT, ["n", "m"]),
        helper.make_tensor_value_info("w", FLOAT, ["n", 3]),
    ]
    outputs = [onnx.ValueInfoProto(name=g.nodes[-1].output[0])]
    graph = helper.make_graph(g.nodes, "g", inputs, outputs)
    opsets = [helper.make_opsetid("", OPSET)]
    if g.functions:
        opsets.append(helper.make_opsetid("local", 1))
    model: onnx.ModelProto = helper.make_model(
        graph, opset_imports=opsets, ir_version=10, functions=g.functions
    )
    return model
