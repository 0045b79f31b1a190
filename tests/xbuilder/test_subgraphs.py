import numpy as np
import onnx
import pytest

from tests.xbuilder.support import builder, run
from yobx.errors import GraphError
from yobx.passes import default_passes
from yobx.xbuilder import GraphBuilder

X = np.arange(8, dtype=np.float32).reshape(2, 4)


def conditional() -> GraphBuilder:
    g = builder()
    total = g.op.ReduceSum("X", keepdims=0)
    then, other = g.subgraph("then"), g.subgraph("else")
    then.make_tensor_output("out", source=then.op.Add("X", np.float32(3)))
    other.make_tensor_output("out", source="X")
    y = g.op.If(g.op.Greater(total, 0.0), then_branch=then, else_branch=other)
    assert str(g.get_shape(y)) == "[n, 4]"
    g.make_tensor_output("Y", source=y)
    return g


@pytest.mark.parametrize("passes", [(), default_passes()])
def test_branches_read_outer_values(passes: tuple[object, ...]) -> None:
    model = conditional().to_onnx(passes=passes)  # type: ignore[arg-type]
    np.testing.assert_array_equal(run(model, X=X)[0], X + 3)
    np.testing.assert_array_equal(run(model, X=-X)[0], -X)


def test_weights_live_in_the_main_graph() -> None:
    model = conditional().to_onnx()
    graphs = [a.g for n in model.graph.node for a in n.attribute if a.type == a.GRAPH]
    assert len(graphs) == 2
    assert all(not graph.initializer for graph in graphs)
    assert len(model.graph.initializer) == 2


def loop(g: GraphBuilder, start: str) -> tuple[str, str]:
    body = g.subgraph(
        "body", [("i", np.int64, ()), ("go", np.bool_, ()), ("state", np.float32, ("n", 4))]
    )
    following = body.op.Add("state", "X", outputs=["following"])
    body.make_tensor_output("go")
    body.make_tensor_output("state", source=following)
    body.make_tensor_output("history", source=following)
    first, second = g.op.Loop(np.int64(3), np.array(True), start, body=body)
    return first, second


def test_two_loops_with_the_same_names_inside() -> None:
    g = builder()
    last, _ = loop(g, g.op.Mul("X", 0.0))
    last, history = loop(g, last)
    g.make_tensor_output("Y", source=last)
    g.make_tensor_output("H", source=history)
    assert str(g.get_shape(history)) == "[3, n, 4]"
    results = run(g.to_onnx(passes=default_passes()), X=X)
    np.testing.assert_allclose(results[0], 6 * X)
    np.testing.assert_allclose(results[1], np.stack([4 * X, 5 * X, 6 * X]))


def test_scan() -> None:
    g = builder()
    body = g.subgraph("body", [("state", np.float32, (4,)), ("row", np.float32, (4,))])
    following = body.op.Add("state", "row")
    body.make_tensor_output("next", source=following)
    body.make_tensor_output("each", source=following)
    last, each = g.op.Scan(np.zeros(4, dtype=np.float32), "X", body=body, num_scan_inputs=1)
    g.make_tensor_output("Y", source=last)
    g.make_tensor_output("Z", source=each)
    results = run(g.to_onnx(), X=X)
    np.testing.assert_allclose(results[0], X.sum(axis=0))
    np.testing.assert_allclose(results[1], np.cumsum(X, axis=0))


def test_subgraph_in_a_subgraph() -> None:
    g = builder()
    outer = g.subgraph("outer")
    positive = outer.op.Greater(outer.op.ReduceMax("X", keepdims=0), 0.0)
    inner, other = outer.subgraph("inner"), outer.subgraph("other")
    doubled = outer.op.Mul("X", 2.0)
    inner.make_tensor_output("r", source=inner.op.Add(doubled, "X"))
    other.make_tensor_output("r", source=other.op.Neg("X"))
    outer.make_tensor_output(
        "r", source=outer.op.If(positive, then_branch=inner, else_branch=other)
    )
    plain = g.subgraph("plain")
    plain.make_tensor_output("r", source="X")
    y = g.op.If(np.array(True), then_branch=outer, else_branch=plain)
    g.make_tensor_output("Y", source=y)
    np.testing.assert_allclose(run(g.to_onnx(), X=X)[0], 3 * X)


