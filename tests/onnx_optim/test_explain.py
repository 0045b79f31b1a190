"""Why something is unknown, and which nodes cost most."""

from __future__ import annotations

import pytest
from onnx import helper

from tests.onnx_optim.running import infer, parse
from yobx.errors import ShapeError
from yobx.onnx_optim import ShapesContext, blame, explain, infer_shapes

TEXT = """
    g (float[n, 4] x, float k) => (t, r) {
      z = NonZero (x)  t = Transpose (z)
      w = other.Unknown (x)  v = Relu (w)  r = Neg (v)
    }"""


def context() -> ShapesContext:
    model = parse(TEXT)
    model.opset_import.add(domain="other", version=1)
    return infer(model)


def test_the_chain_behind_a_symbol() -> None:
    steps = [str(s) for s in context().explain("t")]
    assert steps == [
        "t is int64[NonZero_z_d1, 2], at most [4*n, 2] from Transpose at index 1",
        "  NonZero_z_d1 is a size, at most 4*n from NonZero at index 0 -> z: "
        + explain(context(), "NonZero_z_d1").steps[0].reason,
    ]


def test_the_chain_behind_an_unknown_rank() -> None:
    found = context().explain("r")
    assert [s.value for s in found] == ["r", "v", "w"]
    assert "no shape rule for other:Unknown" in found.steps[2].reason
    assert str(found).splitlines()[2].startswith("    w is ?[...]")


def test_only_what_was_inferred_is_explained() -> None:
    with pytest.raises(ShapeError, match="'nobody'"):
        context().explain("nobody")


def test_blame_ranks_the_causes() -> None:
    first, second = context().blame()
    assert (first.values, second.values) == (3, 2)
    assert first.node.startswith("Unknown")
    assert second.node.startswith("NonZero")
    model = parse(TEXT)
    model.opset_import.add(domain="other", version=1)
    assert blame(model, limit=1) == [first]


def test_values_inside_subgraphs_are_found() -> None:
    model = parse("""
        g (bool c, float[n, 4] x) => (y) {
          y = If (c) <then_branch = t () => (a) { z = NonZero (x)  a = Cast <to = 1> (z) },
                      else_branch = e () => (b) { b = Relu (x) }>
        }""")
    found = ShapesContext()
    infer_shapes(model, context=found)
    assert "NonZero" in str(found.explain("z"))
    assert "the branches give different sizes" in str(found.explain("y"))


def test_explaining_after_single_nodes() -> None:
    from yobx.onnx_optim import OptimTensor, TensorType, compute_shapes

    one = ShapesContext({"": 21})
    one.set("x", OptimTensor(TensorType.kFloat, ["n"]))
    compute_shapes(one, helper.make_node("NonZero", ["x"], ["z"]))
    assert "NonZero" in str(one.explain("z"))


def test_reasons_inside_branches_and_functions_are_found() -> None:
    model = parse("""
        <ir_version: 10, opset_import: ["" : 20, "loc" : 1]>
        g (float[n, 3] x, int64[k] target, bool c) => (y, z) {
          y = loc.Outer (x, target)
          z = If (c) <
            then_branch = t () => (a) { a = Reshape (x, target) },
            else_branch = e () => (b) { b = Reshape (x, target) }>
        }
        <domain: "loc", opset_import: ["" : 20, "loc" : 1]>
        Outer (p, q) => (o) { r = Relu (p)  o = loc.Inner (r, q) }
        <domain: "loc", opset_import: ["" : 20]>
        Inner (p, q) => (o) { o = Reshape (p, q) }""")
    context = infer(model)
    for name in ("y", "z"):
        steps = context.explain(name).steps
        assert any(step.node.startswith("Reshape") and step.reason for step in steps), name
