"""Signatures of nodes: equal for equal computations, different for different ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from yobx.onnx_optim import ShapesContext, compute_shapes, infer_shapes, node_signature
from yobx.onnx_optim.attributes import tensor_of_proto
from yobx.onnx_optim.node_signature import attribute_key, node_parts, parts_read_before


def _node(op: str = "Concat", *, n: int = 2, name: str = "", **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op, [f"x{i}" for i in range(n)], ["y"], name=name, **attributes)


def test_names_come_first_and_in_order() -> None:
    node = helper.make_node("Split", ["a", "", "c"], ["p", "q"], name="s", axis=1)
    inputs, outputs, _ = node_parts(node)
    assert list(inputs) == ["a", "", "c"]
    assert list(outputs) == ["p", "q"]


@pytest.mark.parametrize(
    "other",
    [
        _node(axis=1, name="another"),
        _node(axis=1, name="n" * 300),
        _node(axis=1, doc_string="said in passing"),
    ],
)
def test_names_and_remarks_do_not_count(other: onnx.NodeProto) -> None:
    remarked = _node(axis=1)
    for node, layer in ((other, "dense_7"), (remarked, "dense_8")):
        node.metadata_props.add(key="layer", value=layer)
    assert node_parts(other)[2] == node_parts(remarked)[2]


def test_names_of_values_do_not_count() -> None:
    other = helper.make_node("Concat", ["p", "q"], ["r"], name="s", axis=1)
    assert node_parts(other)[2] == node_parts(_node(axis=1))[2]


@pytest.mark.parametrize(
    "other",
    [
        _node(axis=2),
        _node("Sum"),
        _node(axis=1, domain="custom"),
        _node(axis=1, overload="second"),
        _node(axis=1, other=1),
        _node(),
    ],
)
def test_operator_attributes_and_domain_count(other: onnx.NodeProto) -> None:
    assert node_parts(other)[2] != node_parts(_node(axis=1))[2]


def test_names_that_look_like_an_operator_change_nothing() -> None:
    plain = _node(axis=1)
    field = plain.SerializeToString()
    tricky = field[field.index(b'"') :].decode("utf-8", "ignore")
    for place in ("input", "output", "name"):
        node = _node(axis=2)
        if place == "name":
            node.name = tricky
        else:
            getattr(node, place)[0] = tricky
        inputs, outputs, signature = node_parts(node)
        assert signature != node_parts(plain)[2]
        assert tricky in (*inputs, *outputs, node.name)


@pytest.mark.parametrize("op", ["O" * 127, "O" * 128, "O" * 300, "Ö" * 70, ""])
def test_operators_of_any_length(op: str) -> None:
    first, second = _node(op, axis=1, name="a"), _node(op, axis=1, name="b")
    assert node_parts(first)[2] == node_parts(second)[2]
    assert node_parts(_node(op, axis=2))[2] != node_parts(first)[2]


def test_no_key_for_graphs_and_long_contents() -> None:
    graph = helper.make_graph([], "body", [], [])
    long = numpy_helper.from_array(np.arange(1000))
    short = numpy_helper.from_array(np.arange(3))
    assert node_parts(_node("If", n=1, then_branch=graph))[2] is None
    assert node_parts(_node("Constant", n=0, value=long))[2] is None
    assert node_parts(_node("Constant", n=0, value=short))[2] is not None
    assert attribute_key(_node("Unknown", body=graph).attribute) is None


def test_references_to_the_attributes_of_a_function_have_no_key() -> None:
    node = _node()
    node.attribute.add(name="axis", type=onnx.AttributeProto.INT, ref_attr_name="a")
    assert node_parts(node, in_function=True)[2] is None


def test_results_are_shared_between_nodes_that_differ_in_remarks() -> None:
    float_ = onnx.TensorProto.FLOAT
    nodes = [helper.make_node("Relu", ["x"], [f"y{i}"], name=f"relu_{i}") for i in range(3)]
    for i, node in enumerate(nodes):
        node.metadata_props.add(key="layer", value=f"layer {i}")
    context = ShapesContext()
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", float_, ["n", 3])],
        [helper.make_tensor_value_info("y2", float_, None)],
    )
    compute_shapes(context, graph)
    assert context.values["y0"] is context.values["y1"] is context.values["y2"]


def test_output_without_name_is_never_an_input() -> None:
    float_ = onnx.TensorProto.FLOAT
    nodes = [
        helper.make_node("Relu", ["x"], [""]),
        helper.make_node("Relu", ["x"], [""]),
        helper.make_node("Clip", ["x", "", "high"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", float_, ["n"])],
        [helper.make_tensor_value_info("y", float_, None)],
        [numpy_helper.from_array(np.array(6, np.float32), "high")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    assert infer_shapes(model).graph.output[0].type.tensor_type.shape.dim[0].dim_param == "n"


def test_an_attribute_that_spells_another_node_is_not_taken_for_it() -> None:
    field = b'"\x07Flatten'

    def axis(value: int) -> onnx.AttributeProto:  # of an old file: without its type
        return onnx.AttributeProto(name="axis", i=value)

    second = onnx.NodeProto(op_type="Flatten", attribute=[axis(2)])
    spelled = second.SerializeToString()
    text = onnx.AttributeProto(name="text", s=spelled)
    first = onnx.NodeProto(op_type="Flatten", attribute=[axis(1), text])
    tail = first.SerializeToString()[len(field) :]
    second.name = (field + tail[: -len(spelled)]).decode()
    assert second.SerializeToString().endswith(field + tail)  # the bytes do collide
    assert node_parts(first)[2] != node_parts(second)[2]


def test_tensors_are_told_apart_by_the_field_that_holds_their_contents() -> None:
    found = []
    for sizes in ([6, 5], [5, 6]):
        tensor = helper.make_tensor("t", onnx.TensorProto.INT32, [2], sizes)
        tensor.int64_data.append(1)  # a field of other element types
        found.append(tensor_of_proto(tensor).value)
    assert found == [(6, 5), (5, 6)]


def test_a_node_read_twice_is_the_same_and_a_changed_one_is_not() -> None:
    node = _node(axis=1)
    first = parts_read_before(node)
    assert parts_read_before(_node(axis=1)) is first
    assert first[:2] == node_parts(node)[:2]
    node.input[0] = "other"
    assert parts_read_before(node)[0][0] == "other"
    assert first[0][0] != "other"


def test_long_nodes_and_those_with_graphs_are_read_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: dict[bytes, node_signature.NodeParts] = {}
    monkeypatch.setattr(node_signature, "_READ", read)
    graph = helper.make_graph([], "body", [], [])
    parts_read_before(_node("If", n=1, then_branch=graph))
    parts_read_before(_node("Sum", n=200, remark="x" * 1000))
    assert not read
    parts_read_before(_node(axis=1))
    assert len(read) == 1


def test_no_more_nodes_are_kept_than_the_table_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    read: dict[bytes, node_signature.NodeParts] = {}
    monkeypatch.setattr(node_signature, "_READ", read)
    monkeypatch.setattr(node_signature, "MAX_READ", 5)
    for axis in range(12):
        assert parts_read_before(_node(axis=axis))[2] == node_parts(_node(axis=axis))[2]
        assert len(read) <= 5