def test_a_used_subgraph_is_closed() -> None:
    g = builder()
    then, other = g.subgraph("then"), g.subgraph("else")
    for sub in (then, other):
        sub.make_tensor_output("r", source="X")
    g.op.If(np.array(True), then_branch=then, else_branch=other)
    with pytest.raises(GraphError, match="cannot change"):
        then.op.Relu("X")


def test_misuse() -> None:
    g = builder()
    empty = g.subgraph("empty")
    with pytest.raises(GraphError, match="needs outputs"):
        g.op.If(np.array(True), then_branch=empty, else_branch=empty)
    stranger = builder().subgraph("stranger")
    stranger.make_tensor_output("r", source="X")
    with pytest.raises(GraphError, match="belongs to the builder that made it"):
        g.op.If(np.array(True), then_branch=stranger, else_branch=stranger)
    sub = g.subgraph("sub")
    hidden = sub.op.Relu("X")
    with pytest.raises(GraphError, match="no value of this name"):
        g.op.Relu(hidden)
    with pytest.raises(GraphError, match="Only the main graph"):
        sub.to_onnx()


def test_names_are_unique_in_the_whole_model() -> None:
    g = builder()
    last, _ = loop(g, g.op.Mul("X", 0.0))
    last, _ = loop(g, last)
    g.make_tensor_output("Y", source=last)
    names: list[str] = []

    def visit(graph: onnx.GraphProto) -> None:
        names.extend(info.name for info in graph.input)
        for node in graph.node:
            names.extend(node.output)
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    visit(attribute.g)

    visit(g.to_onnx().graph)
    assert len(names) == len(set(names))


def test_branches_that_differ_are_refused() -> None:
    g = builder()
    then, other, longer = g.subgraph("then"), g.subgraph("else"), g.subgraph("longer")
    then.make_tensor_output("a", source=then.op.Neg("X"))
    other.make_tensor_output("b", source=other.op.Cast("X", to=onnx.TensorProto.INT64))
    longer.make_tensor_output("c", source="X")
    longer.make_tensor_output("d", source=longer.op.Neg("X"))
    condition = g.op.Greater(g.op.ReduceSum("X", keepdims=0), 0.0)
    with pytest.raises(GraphError, match=r"same element type.*'a' of kFloat and 'b' of"):
        g.op.If(condition, then_branch=then, else_branch=other)
    with pytest.raises(GraphError, match=r"as many outputs each.*1 and 2"):
        g.op.If(condition, then_branch=then, else_branch=longer)


def nested(depth: int) -> GraphBuilder:
    g = builder()
    condition = g.op.Greater(g.op.ReduceSum("X", keepdims=0), 0.0)

    def branch(outer: GraphBuilder, level: int) -> str:
        if level == depth:
            return str(outer.op.Neg("X"))
        then, other = outer.subgraph(f"then_{level}"), outer.subgraph(f"else_{level}")
        then.make_tensor_output(f"a_{level}", source=branch(then, level + 1))
        other.make_tensor_output(f"b_{level}", source="X")
        return str(outer.op.If(condition, then_branch=then, else_branch=other))

    g.make_tensor_output("Y", source=branch(g, 0))
    return g


def test_graphs_nested_deeper_than_a_file_can_hold_are_refused() -> None:
    np.testing.assert_array_equal(run(nested(30).to_onnx(), X=X)[0], -X)
    with pytest.raises(GraphError, match=r"30 levels deep.*Try a loop"):
        nested(31)
