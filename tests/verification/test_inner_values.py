"""Values inside If, Loop, Scan and called functions are observed, proven and compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
import tensorflow as tf
from onnx import TensorProto, helper, parser

from yobx.verification import check_conversion, run_check
from yobx.verification.inner_values import collector, inner_names
from yobx.verification.runner import Session

NESTED = """
<ir_version: 10, opset_import: ["" : 21]>
nested (float[N] x, int64 n, bool c) => (float[N] y) {
  y = Loop(n, c, x) <body = turn (int64 i, bool go, float[N] v) => (bool on, float[N] next) {
    on = Identity(go)
    two = Constant<value = float {2.0}>()
    twice = Mul(v, two)
    total = ReduceSum<keepdims = 0>(twice)
    zero = Constant<value = float {0.0}>()
    positive = Greater(total, zero)
    next = If(positive) <
      then_branch = yes () => (float[N] a) { sine = Sin(twice)
        a = Neg(sine) },
      else_branch = no () => (float[N] b) { cosine = Cos(twice)
        b = Loop(n, c, cosine) <body = deep (int64 j, bool go2, float[N] w)
          => (bool on2, float[N] root) { on2 = Identity(go2)
            size = Abs(w)
            root = Sqrt(size) }> }>
  }>
}
"""
X = np.array([0.5, -1.0], np.float32)
FEEDS = {"x": X, "n": np.array(3), "c": np.array(True)}


def collected(target: onnx.ModelProto, feeds: dict[str, Any]) -> dict[str, list[Any]]:
    found = collector(target)
    assert found is not None
    onnx.checker.check_model(found.model)
    return found.turns(Session(found.model, optimise=False).run(feeds).values)


def test_every_turn_of_nested_control_flow_is_collected() -> None:
    turns = collected(parser.parse_model(NESTED), FEEDS)
    v, twice, roots = X, [], []
    sines = []
    for _ in range(3):
        twice.append(v * 2)
        if twice[-1].sum() > 0:
            sines.append(np.sin(twice[-1]))
            v = -sines[-1]
            continue
        v = np.cos(twice[-1])
        for _ in range(3):
            v = np.sqrt(np.abs(v))
            roots.append(v)
    assert set(turns) >= set(inner_names(parser.parse_model(NESTED)))
    for name, want in {"twice": twice, "root": roots, "sine": sines}.items():
        assert len(turns[name]) == len(want)
        for got, one in zip(turns[name], want, strict=True):
            np.testing.assert_allclose(got, one, rtol=1e-6)
    assert sines
    assert roots
    assert [int(i) for i in turns["i"]] == [0, 1, 2]


def test_the_turns_of_a_scan_are_collected() -> None:
    body = helper.make_graph(
        [
            helper.make_node("Add", ["s", "e"], ["sum"]),
            helper.make_node("Mul", ["sum", "sum"], ["square"]),
            helper.make_node("Identity", ["sum"], ["kept"]),
            helper.make_node("Neg", ["square"], ["out"]),
        ],
        "body",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, []) for n in ("s", "e")],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, []) for n in ("kept", "out")],
    )
    node = helper.make_node("Scan", ["s0", "x"], ["s1", "y"], body=body, num_scan_inputs=1)

    def scalar_or_row(name: str, dims: list[str]) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)

    inputs = [scalar_or_row("s0", []), scalar_or_row("x", ["N"])]
    outputs = [scalar_or_row("s1", []), scalar_or_row("y", ["N"])]
    graph = helper.make_graph([node], "scan", inputs, outputs)
    target = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    x = np.array([1.0, 2.0, 3.0], np.float32)
    turns = collected(target, {"s0": np.array(0.0, np.float32), "x": x})
    assert [float(v) for v in turns["square"]] == [1.0, 9.0, 36.0]
    assert [float(v) for v in turns["e"]] == [1.0, 2.0, 3.0]


def test_a_name_of_two_bodies_is_left_alone() -> None:
    text = NESTED.replace("cosine", "sine").replace("Cos(", "Sin(")
    found = collector(parser.parse_model(text))
    assert found is not None
    assert "sine" not in found.outputs
    assert "twice" in found.outputs


def test_a_model_without_control_flow_needs_no_collector() -> None:
    plain = (
        '<ir_version: 10, opset_import: ["" : 21]> p (float[N] x) => (float[N] y) { y = Abs(x) }'
    )
    assert collector(parser.parse_model(plain)) is None


def test_a_wrong_statement_inside_a_loop_is_refuted() -> None:
    target = parser.parse_model(NESTED)
    body = target.graph.node[0].attribute[0].g
    body.value_info.append(helper.make_tensor_value_info("twice", TensorProto.FLOAT, ["N", 2]))
    report = check_conversion(target, tuple(FEEDS.values()), reference=lambda *_: X)
    text = " ".join(report.phase("shape-match").messages)
    assert "value %twice (Mul in Loop #0): declared [N, 2] (rank 2) but run time" in text


def test_inner_values_count_as_observed() -> None:
    target = parser.parse_model(NESTED)
    feeds = tuple(FEEDS.values())
    result = run_check(target, feeds, reference=lambda *_: X, bindings="sample")
    shapes = result.report.shapes
    assert shapes.values == 1 + len(inner_names(target))
    assert shapes.unobserved == 0
    assert {row.value for row in shapes.rows} >= {"twice", "root", "sine"}


# ---- against TensorFlow --------------------------------------------------------------------------


@tf.function
def inner(x: Any) -> Any:
    return tf.tanh(x) * 2.0


@tf.function
def outer(x: Any) -> Any:
    y = inner(inner(x) + 1.0)
    _, y = tf.while_loop(
        lambda i, _: i < 3, lambda i, y: (i + 1, tf.sin(y) + inner(y)), [tf.constant(0), y]
    )
    return tf.cond(tf.reduce_sum(y) > 0.0, lambda: tf.exp(y) - 1.0, lambda: tf.cos(y) - 1.0)


def wrong(op_type: str) -> Any:
    def convert(g: Any, sts: Any, outputs: Any, op: Any, verbose: int = 0) -> Any:
        made = getattr(g.op, op_type)(op.inputs[0].name)
        return g.op.Mul(made, np.float32(1.01), outputs=outputs)

    return convert


INPUT = np.random.default_rng(0).standard_normal((2, 4)).astype(np.float32)


@pytest.mark.parametrize(
    ("op_type", "place"),
    [
        ("Tanh", "PartitionedCall/Tanh"),  # in a called function
        ("Sin", "while/while/Sin"),  # in the body of a loop
        ("Exp", "cond/cond/Exp"),  # in a branch
    ],
)
def test_a_difference_inside_is_localised(op_type: str, place: str) -> None:
    extra = {op_type: wrong(op_type)}
    result = run_check(outer, (INPUT,), extra_converters=extra, bindings="primes")
    found = result.report.localization
    assert found is not None
    assert found.source_op == op_type
    assert found.source_name.endswith(place)
    assert found.verdict == "converter"
    assert 0 < found.reduced_nodes <= 3


def test_the_right_function_agrees_inside_too() -> None:
    result = run_check(outer, (INPUT,), bindings="primes", tolerance_class="exact")
    # Judged by a rule that is too strict, so that values are compared at all.
    names = [name for name in result.compared if "/" in name]
    assert any("while/while" in name for name in names)
    wrong_ones = [name for name in names if result.compared[name].failed]
    assert not wrong_ones


def test_a_state_that_grows_is_no_contradiction() -> None:
    def grow(x: Any, n: Any) -> Any:
        def turn(i: Any, y: Any) -> tuple[Any, Any]:
            return i + 1, tf.concat([y, y[:, :1] * 2.0], 1)

        shapes = [tf.TensorShape([]), tf.TensorShape([None, None])]
        start = [tf.constant(0), x]
        return tf.while_loop(lambda i, _: i < n, turn, start, shape_invariants=shapes)[1]

    report = check_conversion(tf.function(grow), (INPUT, np.array(3, np.int32)))
    assert report.passed, report.text()
    # What the first size of a turn is has no name in the body: two values are known in part.
    assert (report.shapes.values, report.shapes.partial, report.shapes.unobserved) == (6, 2, 0)


def test_large_values_of_a_loop_are_left_out() -> None:
    text = """<ir_version: 10, opset_import: ["" : 21]>
        g (float[600, 600] x, int64 n) => (float[600, 600] y, float s) {
            keep = Constant <value = bool {1}> ()
            zero = Constant <value_float = 0.0> ()
            y, s = Loop (n, keep, x, zero) <body = b (int64 i, bool c, float[600, 600] a, float t)
                => (bool d, float[600, 600] big, float small) {
                d = Identity (c)
                big = Add (a, a)
                sum = ReduceMax <keepdims = 0> (big)
                small = Add (t, sum)
            }>
        }"""
    found = collector(parser.parse_model(text))
    assert found is not None
    assert {"sum", "small"} <= set(found.outputs)
    assert not {"big", "a"} & set(found.outputs)
