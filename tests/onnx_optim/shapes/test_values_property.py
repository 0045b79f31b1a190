"""Value propagation: random shape arithmetic, every element compared with a run."""

from __future__ import annotations

import itertools

import onnx
from hypothesis import HealthCheck, given, note, settings

from conformance.shapes.running import refute
from conformance.shapes.values import value_model
from tests.onnx_optim.running import drawn, infer, parse
from yobx.onnx_optim import OptimDim

BINDINGS = [
    dict(zip("nmk", sizes, strict=True)) for sizes in itertools.product((0, 1, 2, 5), repeat=3)
]


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn(value_model))
def test_no_statement_is_refuted(model: onnx.ModelProto) -> None:
    note(onnx.printer.to_text(model))
    refute(model, BINDINGS)


def test_the_usual_idioms_are_followed_exactly() -> None:
    """`Where(Equal(k, -1), ones, k)`, halves, products: the elements are expressions."""
    context = infer(
        parse("""
        g (float[n, m, 4] x) => (half, total, plus) {
          sizes = Shape (x)  none = Constant <value_ints = [-1]> ()
          ones = Constant <value_ints = [1, 1, 1]> ()  two = Constant <value_ints = [2]> ()
          minus = Equal (sizes, none)  chosen = Where (minus, ones, sizes)
          half = Div (chosen, two)  total = ReduceProd <keepdims = 0> (half)
          plus = Add (sizes, two)
        }""")
    )
    assert context.get("chosen").value == (OptimDim("n"), OptimDim("m"), OptimDim(4))
    assert context.get("half").value == (OptimDim("n//2"), OptimDim("m//2"), OptimDim(2))
    assert context.get("total").value == (OptimDim("2*(n//2)*(m//2)"),)
    assert context.get("plus").value == (OptimDim("n+2"), OptimDim("m+2"), OptimDim(6))
