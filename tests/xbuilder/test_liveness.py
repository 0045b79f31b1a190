import numpy as np
import onnx

from tests.xbuilder.support import builder
from yobx.xbuilder import GraphBuilder
from yobx.xbuilder.liveness import live_nodes


def test_only_what_outputs_need() -> None:
    make = onnx.helper.make_node
    nodes = [make("Neg", ["x"], ["a"]), make("Abs", ["a"], ["b"]), make("Sin", ["a"], ["c"])]
    kept, needed = live_nodes(nodes, ["c"])
    assert [node.op_type for node in kept] == ["Neg", "Sin"]
    assert needed == {"x", "a", "c"}


def test_what_a_branch_reads_is_needed() -> None:
    g = builder()
    used, _ = g.op.Neg("X"), g.op.Abs("X")
    branches = []
    for name in ("then", "otherwise"):
        sub = g.subgraph(name, [])
        inner = sub.subgraph("inner", [])
        inner.make_tensor_output("r", source=inner.op.Mul(used, np.array([2.0], np.float32)))
        value = sub.op.If(np.array(True), then_branch=inner, else_branch=_plain(sub))
        sub.make_tensor_output(f"{name}_r", source=value)
        branches.append(sub)
    y = g.op.If(np.array(True), then_branch=branches[0], else_branch=branches[1])
    g.make_tensor_output("Y", source=y)
    model = g.to_ir()
    assert [node.op_type for node in model.graph] == ["Neg", "If"]
    assert all(value.uses() for value in model.graph.initializers.values())


def _plain(g: GraphBuilder) -> GraphBuilder:
    sub = g.subgraph("plain", [])
    sub.make_tensor_output("r", source=sub.op.Identity("X"))
    return sub
