"""ShapesContext: its maps, children, symbols, functions of users, events."""

from __future__ import annotations

import onnx
import pytest
from onnx import helper

from tests.onnx_optim.running import dims, infer, parse
from yobx.errors import ArgumentError, InternalError, ShapeContradictionError, ShapeError
from yobx.onnx_optim import (
    NodeView,
    OptimDim,
    OptimOptional,
    OptimSequence,
    OptimShape,
    OptimTensor,
    ShapeEventAction,
    ShapesContext,
    TensorType,
    compute_shapes,
    register_shape_function,
)
from yobx.onnx_optim.registry import Registry, load_rules
from yobx.onnx_optim.session import Session

FLOAT = OptimTensor(TensorType.kFloat, ["n", 4])
SEQUENCE = OptimSequence(TensorType.kFloat, length="k")


def test_two_maps() -> None:
    context = ShapesContext({"": 21})
    context.set("x", FLOAT)
    context.set_sequence("s", SEQUENCE)
    context.set_optional("o", OptimOptional(FLOAT, present=True))
    assert context.has("x")
    assert not context.has("s")
    assert context.has_sequence("s")
    assert not context.has_sequence("x")
    assert context.get_sequence("s") is SEQUENCE
    assert context.sequences() == {"s": SEQUENCE}
    assert (context.sequence_names(), context.sequences_size()) == (["s"], 1)
    assert (context.names(), context.size(), context.empty()) == (["x"], 1, False)
    assert context.has_optional("o")
    with pytest.raises(ShapeError, match="name='s', which holds OptimSequence"):
        context.get("s")
    with pytest.raises(ShapeError, match="holds nothing"):
        context.get_sequence("z")
    with pytest.raises(ShapeError, match="optional"):
        context.get_optional("x")
    with pytest.raises(ArgumentError, match="name=''"):
        context.set("", FLOAT)
    context.clear()
    assert context.empty()


def test_preconditions_consult_both_maps() -> None:
    context = ShapesContext()
    context.set("x", FLOAT)
    context.set_sequence("s", SEQUENCE)
    context.check_inputs_available(helper.make_node("Foo", ["x", "s", ""], ["y"]))
    with pytest.raises(ShapeError, match="Received: 'z'"):
        context.check_inputs_available(helper.make_node("Foo", ["z"], ["y"]))
    context.check_outputs_not_available(helper.make_node("Foo", [], ["y"]))
    for known in ("x", "s"):
        with pytest.raises(ShapeError, match=f"Received: '{known}'"):
            context.check_outputs_not_available(helper.make_node("Foo", [], [known]))


def test_children_see_their_parents_but_functions_do_not() -> None:
    context = ShapesContext({"": 18})
    context.set("x", FLOAT)
    child = ShapesContext(parent=context)
    child.set_current_subgraph(2, "body")
    inner = ShapesContext(parent=child)
    inner.set_current_subgraph(0, "then_branch")
    assert inner.get("x") is FLOAT
    assert inner.names() == []
    assert inner.path == ((2, "body"), (0, "then_branch"))
    assert inner.opset_version("ai.onnx") == 18
    isolated = ShapesContext({"": 20}, parent=context, isolated=True)
    assert not isolated.has("x")
    assert isolated.opset_version() == 20
    context.register_subgraph_context(2, "body", child)
    assert context.has_subgraph_context(2, "body")
    assert context.subgraph_context(2, "body") is child
    assert context.get_subgraph_context(2, "body") is child
    assert context.subgraph_context_keys() == [(2, "body")]
    assert context.subgraph_contexts_size() == 1
    assert context.subgraph_contexts() == {(2, "body"): child}
    with pytest.raises(ShapeError, match="node 3"):
        context.subgraph_context(3, "body")


def test_opsets() -> None:
    context = ShapesContext({"": 13, "com.microsoft": 1})
    context.set_opset_version("ai.onnx.ml", 3)
    assert context.opsets == {"": 13, "com.microsoft": 1, "ai.onnx.ml": 3}
    assert context.has_opset_version("ai.onnx")
    assert not context.has_opset_version("other")
    assert context.opset_version("other") == 1


def test_symbols_are_new_readable_and_explained() -> None:
    context = ShapesContext()
    context.session.reserve({"NonZero_y_0_d1"})
    first = context.fresh_symbol("NonZero_y:0_d1", reason="data", value="y:0", axis=1, upper="n*m")
    second = context.fresh_symbol("NonZero_y:0_d1")
    assert [str(first), str(second)] == ["NonZero_y_0_d1_2", "NonZero_y_0_d1_3"]
    origin = context.session.origins["NonZero_y_0_d1_2"]
    assert (origin.reason, origin.value, origin.axis) == ("data", "y:0", 1)
    assert context.less_equal_constraints() == [("NonZero_y_0_d1_2", "m*n")]
    assert str(context.fresh_symbol("7 wonders")) == "d_7_wonders"


