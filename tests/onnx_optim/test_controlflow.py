"""If, Loop, Scan and SequenceMap: stated shapes against runs with 0, 1 and more iterations."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.onnx_optim.running import check_model, dims, floats, infer, parse
from yobx.errors import ShapeError
from yobx.onnx_optim import ShapesContext, TensorType, compute_shapes, infer_shapes


def test_if_keeps_what_the_branches_share() -> None:
    model = parse("""
        g (bool c, float[n, 4] x) => (y, z, s) {
          y, z = If (c) <
            then_branch = t () => (a, b) { a = Concat <axis = 0> (x, x)  b = Shape (x) },
            else_branch = e () => (a2, b2) { a2 = Relu (x)  b2 = Transpose (x) }>
          s = Shape (y)
        }""")
    model.graph.output[1].type.tensor_type.elem_type = 0
    context = infer(model)
    assert dims(context, "y") == ["If_y_d0", 4]
    assert dims(context, "z") is None
    assert context.less_equal_constraints() == [("If_y_d0", "2*n")]
    assert context.subgraph_context_keys() == [(0, "then_branch"), (0, "else_branch")]
    assert dims(context.subgraph_context(0, "then_branch"), "a") == ["2*n", 4]


def test_if_against_runs() -> None:
    model = parse("""
        g (bool c, float[n, 4] x, float[m, 4] w) => (y) {
          y = If (c) <
            then_branch = t () => (a) { a = Concat <axis = 0> (x, w) },
            else_branch = e () => (b) { b = Relu (x) }>
        }""")
    feeds = [
        {"c": np.array(c), "x": floats(n, 4), "w": floats(m, 4)}
        for c in (True, False)
        for n, m in ((0, 1), (1, 0), (2, 5))
    ]
    context = check_model(model, feeds)
    assert context.less_equal_constraints() == [("If_y_d0", "m + n")]


@pytest.mark.parametrize(("value", "expected"), [(1, ["2*n", 4]), (0, ["n", 4])])
def test_a_known_condition_picks_its_branch(value: int, expected: list[int | str]) -> None:
    model = parse(f"""
        g (float[n, 4] x) => (y) {{
          i = Constant <value_int = {value}> ()
          c = Cast <to = 9> (i)
          y = If (c) <
            then_branch = t () => (a) {{ a = Concat <axis = 0> (x, x) }},
            else_branch = e () => (b) {{ b = Relu (x) }}>
        }}""")
    context = check_model(model, [{"x": floats(n, 4)} for n in (0, 1, 3)])
    assert dims(context, "y") == expected


def test_a_branch_that_cannot_run_is_not_taken() -> None:
    model = parse("""
        g (bool c, float[n, 5] x) => (y) {
          y = If (c) <
            then_branch = t () => (a) { ax = Constant <value_ints = [1]> () a = Squeeze (x, ax) },
            else_branch = e () => (b) { b = Relu (x) }>
        }""")
    assert dims(infer(model), "y") == ["n", 5]


def test_if_merges_sequences() -> None:
    model = parse("""
        g (bool c, float[n, 4] x) => (y, e) {
          y = If (c) <
            then_branch = t () => (a) { a = SequenceConstruct (x, x) },
            else_branch = e () => (b) { b = SequenceConstruct (x) }>
          zero = Constant <value_int = 0> ()
          e = SequenceAt (y, zero)
        }""")
    model.graph.output[0].type.sequence_type.elem_type.tensor_type.elem_type = 1
    feeds = [{"c": np.array(c), "x": floats(2, 4)} for c in (True, False)]
    context = check_model(model, feeds)
    sequence = context.get_sequence("y")
    assert sequence.elem_shape == ["n", 4]
    assert not sequence.has_elem_shapes()
    assert dims(context, "e") == ["n", 4]
    assert context.sequence_names() == ["y"]


GROWING = """
    g (int64 M, bool go, float[n, 4] x, float[1, 4] r) => (y, s) {
      y, s = Loop (M, go, x) <body = b (int64 i, bool c, a) => (c2, a2, o) {
        c2 = Identity (c)  a2 = Concat <axis = 0> (a, r)  o = Relu (x) }>
    }"""


def test_growth_has_a_closed_form() -> None:
    model = parse(GROWING)
    feeds = [
        {"M": np.array(m), "go": np.array(g), "x": floats(n, 4), "r": floats(1, 4)}
        for m in (0, 1, 3, -2)
        for g in (True, False)
        for n in (0, 1, 2)
    ]
    context = check_model(model, feeds)
    assert dims(context, "y") == ["Loop_y_trips + n", 4]
    assert dims(context, "s") == ["Loop_y_trips", "n*min(Loop_y_trips, 1)", 4]
    body = context.subgraph_context(0, "body")
    assert dims(body, "a") == ["Loop_a_d0_in", 4]
    assert dims(body, "a2") == ["Loop_a_d0_in + 1", 4]


def test_known_trip_count() -> None:
    model = parse("""
        g (float[n, 4] x) => (y, s) {
          M = Constant <value_int = 3> ()
          y, s = Loop (M, , x) <body = b (int64 i, bool c, a) => (c2, a2, o) {
            c2 = Identity (c)  a2 = Concat <axis = 0> (a, x)  o = Relu (a) }>
        }""")
    context = infer(model)
    assert dims(context, "y") == ["4*n", 4]


def test_trip_count_from_a_shape() -> None:
    model = parse("""
        g (float[n, 4] x) => (y, s) {
          shape = Shape (x)
          zero = Constant <value_int = 0> ()
          M = Gather <axis = 0> (shape, zero)
          y, s = Loop (M, , x) <body = b (int64 i, bool c, a) => (c2, a2, o) {
            c2 = Identity (c)  a2 = Relu (a)  o = ReduceSum <keepdims = 0> (a) }>
        }""")
    context = check_model(model, [{"x": floats(n, 4)} for n in (0, 1, 5)])
    assert dims(context, "y") == ["n", 4]
    assert dims(context, "s") == ["n"]


def test_an_early_stop_bounds_the_scan_output() -> None:
    model = parse("""
        g (int64 stop, float[n, 4] x) => (y, s) {
          M = Constant <value_int = 10> ()
          t = Constant <value_int = 1> ()
          go = Cast <to = 9> (t)
          y, s = Loop (M, go, x) <body = b (int64 i, bool c, a) => (c2, a2, o) {
            c2 = Less (i, stop)  a2 = Relu (a)  o = Relu (a) }>
        }""")
    context = check_model(model, [{"stop": np.array(k), "x": floats(3, 4)} for k in (0, 2, 20)])
    assert dims(context, "s") == ["Loop_y_trips", "n*min(Loop_y_trips, 1)", 4]
    assert ("Loop_y_trips", "10") in context.less_equal_constraints()


def test_only_changing_axes_are_widened() -> None:
    model = parse("""
        g (int64 M, float[n, 4, k] x) => (y) {
          y = Loop (M, , x) <body = b (int64 i, bool c, a) => (c2, a2) {
            c2 = Identity (c)
            nz = NonZero (a)  t = Transpose (nz)  f = Cast <to = 1> (t)
            r = Constant <value_ints = [-1, 4, 1]> ()
            sh = Shape (x)
            q = Expand (a, sh)
            a2 = Concat <axis = 1> (q, q) }>
        }""")
    context = infer(model)
    found = dims(context, "y")
    assert found is not None
    assert (found[0], found[2]) == ("n", "k")
    assert found[1] != 4


def test_two_loops_do_not_share_symbols() -> None:
    one = """
      {0}, s{0} = Loop (M{0}, go, x) <
        body = b{0} (int64 i{0}, bool c{0}, a{0}) => (d{0}, e{0}, o{0})
        {{ d{0} = Identity (c{0})  e{0} = Relu (a{0})  o{0} = Relu (a{0}) }}>"""
    model = parse(
        "g (int64 My, int64 Mz, bool go, float[n, 4] x) => (y, z, sy, sz) {"
        + one.format("y")
        + one.format("z")
        + "}"
    )
    feeds = [
        {"My": np.array(a), "Mz": np.array(b), "go": np.array(True), "x": floats(2, 4)}
        for a, b in ((0, 1), (1, 0), (3, 2))
    ]
    context = check_model(model, feeds)
    first, second = dims(context, "sy"), dims(context, "sz")
    assert first is not None
    assert second is not None
    assert first[0] != second[0]


def test_a_value_in_the_body_is_not_that_of_the_first_iteration() -> None:
    model = parse("""
        g (int64 M, float[n, 4] x) => (last, y) {
          zero = Constant <value_int = 2> ()
          one = Constant <value_int = 1> ()
          last, y = Loop (M, , zero) <body = b (int64 i, bool c, k) => (c2, k2, o) {
            c2 = Identity (c)  k2 = Add (k, one)
            axes = Constant <value_ints = [0]> ()
            ku = Unsqueeze (k, axes)
            o = ConstantOfShape (ku) }>
        }""")
    context = infer(model)
    assert context.get("last").value is None
    body = context.subgraph_context(2, "body")
    assert body.get("k").value is None
    assert dims(body, "o") != [2]


def test_sequence_grows_by_one_each_time() -> None:
    model = parse("""
        g (int64 M, float[n, 4] x) => (y, all) {
          empty = SequenceEmpty <dtype = 1> ()
          y = Loop (M, , empty) <body = b (int64 i, bool c, a) => (c2, a2) {
            c2 = Identity (c)  a2 = SequenceInsert (a, x) }>
          start = SequenceInsert (y, x)
          all = ConcatFromSequence <axis = 0> (start)
        }""")
    body = model.graph.node[1].attribute[0].g
    for value in (body.input[2], body.output[1]):
        value.type.sequence_type.elem_type.tensor_type.elem_type = TensorProto.FLOAT
    model.graph.output[0].type.sequence_type.elem_type.tensor_type.elem_type = TensorProto.FLOAT
    context = check_model(model, [{"M": np.array(m), "x": floats(3, 4)} for m in (0, 1, 4)])
    sequence = context.get_sequence("y")
    assert str(sequence.length) == "Loop_y_trips"
    assert sequence.elem_shape == ["n", 4]


@pytest.mark.parametrize("reverse", [0, 1])
def test_scan(reverse: int) -> None:
    model = parse(f"""
        g (float[k] h, float[t, n, k] x, float[n, k, t] w) => (y, s) {{
          y, s = Scan <num_scan_inputs = 2, scan_input_axes = [0, -1], scan_output_axes = [-1],
                       scan_input_directions = [{reverse}, 0],
            body = b (a, u, v) => (a2, o) {{
              q = Add (u, v)  z = ReduceSum <keepdims = 0> (q)  a2 = Add (a, z)
              o = Add (u, a) }}> (h, x, w)
        }}""")
    feeds = [
        {"h": floats(k), "x": floats(t, n, k), "w": floats(n, k, t)}
        for t, n, k in ((1, 1, 1), (3, 2, 4))
    ]
    context = check_model(model, feeds)
    assert dims(context, "y") == ["k"]
    assert dims(context, "s") == ["n", "k", "t"]


def test_scan_equates_its_inputs() -> None:
    model = parse("""
        g (float[t, n] x, float[u, n] w) => (s) {
          s = Scan <num_scan_inputs = 2, body = b (p, q) => (o) { o = Add (p, q) }> (x, w)
        }""")
    assert infer(model).constraints() == [("t", "u")]


def test_sequence_map_keeps_length_and_shapes() -> None:
    model = parse("""
        g (float[n, 4] x, float[m, 4] w) => (y, e) {
          seq = SequenceConstruct (x, w)
          y = SequenceMap (seq) <body = b (float[d, 4] i) => (float[4, d] o) { o = Transpose (i) }>
          one = Constant <value_int = 1> ()
          e = SequenceAt (y, one)
        }""")
    model.graph.output[0].type.sequence_type.elem_type.tensor_type.elem_type = TensorProto.FLOAT
    context = check_model(model, [{"x": floats(2, 4), "w": floats(0, 4)}])
    assert [list(map(str, s)) for s in context.get_sequence("y").elem_shapes or ()] == [
        ["4", "n"],
        ["4", "m"],
    ]


def test_events_carry_the_full_path() -> None:
    model = parse("""
        g (bool c, int64 M, float[n, 4] x) => (y) {
          r = Relu (x)
          y = Loop (M, , r) <body = b (int64 i, bool k, a) => (k2, a2) {
            k2 = Identity (k)
            a2 = If (c) <then_branch = t () => (p) { p = Relu (a) },
                         else_branch = e () => (q) { q = Neg (a) }> }>
        }""")
    context = ShapesContext()
    context.events_enabled = True
    compute_shapes(context, model)
    inner = [e for e in context.events() if e.name == "p"]
    assert {e.path for e in inner} == {((1, "body"), (1, "then_branch"))}
    assert {(e.subgraph_node_index, e.subgraph_attr_name) for e in inner} == {(1, "then_branch")}
    kinds = [e.as_dict()["action"] for e in context.events()]
    assert kinds.count("compute_node") >= 5
    context.clear_events()
    assert context.events() == []


def nested_ifs(depth: int) -> onnx.ModelProto:
    """``depth`` Ifs inside each other, built in place."""
    model = parse("g (bool c, float[n, 4] x) => (y) { r = Relu (x) }")
    graph = model.graph
    name = "y"
    for level in range(depth):
        node = graph.node.add(op_type="If", input=["c"], output=[name])
        other = node.attribute.add(name="else_branch", type=onnx.AttributeProto.GRAPH).g
        other.node.add(op_type="Relu", input=["x"], output=[f"e{level}"])
        other.output.add(name=f"e{level}")
        name = f"t{level}"
        graph = node.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH).g
        graph.output.add(name=name)
    graph.node.add(op_type="Neg", input=["r"], output=[name])
    return model


def test_deep_nesting_does_not_exhaust_the_stack() -> None:
    model = nested_ifs(5000)
    written = infer_shapes(model, inplace=True)
    assert [d.dim_param or d.dim_value for d in written.graph.output[0].type.tensor_type.shape.dim]
    assert written.graph.output[0].type.tensor_type.elem_type == TensorProto.FLOAT


def test_nested_loops_take_no_exponential_time() -> None:
    text = "r20 = Concat <axis = 0> (a20, a20)"
    for level in range(20, 0, -1):
        head = f"b{level} (int64 i{level}, bool c{level}, a{level}) => (d{level}, r{level})"
        body = f"{{ d{level} = Identity (c{level})  {text} }}"
        text = f"r{level - 1} = Loop (M, , a{level - 1}) <body = {head} {body}>"
    model = parse(f"g (int64 M, float[n, 4] a0) => (r0) {{ {text} }}")
    context = infer(model)
    assert context.get("r0").dtype == TensorType.kFloat
    assert len(context.session.origins) < 100


def test_a_malformed_loop_is_refused() -> None:
    model = parse("""
        g (int64 M, float[n, 4] x) => (y) {
          y = Loop (M, , x) <body = b (int64 i, bool c) => (c2) { c2 = Identity (c) }>
        }""")
    with pytest.raises(ShapeError, match="body of Loop must have 3 inputs"):
        infer(model)
    with pytest.raises(ShapeError, match="needs the graph attribute 'then_branch'"):
        infer(
            helper.make_model(
                helper.make_graph(
                    [helper.make_node("If", ["c"], ["y"])],
                    "g",
                    [helper.make_tensor_value_info("c", TensorProto.BOOL, [])],
                    [],
                ),
                opset_imports=[helper.make_opsetid("", 20)],
            )
        )


def test_nothing_is_written_into_a_body_that_cannot_run() -> None:
    model = parse("""
        g (float[n, 3] x) => (y) {
          M = Constant <value_int = 0> ()
          y = Loop (M, , x) <body = b (int64 i, bool c, a) => (c2, a2) {
            c2 = Identity (c)
            t = Constant <value_ints = [2, 7]> ()  k = Expand (a, t)  a2 = Add (k, a) }>
        }""")
    context = infer(model)
    assert dims(context, "y") == ["n", 3]
    assert context.subgraph_context_keys() == []
    assert not infer_shapes(model).graph.node[1].attribute[0].g.value_info


BRANCHES = """
    g (float[n, 4] x, float[m, 4] w) => (y) {{
      s = Shape (x)  zero = Constant <value_ints = [0]> ()  size = Gather (s, zero)
      one = Constant <value_ints = [1]> ()  {condition}
      y = If (c) <
        then_branch = t () => (a) {{ {then} }},
        else_branch = e () => (b) {{ {other} }}
      >
    }}"""
ONE_ROW = "r = Constant <value_ints = [1, 4]> ()  a = ConstantOfShape (r)"


@pytest.mark.parametrize(
    ("condition", "swapped"),
    [
        ("c = Equal (size, one)", False),
        ("d = Equal (size, one)  c = Not (d)", True),
        ("d = Equal (one, size)  e = Cast <to = 6> (d)  c = Cast <to = 9> (e)", False),
        ("k = Equal (size, one)  l = Less (zero, size)  c = And (k, l)", False),
        ("k = Equal (size, one)  d = Not (k)  l = Less (size, zero)  c = Or (d, l)", True),
    ],
)
def test_a_branch_relies_on_its_condition(condition: str, *, swapped: bool) -> None:
    """1 and `n` are `n` when the branch with 1 is only taken for `n == 1`."""
    then, other = ONE_ROW, "b = Relu (x)"
    if swapped:
        then, other = "a = Relu (x)", ONE_ROW.replace("a =", "b =")
    model = parse(BRANCHES.format(condition=condition, then=then, other=other))
    feeds = [{"x": floats(n, 4), "w": floats(2, 4)} for n in (1, 2, 5)]
    assert dims(check_model(model, feeds), "y") == ["n", 4]


def test_a_condition_on_something_else_says_nothing() -> None:
    condition = "t = Shape (w)  v = Gather (t, zero)  c = Equal (v, one)"
    model = parse(BRANCHES.format(condition=condition, then=ONE_ROW, other="b = Relu (x)"))
    found = dims(check_model(model, [{"x": floats(1, 4), "w": floats(1, 4)}]), "y")
    assert found is not None
    assert found[0] not in ("n", 1)


def test_what_a_branch_enforces_is_relied_on_too() -> None:
    """The Reshape runs for `n == 1` only."""
    condition = "t = Shape (w)  v = Gather (t, zero)  c = Equal (v, one)"
    row = "r = Constant <value_ints = [1, 4]> ()  a = Reshape (x, r)"
    model = parse(BRANCHES.format(condition=condition, then=row, other="b = Relu (x)"))
    feeds = [{"x": floats(n, 4), "w": floats(m, 4)} for n, m in ((1, 1), (3, 2))]
    assert dims(check_model(model, feeds), "y") == ["n", 4]


def test_a_branch_knows_which_size_is_greater() -> None:
    condition = "t = Shape (w)  v = Gather (t, zero)  c = Less (size, v)"
    model = parse(BRANCHES.format(condition=condition, then="a = Relu (x)", other="b = Relu (w)"))
    feeds = [{"x": floats(n, 4), "w": floats(3, 4)} for n in (0, 3, 5)]
    context = check_model(model, feeds)
    index = context.subgraph_context_keys()[0][0]
    assert ("n + 1", "m") in context.subgraph_context(index, "then_branch").less_equal_constraints()
    assert ("m", "n") in context.subgraph_context(index, "else_branch").less_equal_constraints()
    assert not context.less_equal_constraints() or dims(context, "y") == ["If_y_d0", 4]


def test_a_condition_of_an_enclosing_graph_is_found() -> None:
    inner = """u = Identity (x)
        a = If (c) <
          then_branch = tt () => (aa) {
            r = Constant <value_ints = [1, 4]> ()  aa = ConstantOfShape (r)
          },
          else_branch = ee () => (bb) { bb = Relu (x) }
        >"""
    model = parse(
        BRANCHES.format(
            condition="c = Equal (size, one)",
            then=inner,
            other=inner.replace("a = If", "b = If").replace("u =", "uu ="),
        )
    )
    feeds = [{"x": floats(n, 4), "w": floats(2, 4)} for n in (1, 2)]
    assert dims(check_model(model, feeds), "y") == ["n", 4]


def test_elements_of_earlier_iterations_have_other_sizes() -> None:
    model = parse("""
        g (int64 trips, bool go, float[4] x) => (same, a, b) {
          empty = SequenceEmpty <dtype = 7> ()  none = Constant <value_int = 0> ()
          same, s = Loop (trips, go, none, empty) <
            body = body (int64 i, bool c, int64 equal, seq(int64) kept) => (k, more, all) {
              k = Identity (c)  start = Constant <value_int = 0> ()
              f = Cast <to = 1> (i)  d = Sub (x, f)  r = Relu (d)  found = NonZero (r)
              all = SequenceInsert (kept, found)  first = SequenceAt (all, start)
              p = Size (first)  q = Size (found)  e = Equal (p, q)  t = Cast <to = 7> (e)
              more = Add (equal, t)
            }>
          zero = Constant <value_int = 0> ()  one = Constant <value_int = 1> ()
          a = SequenceAt (s, zero)  b = SequenceAt (s, one)
        }""")
    feeds = [
        {"trips": np.array(n), "go": np.array(True), "x": np.arange(4, dtype=np.float32)}
        for n in (2, 3)
    ]
    context = check_model(model, feeds)
    assert dims(context, "a") == [1, "SequenceAt_a_d1"]
    body = context.subgraph_context(2, "body")
    assert dims(body, "first") == [1, "SequenceAt_first_d1"]


def test_what_is_written_into_a_mapped_body_holds_for_each_element() -> None:
    model = parse("""
        g (float[2, 3] x, float[4, 3] y) => (p, q) {
          s = SequenceConstruct (x, y)
          m = SequenceMap (s) <
            body = b (float[r, c] e) => (float[r2, c2] o) {
              k = Relu (e)  o = Concat <axis = 0> (k, e)
            }>
          zero = Constant <value_int = 0> ()  one = Constant <value_int = 1> ()
          p = SequenceAt (m, zero)  q = SequenceAt (m, one)
        }""")
    context = check_model(model, [{"x": floats(2, 3), "y": floats(4, 3)}])
    assert (dims(context, "p"), dims(context, "q")) == ([4, 3], [8, 3])
    body = infer_shapes(model).graph.node[1].attribute[0].g
    size = body.value_info[0].type.tensor_type.shape.dim[0]
    assert size.WhichOneof("value") != "dim_value"


def test_mapped_bodies_inside_each_other_take_no_exponential_time() -> None:
    depth, text = 5, "o0 = Relu (e1)"
    for level in range(1, depth + 1):
        source = f"e{level + 1}" if level < depth else "x"
        many = ", ".join([source] * 15 + ["w"])
        text = f"""s{level} = SequenceConstruct ({many})
          m{level} = SequenceMap (s{level}) <
            body = b{level} (float[?, 3] e{level}) => (o{level - 1}) {{ {text} }}>
          o{level} = ConcatFromSequence <axis = 0> (m{level})"""
    model = parse(f"g (float[n, 3] x, float[2, 3] w) => (o{depth}) {{ {text} }}")
    context = infer(model)
    assert dims(context, f"o{depth}") is not None
    assert len(context.session.origins) < 500
