"""Value propagation: random shape arithmetic, every element compared with a run."""

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

from yobx.onnx_optim import OptimDim, ShapesContext, compute_shapes

OPSET = 18
BINDINGS = [
    dict(zip("nmk", pair, strict=True)) for pair in itertools.product((0, 1, 2, 5), repeat=3)
]
RUN_ERRORS = (
    onnxruntime.capi.onnxruntime_pybind11_state.RuntimeException,
    onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument,
    onnxruntime.capi.onnxruntime_pybind11_state.Fail,
)


@dataclass
class Program:
    """A growing graph; `vectors` maps value names to their lengths, None for a scalar."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)
    vectors: dict[str, int | None] = field(default_factory=dict)
    flags: dict[str, int | None] = field(default_factory=dict)
    tensors: list[str] = field(default_factory=list)

    def constant(self, values: Any) -> str:
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def add(self, op_type: str, inputs: list[str], **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, [name], **attributes))
        return name

    def model(self) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "g",
            [
                helper.make_tensor_value_info("x", T.FLOAT, ["n", "m", 4]),
                helper.make_tensor_value_info("y", T.FLOAT, ["k"]),
            ],
            [
                *(helper.make_tensor_value_info(name, T.INT64, None) for name in self.vectors),
                *(helper.make_tensor_value_info(name, T.BOOL, None) for name in self.flags),
                *(helper.make_tensor_value_info(name, T.INT64, None) for name in self.tensors),
            ],
            self.initializers,
        )
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8
        )


def joined(left: int | None, right: int | None) -> int | None:
    return max(left or 1, right or 1) if left is not None or right is not None else None


def fits(left: int | None, right: int | None) -> bool:
    return left in (None, 1, right) or right in (None, 1)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    program = Program()
    first = program.add("Shape", ["x"])
    second = program.add("Shape", ["y"])
    program.vectors |= {first: 3, second: 1}
    for _ in range(draw(st.integers(2, 10))):
        step(draw, program)
    sink(draw, program)
    return program


def pick(draw: st.DrawFn, program: Program, allowed: Any = lambda length: True) -> str:
    names = [name for name, length in program.vectors.items() if allowed(length)]
    return draw(st.sampled_from(names))


def operand(draw: st.DrawFn, program: Program, length: int | None) -> tuple[str, int | None]:
    """A value or a constant that broadcasts with a length."""
    if draw(st.booleans()):
        name = pick(draw, program, lambda other: fits(length, other))
        return name, program.vectors[name]
    size = draw(st.sampled_from([None, 1, length]))
    numbers = st.integers(-3, 6)
    values = (
        draw(numbers) if size is None else draw(st.lists(numbers, min_size=size, max_size=size))
    )
    return program.constant(values), size


def step(draw: st.DrawFn, program: Program) -> None:
    kind = draw(
        st.sampled_from(
            ["binary", "unary", "compare", "where", "gather", "slice", "concat", "reduce", "shape"]
        )
    )
    name = pick(draw, program)
    length = program.vectors[name]
    if kind in ("binary", "compare"):
        other, size = operand(draw, program, length)
        pair = [name, other] if draw(st.booleans()) else [other, name]
        if kind == "binary":
            op_type = draw(st.sampled_from(["Add", "Sub", "Mul", "Div", "Mod", "Min", "Max"]))
            program.vectors[program.add(op_type, pair)] = joined(length, size)
        else:
            op_type = draw(st.sampled_from(["Equal", "Less", "GreaterOrEqual"]))
            program.flags[program.add(op_type, pair)] = joined(length, size)
    elif kind == "unary":
        op_type = draw(st.sampled_from(["Neg", "Abs", "Sign", "Identity", "Cast"]))
        extra = {"to": draw(st.sampled_from([T.INT64, T.BOOL]))} if op_type == "Cast" else {}
        result = program.add(op_type, [name], **extra)
        (program.flags if extra.get("to") == T.BOOL else program.vectors)[result] = length
    elif kind == "where" and program.flags:
        flag = draw(st.sampled_from(sorted(program.flags)))
        if not fits(program.flags[flag], length):
            return
        other, size = operand(draw, program, joined(program.flags[flag], length))
        whole = joined(joined(program.flags[flag], length), size)
        program.vectors[program.add("Where", [flag, name, other])] = whole
    elif kind == "reduce":
        op_type = draw(st.sampled_from(["ReduceProd", "ReduceSum", "ReduceMin", "ReduceMax"]))
        keep = draw(st.integers(0, 1))
        result = program.add(op_type, [name], keepdims=keep)
        program.vectors[result] = 1 if keep and length is not None else None
    elif length is not None:
        move(draw, program, kind, name, length)


def move(draw: st.DrawFn, program: Program, kind: str, name: str, length: int) -> None:
    """Operators that move the elements of a vector."""
    if kind == "gather":
        places = draw(st.lists(st.integers(-length, length - 1), min_size=1, max_size=3))
        result = program.add("Gather", [name, program.constant(places)])
        program.vectors[result] = len(places)
    elif kind == "slice":
        start, end = draw(st.integers(-4, 4)), draw(st.integers(-4, 4))
        count = draw(st.sampled_from([1, 2]))
        size = len(range(length)[start:end:count])
        if size:
            limits = [program.constant([value]) for value in (start, end, 0, count)]
            program.vectors[program.add("Slice", [name, *limits])] = size
    elif kind == "concat":
        other = pick(draw, program, lambda size: size is not None)
        total = length + (program.vectors[other] or 0)
        if total <= 6:
            program.vectors[program.add("Concat", [name, other], axis=0)] = total
    else:
        table = program.add("Unsqueeze", [name, program.constant([draw(st.integers(0, 1))])])
        turned = program.add("Transpose", [table])
        tiled = program.add("Tile", [turned, program.constant([1, 1])])
        program.vectors[program.add("Reshape", [tiled, program.constant([-1])])] = length


def sink(draw: st.DrawFn, program: Program) -> None:
    """Operators that use a value as shape, limit or count."""
    name = pick(draw, program, lambda length: length is not None and length <= 4)
    sizes = program.add("Abs", [program.add("Mod", [name, program.constant([7])])])
    program.tensors.append(program.add("ConstantOfShape", [sizes]))
    one = program.add("Cast", [program.add("ConstantOfShape", [program.constant([1])])], to=T.INT64)
    program.tensors.append(program.add("Expand", [one, sizes]))
    scalar = pick(draw, program, lambda length: length is None or length == 1)
    limit = program.add("Reshape", [scalar, program.constant([])])
    small = program.add("Mod", [limit, program.constant(11)])
    delta = program.constant(draw(st.sampled_from([1, 2, 3, -1, -2])))
    program.tensors.append(
        program.add("Range", [program.constant(draw(st.integers(-2, 2))), small, delta])
    )
    counted = program.tensors[-1]
    start, end = (draw(st.integers(-4, 6)) for _ in range(2))
    limits = [program.constant([value]) for value in (start, end)]
    program.tensors.append(program.add("Slice", [counted, *limits]))
    vector = program.add("Reshape", [small, program.constant([1])])
    program.tensors.append(program.add("Slice", [counted, vector, program.constant([2**31])]))
    # ConstantOfShape gives floats; only integers are outputs.
    program.tensors.remove(
        next(n.output[0] for n in program.nodes if n.op_type == "ConstantOfShape")
    )


def run_all(model: onnx.ModelProto) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except RUN_ERRORS:  # a constant divisor that is 0
        return
    names = [item.name for item in model.graph.output]
    for sizes in BINDINGS:
        feeds = {
            "x": np.zeros((sizes["n"], sizes["m"], 4), np.float32),
            "y": np.zeros(sizes["k"], np.float32),
        }
        try:
            yield sizes, dict(zip(names, session.run(None, feeds), strict=True))
        except RUN_ERRORS:
            continue


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_no_statement_is_refuted(program: Program) -> None:
    model = program.model()
    context = ShapesContext()
    compute_shapes(context, model)
    for sizes, results in run_all(model):
        known = dict(sizes)
        for name, got in results.items():
            stated = context.get(name)
            if stated.shape.has_rank():
                assert stated.shape.rank() == got.ndim, name
                for dim, size in zip(stated.shape.dims(), got.shape, strict=True):
                    if dim.is_symbol() and str(dim) not in known:
                        known[str(dim)] = size
                    elif dim.symbols() <= known.keys():
                        assert dim.evaluate(known) == size, (name, stated, got.shape, known)
            if stated.value is not None:
                for element, number in zip(stated.value, got.ravel().tolist(), strict=True):
                    if element is not None and element.symbols() <= known.keys():
                        assert element.evaluate(known) == number, (name, stated, got, sizes)


def test_the_usual_idioms_are_followed_exactly() -> None:
    """`Where(Equal(k, -1), ones, k)`, halves, products: the elements are expressions."""
    program = Program()
    sizes = program.add("Shape", ["x"])
    minus = program.add("Equal", [sizes, program.constant([-1])])
    ones = program.constant([1, 1, 1])
    chosen = program.add("Where", [minus, ones, sizes])
    half = program.add("Div", [chosen, program.constant([2])])
    total = program.add("ReduceProd", [half], keepdims=0)
    plus = program.add("Add", [sizes, program.constant([2])])
    program.vectors |= {chosen: 3, half: 3, total: None, plus: 3}
    context = ShapesContext()
    compute_shapes(context, program.model())
    assert context.get(chosen).value == (OptimDim("n"), OptimDim("m"), OptimDim(4))
    assert context.get(half).value == (OptimDim("n//2"), OptimDim("m//2"), OptimDim(2))
    assert context.get(total).value == (OptimDim("2*(n//2)*(m//2)"),)
    assert context.get(plus).value == (OptimDim("n+2"), OptimDim("m+2"), OptimDim(6))