def test_constraints() -> None:
    context = ShapesContext()
    assert context.add_constraint("n", "m")
    assert not context.add_constraint("m", "n")
    assert not context.add_constraint("k", "k")
    assert context.has_constraint("m", "n")
    assert context.constraints() == [("m", "n")]
    assert context.constraints_size() == 1
    assert context.simplify("n - m") == 0
    assert context.add_less_equal_constraint("n", 8)
    assert not context.add_less_equal_constraint("n", 8)
    assert context.has_less_equal_constraint("n", 8)
    assert context.less_equal_constraints_size() == 1
    child = ShapesContext(parent=context)
    child.add_constraint("k", 3)
    assert child.simplify("k + n") == child.simplify("3 + m")
    assert context.simplify("k") == "k"
    with pytest.raises(ShapeContradictionError, match="never are"):
        context.add_constraint("q + 1", "q")
    with pytest.raises(ShapeContradictionError, match="exceeds"):
        context.add_less_equal_constraint("q + 2", "q + 1")


def test_events() -> None:
    context = ShapesContext({"": 21})
    context.set("quiet", FLOAT)
    assert context.events() == []
    context.events_enabled = True
    heard: list[str] = []
    context.session.listeners.append(lambda event: heard.append(event.action.label))
    context.set("x", FLOAT)
    context.set("x", OptimTensor(TensorType.kFloat, [2, 4]))
    compute_shapes(context, helper.make_node("Relu", ["x"], ["y"]), node_index=5)
    context.add_constraint("a", "b")
    context.add_constraint("b", "a")
    context.add_less_equal_constraint("a", "c")
    labels = ["add", "replace", "add", "compute_node", "constraint", "constraint_max"]
    assert [e.action.label for e in context.events()] == labels
    assert heard == labels
    first = context.events()[0]
    assert (first.name, first.data_type, first.shape) == ("x", TensorType.kFloat, ("n", "4"))
    node = context.events()[3]
    assert (node.op_domain, node.op_type, node.inputs) == ("ai.onnx", "Relu", ("x",))
    assert node.node_index == 5
    assert node.as_dict()["action"] == "compute_node"
    assert [int(a) for a in ShapeEventAction] == [0, 1, 2, 3, 4]


def test_event_positions_of_inputs_and_initializers() -> None:
    model = parse("g (float[n, 4] x) => (y) <float w = {1.0}> { y = Add (x, w) }")
    context = ShapesContext()
    context.events_enabled = True
    compute_shapes(context, model)
    where = {e.name: e.node_index for e in context.events() if e.action == ShapeEventAction.kAdd}
    assert where == {"w": -2, "x": -1, "y": 0}


def test_custom_functions_replace_rules() -> None:
    def fixed(context: ShapesContext, node: onnx.NodeProto) -> None:
        context.set(node.output[0], OptimTensor(TensorType.kFloat, [7]))

    context = ShapesContext({"": 21})
    context.set("x", FLOAT)
    context.set_custom_shape_inference_function("", "Relu", fixed)
    assert context.custom_shape_inference_keys() == [":Relu"]
    compute_shapes(context, helper.make_node("Relu", ["x"], ["y"]))
    assert dims(context, "y") == [7]
    assert context.has_custom_shape_inference_function("ai.onnx", "Relu")
    assert context.remove_custom_shape_inference_function("", "Relu")
    compute_shapes(context, helper.make_node("Relu", ["x"], ["z"]))
    assert dims(context, "z") == ["n", 4]


def rule(node: NodeView) -> OptimTensor:
    return OptimTensor(node.tensor(0).dtype, [node.fresh(0, "it depends", upper=9)])


def test_registry_is_opset_aware_and_refuses_duplicates() -> None:
    registry = load_rules().copy()
    registry.register("mine", "Op", 2, rule)
    registry.register("mine", "Op", 5, rule)
    assert registry.find("mine", "Op", 1) is None
    for version, since in ((2, 2), (4, 2), (5, 5), (9, 5)):
        found = registry.find("mine", "Op", version)
        assert found is not None
        assert found.since_version == since
    with pytest.raises(ArgumentError, match="a second one for mine:Op since 5"):
        registry.register("mine", "Op", 5, rule)
    registry.register("mine", "Op", 5, rule, replace=True)
    assert load_rules().find("mine", "Op", 9) is None
    assert len(list(Registry())) == 0


def test_users_register_rules() -> None:
    register_shape_function("test.domain", "Dynamic", 1, replace=True)(rule)
    context = ShapesContext({"": 21, "test.domain": 1})
    context.set("x", FLOAT)
    compute_shapes(context, helper.make_node("Dynamic", ["x"], ["y"], domain="test.domain"))
    compute_shapes(context, helper.make_node("Dynamic", ["x"], ["z"], domain="test.domain"))
    assert dims(context, "y") == ["Dynamic_y_d0"]
    assert dims(context, "z") == ["Dynamic_z_d0"]


