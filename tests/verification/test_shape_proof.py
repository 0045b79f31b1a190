from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from tests.verification.models import model, value
from yobx.verification import check_shapes
from yobx.verification.shape_proof import Constraint, Statement, merge, prove, stated, statements_of


def proof(statements, values, **rest):
    node = helper.make_node("Relu", ["x"], ["y"], name="act")
    target = model([node], [value("x", ["B", 4])], [value("y", None)])
    return prove(target, statements, values, binding="B=7", **rest)


def said(name, *dims, dtype=TensorProto.FLOAT):
    return Statement(name, dtype, dims, "inferred")


X = np.zeros((7, 4), np.float32)


def test_expressions_are_evaluated():
    report = proof([said("x", "B", 4), said("y", "2*B", "B-3")], {"x": X, "y": X[:4].repeat(2, 0)})
    assert "dim 0 is 2*B = 14 but runs as 8" in report.mismatches[0].message
    report = proof(
        [said("x", "B", 4), said("y", "2*B", "B-3")], {"x": X, "y": np.zeros((14, 4), "f4")}
    )
    assert not report.mismatches
    assert report.checked == 1


def test_the_right_symbol_is_suggested():
    report = proof([said("x", "B", 4), said("y", 4, "B")], {"x": X, "y": X})
    text = report.mismatches[0].message
    assert 'value %y (Relu #0 "act"): inferred [4, B] but run time [7, 4]' in text
    assert "dim 0 is 4 but runs as 7 (should be B)" in text
    assert text.endswith("under B=7")


def test_unknown_is_counted_never_refuted():
    for statement, counted in (
        (said("y", None, 4), "partial"),
        (Statement("y", 1, None, "inferred"), "partial"),
        (Statement("y", 0, None, "inferred"), "unknown"),
    ):
        report = proof([said("x", "B", 4), statement], {"x": X, "y": X})
        assert not report.mismatches
        assert getattr(report, counted) == 1
        assert report.unknown_values == ["y"]


def test_a_value_without_statement_is_unknown():
    assert proof([], {"x": X, "y": X}).unknown == 1


def test_rank_and_dtype():
    assert proof([said("y", 7)], {"y": X}).mismatches[0].kind == "rank"
    double = proof([said("y", 7, 4, dtype=TensorProto.DOUBLE)], {"y": X})
    assert double.mismatches[0].kind == "dtype"
    assert "dtype float64 but run time float32" in double.mismatches[0].message


def test_a_data_dependent_symbol_has_one_size():
    nodes = [
        helper.make_node("NonZero", ["x"], ["i"]),
        helper.make_node("Transpose", ["i"], ["t"]),
    ]
    target = model(nodes, [value("x", ["B"])], [value("t", None, TensorProto.INT64)])
    claims = [
        Statement("i", TensorProto.INT64, (1, "nz"), "inferred"),
        Statement("t", TensorProto.INT64, ("nz", 1), "inferred"),
    ]
    values = {"x": np.ones(5, "f4"), "i": np.zeros((1, 5), "i8"), "t": np.zeros((5, 1), "i8")}
    assert prove(target, claims, values, binding="").checked == 2
    values["t"] = np.zeros((4, 1), "i8")
    report = prove(target, claims, values, binding="")
    assert "dim 0 is nz = 5 but runs as 4" in report.mismatches[0].message


def test_a_bound_of_a_data_dependent_size():
    claims = [said("x", "B", 4), said("y", "nz", 4)]
    values = {"x": X, "y": np.zeros((9, 4), "f4")}
    report = proof(claims, values, constraints=[Constraint("nz", "<=", "B")])
    assert "nz = 9 exceeds its bound B = 7" in report.mismatches[0].message
    assert not proof(claims, values, constraints=[Constraint("nz", "<=", "2*B")]).mismatches


def test_an_expression_of_an_input_binds_its_symbol():
    report = proof([said("x", "2*N+1", 4), said("y", "N", 4)], {"x": X, "y": X[:3]})
    assert not report.mismatches


def test_statements_are_in_topological_order_and_once():
    node = helper.make_node("Relu", ["x"], ["y"])
    target = model([node], [value("x", ["B"])], [value("y", ["B"])])
    names = [s.value for s in stated(target, target)]
    assert names == ["x", "y"]
    assert statements_of(target.graph.output, "declared")[0].dims == ("B",)


def test_merging_keeps_the_worst():
    good = proof([said("x", "B", 4), said("y", "B", 4)], {"x": X, "y": X})
    bad = proof([said("x", "B", 4), said("y", "B", 4)], {"x": X, "y": X[:2]})
    both = merge(merge(good, good), bad)
    assert len(both.mismatches) == 1
    assert both.checked == 0


def test_check_shapes_needs_no_reference_and_says_so():
    node = helper.make_node("Relu", ["x"], ["y"])
    target = model([node], [value("x", ["B", 4])], [value("y", ["B", 4])])
    report = check_shapes(target).report
    assert report.passed
    assert report.phase("values").outcome == "not applicable"
    assert report.shapes.checked == 1


def test_check_shapes_finds_a_wrong_declaration():
    node = helper.make_node("Transpose", ["x"], ["y"], perm=[1, 0])
    target = model([node], [value("x", ["B", "S"])], [value("y", ["B", "S"])])
    report = check_shapes(target).report
    assert not report.passed
    assert "should be S" in report.text()


def test_an_equality_between_sizes():
    claims = [said("x", "B", 4), said("y", "C", 4)]
    equal = [Constraint("C", "==", "B")]
    assert not proof(claims, {"x": X, "y": X}, constraints=equal).mismatches
    report = proof(claims, {"x": X, "y": X[:3]}, constraints=equal)
    assert "size C = 3 is stated to equal B = 7" in report.mismatches[0].message


def test_bounds_of_inference_are_proven():
    nodes = [helper.make_node("Compress", ["x", "keep"], ["y"], axis=0)]
    inputs = [value("x", ["B", 4]), value("keep", ["B"], TensorProto.BOOL)]
    target = model(nodes, inputs, [value("y", ["kept", 4])])
    report = check_shapes(target).report
    assert report.passed, report.text()
    assert report.shapes.checked == 1


def test_the_table_keeps_what_is_least_proven():
    names = [f"v{i}" for i in range(150)]
    nodes = [helper.make_node("Relu", ["x"], [name]) for name in names]
    target = model(nodes, [value("x", ["B", 4])], [value(names[-1], None)])
    claims = [said("x", "B", 4), *(said(name, "B", 4) for name in names[:-1])]
    claims[121] = said("v120", "B", 5)
    runs = [{name: np.zeros((size, 4), np.float32) for name in ["x", *names]} for size in (7, 3)]
    first, second = (prove(target, claims, run, binding=f"B={len(run['x'])}") for run in runs)
    report = merge(first, second)
    assert len(report.rows) == 100
    assert [row.value for row in report.rows[-2:]] == ["v120", "v149"]
    assert report.rows[-2].state == "refuted"
    assert report.rows[-2].stated == "[B, 5], refuted"
    assert (report.rows[-1].stated, report.rows[-1].state) == ("nothing", "unknown")
    assert report.rows[0].node == "Relu #0"
    assert report.rows[0].stated == "float32 [B, 4]"
    assert report.rows[0].runtime == ["float32 [7, 4]", "float32 [3, 4]"]
