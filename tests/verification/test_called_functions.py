"""Values inside a model's own functions are observed, proven and named like any other."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from tests.verification.models import copied
from yobx.verification import check_conversion, run_check
from yobx.verification.called_functions import inlined, place_of
from yobx.verification.runner import Session, exposed
from yobx.verification.value_table import value_table

CALLS = """
<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
net (float[N] x, bool c, int64 n) => (float[N] y, float[N] z, float[N] w) {
  y = own.act <alpha: float = 2.0> (x)
  t = own.outer (y)
  z = If (c) <then_branch = yes () => (float[N] p) { p = own.act <alpha: float = 3.0> (t) },
              else_branch = no () => (float[N] q) { q = own.act (x) }>
  w = Loop (n, c, x) <body = turn (int64 i, bool go, float[N] v)
    => (bool on, float[N] next) { on = Identity (go)
      next = own.branch (v, z) }>
}
<domain: "own", opset_import: ["" : 21]>
act <alpha: float = 1.0> (v) => (w) {
  s = Sin (v)
  k = Constant <value_float: float = @alpha> ()
  w = Mul (s, k)
}
<domain: "own", opset_import: ["" : 21, "own" : 1]>
outer (v) => (w) {
  s = own.act <alpha: float = 5.0> (v)
  m = own.act (s)
  w = Add (m, s)
}
<domain: "own", opset_import: ["" : 21, "own" : 1]>
branch (v, other) => (w) {
  total = ReduceSum <keepdims = 0> (v)
  zero = Constant <value = float {0.0}> ()
  positive = Greater (total, zero)
  w = If (positive) <then_branch = yes () => (float[M] a) { s = Neg (v)
        a = Add (s, other) }, else_branch = no () => (float[M] b) { s = Abs (v)
        b = own.act <alpha: float = 0.5> (s) }>
}
"""
FEEDS = {"x": np.array([0.5, -1.0], np.float32), "c": np.array(True), "n": np.array(4)}


def outputs(model: onnx.ModelProto, feeds: dict[str, Any]) -> dict[str, Any]:
    return Session(model, optimise=False).run(feeds).values


def test_bodies_take_the_place_of_calls() -> None:
    model = parser.parse_model(CALLS)
    before = model.SerializeToString()
    copy = inlined(model)
    assert model.SerializeToString() == before
    onnx.checker.check_model(copy, full_check=True)
    assert "own" not in {node.domain for node in copy.graph.node}
    for feeds in (FEEDS, {**FEEDS, "c": np.array(False)}):
        ours, theirs = outputs(copy, feeds), outputs(model, feeds)
        assert list(ours) == list(theirs)
        for name in theirs:
            np.testing.assert_array_equal(ours[name], theirs[name])


def test_names_say_which_call_and_nodes_say_where() -> None:
    nodes = inlined(parser.parse_model(CALLS)).graph.node
    places = {node.output[0]: f"{node.op_type} {place_of(node, 0)}" for node in nodes}
    assert places["y/act/s"] == "Sin in act #0"
    assert places["y"] == "Mul in act #0"
    assert places["t/outer/s/act/s"] == "Sin in act in outer #1"
    assert places["t/outer/m"] == "Mul in act in outer #1"
    assert places["z"] == "If #2"
    names = [name for node in nodes for name in node.output]
    assert len(names) == len(set(names))


def test_a_model_without_calls_is_itself() -> None:
    plain = parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> p (float[N] x) => (float[N] y) { y = Abs(x) }'
    )
    assert inlined(plain) is plain
    unused = copied(plain)
    unused.functions.extend(parser.parse_model(CALLS).functions)
    assert inlined(unused) is unused


ODD = """
<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
odd (float[N] x, float[N] u) => (float[N] y, float[N] z, float[N] k) {
  y = own.clipped (x)
  z, k = own.given (u, x)
  "y/clipped/low" = Neg (u)
}
<domain: "own", opset_import: ["" : 21]>
clipped (v, least) => (w) {
  low = Exp (v)
  w = Clip (low, least)
}
<domain: "own", opset_import: ["" : 21]>
given (first, second) => (second, second) { unused = Neg (first) }
"""


def test_inputs_left_out_and_outputs_passed_on() -> None:
    model = parser.parse_model(ODD)
    copy = inlined(model)
    x, u = np.array([0.5, -1.0], np.float32), np.array([3.0, 4.0], np.float32)
    found = outputs(copy, {"x": x, "u": u})
    np.testing.assert_allclose(found["y"], np.exp(x), rtol=1e-6)
    np.testing.assert_array_equal(found["z"], x)
    np.testing.assert_array_equal(found["k"], x)
    # A name that the model has already is not taken.
    assert any(name == "y/clipped/low_2" for node in copy.graph.node for name in node.output)


@pytest.mark.parametrize(
    ("opset", "body", "stays"),
    [
        (13, "w = Relu (v)", True),  # since 14: other types
        (20, "w = Relu (v)", False),
        (12, "w = Softmax (v)", True),  # another function since 13
    ],
)
def test_a_function_of_another_opset_stays_where_it_means_something_else(
    opset: int, body: str, stays: bool
) -> None:
    text = f"""<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
        m (float[N, 3] x) => (float[N, 3] y) {{ y = own.f (x) }}
        <domain: "own", opset_import: ["" : {opset}]> f (v) => (w) {{ {body} }}"""
    node = inlined(parser.parse_model(text)).graph.node[0]
    assert (node.domain == "own") is stays


def test_an_operator_domain_of_a_function_is_imported() -> None:
    text = """<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
        m (float[N, 2] x) => (float[N, 2] y) { y = own.f (x) }
        <domain: "own", opset_import: ["ai.onnx.ml" : 3]>
        f (v) => (w) { w = ai.onnx.ml.Scaler <offset = [1.0, 1.0], scale = [2.0, 2.0]> (v) }"""
    copy = inlined(parser.parse_model(text))
    onnx.checker.check_model(copy)
    x = np.ones((1, 2), np.float32)
    np.testing.assert_array_equal(outputs(copy, {"x": x})["y"], x * 0)


# ---- in a check ----------------------------------------------------------------------------------


def test_every_value_of_a_function_counts_as_observed() -> None:
    model = parser.parse_model(CALLS)
    report = check_conversion(model, tuple(FEEDS.values()), reference=copied(model))
    assert report.passed, report.text()
    assert report.shapes.unobserved == 3  # those of the branch that is not taken
    everywhere = {row.value for row in report.shapes.rows}
    assert {"y/act/s", "t/outer/s/act/k", "next/branch/positive", "p/act/s"} <= everywhere
    assert report.shapes.checked + report.shapes.partial == report.shapes.values


def test_what_a_function_states_is_proven_for_each_call() -> None:
    model = parser.parse_model(CALLS)
    act = next(f for f in model.functions if f.name == "act")
    act.value_info.append(helper.make_tensor_value_info("s", TensorProto.FLOAT, ["K"]))
    arguments: dict[str, Any] = {"reference": copied(model), "bindings": "primes"}
    assert check_conversion(model, tuple(FEEDS.values()), **arguments).passed
    del act.value_info[:]
    act.value_info.append(helper.make_tensor_value_info("s", TensorProto.FLOAT, ["K", 2]))
    report = check_conversion(model, tuple(FEEDS.values()), **arguments)
    assert report.failed_phase in {"shapes", "shape-match"}
    text = " ".join(report.phase("shape-match").messages)
    assert "value %y/act/s (Sin in act #0): declared [?, 2] (rank 2) but run time" in text


@pytest.mark.parametrize(
    ("value", "node"),
    [
        ("y/act/s", "Sin in act #0"),
        ("t/outer/s/act/s", "Sin in act in outer #1"),
    ],
)
def test_the_first_difference_is_named_inside_a_function(value: str, node: str) -> None:
    model = parser.parse_model(CALLS)
    right = inlined(model)
    wrong = copied(right)
    target = next(n for n in wrong.graph.node if value in n.output)
    target.op_type = "Tanh"
    result = run_check(model, tuple(FEEDS.values()), reference=wrong, bindings="primes")
    found = result.report.localization
    assert found is not None
    assert (found.value, found.node, found.reduced_nodes) == (value, node, 1)
    assert found.verdict == "converter"
    rows = {row["value"]: row for row in value_table(result, result.runs[0])}
    assert rows[value]["compared"] == "differs"
    assert rows[value]["node"] == node.partition(" ")[2]


def product(weights: np.ndarray[Any, Any]) -> onnx.ModelProto:
    model = parser.parse_model(
        """<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
        m (float[B, 4096] x) => (float[B, 8] y) { y = own.dense (x, w) }
        <domain: "own", opset_import: ["" : 21]>
        dense (v, k) => (o) { o = MatMul (v, k) }"""
    )
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    return model


def test_a_function_may_round_as_much_as_its_operators_and_no_more() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((16, 4096)).astype(np.float32)
    weights = rng.standard_normal((4096, 8)).astype(np.float32)

    def reference(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return (x.astype(np.float64) @ weights).astype(np.float32)

    assert check_conversion(product(weights), (x,), reference=reference).passed
    off = weights.copy()
    off[1234, 5] += np.float32(1e-3)
    assert check_conversion(product(off), (x,), reference=reference).failed_phase == "values"
    # A function that only moves values is compared bitwise.
    text = """<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
        m (float[A, B] x) => (float[B, A] y) { y = own.turn (x) }
        <domain: "own", opset_import: ["" : 21]> turn (v) => (o) { o = Transpose (v) }"""
    ulp = check_conversion(
        parser.parse_model(text), (x,), reference=lambda x: np.nextafter(x.T, np.float32(9))
    )
    assert ulp.failed_phase == "values"
    assert "bitwise" in ulp.outputs[0].rule


def test_values_of_a_function_are_outputs_of_the_observed_model() -> None:
    model = parser.parse_model(CALLS)
    found = outputs(exposed(inlined(model)), FEEDS)
    np.testing.assert_allclose(found["y/act/s"], np.sin(FEEDS["x"]), rtol=1e-6)
    np.testing.assert_allclose(found["y"], 2 * np.sin(FEEDS["x"]), rtol=1e-6)
