"""Declared shapes: what is adopted, what is reported, what raises, and the counter-examples."""

from __future__ import annotations

import logging

import pytest
from onnx import TensorProto, helper

from tests.onnx_optim.running import dims, parse
from yobx.errors import ArgumentError, ShapeContradictionError
from yobx.onnx_optim import OptimDim, ShapesContext, infer_shapes
from yobx.onnx_optim.declared import counter_example

TWICE = "g (float[n, 3] x) => (float[n, 3] y) { y = Concat <axis = 0> (x, x) }"


def inferred(text: str, policy: str = "check") -> ShapesContext:
    context = ShapesContext()
    infer_shapes(parse(text), policy=policy, context=context)  # type: ignore[arg-type]
    return context


def test_a_symbolic_contradiction_has_a_counter_example(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "yobx.onnx_optim"):
        context = inferred(TWICE)
    (found,) = context.contradictions
    assert (found.value, found.axis, found.declared, found.inferred) == ("y", 0, "n", "2*n")
    assert found.counter_example == {"n": 1}
    assert "outputs of graph 'g'" in found.declared_by
    assert "Concat" in found.inferred_by
    assert "They differ for n = 1." in caplog.text
    assert dims(context, "y") == ["2*n", 3]


def test_strict_raises_and_ignore_says_nothing() -> None:
    with pytest.raises(ShapeContradictionError, match=r"declared as n .* inferred as 2\*n on axis"):
        inferred(TWICE, "strict")
    context = inferred(TWICE, "ignore")
    assert not context.contradictions
    with pytest.raises(ArgumentError, match="ignore, check, strict"):
        inferred(TWICE, "loose")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("g (float[n, 3] x) => (int64[n, 3] y) { y = Relu (x) }", "kInt64"),
        ("g (float[n, 3] x) => (float[n] y) { y = Relu (x) }", "rank 1"),
        ("g (float[n, 3] x) => (float[n, 4] y) { y = Relu (x) }", "declared as 4"),
        ("g (float[n, 3] x) => (float[8, 3] y) { y = Relu (x) }", "n = 1"),
        ("g (float[n, 3] x) => (float[n, 3] y) { y = Transpose (x) }", "inferred as 3"),
    ],
)
def test_contradictions(text: str, part: str) -> None:
    (first, *_) = inferred(text).contradictions
    assert part in str(first)


def test_equal_expressions_do_not_contradict() -> None:
    text = 'g (float[n, m] x) => (float["m + n - m", "1*m"] y) { y = Relu (x) }'
    assert not inferred(text, "strict").contradictions


def test_a_declared_name_names_a_data_dependent_size() -> None:
    context = inferred("""
        g (float[n, 3] x) => (int64[2, found] z, t) { z = NonZero (x)  t = Transpose (z) }""")
    assert dims(context, "z") == [2, "found"]
    assert dims(context, "t") == ["found", 2]


def test_one_name_for_two_data_dependent_sizes_is_not_believed() -> None:
    context = inferred("""
        g (float[n, 3] x, float[n, 3] w) => (int64[2, found] z, int64[2, found] v) {
          z = NonZero (x)  v = NonZero (w)
        }""")
    assert dims(context, "z") == [2, "found"]
    assert dims(context, "v") == [2, "NonZero_v_d1"]
    assert context.assumptions == ["v axis 1: found == NonZero_v_d1"]


def test_a_declared_number_is_a_sum_of_data_dependent_sizes() -> None:
    context = inferred("""
        g (float[n, 3] x, float[n, 3] w) => (int64[2, 8] y) {
          z = NonZero (x)  v = NonZero (w)  y = Concat <axis = 1> (z, v)
        }""")
    assert dims(context, "y") == [2, 8]
    assert not context.assumptions


def test_a_declaration_may_not_equate_data_and_input_sizes() -> None:
    context = inferred("g (float[n, 3] x) => (int64[2, n] z) { z = NonZero (x) }")
    assert dims(context, "z") == [2, "NonZero_z_d1"]
    assert context.assumptions == ["z axis 1: n == NonZero_z_d1"]
    assert not context.contradictions


def test_two_input_symbols_are_an_equation() -> None:
    context = inferred("g (float[n, 3] x, float[m, 3] w) => (float[m, 3] y) { y = Relu (x) }")
    assert context.assumptions == ["y axis 0: m == n"]
    assert dims(context, "y") == ["n", 3]


def test_a_declared_size_beyond_the_bound_contradicts() -> None:
    context = inferred("g (float[2, 3] x) => (int64[2, 9] z) { z = NonZero (x) }")
    assert "at most 6" in str(context.contradictions[0])


