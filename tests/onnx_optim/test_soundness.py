"""Random graphs of shape arithmetic, control flow and sequences: no run refutes a statement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.onnx_optim.running import Checker, floats, session_with_all_values
from yobx.onnx_optim import ShapesContext, compute_shapes, infer_shapes

SIZES = (0, 1, 2, 3, 5)
FLOAT, INT = "float", "int"


@dataclass
class Graph:
    """A graph under construction: nodes, and the values it has by kind."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    prefix: str = ""
    depth: int = 0
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    matrices: list[str] = field(default_factory=list)
    vectors: list[str] = field(default_factory=list)
    scalars: list[str] = field(default_factory=list)
    sequences: list[str] = field(default_factory=list)
    count: int = 0

    def name(self) -> str:
        self.count += 1
        return f"{self.prefix}v{self.count}"

    def pick(self, names: list[str]) -> str:
        return str(self.draw(st.sampled_from(names)))

    def node(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        output = self.name()
        self.nodes.append(helper.make_node(op_type, list(inputs), [output], **attributes))
        return output

    def ints(self, *values: int) -> str:
        return self.node("Constant", value=numpy_helper.from_array(np.array(values, np.int64)))

    def number(self, value: int) -> str:
        return self.node("Constant", value=numpy_helper.from_array(np.array(value, np.int64)))


def small(graph: Graph, low: int = -3, high: int = 4) -> int:
    return int(graph.draw(st.integers(low, high)))


def add_arithmetic(g: Graph) -> None:
    """A vector of two sizes from a shape, combined with another."""
    op = g.draw(st.sampled_from(["Add", "Sub", "Mul", "Max", "Min", "Div", "Mod"]))
    other = g.ints(small(g, 1, 4)) if op in ("Div", "Mod") else g.pick(g.vectors)
    if op == "Mod":
        g.vectors.append(g.node(op, g.pick(g.vectors), other))
    else:
        g.vectors.append(g.node(op, g.pick(g.vectors), other))


def add_shape(g: Graph) -> None:
    g.vectors.append(g.node("Shape", g.pick(g.matrices)))


def add_scalar(g: Graph) -> None:
    """One size, used as number of trips, end of a slice or divisor."""
    vector = g.node("Gather", g.pick(g.vectors), g.number(g.draw(st.sampled_from([0, 1, -1]))))
    g.scalars.append(vector)


def add_filled(g: Graph) -> None:
    """A matrix whose sizes were computed; negative ones are cut at 0, big ones at 9."""
    low = g.node("Max", g.pick(g.vectors), g.ints(0))
    g.matrices.append(
        g.node(
            "ConstantOfShape",
            g.node("Min", low, g.ints(9)),
            value=numpy_helper.from_array(np.ones(1, np.float32)),
        )
    )


def add_slice(g: Graph) -> None:
    """A slice with any start, end and step, on either axis."""
    axes = g.ints(g.draw(st.sampled_from([0, 1, -1])))
    big = np.iinfo(np.int64).max
    start = g.draw(st.sampled_from([0, 1, 2, -1, -3, 7]))
    end = g.draw(st.sampled_from([0, 1, 3, -1, -2, 9, big]))
    step = g.draw(st.sampled_from([1, 2, -1, -2, 3]))
    if step < 0:
        end = g.draw(st.sampled_from([-big, 0, 1, -2]))
    parts = [g.ints(start), g.ints(end), axes, g.ints(step)]
    g.matrices.append(g.node("Slice", g.pick(g.matrices), *parts))


def add_slice_by_size(g: Graph) -> None:
    if not g.scalars:
        return add_scalar(g)
    end = g.node("Unsqueeze", g.pick(g.scalars), g.ints(0))
    g.matrices.append(g.node("Slice", g.pick(g.matrices), g.ints(small(g)), end, g.ints(0)))
    return None


def add_concat(g: Graph) -> None:
    left = g.pick(g.matrices)
    g.matrices.append(g.node("Concat", left, left, axis=g.draw(st.sampled_from([0, 1, -2]))))


def add_transpose(g: Graph) -> None:
    g.matrices.append(g.node("Transpose", g.pick(g.matrices)))


def add_reshape(g: Graph) -> None:
    """To one row, to a column, or to the shape of the transposed."""
    source = g.pick(g.matrices)
    kind = g.draw(st.sampled_from(["row", "column", "swap", "keep"]))
    if kind == "swap":
        target = g.node("Gather", g.node("Shape", source), g.ints(1, 0))
        g.matrices.append(g.node("Reshape", source, target, allowzero=1))
    else:
        wanted = {"row": (1, -1), "column": (-1, 1), "keep": (0, 0)}[kind]
        g.matrices.append(g.node("Reshape", source, g.ints(*wanted)))


def add_expand(g: Graph) -> None:
    row = g.node("ReduceMax", g.node("Pad", g.pick(g.matrices), g.ints(0, 0, 1, 1)), g.ints(0))
    g.matrices.append(g.node("Expand", row, g.ints(small(g, 1, 3), 1)))


def add_nonzero(g: Graph) -> None:
    g.matrices.append(
        g.node("Cast", g.node("NonZero", g.pick(g.matrices)), to=int(TensorProto.FLOAT))
    )


def add_broadcast(g: Graph) -> None:
    """Any two matrices: most runs are refused, the others must agree."""
    g.matrices.append(g.node("Add", g.pick(g.matrices), g.pick(g.matrices)))


def add_sequence(g: Graph) -> None:
    pair = [g.pick(g.matrices), g.pick(g.matrices)]
    sequence = g.node("SequenceConstruct", *pair[: small(g, 1, 2)])
    if g.draw(st.booleans()):
        sequence = g.node("SequenceInsert", sequence, g.pick(g.matrices))
    g.sequences.append(sequence)
    g.matrices.append(g.node("SequenceAt", sequence, g.number(g.draw(st.sampled_from([0, -1])))))
    g.scalars.append(g.node("SequenceLength", sequence))


def inner(g: Graph, letter: str) -> Graph:
    """A graph inside ``g`` that reads its values."""
    return Graph(
        g.draw,
        f"{g.prefix}{letter}{g.count}_",
        g.depth + 1,
        matrices=list(g.matrices),
        vectors=list(g.vectors),
        scalars=list(g.scalars),
    )


def fill(g: Graph, steps: int) -> None:
    """Some random nodes."""
    for _ in range(steps):
        choices = STEPS if g.depth < 2 else STEPS[:-4]
        g.draw(st.sampled_from(choices))(g)


def add_if(g: Graph) -> None:
    g.count += 1
    flag = g.node("Less", g.number(small(g)), g.pick(g.scalars) if g.scalars else g.number(1))
    branches = []
    for letter in "te":
        branch = inner(g, letter)
        fill(branch, small(branch, 0, 2))
        last = branch.node("Identity", branch.pick(branch.matrices))
        vector = branch.node("Identity", branch.pick(branch.vectors))
        outputs = [
            helper.make_tensor_value_info(last, TensorProto.FLOAT, None),
            helper.make_tensor_value_info(vector, TensorProto.INT64, None),
        ]
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
    trips = g.node("Min", g.pick(g.scalars), g.number(3)) if g.scalars else g.number(small(g, 0, 3))
    body = inner(g, "l")
    i, c, a = (body.prefix + n for n in ("i", "c", "a"))
    body.matrices = [a, *body.matrices[:2]]
    fill(body, small(body, 0, 2))
    stop = body.node("Identity", c)
    if g.draw(st.booleans()):
        stop = body.node("Less", i, body.number(small(body, 0, 2)))
    grown = g.draw(st.sampled_from(["same", "concat", "any"]))
    if grown == "concat":
        out = body.node("Concat", a, body.pick(body.matrices), axis=0)
    else:
        out = body.node("Identity", a if grown == "same" else body.pick(body.matrices))
    stacked = body.node("Identity", body.pick(body.vectors))
    graph = helper.make_graph(
        body.nodes,
        "body",
        [
            helper.make_tensor_value_info(i, TensorProto.INT64, []),
            helper.make_tensor_value_info(c, TensorProto.BOOL, []),
            helper.make_tensor_value_info(a, TensorProto.FLOAT, None),
        ],
        [
            helper.make_tensor_value_info(stop, TensorProto.BOOL, []),
            helper.make_tensor_value_info(out, TensorProto.FLOAT, None),
            helper.make_tensor_value_info(stacked, TensorProto.INT64, None),
        ],
    )
    names = [g.name(), g.name()]
    g.nodes.append(helper.make_node("Loop", [trips, "", g.pick(g.matrices)], names, body=graph))
    g.matrices.append(names[0])
    g.vectors.append(g.node("Shape", names[1]))


def add_scan(g: Graph) -> None:
    """A scan over the rows or columns of a matrix that is not empty.

    onnxruntime dies of a division by zero (not an exception) on some scans of an empty one.
    """
    g.count += 1
    body = inner(g, "s")
    row = f"{body.prefix}row"
    body.matrices = ["x", "w"]
    state = f"{body.prefix}state"
    op = g.draw(st.sampled_from(["Relu", "Concat", "Shape"]))
    out = body.node(op, row, row, axis=0) if op == "Concat" else body.node(op, row)
    kept = body.node("Add", state, state)
    kind = TensorProto.INT64 if op == "Shape" else TensorProto.FLOAT
    graph = helper.make_graph(
        body.nodes,
        "scan",
        [
            helper.make_tensor_value_info(state, TensorProto.FLOAT, None),
            helper.make_tensor_value_info(row, TensorProto.FLOAT, None),
        ],
        [
            helper.make_tensor_value_info(kept, TensorProto.FLOAT, None),
            helper.make_tensor_value_info(out, kind, None),
        ],
    )
    start = g.node("Constant", value=numpy_helper.from_array(np.ones(1, np.float32)))
    names = [g.name(), g.name()]
    g.nodes.append(
        helper.make_node(
            "Scan",
            [start, g.node("Pad", g.pick(g.matrices), g.ints(0, 0, 1, 1))],
            names,
            body=graph,
            num_scan_inputs=1,
            scan_input_axes=[g.draw(st.sampled_from([0, 1, -1]))],
            scan_input_directions=[g.draw(st.sampled_from([0, 1]))],
            scan_output_axes=[g.draw(st.sampled_from([0, 1, -1]))],
        )
    )
    if kind == TensorProto.FLOAT:
        g.matrices.append(names[1])


STEPS: list[Callable[[Graph], None]] = [
    *(add_arithmetic, add_shape, add_scalar, add_filled, add_slice, add_slice_by_size),
    *(add_concat, add_transpose, add_reshape, add_expand, add_nonzero, add_broadcast),
    *(add_sequence, add_scan, add_if, add_loop),
]


@st.composite
def models(draw: Callable[[st.SearchStrategy[Any]], Any]) -> onnx.ModelProto:
    """A random model with two matrices of symbolic sizes as inputs."""
    g = Graph(draw, matrices=["x", "w"])
    add_shape(g)
    fill(g, draw(st.integers(1, 7)))
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", "m"]),
        helper.make_tensor_value_info("w", TensorProto.FLOAT, ["n", 3]),
    ]
    outputs = [onnx.ValueInfoProto(name=g.nodes[-1].output[0])]
    graph = helper.make_graph(g.nodes, "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def refute(model: onnx.ModelProto, sizes: list[tuple[int, int]]) -> int:
    """Run with each pair of sizes and compare all values; returns how many runs succeeded."""
    from yobx.errors import ShapeError

    context = ShapesContext()
    try:
        compute_shapes(context, model)
    except ShapeError:
        context = ShapesContext()
        return _must_fail(model, sizes)
    try:
        session, names = session_with_all_values(model, context)
    except Exception:
        if loads(model):
            raise
        return 0  # onnxruntime refuses a branch that is never taken
    succeeded = 0
    for n, m in sizes:
        feed = {"x": floats(n, m), "w": floats(n, 3)}
        try:
            results = session.run(names, feed)
        except Exception:  # noqa: BLE001 - onnxruntime refuses these sizes
            continue
        succeeded += 1
        checker = Checker({"n": n, "m": m})
        try:
            for name, got in zip(names, results, strict=True):
                checker.value(context.lookup(name), got, name)
            checker.finish(context)
        except AssertionError:
            if allowed_by_the_standard(model, feed):
                raise
    return succeeded


def plain_session(model: onnx.ModelProto) -> onnxruntime.InferenceSession | None:
    """A session of the model as it is; ``None`` when onnxruntime refuses it."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception:  # noqa: BLE001 - any refusal counts
        return None


def loads(model: onnx.ModelProto) -> bool:
    """Whether onnxruntime accepts the model without what was inferred of its inner values."""
    typed = onnx.ModelProto()
    typed.CopyFrom(model)
    typed.graph.output[0].CopyFrom(infer_shapes(model).graph.output[0])
    return plain_session(typed) is not None


def allowed_by_the_standard(model: onnx.ModelProto, feed: dict[str, Any]) -> bool:
    """Whether the reference runs it too: onnxruntime joins empty arrays of any shape."""
    try:
        ReferenceEvaluator(model).run(None, feed)
    except Exception:  # noqa: BLE001 - any refusal counts
        return False
    return True


def _must_fail(model: onnx.ModelProto, sizes: list[tuple[int, int]]) -> int:
    """The engine called the model contradictory: no run may succeed."""
    session = plain_session(model)
    if session is None:
        return 0
    for n, m in sizes:
        try:
            session.run(None, {"x": floats(n, m), "w": floats(n, 3)})
        except Exception:  # noqa: BLE001 - refused at run time
            continue
        if not allowed_by_the_standard(model, {"x": floats(n, m), "w": floats(n, 3)}):
            continue
        raise AssertionError(f"called contradictory, but it runs with n={n}, m={m}")
    return 0


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(models(), st.lists(st.tuples(st.sampled_from(SIZES), st.sampled_from(SIZES)), max_size=2))
def test_no_run_refutes_a_statement(model: onnx.ModelProto, sizes: list[tuple[int, int]]) -> None:
    note(onnx.printer.to_text(model))
    refute(model, [(5, 2), (1, 1), (0, 3), *sizes])
