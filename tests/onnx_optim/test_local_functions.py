"""Model-local functions: isolated, attributes resolved, symbols unique for each call."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.onnx_optim.running import check_model, dims, floats, infer, parse
from yobx.errors import InvalidModelError
from yobx.onnx_optim import (
    OptimSequence,
    OptimTensor,
    ShapesContext,
    TensorType,
    expand_local_function_call,
    infer_shapes,
)

HEADER = '<ir_version: 10, opset_import: ["" : 20, "loc" : 1]>'
DOUBLED = """
    <domain: "loc", opset_import: ["" : 20]>
    Twice <axis: int = 0> (v) => (o) { o = Concat <axis: int = @axis> (v, v) }"""


def test_attributes_are_the_callers_or_the_defaults() -> None:
    model = parse(
        HEADER
        + """g (float[n, 4] x) => (y, z) { y = loc.Twice (x)  z = loc.Twice <axis = 1> (x) }"""
        + DOUBLED
    )
    context = check_model(model, [{"x": floats(n, 4)} for n in (0, 1, 3)])
    assert dims(context, "y") == ["2*n", 4]
    assert dims(context, "z") == ["n", 8]


def test_nested_functions_pass_attributes_on() -> None:
    model = parse(
        HEADER
        + "g (float[n, 4] x) => (y) { y = loc.Outer <a = 1> (x) }"
        + DOUBLED
        + """
    <domain: "loc", opset_import: ["" : 20, "loc" : 1]>
    Outer <a> (v) => (o) { u = loc.Twice <axis: int = @a> (v)  o = loc.Twice (u) }"""
    )
    context = check_model(model, [{"x": floats(n, 4)} for n in (1, 3)])
    assert dims(context, "y") == ["2*n", 8]
    outer = context.subgraph_context(0, "function")
    assert dims(outer.subgraph_context(0, "function"), "o") == ["n", 8]


def test_each_call_has_its_own_symbols() -> None:
    model = parse(
        HEADER
        + """g (float[n, 4] x, float[n, 4] w) => (y, z) { y = loc.Where (x)  z = loc.Where (w) }
    <domain: "loc", opset_import: ["" : 20]>
    Where (v) => (o) { o = NonZero (v) }"""
    )
    context = check_model(
        model,
        [
            {"x": floats(3, 4), "w": np.zeros((3, 4), np.float32)},
            {"x": floats(0, 4)} | {"w": floats(0, 4)},
        ],
    )
    first, second = dims(context, "y"), dims(context, "z")
    assert first is not None
    assert second is not None
    assert first[1] != second[1]
    assert ("NonZero_o_d1", "4*n") in context.less_equal_constraints()


def test_a_function_sees_nothing_of_its_caller() -> None:
    model = parse(
        HEADER
        + """g (float[n, 4] x) => (y) { y = loc.Leaks (x) }
    <domain: "loc", opset_import: ["" : 20]>
    Leaks (v) => (o) { o = Add (v, x) }"""
    )
    with pytest.raises(InvalidModelError, match="Received: 'x'"):
        infer(model)


def test_omitted_inputs_stay_omitted() -> None:
    model = parse(
        HEADER
        + """g (float[n, 4] x) => (y) { y = loc.Bounded (x) }
    <domain: "loc", opset_import: ["" : 20]>
    Bounded (v, low, high) => (o) { o = Clip (v, low, high) }"""
    )
    assert dims(infer(model), "y") == ["n", 4]


def test_sequences_are_passed() -> None:
    model = parse(
        HEADER
        + """g (float[n, 4] x) => (y) { s = SequenceConstruct (x, x)  y = loc.First (s) }
    <domain: "loc", opset_import: ["" : 20]>
    First (s) => (o) { i = Constant <value_int = 0> ()  o = SequenceAt (s, i) }"""
    )
    assert dims(infer(model), "y") == ["n", 4]


def test_recursion_is_refused() -> None:
    model = parse(
        HEADER
        + """g (float[n, 4] x) => (y) { y = loc.A (x) }
    <domain: "loc", opset_import: ["" : 20, "loc" : 1]> A (v) => (o) { o = loc.B (v) }
    <domain: "loc", opset_import: ["" : 20, "loc" : 1]> B (v) => (o) { o = loc.A (v) }"""
    )
    with pytest.raises(InvalidModelError, match="loc:A -> loc:B -> loc:A"):
        infer(model)


def test_overloads_are_told_apart() -> None:
    model = parse(
        HEADER + "g (float[n, 4] x) => (y, z) { y = loc.Twice (x)  z = loc.Twice (x) }" + DOUBLED
    )
    other = model.functions.add()
    other.CopyFrom(model.functions[0])
    other.overload = "flat"
    other.node[0].op_type = "Flatten"
    del other.node[0].input[1]
    model.graph.node[1].overload = "flat"
    context = infer(model)
    assert dims(context, "y") == ["2*n", 4]
    assert dims(context, "z") == [1, "4*n"]


def test_facts_of_the_body_are_facts_of_the_caller() -> None:
    model = parse(
        HEADER
        + """g (float[4, n] x, float[m, 4] w) => (y) { y = loc.Join (x, w) }
    <domain: "loc", opset_import: ["" : 20]>
    Join (a, b) => (o) { o = MatMul (a, b) }"""
    )
    assert infer(model).constraints() == [("m", "n")]


def test_expand_local_function_call() -> None:
    function = helper.make_function(
        "loc",
        "Pair",
        ["a"],
        ["s"],
        [helper.make_node("SequenceConstruct", ["a", "a"], ["s"])],
        [helper.make_opsetid("", 20)],
    )
    context = ShapesContext({"": 20, "loc": 1})
    context.set("x", OptimTensor(TensorType.kFloat, ["n", 4]))
    call = helper.make_node("Pair", ["x"], ["y"], domain="loc")
    with pytest.raises(InvalidModelError, match="loc:Pair"):
        expand_local_function_call(context, call)
    context.set_local_function(function)
    child = expand_local_function_call(context, call, node_index=3)
    assert child is context.subgraph_context(3, "function")
    assert child.has("a")
    assert not child.has("x")
    expected = OptimSequence(TensorType.kFloat, [["n", 4], ["n", 4]])
    assert context.get_sequence("y") == expected


def test_opsets_of_the_function_win() -> None:
    model = parse(
        HEADER
        + """g (float[n, 1, 4] x) => (y) { y = loc.Old (x) }
    <domain: "loc", opset_import: ["" : 11]>
    Old (v) => (o) { o = Squeeze <axes = [1]> (v) }"""
    )
    context = infer(model)
    assert dims(context, "y") == ["n", 4]
    assert context.subgraph_context(0, "function").opset_version("") == 11


def test_value_info_of_a_body_holds_for_all_calls() -> None:
    model = parse(
        HEADER
        + """g (float[n, 4] x, float[m, 4] w) => (y, z) { y = loc.F (x)  z = loc.F (w) }
    <domain: "loc", opset_import: ["" : 20]>
    F (v) => (o) { h = Relu (v)  o = Neg (h) }"""
    )
    written = infer_shapes(model)
    info = {v.name: v.type.tensor_type for v in written.functions[0].value_info}
    assert info["h"].elem_type == TensorProto.FLOAT
    assert [d.dim_value for d in info["h"].shape.dim] == [0, 4]
    assert [d.WhichOneof("value") for d in info["h"].shape.dim] == [None, "dim_value"]
    onnx.checker.check_model(written)


def test_many_equal_calls_are_inferred_once() -> None:
    body = "  ".join(f"v{i + 1} = loc.F (v{i})" for i in range(500))
    model = parse(
        HEADER
        + f"""g (float[n, 4] v0) => (v500) {{ {body} }}
    <domain: "loc", opset_import: ["" : 20]>
    F (v) => (o) {{ h = Relu (v)  o = Neg (h) }}"""
    )
    context = infer(model)
    children = {id(c) for c in context.subgraph_contexts().values()}
    assert context.subgraph_contexts_size() == 500
    assert len(children) == 1


def test_graphs_inside_functions_are_written() -> None:
    """A runtime goes by what a body declares when a loop does not run."""
    text = """<ir_version: 9, opset_import: ["" : 20, "f" : 1]>
        g (float[n, 3] x, float[n, 2] w) => (y, z) { y = f.Twice (x)  z = f.Twice (w) }
        <domain: "f", opset_import: ["" : 20]>
        Twice (a) => (s) {
          none = Constant <value_int = 0> ()
          b, s = Loop (none, "", a) <body = body (int64 i, bool c, float[] p) => (k, q, r) {
            k = Identity (c)  q = Relu (p)  r = Shape (p)
          }>
        }"""
    context = check_model(parse(text), [{"x": floats(2, 3), "w": floats(2, 2)}])
    first, second = context.get("y").shape
    assert first == 0
    assert context.upper_bound(second) == 2
    body = infer_shapes(parse(text)).functions[0].node[1].attribute[0].g
    assert [d.dim_value for d in body.output[2].type.tensor_type.shape.dim] == [2]
    last = body.output[1].type.tensor_type
    assert last.elem_type == 1
    assert [d.dim_param for d in last.shape.dim] == ["n", ""]
    assert not last.shape.dim[1].HasField("dim_value")


def test_a_loop_without_iteration_in_calls_of_different_ranks() -> None:
    """What the body gives is declared for no call, and a runtime then says 0."""
    text = """<ir_version: 10, opset_import: ["" : 20, "f" : 1]>
        g (float[n, 3] x, float[n, 2, 4] w) => (y, z) { y = f.Sizes (x)  z = f.Sizes (w) }
        <domain: "f", opset_import: ["" : 20]>
        Sizes (a) => (s) {
          none = Constant <value_int = 0> ()
          b, s = Loop (none, "", a) <body = body (int64 i, bool c, float[] p) => (k, q, r) {
            k = Identity (c)  q = Relu (p)  r = Shape (p)
          }>
        }"""
    context = check_model(parse(text), [{"x": floats(2, 3), "w": floats(2, 2, 4)}])
    assert context.get("y").shape[0] == context.get("z").shape[0] == 0


def test_a_loop_without_iteration_in_the_only_call() -> None:
    """What is written into the function holds for this call, so that a runtime knows the size."""
    text = """<ir_version: 9, opset_import: ["" : 20, "f" : 1]>
        g (float[n, 3] x) => (y) { y = f.Sizes (x) }
        <domain: "f", opset_import: ["" : 20]>
        Sizes (a) => (s) {
          none = Constant <value_int = 0> ()
          b, s = Loop (none, "", a) <body = body (int64 i, bool c, float[] p) => (k, q, r) {
            k = Identity (c)  q = Relu (p)  r = Shape (p)
          }>
        }"""
    assert dims(check_model(parse(text), [{"x": floats(2, 3)}]), "y") == [0, 2]


def test_calls_that_grow_exponentially_end() -> None:
    depth = 40
    model = parse(HEADER + "g (float[n, 3] x) => (y) { y = loc.F0 (x) }")
    for level in range(depth):
        function = model.functions.add(domain="loc", name=f"F{level}", input=["a"], output=["b"])
        function.opset_import.add(domain="", version=20)
        function.opset_import.add(domain="loc", version=1)
        below = f"F{level + 1}" if level + 1 < depth else "F_last"
        function.node.add(op_type=below, domain="loc", input=["a"], output=["c"])
        function.node.add(op_type=below, domain="loc", input=["c"], output=["b"])
    last = model.functions.add(domain="loc", name="F_last", input=["a"], output=["b"])
    last.opset_import.add(domain="", version=20)
    last.node.add(op_type="NonZero", input=["a"], output=["b"])
    context = infer(model)
    assert not context.get("y").shape.has_rank()
    assert any("more than" in step.reason for step in context.explain("y").steps)