def test_a_declared_number_is_no_sum_of_data_and_input_sizes() -> None:
    context = inferred("""
        g (float[n, 3] x, int64[2, n] w) => (int64[2, 8] y) {
          z = NonZero (x)  y = Concat <axis = 1> (z, w)
        }""")
    assert dims(context, "y") == [2, "NonZero_z_d1 + n"]
    assert len(context.assumptions) == 1


def test_a_declaration_completes_what_no_rule_knows() -> None:
    model = parse("g (float[n, 3] x) => (r) { w = other.Unknown (x)  r = Relu (w) }")
    model.opset_import.add(domain="other", version=1)
    model.graph.value_info.append(
        helper.make_tensor_value_info("w", TensorProto.FLOAT, ["n", None])
    )
    context = ShapesContext()
    written = infer_shapes(model, context=context)
    assert dims(context, "r") == ["n", "w_d1"]
    assert context.get("w").source == "declared"
    assert written.graph.output[0].type.tensor_type.shape.dim[0].dim_param == "n"
    ignored = ShapesContext()
    infer_shapes(model, policy="ignore", context=ignored)
    assert dims(ignored, "r") is None
    assert "no shape rule for other:Unknown" in ignored.reasons["w"]


def test_subgraph_declarations_are_checked_too() -> None:
    context = inferred("""
        g (bool c, float[n, 4] x) => (y) {
          y = If (c) <
            then_branch = t () => (float[n, 5] a) { a = Neg (x) },
            else_branch = e () => (b) { b = Relu (x) }>
        }""")
    assert ["graph 't'" in c.declared_by for c in context.contradictions] == [True]
    assert "inside 'then_branch' of node 0" in str(context.contradictions[0])


@pytest.mark.parametrize(
    "node",
    [
        """If (c) <then_branch = t () => (float[n, 5] a) { a = Neg (x) },
                   else_branch = e () => (b) { b = Relu (x) }>""",
        """Loop (M, c, x) <body = l (int64 i, bool k, a) => (bool k2, float[n, 5] b) {
             k2 = Identity (k)  b = Relu (a) }>""",
    ],
)
def test_strict_holds_inside_subgraphs(node: str) -> None:
    text = f"g (bool c, int64 M, float[n, 4] x) => (y) {{ y = {node} }}"
    with pytest.raises(ShapeContradictionError, match="declared as 5"):
        inferred(text, "strict")
    assert len(inferred(text).contradictions) == 1


def test_counter_examples() -> None:
    assert counter_example(OptimDim("n"), OptimDim("2*n")) == {"n": 1}
    assert counter_example(OptimDim("n//2"), OptimDim("n//2")) is None
    found = counter_example(OptimDim("a*b*c*d"), OptimDim("a*b*c*d + d - 4"))
    assert found is None or OptimDim("d - 4").evaluate(found) != 0


@pytest.mark.parametrize("policy", ["check", "strict"])
def test_what_a_later_node_demands_is_no_contradiction(policy: str) -> None:
    text = """g (float[n, 3] x) => (float[3] y)
        <int64[1] zero = {0}, int64[1] one = {1}, float[1, 3] row> {
          row = Slice (x, zero, one, zero)
          y = LAST
        }"""
    # Squeeze fails where the size is not 1, so the declaration holds in every run; a sum does not.
    assert inferred(text.replace("LAST", "Squeeze (row, zero)"), policy).contradictions == []
    (found,) = inferred(text.replace("LAST", "ReduceSum <keepdims = 0> (row, zero)")).contradictions
    assert (found.value, found.counter_example) == ("row", {"n": 0})


def test_counter_examples_satisfy_what_is_known() -> None:
    n, m, one = OptimDim("n"), OptimDim("m"), OptimDim(1)
    smaller = OptimDim.min(n, one)
    assert counter_example(smaller * 3, OptimDim(3)) == {"n": 0}
    assert counter_example(smaller * 3, OptimDim(3), [(smaller, one)]) is None
    assert counter_example(n, m, [(n, one)]) == {"m": 2, "n": 1}


def test_what_an_enclosing_graph_demands_holds_inside() -> None:
    context = inferred("""g (float[n, 3] x, bool c) => (float[3] y)
        <int64[1] zero = {0}, int64[1] one = {1}> {
          first = Slice (x, zero, one, zero)
          line = Squeeze (first, zero)
          y = If (c) <
            then_branch = t () => (float[3] a) <float[1, 3] row> {
              row = Slice (x, zero, one, zero)
              a = Squeeze (row, zero) },
            else_branch = e () => (float[3] b) { b = Identity (line) }>
        }""")
    assert context.contradictions == []
