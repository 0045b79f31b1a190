import onnx

from tests.xbuilder.support import builder
from yobx.xbuilder.provenance import Provenance


def test_inner_description_wins() -> None:
    provenance = Provenance()
    node = onnx.NodeProto()
    with provenance.describe(op="Relu", layer="a"), provenance.describe(op="Add", name=""):
        provenance.stamp(node)
    assert {p.key: p.value for p in node.metadata_props} == {"yobx.op": "Add", "yobx.layer": "a"}
    assert provenance.where() == ""


def test_nodes_of_a_model_say_where_they_come_from() -> None:
    g = builder()
    with g.provenance(op="Relu", name="model/relu", layer="relu"):
        g.make_tensor_output("Y", source=g.op.Relu("X"))
    (node,) = g.to_onnx().graph.node
    assert {p.key: p.value for p in node.metadata_props} == {
        "yobx.op": "Relu",
        "yobx.name": "model/relu",
        "yobx.layer": "relu",
    }