def test_a_rule_that_stumbles_is_an_internal_error() -> None:
    def broken(node: NodeView) -> OptimTensor:
        return OptimTensor(node.tensor(0).dtype, [node.inputs[3]])  # type: ignore[list-item]

    session = Session()
    session.registry = session.registry.copy()
    session.registry.register("", "Relu", 99, broken)
    context = ShapesContext({"": 99}, session=session)
    context.set("x", FLOAT)
    with pytest.raises(InternalError, match=r"rule of Relu .* IndexError"):
        compute_shapes(context, helper.make_node("Relu", ["x"], ["y"]))


def test_an_unknown_input_is_unknown_not_fatal() -> None:
    context = ShapesContext({"": 21})
    compute_shapes(context, helper.make_node("Relu", ["nobody"], ["y"]))
    assert context.get("y").dtype == TensorType.kUndefined
    assert not context.get("y").shape.has_rank()


@pytest.mark.parametrize("op", ["Celu", "Softmax"])
def test_ladder_schema_function(op: str) -> None:
    session = Session()
    session.registry = Registry()
    context = ShapesContext({"": 21}, session=session)
    context.set("x", FLOAT)
    compute_shapes(context, helper.make_node(op, ["x"], ["y"]))
    assert dims(context, "y") == ["n", 4]


def test_ladder_onnx_then_unknown() -> None:
    session = Session()
    session.registry = Registry()
    context = ShapesContext({"": 21}, session=session)
    context.set("x", FLOAT)
    compute_shapes(context, helper.make_node("Transpose", ["x"], ["y"], perm=[1, 0]))
    assert dims(context, "y") == [4, "n"]
    assert context.get("y").source == "onnx"
    compute_shapes(context, helper.make_node("NonZero", ["x"], ["z"]))
    assert dims(context, "z") == [2, "NonZero_z_d1"]
    assert "onnx does not tell" in context.session.origins["NonZero_z_d1"].reason
    compute_shapes(context, helper.make_node("Gather", ["x", "w"], ["g"]))
    assert "the type of its input 'w' is not known" in context.reasons["g"]
    compute_shapes(context, helper.make_node("Nothing", ["x"], ["u"]))
    assert "onnx does not know this operator" in context.reasons["u"]


def test_memo_keeps_different_nodes_apart() -> None:
    model = parse("""
        g (float[n, 4] x) => (a, b, c, d) {
          a = Concat <axis = 0> (x, x)  b = Concat <axis = 1> (x, x)
          c = NonZero (x)  d = NonZero (x)
        }""")
    context = infer(model)
    assert dims(context, "a") == ["2*n", 4]
    assert dims(context, "b") == ["n", 8]
    assert dims(context, "c") != dims(context, "d")


def test_equalities_reach_rules_through_the_memo() -> None:
    model = parse("""
        g (float[n, 4] x, float[m, 4] w, float[n, m] q) => (p, r, s) {
          p = MatMul (q, x)
          r = Concat <axis = 1> (x, w)
          s = MatMul (q, x)
        }""")
    context = infer(model)
    assert context.has_constraint("n", "m")
    assert dims(context, "s") == dims(context, "p")


def test_shapes_have_three_states() -> None:
    unknown, scalar = OptimShape(None), OptimShape([])
    assert (unknown.has_rank(), scalar.has_rank()) == (False, True)
    assert (unknown.rank(), scalar.rank()) == (None, 0)
    assert unknown != scalar
    assert scalar.empty()
    assert OptimShape([1, "n"]) == [1, "n"]
    assert not OptimShape([1, "n"]).is_fully_known()
    assert str(OptimShape(["2*n", 3]).n_elements()) == "6*n"
    with pytest.raises(ShapeError, match="unknown rank"):
        unknown.dims()
    with pytest.raises(ShapeError, match="no truth value"):
        bool(scalar)


def test_sequences_unknown_differs_from_empty() -> None:
    unknown, empty = OptimSequence(), OptimSequence(TensorType.kFloat, [])
    assert not unknown.has_elem_dtype()
    assert not unknown.has_elem_shapes()
    assert empty.has_elem_shapes()
    assert (unknown.is_empty(), empty.is_empty()) == (None, True)
    assert empty.length == 0
    both = OptimSequence(TensorType.kFloat, length="n + 1", elem_shape=["k"])
    assert both.is_empty() is False
    assert both.element(5).shape == ["k"]
    listed = OptimSequence(TensorType.kFloat, [[1], [2]])
    assert listed.element(-1).shape == [2]
    assert not listed.element().shape.has_rank()
    with pytest.raises(ArgumentError, match="2 shapes"):
        OptimSequence(TensorType.kFloat, [[1], [2]], length=3)


def test_a_divisor_that_must_be_zero_is_not_divided_by() -> None:
    context = ShapesContext()
    context.add_constraint("s", 0)
    assert context.simplify("s + n") == "n"
    assert context.simplify("n//s") == "n//s"
    context.add_constraint("n//t", "m")
    context.add_constraint("t", 0)
    assert context.simplify("2*t + k") == "k"
    with pytest.raises(ShapeError, match="divisor"):
        OptimDim("n//s").substitute({"s": 0})
